"""What becomes of a file that two sides hold in two versions.

No word of either is lost. A book is brought together by entry, a manifest by link, a note by line; where people changed
the same lines of a note, the version here is kept beside the other one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from lineage.core.book import new_book, parsed_book, serialized_book
from lineage.core.book_paths import ref_of
from lineage.core.documents import Claim, Manifest, Tombstone, parsed, parsed_as, serialized
from lineage.core.manifest_merging import merged_manifests
from lineage.core.merging import merged
from lineage.core.mirrored import Sort, sort_of
from lineage.core.text_merging import merged_text
from lineage.errors import FormatError


class Met(NamedTuple):
    """What both sides shall hold, and what is kept beside it under another name."""

    data: bytes
    beside: bytes | None = None


def met(key: str, base: bytes | None, here: bytes | None, there: bytes | None) -> Met:
    """The two versions brought together; None stands for a book's file that is gone. `base` is what both began from,
    None where nobody knows. Raises FormatError where a file of lineage's own is damaged; artifacts are never given."""
    sort = sort_of(key)
    if sort is Sort.BOOK:
        return Met(_book(key, base, here, there))
    assert here is not None
    assert there is not None
    if sort is Sort.MANIFEST:
        return Met(_manifest(key, base, here, there))
    if sort is Sort.CLAIM:
        return Met(min((there, here), key=lambda data: parsed_as(Claim, data, key).stem))
    if sort is Sort.TOMBSTONE:
        return Met(_tombstone(key, here, there))
    return _note(base, here, there)


def checked(key: str, data: bytes) -> bytes:
    """A file that is about to be copied. Raises FormatError for a damaged one of lineage's own; a damaged tombstone
    counts, so it is copied too."""
    if sort_of(key) in (Sort.CLAIM, Sort.ARTIFACT, Sort.MANIFEST):
        parsed(data, key)
    return data


def conflict_name(key: str, day: str, number: int) -> str:
    """The name under which a version is kept beside the other.

    >>> conflict_name("ideas/Plans.md", "2026-11-22", 1), conflict_name("LICENSE", "2026-11-22", 2)
    ('ideas/Plans (conflict 2026-11-22).md', 'LICENSE (conflict 2026-11-22, 2)')
    """
    folder, slash, name = key.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, f"{dot}{ending}") if stem else (name, "")
    return f"{folder}{slash}{stem} (conflict {day}{f', {number}' if number > 1 else ''}){ending}"


def _book(key: str, base: bytes | None, here: bytes | None, there: bytes | None) -> bytes:
    ref = ref_of(key)
    assert ref is not None
    books = [
        new_book(ref.scope, ref.kind) if data is None else parsed_book(data, ref.scope, ref.kind)
        for data in (base, here, there)
    ]
    return serialized_book(merged(*books))


def _manifest(key: str, base: bytes | None, here: bytes, there: bytes) -> bytes:
    began = parsed_as(Manifest, base, key) if base is not None else None
    ours, theirs = parsed_as(Manifest, here, key), parsed_as(Manifest, there, key)
    result = merged_manifests(began, ours, theirs)
    return here if result is ours else there if result is theirs else serialized(result)


def _tombstone(key: str, here: bytes, there: bytes) -> bytes:
    """The earlier removal, with what either removed. Of two that are damaged the one there stays."""
    found: list[Tombstone] = []
    for data in (there, here):
        try:
            found.append(parsed_as(Tombstone, data, key))
        except FormatError:
            continue
    if len(found) < 2:
        return serialized(found[0]) if found else there
    first, second = sorted(found, key=lambda one: (one.removed_at, one.reason, serialized(one)))
    return serialized(
        first._replace(
            removed_paths=_both(first.removed_paths, second.removed_paths),
            removed_turns=_both(first.removed_turns, second.removed_turns),
            imported_from=_both(first.imported_from, second.imported_from),
        )
    )


def _both(one: Sequence[str], other: Sequence[str]) -> list[str]:
    return list(dict.fromkeys((*one, *other)))


def _note(base: bytes | None, here: bytes, there: bytes) -> Met:
    try:
        texts = [data.decode("utf-8") for data in (base, here, there) if data is not None]
    except UnicodeDecodeError:
        return Met(there, beside=here)
    result = merged_text(*texts) if len(texts) == 3 else None
    return Met(there, beside=here) if result is None else Met(result.encode())
