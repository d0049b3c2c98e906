"""The full-text table: passages of artifacts and entries of books, each a row that is ranked by itself.

A passage's rowid is its artifact's number times `MAX_PASSAGES` plus its place; an entry's is its row's number below
zero: ranks
compare whatever they rank, and no table has to say which belongs to which. English endings are taken off by the
tokenizer; characters of scripts without spaces are tokens of their own. (core/segmentation.py)
"""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from lineage.core.search.passages import MAX_PASSAGES
from lineage.core.search.segmentation import segment

if TYPE_CHECKING:
    from lineage.core.search.passages import Passage
    from lineage.index.rows import ArtifactRow

TOKENIZER = "porter unicode61 remove_diacritics 2"
TABLES = (
    "create virtual table if not exists search using fts5(title, sentence, body, turns unindexed,"
    f" tokenize = '{TOKENIZER}')",
)
COLUMN_WEIGHTS = (1.5, 1.2, 1.0)
"""What a word weighs in a title, in a sentence or a tag, and in a body."""
BODY_COLUMN = 2
"""The column of what a passage says."""
HASH_SIZE_BYTES = 32 << 20
"""How much text FTS5 gathers before it writes a segment: with less, a rebuild takes 1.6 times as long."""

_INSERT = "insert into search (rowid, title, sentence, body, turns) values (?, ?, ?, ?, ?)"
_DELETE_PASSAGES = (
    f"delete from search where rowid between ?1 * {MAX_PASSAGES} and ?1 * {MAX_PASSAGES} + {MAX_PASSAGES - 1}"
)
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip

FtsRow = tuple[int, str, str, str, str]


def build_artifact_fts_rows(number: int, row: "ArtifactRow") -> Iterator[FtsRow]:
    """The rows of an artifact: its title, its sentence and its day go with the first passage."""
    title, sentence = segment(row.title), f"{segment(row.memory_sentence)} {_format_day(row.membership_ts)}"
    for place, passage in enumerate(islice(row.passages, MAX_PASSAGES)):
        head = ("", "") if place else (title, sentence)
        yield number * MAX_PASSAGES + place, *head, segment(passage.text), _format_turn_range(passage)


def build_entry_fts_row(number: int, title: str, tags: str, body: str) -> FtsRow:
    return -number, segment(title), segment(tags), segment(body), ""


def insert_rows(connection: sqlite3.Connection, rows: Iterable[FtsRow]) -> None:
    connection.executemany(_INSERT, rows)


def delete_passages(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    """Drops the passages of artifacts."""
    connection.executemany(_DELETE_PASSAGES, ((number,) for number in numbers))


def delete_entries(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    connection.executemany("delete from search where rowid = ?", ((-number,) for number in numbers))


def parse_turn_range(value: str) -> tuple[int, int] | None:
    """The numbers of a passage's first and last turn, None where it isn't of turns."""
    first, _, last = value.partition(" ")
    return (int(first), int(last)) if last else None


def _format_turn_range(passage: "Passage") -> str:
    return f"{passage.first} {passage.last}" if passage.last else ""


def _format_day(time: str) -> str:
    """A canonical time's day as people write it."""
    year, month, day = time[:10].split("-")
    return f"{int(day)} {_MONTHS[int(month) - 1]} {year}"
