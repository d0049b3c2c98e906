"""Items of memory from books, for MEMORY.md and the context of a session."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from lineage.core.base.book_paths import CURATED, GLOBAL, BookRef
from lineage.core.base.times import to_date
from lineage.core.books.entry import HAND
from lineage.projection.memory_item import MemoryItem
from lineage.workspace import book_reader

_HEADING = re.compile(r"\s*#{1,6}\s")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def build_item(entry: book_reader.BookEntry, text: str) -> MemoryItem:
    """Return the item of an entry with this text, labelled with its kind and day."""
    label = ", ".join(filter(None, (entry.ref.kind, to_date(entry.updated_at))))
    return MemoryItem(text, entry.entry.trust, label, entry_id=entry.entry.id)


def load_curated_items(reader: book_reader.BookReader) -> list[MemoryItem]:
    """Return AGENT_MEMORY.md in the order of the file: entries, and handwritten text line by line.

    Ranks keep the newest entries, and of the text its end and beginning: the middle is left out first. Headings alone
    are no items. (lessons: 31)
    """
    ref = BookRef(GLOBAL, CURATED)
    book = reader.read_book(ref)
    entries = {entry.entry.id: entry for entry in reader.active_entries(ref) if entry.entry.source != HAND}
    contents: list[book_reader.BookEntry | str] = []
    for part in book.parts:
        if part.entry and (entry := entries.pop(part.entry.id, None)):
            contents.append(entry)
        elif part.is_free_text:
            text = "".join(entry.text for entry in replace(book, parts=(part,)).handwritten_entries)
            contents += [line for line in _COMMENT.sub("", text).splitlines() if line.strip()]
    if all(isinstance(item, str) and _HEADING.match(item) for item in contents):
        return []
    items = [MemoryItem(item) if isinstance(item, str) else build_item(item, item.text) for item in contents]
    ranks = {index: rank for rank, index in enumerate(_order_newest_first(contents))}
    return [replace(item, rank=ranks[index]) for index, item in enumerate(items)]


def _order_newest_first(contents: Sequence[book_reader.BookEntry | str]) -> list[int]:
    """Return the indexes of entries, newest first, in turns with those of lines: the last, the first, and so on."""
    dated = [(item.updated_at, index) for index, item in enumerate(contents) if isinstance(item, book_reader.BookEntry)]
    entries = sorted(dated, reverse=True)
    lines = [index for index, item in enumerate(contents) if isinstance(item, str)]
    ends = (lines[-1 - turn // 2] if turn % 2 == 0 else lines[turn // 2] for turn in range(len(lines)))
    turns = zip_longest((index for _, index in entries), ends)
    return [index for index in chain.from_iterable(turns) if index is not None]
