"""The merge of two versions of a file.

No word of either is lost. A book is merged by entry, a manifest by link, a note by line. If both sides changed the same
lines of a note, the version here is kept under another name.
"""

import contextlib
from typing import NamedTuple

from lineage.core.base.book_paths import parse_book_path
from lineage.core.books.book import new_book, parse_book, serialize_book
from lineage.core.books.merge import merge_books
from lineage.core.format.documents import (
    Claim,
    Manifest,
    Tombstone,
    parse_document,
    parse_document_as,
    serialize_document,
)
from lineage.errors import FormatError
from lineage.pipeline.transfer.file_kinds import FileKind, classify_file
from lineage.pipeline.transfer.mirror.manifest_merge import merge_manifests
from lineage.pipeline.transfer.mirror.text_merge import merge_texts


class MergedFile(NamedTuple):
    """The content for both sides, and a version to keep under another name."""

    data: bytes
    conflict_copy: bytes | None = None


def merge_versions(key: str, base: bytes | None, here: bytes | None, there: bytes | None) -> MergedFile:
    """Merge two versions of a file that is no artifact; None stands for a deleted file of a book.

    `base` is the common ancestor, None if unknown. Raises FormatError for a damaged document.
    """
    kind = classify_file(key)
    if kind is FileKind.BOOK:
        ref = parse_book_path(key)
        assert ref is not None
        versions = (
            new_book(ref.scope, ref.kind) if data is None else parse_book(data, ref.scope, ref.kind)
            for data in (base, here, there)
        )
        return MergedFile(serialize_book(merge_books(*versions)))
    assert here is not None
    assert there is not None
    if kind is FileKind.MANIFEST:
        ancestor = parse_document_as(Manifest, base, key) if base is not None else None
        ours, theirs = parse_document_as(Manifest, here, key), parse_document_as(Manifest, there, key)
        merged = merge_manifests(ancestor, ours, theirs)
        return MergedFile(here if merged is ours else there if merged is theirs else serialize_document(merged))
    if kind is FileKind.CLAIM:
        return MergedFile(min((there, here), key=lambda data: parse_document_as(Claim, data, key).stem))
    if kind is FileKind.TOMBSTONE:
        return MergedFile(_merge_tombstone(key, here, there))
    return _merge_note(base, here, there)


def validate_file(key: str, data: bytes) -> bytes:
    """Return a file's content for a copy. Raises FormatError for a damaged document other than a tombstone."""
    if classify_file(key) in (FileKind.CLAIM, FileKind.ARTIFACT, FileKind.MANIFEST):
        parse_document(data, key)
    return data


def conflict_name(key: str, day: str, number: int) -> str:
    """Return the name for a version kept beside the other.

    >>> conflict_name("ideas/Plans.md", "2026-11-22", 1), conflict_name("LICENSE", "2026-11-22", 2)
    ('ideas/Plans (conflict 2026-11-22).md', 'LICENSE (conflict 2026-11-22, 2)')
    """
    folder, slash, name = key.rpartition("/")
    stem, dot, ending = name.rpartition(".")
    stem, ending = (stem, f"{dot}{ending}") if stem else (name, "")
    return f"{folder}{slash}{stem} (conflict {day}{f', {number}' if number > 1 else ''}){ending}"


def _merge_tombstone(key: str, here: bytes, there: bytes) -> bytes:
    """Return the earlier removal with the paths, turns and tokens of both. Of two damaged ones, the one there stays."""
    tombstones: list[Tombstone] = []
    for data in (there, here):
        with contextlib.suppress(FormatError):
            tombstones.append(parse_document_as(Tombstone, data, key))
    if len(tombstones) < 2:
        return serialize_document(tombstones[0]) if tombstones else there
    first, second = sorted(tombstones, key=lambda one: (one.removed_at, one.reason, serialize_document(one)))
    merged = first._replace(
        removed_paths=list(dict.fromkeys((*first.removed_paths, *second.removed_paths))),
        removed_turns=list(dict.fromkeys((*first.removed_turns, *second.removed_turns))),
        imported_from=list(dict.fromkeys((*first.imported_from, *second.imported_from))),
    )
    return serialize_document(merged)


def _merge_note(base: bytes | None, here: bytes, there: bytes) -> MergedFile:
    try:
        texts = [data.decode("utf-8") for data in (base, here, there) if data is not None]
    except UnicodeDecodeError:
        return MergedFile(there, conflict_copy=here)
    result = merge_texts(*texts) if len(texts) == 3 else None
    return MergedFile(there, conflict_copy=here) if result is None else MergedFile(result.encode())
