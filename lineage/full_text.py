"""The full text of an index: the expressions that ask it, and its rows. The hook and search read it here.

The standard library alone, and little of it: a hook waits for these imports. Any failure of a read is a
`sqlite3.Error`.
"""

from lineage.core.search.words import extract_words, join_or, quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable, Iterator, Sequence

COUNT_MATCHES = "(select count(*) from (select 1 from search where search match ? limit ?))"
"""SQL: how many rows match an expression, counted up to a limit; both are bound."""

_SEPARATOR = "\u200b"  # core/search/segmentation.py
# The record of averages of FTS5 begins with it: a bit of each byte says whether another one follows.
_SELECT_COUNT = "select block from search_data where id = 1"
_FIND_ROWS = "select rowid from search where search match ? limit ?"
_READ_ROWS = "select rowid, turns, title, sentence, body from search where rowid in (select value from json_each(?))"


class TextRow:
    """A row: its number, the title and the sentence that it is found by, and its text, as they were written.

    `speakers` tells who speaks where in a passage (core/search/speakers.py).
    """

    __slots__ = ("body", "number", "sentence", "speakers", "title")

    def __init__(self, number: int, turns: str, title: str, sentence: str, body: str) -> None:
        self.number, self.title, self.sentence, self.body = number, title, sentence, body
        self.speakers = turns.partition(" ")[2].partition(" ")[2]


def build_match_expression(text: str) -> str | None:
    """Return the words of a text joined by OR, None for a text without words.

    >>> build_match_expression('split() NEAR "last line"')
    '"split" OR "NEAR" OR "last" OR "line"'
    """
    return " OR ".join(map(quote, extract_words(text))) or None


def restrict_expression(expression: str, phrases: "Sequence[str]", excluded: "Sequence[str]") -> str:
    """Add required phrases and excluded words to an expression; "" if nothing can match.

    >>> restrict_expression('"row"', ["last line"], ["draft"])
    '(("last line") AND ("row" OR "last line")) NOT "draft"'
    """
    if phrases:
        required = [quote(phrase) for phrase in phrases]
        ranked = [expression] if expression else []
        expression = f"({' AND '.join(required)}) AND ({' OR '.join([*ranked, *required])})"
    return f"({expression}) NOT {join_or(map(quote, excluded))}" if expression and excluded else expression


def count_rows(connection: "sqlite3.Connection") -> int:
    """Return the number of rows that are committed. FTS5 keeps it: to count a hundred thousand takes milliseconds."""
    (block,) = connection.execute(_SELECT_COUNT).fetchone()
    count = 0
    for byte in block:
        count = count << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return count


def find_rows(connection: "sqlite3.Connection", expression: str, limit: int) -> list[int]:
    """Return the first rows that match an expression, in their order, by their numbers."""
    return [row for (row,) in connection.execute(_FIND_ROWS, (expression, limit))]


def read_rows(connection: "sqlite3.Connection", numbers: "Iterable[int]") -> "Iterator[TextRow]":
    """Yield the rows of these numbers that are there, each once, in no order that means anything."""
    for number, turns, *texts in connection.execute(_READ_ROWS, (str(list(numbers)),)):
        yield TextRow(number, turns, *(text if text.isascii() else text.replace(_SEPARATOR, "") for text in texts))
