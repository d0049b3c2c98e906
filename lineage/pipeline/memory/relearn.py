"""Learning again from captured sessions, with today's rules (`lineage memory relearn`).

What rules once found, and nobody edited, pinned, ticked or confirmed, gives way to what they find today. Everything
else stays, and what was forgotten stays forgotten, also as a part of a longer text. A transcript that can't be read
changes nothing.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, BookRef, session_scope
from lineage.core.base.links import find_target
from lineage.core.base.progress import Progress
from lineage.core.books.book import BookPart
from lineage.core.books.book_edits import remove_entry
from lineage.core.books.entry import Entry, compute_entry_id
from lineage.core.format.documents import Artifact
from lineage.core.format.tool_overlap import split_pieces
from lineage.errors import InvalidInput
from lineage.extraction.admission_policy import Admission
from lineage.extraction.candidates import HEURISTIC
from lineage.extraction.model.port import MemoryProposals
from lineage.extraction.sentence_kinds import KINDS
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.book_changes import change_books, stage_change
from lineage.pipeline.memory.books import refuse_agents
from lineage.pipeline.memory.entry_writer import (
    SIBLING_KINDS,
    WriteResult,
    clean_subjects,
    learn_from_capture,
    write_drafts,
)
from lineage.pipeline.memory.merge_statements import find_outdated, is_reworded
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.workspace import Workspace

Place = tuple[BookRef, Entry]


@dataclass(slots=True)
class RelearnResult:
    """The entries that went and that came, the number of sessions' captures read, and of damaged ones."""

    removed: list[Place] = field(default_factory=list)
    added: list[Place] = field(default_factory=list)
    read: int = 0
    unreadable: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object."""
        return {
            "captures": self.read,
            "unreadable": self.unreadable,
            "removed": [_entry_as_json(*place) for place in self.removed],
            "added": [_entry_as_json(*place) for place in self.added],
        }


def relearn_books(
    ws: Workspace, caller: Caller | None = None, *, is_dry_run: bool = False, progress: Progress | None = None
) -> RelearnResult:
    """Apply today's rules to all captured sessions, as one change of books.

    Raises LineageError inside a harness, InvalidInput if extraction is off, IndexUnavailable.
    """
    refuse_agents(caller, "replace what was learned")
    if not ws.settings.knowledge.extract:
        raise InvalidInput("extraction is off, all it found would go", hint="`extract = true` under [knowledge]")
    ws.index.list_sessions(None, limit=1)  # during an outage everything would wait
    change = partial(_relearn, ws, progress)
    return stage_change(ws, change)[0] if is_dry_run else change_books(ws, change)


def _relearn(ws: Workspace, progress: Progress | None, staged: Workspace) -> RelearnResult:
    """Relearn in a staged workspace. Transcripts are read from `ws`: nothing keeps them in memory."""
    lessons, result = list[tuple[Sequence[Admission], dict[str, Any]]](), RelearnResult()
    readable = set[str]()
    paths = sorted(_iter_transcripts(ws))
    for number, path in enumerate(paths):
        artifact = load_readable_document(ws, path)
        if isinstance(artifact, Artifact):

            def collect(_: Workspace, admissions: Sequence[Admission], **options: Any) -> WriteResult:
                lessons.append((admissions, options))
                return WriteResult((), Counter())

            learn_from_capture(staged, artifact, MemoryProposals(), write=collect)
            readable.add(path)
        if progress:
            progress(number + 1, len(paths))
    result.read, result.unreadable = len(readable), len(paths) - len(readable)
    before = _collect_entries(staged)
    found = [one for admissions, _ in lessons for one in admissions]
    # What was said in two projects is found in both, and proposed for all.
    proposals = (replace(one, scope=GLOBAL) for one in found if one.is_user_stated)
    clean = staged.build_sanitizer().sanitize
    siblings = (replace(one, kind=SIBLING_KINDS[one.kind]) for one in found if one.kind in SIBLING_KINDS)
    both = (*found, *siblings, *proposals)
    wanted = {_compute_id(staged, one): clean_subjects(one.about, clean) for one in both}
    kept = _remove_replaceable(staged, readable, wanted)
    for admissions, options in lessons:
        write_drafts(staged, [one for one in admissions if kept.isdisjoint(_iter_part_ids(one))], **options)
    after = _collect_entries(staged)
    result.removed = [place for name, place in before.items() if name not in after]
    result.added = [place for name, place in after.items() if name not in before]
    return result


def _iter_transcripts(ws: Workspace) -> Iterator[str]:
    for entry in ws.documents.store.list(naming.MEMORY):
        name = naming.parse_path(entry.key)
        if name and name.kind == naming.TRANSCRIPT:
            yield entry.key


def _remove_replaceable(ws: Workspace, readable: set[str], wanted: Mapping[str, Sequence[str]]) -> set[str]:
    """Remove what today's rules no longer find, or find otherwise: `wanted` is by id what entries are about.

    Return the ids of what a person has touched, or forgotten.
    """
    books = {ref: ws.documents.books.read(ref) for ref in ws.documents.books.list()}
    touched, superseded, replaceable = set[str](), set[str](), dict[BookRef, list[str]]()
    for ref, book in books.items():
        touched |= book.forgotten_ids
        for part in book.parts:
            if part.entry and _is_replaceable(ref, part, readable):
                replaceable.setdefault(ref, []).append(part.entry.id)
            elif part.entry:
                touched.add(part.entry.id)
                superseded.update(part.entry.supersedes)
    for ref, names in replaceable.items():
        outdated = find_outdated(books[ref], wanted) if not ref.shelf else set()
        kept = touched | superseded
        gone = [name for name in names if (name not in wanted or name in outdated) and name not in kept]
        ws.documents.books.write_merged(ref, books[ref], reduce(remove_entry, gone, books[ref]))
    return touched


def _is_replaceable(ref: BookRef, part: BookPart, readable: set[str]) -> bool:
    """Return whether rules found an entry in a transcript that can be read again, and nobody has touched it."""
    entry = part.entry
    if entry is None or not part.is_complete or HEURISTIC not in entry.tags:
        return False
    path = find_target(entry.origin or "").partition("#^")[0]
    path = path if path.endswith(".md") else f"{path}.md"
    return path in readable and not (is_reworded(ref, entry) or entry.is_touched)


def _compute_id(ws: Workspace, admission: Admission) -> str:
    text = ws.build_sanitizer().sanitize(admission.text)
    return compute_entry_id(admission.scope, admission.kind, text, admission.provenance.turn_id or None)


def _iter_part_ids(admission: Admission) -> Iterator[str]:
    """Yield the ids that a text, and each sentence of it, would have as an entry of any kind."""
    provenance = admission.provenance
    texts = {admission.text, *split_pieces(admission.text), provenance.quote, *split_pieces(provenance.quote)}
    for scope in {admission.scope, GLOBAL, session_scope(provenance.session)}:
        for kind in {admission.kind, *KINDS}:
            for text in filter(None, texts):
                yield from (compute_entry_id(scope, kind, text, turn) for turn in {provenance.turn_id, None})


def _collect_entries(ws: Workspace) -> dict[tuple[str, str, str], Place]:
    places = ((ref, entry) for ref in ws.documents.books.list() for entry in ws.documents.books.read(ref).entries)
    return {(ref.scope, ref.kind, entry.id): (ref, entry) for ref, entry in places}


def _entry_as_json(ref: BookRef, entry: Entry) -> dict[str, Any]:
    return {"id": entry.id, "scope": ref.scope, "kind": ref.kind, "trust": entry.trust, "text": entry.body}
