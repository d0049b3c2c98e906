"""Migration of agents' flat notes into books: `lineage memory migrate` (format: Books; lessons: 26, 27).

Every non-blank line of a note ends up in a book or in the result; the note itself stays as it is. The author of a line
is unknown, so all entries are derived. They are in force for their agent or project, and global ones wait for the user.
Self-references and permissions wait in any scope: the policy would drop them, but a migration loses nothing. Agents
can't migrate: they could write a file first and pass it off as notes. (reliability: poisoned memory)
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from lineage.core.base.book_paths import CURATED, GLOBAL, PENDING
from lineage.core.base.links import to_one_line
from lineage.core.base.naming import DEFAULT_AGENT, validate_agent_id
from lineage.core.base.normalize import normalize_text
from lineage.core.base.times import from_epoch
from lineage.core.books.entry import TASK, compute_entry_id, parse_marker
from lineage.core.format.turns import ASSISTANT
from lineage.errors import InvalidInput
from lineage.extraction import admission_policy as policy
from lineage.extraction.admission_policy import NOTE, TOO_MANY, Admission
from lineage.extraction.candidates import Candidate
from lineage.extraction.notes import NoteBlock, NoteEntry, join_blocks, parse_notes
from lineage.harness.detect_caller import Caller
from lineage.harness.note_files import FIVE_LAYER, NoteMetadata, find_note_files, infer_note_metadata
from lineage.pipeline.memory.book_changes import change_books
from lineage.pipeline.memory.books import refuse_agents, validate_book
from lineage.pipeline.memory.entry_writer import collect_known, write_drafts
from lineage.workspace.book_folders import resolve_project_folder
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
    """A request to migrate files and folders, by absolute paths, into the workspace at `root`.

    `agent_id` None stands for the agent named in a file's path, else the default one. `is_dry_run` writes nothing.
    """

    paths: tuple[Path, ...]
    root: Path
    agent_id: str | None = None
    is_dry_run: bool = False


@dataclass(frozen=True, slots=True)
class MigratedEntry:
    """One entry of a note: its first line, its book, and its state, one of `STATES`.

    `reason` says why it waits, "" if its scope alone is the reason.
    """

    line: int
    scope: str
    kind: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MigratedFile:
    """The result for one file of notes: its entries, or the reason to skip it, or the problem with it."""

    path: str
    entries: tuple[MigratedEntry, ...] = ()
    redactions: Counter[str] = field(default_factory=Counter)
    skipped: str = ""
    problem: str = ""

    @property
    def counts(self) -> Counter[str]:
        """The number of entries by state."""
        return Counter(entry.state for entry in self.entries)

    @property
    def is_complete(self) -> bool:
        """Whether no entry was left out."""
        return not self.problem and not self.counts[TOO_MANY]

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object: counts by state, redactions by rule, and every entry."""
        keys = ("line", "scope", "kind", "state", "reason")
        return {
            "path": self.path,
            "skipped": self.skipped or None,
            "problem": self.problem or None,
            "counts": {state: self.counts[state] for state in STATES},
            "redactions": dict(sorted(self.redactions.items())),
            "entries": [{key: getattr(entry, key) or None for key in keys} for entry in self.entries],
        }


_NoteKey = tuple[str, str, tuple[str, ...]]  # kind, time and tags of blocks that go into one note together


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
        """The id of its entry."""
        return compute_entry_id(self.admission.scope, self.admission.kind, self.admission.text, None)


def migrate_notes(ws: Workspace, request: MigrationRequest, caller: Caller | None = None) -> list[MigratedFile]:
    """Write notes into books, then update index and MEMORY.md. A second run adds only new entries.

    Raises InvalidInput for a path without a file and for an invalid agent id, LineageError inside a harness.
    """
    if not request.is_dry_run:
        refuse_agents(caller, "migrate notes")
    if request.agent_id is not None:
        validate_agent_id(request.agent_id)
    paths = sorted({path for requested in request.paths for path in find_note_files(requested)})
    workspace_files = {path for path in paths if _is_workspace_file(path, request.root)}

    def migrate(staged: Workspace) -> list[MigratedFile]:
        known = _KnownEntries(staged)
        return [_migrate_file(staged, request, path, known) for path in paths if path not in workspace_files]

    migrated = migrate(ws) if request.is_dry_run else change_books(ws, migrate)
    # A file of the workspace is skipped silently if it only lies in a requested folder.
    skipped = [(path, _SKIPPED_WORKSPACE_FILE) for path in sorted(workspace_files.intersection(request.paths))]
    # The backups in five-layer folders hold text that its own migration lost: read only if named (lessons: 26).
    folders = {folder for path in request.paths for folder in (path, path / FIVE_LAYER) if folder.name == FIVE_LAYER}
    backups = sorted(path for folder in folders for path in folder.glob("*.bak") if path.is_file())
    skipped += [(path, _SKIPPED_BACKUP) for path in backups]
    return [*migrated, *(MigratedFile(str(path), skipped=reason) for path, reason in skipped)]


def _is_workspace_file(path: Path, root: Path) -> bool:
    """Return whether lineage itself writes the file. Daily notes in `memory/` are not lineage's."""
    path, root = path.resolve(), root.resolve()
    if not path.is_relative_to(root):
        return False
    key = path.relative_to(root).as_posix()
    if key in _WORKSPACE_FILES or key.startswith(_WORKSPACE_FOLDERS):
        return True
    return key.startswith("memory/") and not _parse_day(infer_note_metadata(path))


def _migrate_file(ws: Workspace, request: MigrationRequest, path: Path, known: "_KnownEntries") -> MigratedFile:
    layout, sanitizer = infer_note_metadata(path), ws.build_sanitizer()
    try:
        text = sanitizer.sanitize(_read_note(path, layout))
        tags, at = (MIGRATED_TAG, to_one_line(sanitizer.sanitize(path.name))), _find_time(ws, path, layout)
        note_entries = parse_notes(text, layout.kind, layout.fallback)
        scope = _choose_scope(ws, request, layout) if note_entries else ""
    except (OSError, InvalidInput) as error:
        problem = error.message if isinstance(error, InvalidInput) else error.strerror or "it can't be read"
        return MigratedFile(str(path), problem=problem)
    drafts = list(_DraftBuilder(layout.kind, scope, tags, at).build(note_entries))
    expected = [known.classify(draft) for draft in drafts]
    entries = expected if request.is_dry_run else _write_drafts(ws, drafts, expected)
    return MigratedFile(str(path), tuple(sorted(entries, key=lambda entry: entry.line)), sanitizer.redactions)


def _read_note(path: Path, layout: NoteMetadata) -> str:
    """Return a note's text. Raises OSError, and InvalidInput if it is too large, no text, or a book of lineage's."""
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
        problem = "it is a book of another workspace: `lineage admin bundle` brings over its entries"
        raise InvalidInput(problem, hint="run `lineage admin bundle --help`")
    return text


def _find_time(ws: Workspace, path: Path, layout: NoteMetadata) -> str:
    """Return the default time of a file's entries: the day in its path, else the time of its last change."""
    if day := _parse_day(layout):
        return f"{day}T00:00:00.000Z"
    try:
        return from_epoch(path.stat().st_mtime)
    except (ValueError, OverflowError):  # a broken file time, of a year over 9999
        return ws.now


def _parse_day(layout: NoteMetadata) -> str:
    return (layout.kind or "").partition("daily/")[2]


def _choose_scope(ws: Workspace, request: MigrationRequest, layout: NoteMetadata) -> str:
    """Return the scope of a file's entries. Raises InvalidInput for a name in its path that no book can have."""
    if layout.kind == CURATED:
        return GLOBAL
    try:
        agent = request.agent_id or validate_agent_id(layout.agent or DEFAULT_AGENT)
    except InvalidInput:
        agent = DEFAULT_AGENT
    folder = resolve_project_folder(ws, layout.project, claim=not request.is_dry_run)
    return validate_book(ws, f"project/{folder}" if folder else f"agent/{agent}", layout.kind or NOTE).scope


@dataclass(frozen=True, slots=True)
class _DraftBuilder:
    """The policy for the entries of a file, without losing those that it rejects.

    Self-references and permissions wait in their book. Entries that are too short or too long go into one note, of the
    file's kind if it has one.
    """

    kind: str | None
    scope: str
    tags: tuple[str, ...]
    at: str

    def build(self, note_entries: Iterable[NoteEntry]) -> Iterator[_Draft]:
        """Yield the drafts of these entries, the collected notes last."""
        withheld: dict[_NoteKey, list[NoteBlock]] = {}
        rest: dict[_NoteKey, list[NoteBlock]] = {}
        for entry in note_entries:
            allowed_blocks, withheld_blocks = _split_withheld(entry)
            if withheld_blocks:
                withheld.setdefault(self._note_key(entry, entry.kind), []).extend(withheld_blocks)
            draft = self._admit(replace(entry, blocks=allowed_blocks)) if allowed_blocks else None
            if draft:
                yield draft
            elif allowed_blocks:
                rest.setdefault(self._note_key(entry, self.kind or NOTE), []).extend(allowed_blocks)
        for key, blocks in withheld.items():
            texts = (*(block.raw for block in blocks), join_blocks(blocks))
            yield self._build_draft(key, blocks, next(filter(None, map(_withheld_reason, texts)), _PERMISSION))
        for key, blocks in rest.items():
            yield self._build_draft(key, blocks, _withheld_reason(join_blocks(blocks)))

    def _note_key(self, entry: NoteEntry, kind: str) -> _NoteKey:
        # The raw text of a task has a box already: as an entry of kind task it would get another one.
        return NOTE if kind == TASK else kind, entry.at or self.at, (*self.tags, *entry.tags)

    def _admit(self, entry: NoteEntry) -> _Draft | None:
        """Judge an entry as a note, of any kind. Return None if the policy rejects it."""
        candidate = Candidate(NOTE, entry.text, ASSISTANT, "", quote=entry.text)
        result = policy.admit(candidate, policy.CandidateContext(), policy.HARNESS, self.scope)
        if isinstance(result, policy.Rejection):
            return None
        return _Draft(entry.line, replace(result, kind=entry.kind), entry.at or self.at, (*self.tags, *entry.tags))

    def _build_draft(self, key: _NoteKey, blocks: Sequence[NoteBlock], reason: str) -> _Draft:
        (kind, at, tags), text = key, join_blocks(blocks)
        provenance = policy.Provenance(policy.HARNESS, "", "", ASSISTANT, "", text)
        admission = Admission(kind, text, self.scope, bool(reason) or self.scope == GLOBAL, provenance)
        return _Draft(min(block.line for block in blocks), admission, at, tags, reason)


def _split_withheld(entry: NoteEntry) -> tuple[tuple[NoteBlock, ...], tuple[NoteBlock, ...]]:
    """Return the blocks of an entry that may be in force, and those that must wait."""
    if not _withheld_reason(entry.text):
        return entry.blocks, ()
    allowed = tuple(block for block in entry.blocks if not _withheld_reason(block.raw))
    # A permission may stretch over blocks that are harmless alone: then all of them wait.
    if len(allowed) == len(entry.blocks) or _withheld_reason(join_blocks(allowed)):
        return (), entry.blocks
    return allowed, tuple(block for block in entry.blocks if block not in allowed)


def _withheld_reason(text: str) -> str:
    """Return the reason for a text to wait for the user, "" for none (lessons: 17, 19)."""
    return _PERMISSION if policy.is_permission(text) else _SELF_REFERENCE if policy.is_self_referential(text) else ""


def _write_drafts(ws: Workspace, drafts: Sequence[_Draft], expected: Sequence[MigratedEntry]) -> list[MigratedEntry]:
    """Write the new drafts. Those without room in a full pending book get the state TOO_MANY."""
    written: set[tuple[str, str]] = set()
    new = [draft for draft, entry in zip(drafts, expected, strict=True) if entry.state in (WRITTEN, WAITING)]
    for (at, tags), group in groupby(new, lambda draft: (draft.at, draft.tags)):
        result = write_drafts(ws, [draft.admission for draft in group], at=at, origin=None, tags=tags)
        written |= {(ref.shelf, entry.id) for ref, entry in result.entries}
    for scope, kind in sorted({(entry.scope, entry.kind) for entry in expected}):
        ws.documents.books.roll_over(scope, kind)
    lost = {draft for draft in new if draft.admission.pending and (PENDING, draft.identifier) not in written}
    pairs = zip(expected, drafts, strict=True)
    return [replace(entry, state=TOO_MANY) if draft in lost else entry for entry, draft in pairs]


@dataclass(slots=True)
class _KnownEntries:
    """The contents of books, as `write_drafts` will find them, and the drafts classified so far.

    A dry run writes nothing, so a second file with the same text must find it here.
    """

    ws: Workspace
    _books: dict[tuple[str, str], tuple[set[str], frozenset[str]]] = field(default_factory=dict)

    def classify(self, draft: _Draft) -> MigratedEntry:
        """Return the draft with the state that writing it will have. The draft is known from then on."""
        scope, kind, books = draft.admission.scope, draft.admission.kind, self.ws.documents.books
        if (scope, kind) not in self._books:
            self._books[scope, kind] = collect_known(map(books.read, books.list_shelves(scope, kind)))
        known, forgotten = self._books[scope, kind]
        keys = {draft.identifier, normalize_text(draft.admission.text)}
        if draft.identifier in forgotten or known & keys:
            return MigratedEntry(draft.line, scope, kind, FORGOTTEN if draft.identifier in forgotten else KNOWN)
        known |= keys
        return MigratedEntry(draft.line, scope, kind, WAITING if draft.admission.pending else WRITTEN, draft.reason)
