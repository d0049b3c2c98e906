"""The full-text table: passages of artifacts and entries of books, each a row that is ranked by itself.

A passage's rowid is its artifact's number times `MOST` plus its place; an entry's is its row's number below zero: ranks
compare whatever they rank, and no table has to say which belongs to which. English endings are taken off by the
tokenizer; characters of scripts without spaces are tokens of their own. (core/segmentation.py)
"""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from lineage.core.passages import MOST
from lineage.core.segmentation import segmented

if TYPE_CHECKING:
    from lineage.core.passages import Passage
    from lineage.index.rows import Row

TOKENIZER = "porter unicode61 remove_diacritics 2"
TABLES = (
    "create virtual table if not exists search using fts5(title, sentence, body, turns unindexed,"
    f" tokenize = '{TOKENIZER}')",
)
WEIGHTS = (1.5, 1.2, 1.0)
"""What a word weighs in a title, in a sentence or a tag, and in a body."""
BODY = 2
"""The column of what a passage says."""
HASH_BYTES = 32 << 20
"""How much text FTS5 gathers before it writes a segment: with less, a rebuild takes 1.6 times as long."""

_INSERT = "insert into search (rowid, title, sentence, body, turns) values (?, ?, ?, ?, ?)"
_PASSAGES = f"delete from search where rowid between ?1 * {MOST} and ?1 * {MOST} + {MOST - 1}"
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

Text = tuple[int, str, str, str, str]


def texts_of(number: int, row: "Row") -> Iterator[Text]:
    """The rows of an artifact: its title, its sentence and its day go with the first passage."""
    title, sentence = segmented(row.title), f"{segmented(row.memory_sentence)} {_day(row.membership_ts)}"
    for place, passage in enumerate(islice(row.passages, MOST)):
        head = ("", "") if place else (title, sentence)
        yield number * MOST + place, *head, segmented(passage.text), _turns(passage)


def entry_text(number: int, title: str, tags: str, body: str) -> Text:
    return -number, segmented(title), segmented(tags), segmented(body), ""


def write(connection: sqlite3.Connection, texts: Iterable[Text]) -> None:
    connection.executemany(_INSERT, texts)


def drop_passages(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Drops the passages of artifacts."""
    connection.executemany(_PASSAGES, ((number,) for number in numbers))


def drop_entries(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    connection.executemany("delete from search where rowid = ?", ((-number,) for number in numbers))


def turns_of(value: str) -> tuple[int, int] | None:
    """The numbers of a passage's first and last turn, None where it isn't of turns."""
    first, _, last = value.partition(" ")
    return (int(first), int(last)) if last else None


def _turns(passage: "Passage") -> str:
    return f"{passage.first} {passage.last}" if passage.last else ""


def _day(time: str) -> str:
    """A canonical time's day as people write it."""
    year, month, day = time[:10].split("-")
    return f"{int(day)} {_MONTHS[int(month) - 1]} {year}"
