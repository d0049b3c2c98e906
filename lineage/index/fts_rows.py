"""The full-text table: passages of artifacts and entries of books, each a row that is ranked by itself.

A passage's rowid is its artifact's number times `MAX_PASSAGES` plus its place; an entry's is the negative of its row's
number. So no table has to map rows of text to their owners. Passages of tools have the places from `MAX_OF_KIND` on,
by which a search knows them. `turns` holds the numbers of the first and the last turn, and who speaks where
(core/search/speakers.py). The tokenizer stems English words; in scripts without spaces each character is a token
(core/search/segmentation.py).
"""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import count

from lineage.core.search.index_sql import MAX_OF_KIND, MAX_PASSAGES
from lineage.core.search.segmentation import segment
from lineage.index.rows import ArtifactRow

TOKENIZER = "porter unicode61 remove_diacritics 2"
TABLES = (
    "create virtual table if not exists search using fts5(title, sentence, body, turns unindexed,"
    f" tokenize = '{TOKENIZER}')",
)
COLUMN_WEIGHTS = (1.5, 1.2, 1.0)
"""The weights of a word in a title, in a sentence or tag, and in a body."""
BODY_COLUMN = 2
HASH_SIZE_BYTES = 32 << 20
"""The text that FTS5 gathers before it writes a segment: with less, a rebuild takes 1.6 times as long."""

_INSERT = "insert into search (rowid, title, sentence, body, turns) values (?, ?, ?, ?, ?)"
_DELETE_PASSAGES = (
    f"delete from search where rowid between :number * {MAX_PASSAGES} and :number * {MAX_PASSAGES} + {MAX_PASSAGES - 1}"
)
# strftime would write the month in the machine's language
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

FtsRow = tuple[int, str, str, str, str]


def build_artifact_fts_rows(number: int, row: ArtifactRow) -> Iterator[FtsRow]:
    """Yield the rows of an artifact. The first passage carries its title, its sentence and its day."""
    year, month, day = row.membership_ts[:10].split("-")
    sentence = f"{segment(row.memory_sentence)} {int(day)} {_MONTHS[int(month) - 1]} {year}"
    head = (segment(row.title), sentence)
    places = count(number * MAX_PASSAGES), count(number * MAX_PASSAGES + MAX_OF_KIND)
    for passage in row.passages:
        turns = f"{passage.first} {passage.last} {passage.speakers}".rstrip() if passage.last else ""
        yield next(places[passage.of_tools]), *head, segment(passage.text), turns
        head = ("", "")


def insert_rows(connection: sqlite3.Connection, rows: Iterable[FtsRow]) -> None:
    """Insert rows of text."""
    connection.executemany(_INSERT, rows)


def delete_passages(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Delete the passages of artifacts, given by the numbers of their rows."""
    connection.executemany(_DELETE_PASSAGES, ({"number": number} for number in numbers))


def delete_entries(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Delete the text of entries, given by the numbers of their rows."""
    connection.executemany("delete from search where rowid = ?", ((-number,) for number in numbers))


def parse_turn_range(value: str) -> tuple[int, int] | None:
    """Return the numbers of a passage's first and last turn, None for a passage without turns."""
    first, last, *_ = [*value.split(" ", 2), "", ""]
    return (int(first), int(last)) if last else None
