"""A three-way merge of books by entry: no word of either side is lost, forgetting stays (format: Books)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lineage.core.base.added_lines import find_added_lines
from lineage.core.books.book import Book, BookPart, append_parts, make_entry_part, make_tombstone_part, with_parts
from lineage.core.books.entry import Entry, compute_entry_id, escape_own_markers
from lineage.core.books.sightings import choose_mention, merge_sightings
from lineage.core.format.body import normalize_body

_Key = tuple[str, int]


def merge_books(base: Book, ours: Book, theirs: Book) -> Book:
    """Merge our edit of `base` into the present file: its order, free text and head unless only we changed them."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    is_ours = _free_lines(theirs) == _free_lines(base) != _free_lines(ours)
    sides = (ours, theirs) if is_ours else (theirs, ours)
    merge = _Merge(base, *sides)
    return merge.add_free_lines(merge.add_tombstones(with_parts(sides[0], merge.merge_parts())))


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge into the order of `mine`."""

    base: Book
    mine: Book
    yours: Book

    def merge_parts(self) -> Iterable[BookPart]:
        """Yield the parts of `mine`, with the changes of `yours` to its entries."""
        base, yours, mine = _entries_by_id(self.base), _entries_by_id(self.yours), _entries_by_id(self.mine)
        keys = {id(part): key for key, part in mine.items()}
        for part in self.mine.parts:
            key = keys.get(id(part))
            yield from self._merge_entry(key, base, part, yours.get(key)) if key else [part]
        for key, part in yours.items():
            if key not in mine:
                for new in self._merge_entry(key, base, None, part):
                    yield new._replace(raw=self.mine.line_end * 2 + _with_line_end(new).raw, entry=None)

    def _merge_entry(
        self, key: _Key, base: Mapping[_Key, BookPart], mine: BookPart | None, yours: BookPart | None
    ) -> list[BookPart]:
        old = base.get(key)
        if key[0] in (self.mine.forgotten_ids | self.yours.forgotten_ids) - self.base.forgotten_ids:
            return [
                BookPart(words) for part in (mine, yours) if part and old and (words := _find_added_lines(old, part))
            ]
        if mine is None or yours is None:
            # One side deleted it by hand. A change on the other side wins, so that no word is lost.
            remaining = mine or yours
            return [remaining] if remaining and (old is None or not _is_same(remaining, old)) else []
        if _is_same(mine, yours) or (old and _is_same(yours, old)):
            return [mine]
        if old and _is_same(mine, old):
            return [_with_line_end(yours)]
        if not (mine.is_complete and yours.is_complete):
            return [_with_line_end(mine), _with_line_end(yours)]
        return self._combine(old, mine, yours)

    def _combine(self, old: BookPart | None, mine: BookPart, yours: BookPart) -> list[BookPart]:
        assert mine.entry is not None
        assert yours.entry is not None
        before = old.entry if old and old.entry else None
        entry = _merge_fields(before, mine.entry, yours.entry)
        first, *rest = _merge_texts(_text(old) if old else None, _text(mine), _text(yours))
        entries = [entry._replace(text=first)]
        for text in rest:
            # The id of the second text follows from both, so that each machine of a sync makes the same.
            new_id = compute_entry_id(self.mine.scope, self.mine.kind, text, entry.id)
            entries.append(entry._replace(text=text, id=new_id))
        return [make_entry_part(self.mine, merged) for merged in entries]

    def add_tombstones(self, book: Book) -> Book:
        """Return the book with the tombstones that only `yours` has."""
        missing = sorted((self.yours.tombstones - self.base.tombstones) - book.tombstones)
        return append_parts(book, *(make_tombstone_part(book, *tombstone) for tombstone in missing))

    def add_free_lines(self, book: Book) -> Book:
        """Return the book with the free lines of `yours`, if both sides changed the free text."""
        base, mine, yours = _free_lines(self.base), _free_lines(self.mine), _free_lines(self.yours)
        if yours in (base, mine):
            return book
        missing = find_added_lines(base, mine, yours)
        return append_parts(book, BookPart(book.line_end.join(missing) + book.line_end)) if missing else book


def _entries_by_id(book: Book) -> dict[_Key, BookPart]:
    """Return the entries by id, and by a number for copies."""
    counts: Counter[str] = Counter()
    keyed: dict[_Key, BookPart] = {}
    for part in book.parts:
        if part.entry:
            keyed[part.entry.id, counts[part.entry.id]] = part
            counts[part.entry.id] += 1
    return keyed


def _free_lines(book: Book) -> list[str]:
    """Return the lines outside of entries, without empty ones and trailing white space."""
    texts = (book.head, *(part.raw for part in book.parts if part.is_free_text))
    return [line.rstrip() for text in texts for line in normalize_body(text).split("\n") if line.strip()]


def _text(part: BookPart) -> str:
    return normalize_body(part.entry.text).strip("\n") if part.entry else ""


def _is_same(one: BookPart, other: BookPart) -> bool:
    return one.is_complete == other.is_complete and normalize_body(one.raw) == normalize_body(other.raw)


def _find_added_lines(old: BookPart, new: BookPart) -> str:
    """Return the lines that somebody added to a forgotten entry, with markers as text."""
    known = set(normalize_body(old.raw).split("\n"))
    lines = (line for line in normalize_body(new.raw).split("\n") if line not in known)
    return "".join(escape_own_markers(line) + "\n" for line in lines)


def _with_line_end(part: BookPart) -> BookPart:
    # At the end of its file a part may have no line end.
    return part if part.raw.endswith(("\n", "\r")) else part._replace(raw=part.raw + "\n")


def _merge_fields(old: Entry | None, mine: Entry, yours: Entry) -> Entry:
    """Return `mine` with every field that only `yours` changed, tags and ids of both, and the later change time."""
    changed: dict[str, Any] = {
        name: getattr(yours, name)
        for name in Entry._fields
        if old and getattr(mine, name) == getattr(old, name) and name != "text"
    }
    for name in ("tags", "supersedes", "about"):
        ours, theirs = getattr(mine, name), getattr(yours, name)
        if old is None or getattr(old, name) not in (ours, theirs):
            changed[name] = tuple(dict.fromkeys((*ours, *theirs)))
    if old and old.more not in (mine.more, yours.more):
        changed["more"] = _merge_more(old, mine, yours)
    updated = max(mine.updated or "", yours.updated or "")
    return mine._replace(**{**changed, "updated": updated or None})


def _merge_more(old: Entry, mine: Entry, yours: Entry) -> tuple[tuple[str, str], ...]:
    """Return the further keys of `mine`, with what only `yours` changed of them, the sightings and mention of both."""
    before, ours, theirs = dict(old.more), dict(mine.more), dict(yours.more)
    kept = {key: value for key, value in ours.items() if value != before.get(key) or theirs.get(key) == value}
    changed = {key: value for key, value in theirs.items() if value != before.get(key) and key not in kept}
    merged = mine._replace(more=tuple((kept | changed).items()))
    return choose_mention(merge_sightings(merged, old, mine, yours), mine, yours).more


def _merge_texts(old: str | None, mine: str, yours: str) -> list[str]:
    """Return one text if it contains the other or only it changed, else both."""
    if yours == old or yours in mine:
        return [mine + "\n"]
    if mine == old or mine in yours:
        return [yours + "\n"]
    return [mine + "\n", yours + "\n"]
