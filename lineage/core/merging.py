"""Two changed versions of a book brought together, entry by entry, against the one that both began from.

No word of either is lost: where both changed the same text, both texts stay. What one side forgot stays forgotten.
(format: Books)
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

from lineage.core.body import normalized
from lineage.core.book import Book, Part, appended, entry_part, tombstone_part, with_parts
from lineage.core.entry import Entry, entry_id, with_text, without_own_markers

_Key = tuple[str, int]


def merged(base: Book, ours: Book, theirs: Book) -> Book:
    """`base` is what was read, `ours` what was made of it, `theirs` what lies there now. Order, free text and
    frontmatter are theirs, unless only we changed them."""
    if ours in (base, theirs):
        return theirs
    if theirs == base:
        return ours
    is_ours = _loose(theirs) == _loose(base) != _loose(ours)
    sides = (ours, theirs) if is_ours else (theirs, ours)
    merge = _Merge(base, *sides)
    return merge.with_loose_lines(merge.with_marks(with_parts(sides[0], merge.parts())))


@dataclass(frozen=True, slots=True)
class _Merge:
    """`mine` gives the order; what `yours` did is brought into it."""

    base: Book
    mine: Book
    yours: Book

    def parts(self) -> Iterable[Part]:
        base, yours, mine = _keyed(self.base), _keyed(self.yours), _keyed(self.mine)
        keys = {id(part): key for key, part in mine.items()}
        for part in self.mine.parts:
            if part.entry is None:
                yield part
            else:
                key = keys[id(part)]
                yield from self._outcome(key, base, part, yours.get(key))
        for key, part in yours.items():
            if key not in mine:
                yield from (self._apart(one) for one in self._outcome(key, base, None, part))

    def _outcome(self, key: _Key, base: Mapping[_Key, Part], mine: Part | None, yours: Part | None) -> list[Part]:
        old = base.get(key)
        if key[0] in (self.mine.forgotten | self.yours.forgotten) - self.base.forgotten:
            return [Part(words) for part in (mine, yours) if part and old and (words := _added(old, part))]
        if mine is None or yours is None:
            left = mine or yours
            return [left] if left and (old is None or not _same(left, old)) else []
        if _same(mine, yours) or (old and _same(yours, old)):
            return [mine]
        if old and _same(mine, old):
            return [self._here(yours)]
        if not (mine.sound and yours.sound):
            return [self._here(mine), self._here(yours)]
        return self._combined(old, mine, yours)

    def _combined(self, old: Part | None, mine: Part, yours: Part) -> list[Part]:
        assert mine.entry is not None
        assert yours.entry is not None
        before = old.entry if old and old.entry else None
        entry = _fields_of_both(before, mine.entry, yours.entry)
        first, *rest = _texts_of_both(_text(old) if old else None, _text(mine), _text(yours))
        other = [
            with_text(entry, text)._replace(id=entry_id(self.mine.scope, self.mine.kind, text, entry.id))
            for text in rest
        ]
        return [entry_part(self.mine, one) for one in (with_text(entry, first), *other)]

    def _here(self, part: Part) -> Part:
        """A part of the other side in this one's place; it may have stood at the end of its file."""
        return part._replace(raw=_ended(part.raw))

    def _apart(self, part: Part) -> Part:
        end = self.mine.line_end
        return part._replace(raw=end * 2 + _ended(part.raw), entry=None)

    def with_marks(self, book: Book) -> Book:
        missing = sorted((self.yours.forgotten - self.base.forgotten) - book.forgotten)
        return appended(book, *(tombstone_part(book, identifier) for identifier in missing))

    def with_loose_lines(self, book: Book) -> Book:
        """The lines outside of entries that only `yours` has, where both sides changed what stands there."""
        base, mine, yours = _loose(self.base), _loose(self.mine), _loose(self.yours)
        if yours in (base, mine):
            return book
        steps = SequenceMatcher(a=base, b=yours, autojunk=False).get_opcodes()
        fresh = [line for sort, _, _, start, stop in steps if sort != "equal" for line in yours[start:stop]]
        held, kept = Counter(mine) - Counter(base), []
        for line in fresh:
            held[line] -= 1
            kept += [line] if held[line] < 0 else []
        return appended(book, Part(book.line_end.join(kept) + book.line_end)) if kept else book


def _keyed(book: Book) -> dict[_Key, Part]:
    """The entries by id, and of copies by their number."""
    counts: Counter[str] = Counter()
    keyed: dict[_Key, Part] = {}
    for part in book.parts:
        if part.entry:
            keyed[part.entry.id, counts[part.entry.id]] = part
            counts[part.entry.id] += 1
    return keyed


def _loose(book: Book) -> list[str]:
    """The lines outside of entries, white space at their ends and empty ones aside."""
    texts = (book.head, *(part.raw for part in book.parts if part.is_free))
    return [line.rstrip() for text in texts for line in normalized(text).split("\n") if line.strip()]


def _text(part: Part) -> str:
    return normalized(part.entry.text).strip("\n") if part.entry else ""


def _same(one: Part, other: Part) -> bool:
    return one.sound == other.sound and normalized(one.raw) == normalized(other.raw)


def _added(old: Part, new: Part) -> str:
    """The lines that somebody wrote into an entry that is forgotten now; no marker among them is one any more."""
    held = set(normalized(old.raw).split("\n"))
    lines = (line for line in normalized(new.raw).split("\n") if line not in held)
    return "".join(without_own_markers(line) + "\n" for line in lines)


def _ended(text: str) -> str:
    return text if text.endswith(("\n", "\r")) else text + "\n"


def _fields_of_both(old: Entry | None, mine: Entry, yours: Entry) -> Entry:
    """Mine, with every field that only yours changed; tags and ids of both; the later time of change."""
    changed: dict[str, Any] = {
        name: getattr(yours, name)
        for name in Entry._fields
        if old and getattr(mine, name) == getattr(old, name) and name != "text"
    }
    if old is None or old.tags not in (mine.tags, yours.tags):
        changed["tags"] = tuple(dict.fromkeys((*mine.tags, *yours.tags)))
    if old is None or old.supersedes not in (mine.supersedes, yours.supersedes):
        changed["supersedes"] = tuple(dict.fromkeys((*mine.supersedes, *yours.supersedes)))
    updated = max(mine.updated or "", yours.updated or "")
    return mine._replace(**{**changed, "updated": updated or None})


def _texts_of_both(old: str | None, mine: str, yours: str) -> list[str]:
    """One text where one of them says it all, else both."""
    if yours == old or yours in mine:
        return [mine + "\n"]
    if mine == old or mine in yours:
        return [yours + "\n"]
    return [mine + "\n", yours + "\n"]
