"""The merge of two versions of a file.

No word of either is lost. A book is merged by entry, a manifest by link, a note by line. If both sides changed the same
lines of a note, the version here is kept under another name.

A merged manifest has a new revision, each link that one side added, and no link of the ancestor that one side dropped
(spec: mutable session manifest). The same two versions give the same bytes on every machine, so several mirrors agree.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import parse_book_path
from lineage.core.base.note_paths import find_block, replace_block
from lineage.core.books.book import new_book, parse_book, serialize_book
from lineage.core.books.merge import merge_books
from lineage.core.format.body import hash_body
from lineage.core.format.documents import (
    Claim,
    Manifest,
    Tombstone,
    parse_document,
    parse_document_as,
    serialize_document,
)
from lineage.core.format.manifest import render_manifest_body
from lineage.errors import FormatError
from lineage.pipeline.transfer.file_kinds import FileKind, classify_file
from lineage.workspace.book_folders import CLAIM_NOTE

_WRITE_ID = 32


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
    if key.endswith(f"/{CLAIM_NOTE}"):  # of two claims of a folder one wins
        return MergedFile(there)
    block = find_block(there)
    if block is not None and find_block(here) is not None:  # each side renders it again: a person's text is merged
        text = block.decode("utf-8", "replace")
        base, here = (replace_block(data, text) or data if data else data for data in (base, here))
        assert here is not None
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
        was_private=first.was_private or second.was_private,
    )
    return serialize_document(merged)


def _merge_note(base: bytes | None, here: bytes, there: bytes) -> MergedFile:
    if here == there:
        return MergedFile(there)
    try:
        texts = [data.decode("utf-8") for data in (base, here, there) if data is not None]
    except UnicodeDecodeError:
        return MergedFile(there, conflict_copy=here)
    result = merge_texts(*texts) if len(texts) == 3 else None
    return MergedFile(there, conflict_copy=here) if result is None else MergedFile(result.encode())


class _CommonLines(NamedTuple):
    """A run of lines common to all three texts, by its start in each."""

    base: int
    ours: int
    theirs: int
    length: int


def merge_texts(base: str, ours: str, theirs: str) -> str | None:
    r"""Merge the changes of both to `base`. Return None if they touch the same or adjacent lines.

    >>> merge_texts("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n")
    'A\nb\nC\n'
    >>> merge_texts("a\n", "b\n", "c\n") is None
    True
    """
    lines = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    merged: list[str] = []
    at = _CommonLines(0, 0, 0, 0)
    for common in _iter_common(*lines):
        old, mine, yours = (lines[n][at[n] + at.length : common[n]] for n in range(3))
        if mine not in (old, yours) and yours != old:
            return None
        merged += mine if yours == old else yours
        merged += lines[0][common.base : common.base + common.length]
        at = common
    return "".join(merged)


def _iter_common(base: Sequence[str], ours: Sequence[str], theirs: Sequence[str]) -> Iterator[_CommonLines]:
    """Yield the common runs of lines in order, and an empty one at the end."""
    their_blocks = _matching_blocks(base, theirs)
    for start, mine, length in _matching_blocks(base, ours):
        for other, place, size in their_blocks:
            first, last = max(start, other), min(start + length, other + size)
            if first < last:
                yield _CommonLines(first, mine + first - start, place + first - other, last - first)
    yield _CommonLines(len(base), len(ours), len(theirs), 0)


def _matching_blocks(base: Sequence[str], other: Sequence[str]) -> list[tuple[int, int, int]]:
    return [(block.a, block.b, block.size) for block in SequenceMatcher(None, base, other, False).get_matching_blocks()]


def merge_manifests(base: Manifest | None, one: Manifest, other: Manifest) -> Manifest:
    """Merge two manifests. Return one of them unchanged if it holds the links of both."""
    older, newer = sorted((one, other), key=lambda m: (m.revision, m.updated_at, m.write_id))
    merged = _merge_links(base, older, newer)
    for side in (newer, older):
        if _without_revision(merged) == _without_revision(side):
            return side
    body = render_manifest_body(merged) if merged.captures or merged.compactions else newer.body
    return merged._replace(
        body=body,
        content_sha256=hash_body(body),
        revision=newer.revision + 1,
        write_id=hashlib.sha256(f"{older.write_id}\n{newer.write_id}".encode()).hexdigest()[:_WRITE_ID],
        updated_at=max(older.updated_at, newer.updated_at),
    )


def _merge_links(base: Manifest | None, older: Manifest, newer: Manifest) -> Manifest:
    def merge_links(field: Callable[[Manifest], list[str]]) -> list[str]:
        ours, theirs = set(field(newer)), set(field(older))
        ancestor = set(field(base)) if base else set()
        return sorted((ours | theirs) - (ancestor - ours) - (ancestor - theirs))

    captures, compactions = merge_links(lambda m: m.captures), merge_links(lambda m: m.compactions)
    first = older if captures and captures[0] not in newer.captures else newer
    last = older if captures and captures[-1] not in newer.captures else newer
    return newer._replace(
        captures=captures,
        compactions=compactions,
        sub_agents=merge_links(lambda m: m.sub_agents),
        previous=merge_links(lambda m: m.previous)[-1:],
        related=merge_links(lambda m: m.related),
        transcript_path=naming.artifact_path(captures[-1], naming.TRANSCRIPT) if captures else None,
        summary_path=naming.artifact_path(captures[-1], naming.SUMMARY) if captures else None,
        compaction_path=naming.artifact_path(compactions[-1], naming.COMPACTION) if compactions else None,
        memory_md_refs=merge_links(lambda m: m.memory_md_refs),
        resanitized=list(dict.fromkeys((*newer.resanitized, *older.resanitized))),
        project=newer.project or older.project,
        partial=newer.partial and older.partial,
        started_at=first.started_at,
        ended_at=last.ended_at,
        title=last.title,
        aliases=last.aliases,
    )


def _without_revision(manifest: Manifest) -> Manifest:
    """Return a manifest without the fields of its latest write."""
    return manifest._replace(body="", content_sha256="", revision=0, write_id="", updated_at="")
