"""Flat notes of agents brought into books: `lineage book migrate` (format: Books; lessons: 26, 27).

Every line of a note that says something is in a book afterwards, or is named in what is given back; the note itself
stays as it is. Who wrote a line of such a file can't be told, so all of it is derived: it is in force for the agent or
project whose notes they are, and what would hold for every session waits for the user. So does what speaks of the agent
itself or grants a permission, wherever it stands: the policy would drop it, and here nothing is lost. Agents can't
migrate: what they could write into a file first would pass for notes. (reliability: poisoned memory)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from lineage.core.base.book_paths import CURATED, PENDING, BookRef
from lineage.core.base.identity import DEFAULT_AGENT, validate_agent_id
from lineage.core.base.links import to_one_line
from lineage.core.base.privacy import GLOBAL
from lineage.core.base.times import from_epoch
from lineage.core.books.book import find_superseded
from lineage.core.books.entry import TASK, compute_entry_id, parse_marker
from lineage.core.format.turns import ASSISTANT
from lineage.errors import InvalidInput
from lineage.extraction.admission_policy import (
    HARNESS,
    NOTE,
    TOO_MANY,
    Admission,
    CandidateContext,
    Provenance,
    Rejection,
    admit,
    is_permission,
    is_self_referential,
)
from lineage.extraction.candidates import Candidate
from lineage.extraction.normalize import normalize_text
from lineage.extraction.notes import NoteBlock, NoteEntry, join_blocks, parse_notes
from lineage.harness.detect_caller import Caller
from lineage.harness.note_files import FIVE_LAYER, NoteMetadata, find_note_files, infer_note_metadata
from lineage.pipeline.memory.books import refuse_agents, validate_book
from lineage.pipeline.memory.entry_writer import write_entries
from lineage.workspace.book_index import index_books
from lineage.workspace.project_folders import resolve_project_folder
from lineage.workspace.publish import publish_or_mark_stale
from lineage.workspace.workspace import Workspace

WRITTEN, WAITING, KNOWN, FORGOTTEN = "kept", "waiting", "known", "forgotten"
STATES = (WRITTEN, WAITING, KNOWN, FORGOTTEN, TOO_MANY)
MIGRATED_TAG = "migrated"
MAX_BYTES = 16 << 20
_SELF_REFERENCE, _PERMISSION = "self-reference", "permission"
_WORKSPACE_FILES = frozenset({"MEMORY.md", "AGENT_MEMORY.md"})
_WORKSPACE_FOLDERS = (".lineage/", "agents/", "archive/", "books/", "handbook/")
_SKIPPED_WORKSPACE_FILE = "it is a file of this workspace already"
_SKIPPED_BACKUP = "set aside by the five-layer memory: name it to have it read, too"


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationRequest:
    """What is to be migrated: files and folders, by absolute paths, into the workspace at `root`. `agent_id` None is
    the agent that a file's place names, else the default one. `is_dry_run` writes nothing."""

    paths: tuple[Path, ...]
    root: Path
    agent_id: str | None = None
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class MigratedEntry:
    """One entry-to-be: the line of its file where it begins, its book, and what became of it, one of `STATES`. `reason`
    says why it waits where its scope alone isn't it."""

    line: int
    scope: str
    kind: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """A file of notes: what became of each part of it, or why nothing of it was taken: it isn't to be (`skipped`), or
    can't be (`problem`)."""

    path: str
    entries: tuple[MigratedEntry, ...] = ()
    redactions: Counter[str] = field(default_factory=Counter)
    skipped: str = ""
    problem: str = ""

    @property
    def counts(self) -> Counter[str]:
        return Counter(taken.state for taken in self.entries)

    @property
    def is_complete(self) -> bool:
        """Whether nothing of it was left out."""
        return not self.problem and not self.counts[TOO_MANY]

    def as_json(self) -> dict[str, Any]:
        """The file as one JSON object: counts by state, redactions by rule, and every entry by its line."""
        keys = ("line", "scope", "kind", "state", "reason")
        return {
            "path": self.path,
            "skipped": self.skipped or None,
            "problem": self.problem or None,
            "counts": {state: self.counts[state] for state in STATES},
            "redactions": dict(sorted(self.redactions.items())),
            "entries": [{key: getattr(one, key) or None for key in keys} for one in self.entries],
        }


_NoteKey = tuple[str, str, tuple[str, ...]]
"""Kind, time and tags of what goes into one note together."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A text on its way into a book."""

    line: int
    admission: Admission
    at: str
    tags: tuple[str, ...]
    reason: str = ""

    @property
    def identifier(self) -> str:
        return compute_entry_id(self.admission.scope, self.admission.kind, self.admission.text, None)


def migrate_notes(ws: Workspace, request: MigrationRequest, caller: Caller | None = None) -> list[MigratedFile]:
    """Brings notes into books, then index and MEMORY.md up to them. Again, it adds what is new.

    Raises InvalidInput for a path where there is nothing and for an agent that there can't be, LineageError from inside
    a harness.
    """
    if not request.is_dry_run:
        refuse_agents(caller, "migrate notes")
    if request.agent_id is not None:
        validate_agent_id(request.agent_id)
    paths = sorted({path for named in request.paths for path in find_note_files(named)})
    known = _KnownEntries(ws)
    own = {path for path in paths if _is_workspace_file(path, request.root)}
    found = [_migrate_file(ws, request, path, known) for path in paths if path not in own]
    if not request.is_dry_run:
        publish_or_mark_stale(ws)
    named = [
        MigratedFile(str(path), skipped=_SKIPPED_WORKSPACE_FILE)
        for path in paths
        if path in own.intersection(request.paths)
    ]
    return [*found, *named, *(MigratedFile(str(path), skipped=_SKIPPED_BACKUP) for path in _find_backups(request))]


def _is_workspace_file(path: Path, root: Path) -> bool:
    """Whether a file is one that lineage keeps itself: of the folder `memory/` notes of a day are not."""
    path, root = path.resolve(), root.resolve()
    if not path.is_relative_to(root):
        return False
    key = path.relative_to(root).as_posix()
    is_ours = key in _WORKSPACE_FILES or key.startswith(_WORKSPACE_FOLDERS)
    return is_ours or (key.startswith("memory/") and not _parse_day(infer_note_metadata(path)))


def _find_backups(request: MigrationRequest) -> list[Path]:
    """What the five-layer memory has set aside when it migrated it, losing what stood above the first heading; whoever
    names such a file has it read. (lessons: 26)"""
    folders = {folder for path in request.paths for folder in (path, path / FIVE_LAYER) if folder.name == FIVE_LAYER}
    return sorted(path for folder in folders for path in folder.glob("*.bak") if path.is_file())


def _migrate_file(ws: Workspace, request: MigrationRequest, path: Path, known: "_KnownEntries") -> MigratedFile:
    layout, sanitizer = infer_note_metadata(path), ws.build_sanitizer()
    try:
        text = sanitizer.sanitize(_read_note(path, layout))
        tags, at = (MIGRATED_TAG, to_one_line(sanitizer.sanitize(path.name))), _find_time(ws, path, layout)
        found = parse_notes(text, layout.kind, layout.fallback)
        scope = _choose_scope(ws, request, layout) if found else ""
    except (OSError, InvalidInput) as error:
        problem = error.message if isinstance(error, InvalidInput) else error.strerror or "it can't be read"
        return MigratedFile(str(path), problem=problem)
    drafts = list(_DraftBuilder(layout.kind, scope, tags, at).build(found))
    expected = [known.classify(draft) for draft in drafts]
    taken = expected if request.is_dry_run else _write_drafts(ws, drafts, expected)
    return MigratedFile(str(path), tuple(sorted(taken, key=lambda one: one.line)), sanitizer.redactions)


def _read_note(path: Path, layout: NoteMetadata) -> str:
    """Raises OSError, and InvalidInput for what is no note: too large, no text, or a book of lineage's."""
    with path.open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InvalidInput("it has more than 16 MB", hint="take it apart first")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidInput("it is no UTF-8 text", hint="convert it first") from error
    if layout.kind == CURATED and any(map(parse_marker, text.splitlines())):
        raise InvalidInput(
            "it is a book of another workspace: `lineage bundle` brings over its entries", hint="lineage bundle --help"
        )
    return text


def _find_time(ws: Workspace, path: Path, layout: NoteMetadata) -> str:
    """The time of what notes none itself: the day that a file is of, else when it was changed."""
    if day := _parse_day(layout):
        return f"{day}T00:00:00.000Z"
    try:
        return from_epoch(path.stat().st_mtime)
    except (ValueError, OverflowError):  # of no year that there is a name for
        return ws.now


def _parse_day(layout: NoteMetadata) -> str:
    return (layout.kind or "").partition("daily/")[2]


def _choose_scope(ws: Workspace, request: MigrationRequest, layout: NoteMetadata) -> str:
    """The scope of a file's entries. Raises InvalidInput where a name in its path can't be that of a book."""
    if layout.kind == CURATED:
        return GLOBAL
    agent = request.agent_id or _parse_agent(layout.agent)
    folder = resolve_project_folder(ws, layout.project, claim=not request.is_dry_run)
    return validate_book(ws, f"project/{folder}" if folder else f"agent/{agent}", layout.kind or NOTE).scope


def _parse_agent(name: str | None) -> str:
    try:
        return validate_agent_id(name) if name else DEFAULT_AGENT
    except InvalidInput:
        return DEFAULT_AGENT


@dataclass(frozen=True, slots=True)
class _DraftBuilder:
    """What the policy makes of the pieces of a file. What it would drop isn't lost: words that must not be in force
    without the user wait in their book, what is too short or too long goes into one note, of the file's kind if any."""

    kind: str | None
    scope: str
    tags: tuple[str, ...]
    at: str

    def build(self, note_entries: Iterable[NoteEntry]) -> Iterator[_Draft]:
        withheld: dict[_NoteKey, list[NoteBlock]] = {}
        rest: dict[_NoteKey, list[NoteBlock]] = {}
        for piece in note_entries:
            kept, barred = _split_withheld(piece)
            if barred:
                withheld.setdefault(self._note_key(piece, piece.kind), []).extend(barred)
            draft = self._admit(replace(piece, blocks=kept)) if kept else None
            if draft:
                yield draft
            elif kept:
                rest.setdefault(self._note_key(piece, self.kind or NOTE), []).extend(kept)
        yield from (
            self._build_draft(noted, blocks, _find_withheld_reason(blocks)) for noted, blocks in withheld.items()
        )
        yield from (
            self._build_draft(noted, blocks, _withheld_reason(join_blocks(blocks))) for noted, blocks in rest.items()
        )

    def _note_key(self, piece: NoteEntry, kind: str) -> _NoteKey:
        """With its bullets and boxes, as it stands, a text is no task: that would get another box."""
        return NOTE if kind == TASK else kind, piece.at or self.at, (*self.tags, *piece.tags)

    def _admit(self, piece: NoteEntry) -> _Draft | None:
        """The policy judges it as a note, whatever its kind is; None where it would drop it."""
        candidate = Candidate(NOTE, piece.text, ASSISTANT, "", quote=piece.text)
        result = admit(candidate, CandidateContext(), HARNESS, self.scope)
        if isinstance(result, Rejection):
            return None
        return _Draft(piece.line, replace(result, kind=piece.kind), piece.at or self.at, (*self.tags, *piece.tags))

    def _build_draft(self, key: _NoteKey, blocks: Sequence[NoteBlock], reason: str) -> _Draft:
        (kind, at, tags), text = key, join_blocks(blocks)
        origin = Provenance(HARNESS, "", "", ASSISTANT, "", text)
        admitted = Admission(kind, text, self.scope, bool(reason) or self.scope == GLOBAL, origin)
        return _Draft(min(block.line for block in blocks), admitted, at, tags, reason)


def _find_withheld_reason(blocks: Sequence[NoteBlock]) -> str:
    """Why blocks that were set apart are: for what one of them says, or all of them together."""
    return next(
        filter(None, map(_withheld_reason, (*(block.raw for block in blocks), join_blocks(blocks)))), _PERMISSION
    )


def _split_withheld(piece: NoteEntry) -> tuple[tuple[NoteBlock, ...], tuple[NoteBlock, ...]]:
    """The blocks of a piece that may be in force, and those that may not; all of them where the others together say
    what none of them says alone."""
    if not _withheld_reason(piece.text):
        return piece.blocks, ()
    kept = tuple(block for block in piece.blocks if not _withheld_reason(block.raw))
    if len(kept) == len(piece.blocks) or _withheld_reason(join_blocks(kept)):
        return (), piece.blocks
    return kept, tuple(block for block in piece.blocks if block not in kept)


def _withheld_reason(text: str) -> str:
    """Why a text is not in force unless the user says so, "" for no reason (lessons: 17, 19)."""
    return _PERMISSION if is_permission(text) else _SELF_REFERENCE if is_self_referential(text) else ""


def _write_drafts(ws: Workspace, drafts: Sequence[_Draft], expected: Sequence[MigratedEntry]) -> list[MigratedEntry]:
    """Writes what is new; of what a full pending book has no room for the state says so. A run that died before this
    one may have left books over their caps and out of the index."""
    there: set[tuple[str, str]] = set()
    fresh = [draft for draft, one in zip(drafts, expected, strict=True) if one.state in (WRITTEN, WAITING)]
    for (at, tags), group in groupby(fresh, lambda draft: (draft.at, draft.tags)):
        kept = write_entries(ws, [draft.admission for draft in group], at=at, origin=None, tags=tags)
        there |= {(ref.shelf, entry.id) for ref, entry in kept.entries}
    refs = sorted({BookRef(one.scope, one.kind) for one in expected})
    for ref in refs:
        ws.documents.books.roll_over(ref.scope, ref.kind)
    index_books(ws, refs)
    return [
        replace(one, state=TOO_MANY) if one.state == WAITING and (PENDING, draft.identifier) not in there else one
        for one, draft in zip(expected, drafts, strict=True)
    ]


@dataclass(slots=True)
class _KnownEntries:
    """What the books hold and have forgotten, by book, as `keep` will find it: ids and texts; ids."""

    ws: Workspace
    _books: dict[tuple[str, str], tuple[set[str], frozenset[str]]] = field(default_factory=dict)

    def classify(self, draft: _Draft) -> MigratedEntry:
        """What becomes of a draft; it is known from then on."""
        admitted = draft.admission
        known, forgotten = self._load_book(admitted.scope, admitted.kind)
        keys = {draft.identifier, normalize_text(admitted.text)}
        state = FORGOTTEN if draft.identifier in forgotten else KNOWN if known & keys else ""
        if not state:
            known |= keys
        return MigratedEntry(
            draft.line,
            admitted.scope,
            admitted.kind,
            state or (WAITING if admitted.pending else WRITTEN),
            draft.reason if not state else "",
        )

    def _load_book(self, scope: str, kind: str) -> tuple[set[str], frozenset[str]]:
        if (scope, kind) not in self._books:
            shelves = self.ws.documents.books.list_shelves(scope, kind)
            books = [self.ws.documents.books.read(ref) for ref in shelves]
            entries = [entry for book in books for entry in (*book.entries, *book.handwritten_entries)]
            gone = find_superseded(entries)
            known = {normalize_text(entry.body) for entry in entries if entry.id not in gone}
            forgotten = frozenset[str]().union(*(book.forgotten_ids for book in books))
            self._books[scope, kind] = known.union(*(book.all_ids for book in books)), forgotten
        return self._books[scope, kind]
