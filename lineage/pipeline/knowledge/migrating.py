"""Flat notes of agents brought into books: `lineage book migrate`. (format: Books; lessons: 26, 27)

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

from lineage.core.book import superseded
from lineage.core.book_paths import CURATED, GLOBAL, PENDING, BookRef
from lineage.core.entry import TASK, entry_id, marker
from lineage.core.identity import DEFAULT_AGENT, checked_agent
from lineage.core.links import one_line
from lineage.core.times import from_epoch
from lineage.core.turns import ASSISTANT
from lineage.errors import InvalidInput
from lineage.extract.admission import (
    HARNESS,
    NOTE,
    TOO_MANY,
    Admitted,
    Dropped,
    Origin,
    Setting,
    admit,
    is_permission,
    is_self_referential,
)
from lineage.extract.candidates import Candidate
from lineage.extract.folding import normalized
from lineage.extract.notes import Block, Piece, pieces, text_of
from lineage.harness.callers import Caller
from lineage.harness.notes import FIVE_LAYER, Layout, layout_of, note_files
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.bookkeeping import checked_book, refuse_agents
from lineage.pipeline.knowledge.keeping import keep
from lineage.pipeline.knowledge.projects import project_folder
from lineage.pipeline.knowledge.shelving import shelve
from lineage.pipeline.publishing import publish_or_wait

KEPT, WAITS, KNOWN, FORGOTTEN = "kept", "waiting", "known", "forgotten"
STATES = (KEPT, WAITS, KNOWN, FORGOTTEN, TOO_MANY)
MIGRATED = "migrated"
MOST_BYTES = 16 << 20
_SELF_REFERENCE, _PERMISSION = "self-reference", "permission"
_OWN_FILES = frozenset({"MEMORY.md", "AGENT_MEMORY.md"})
_OWN_PLACES = (".lineage/", "agents/", "archive/", "books/", "handbook/")
_OWN = "it is a file of this workspace already"
_COPY = "set aside by the five-layer memory: name it to have it read, too"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is to be migrated: files and folders, by absolute paths, into the workspace at `root`. `agent_id` None is
    the agent that a file's place names, else the default one. `is_dry` writes nothing."""

    paths: tuple[Path, ...]
    root: Path
    agent_id: str | None = None
    is_dry: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """One entry-to-be: the line of its file where it begins, its book, and what became of it, one of `STATES`. `reason`
    says why it waits where its scope alone isn't it."""

    line: int
    scope: str
    kind: str
    state: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of notes: what became of each part of it, or why nothing of it was taken: it isn't to be (`skipped`), or
    can't be (`problem`)."""

    path: str
    taken: tuple[Taken, ...] = ()
    redactions: Counter[str] = field(default_factory=Counter)
    skipped: str = ""
    problem: str = ""

    @property
    def counts(self) -> Counter[str]:
        return Counter(taken.state for taken in self.taken)

    @property
    def is_whole(self) -> bool:
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
            "entries": [{key: getattr(one, key) or None for key in keys} for one in self.taken],
        }


_Noted = tuple[str, str, tuple[str, ...]]
"""Kind, time and tags of what goes into one note together."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A text on its way into a book."""

    line: int
    admitted: Admitted
    at: str
    tags: tuple[str, ...]
    reason: str = ""

    @property
    def identifier(self) -> str:
        return entry_id(self.admitted.scope, self.admitted.kind, self.admitted.text, None)


def migrate(house: House, asked: Asked, caller: Caller | None = None) -> list[Source]:
    """Brings notes into books, then index and MEMORY.md up to them. Again, it adds what is new.

    Raises InvalidInput for a path where there is nothing and for an agent that there can't be, LineageError from inside
    a harness.
    """
    if not asked.is_dry:
        refuse_agents(caller, "migrate notes")
    if asked.agent_id is not None:
        checked_agent(asked.agent_id)
    paths = sorted({path for named in asked.paths for path in note_files(named)})
    known = _Known(house)
    own = {path for path in paths if _is_own(path, asked.root)}
    found = [_source(house, asked, path, known) for path in paths if path not in own]
    if not asked.is_dry:
        publish_or_wait(house)
    named = [Source(str(path), skipped=_OWN) for path in paths if path in own.intersection(asked.paths)]
    return [*found, *named, *(Source(str(path), skipped=_COPY) for path in _copies(asked))]


def _is_own(path: Path, root: Path) -> bool:
    """Whether a file is one that lineage keeps itself: of the folder `memory/` notes of a day are not."""
    path, root = path.resolve(), root.resolve()
    if not path.is_relative_to(root):
        return False
    key = path.relative_to(root).as_posix()
    is_ours = key in _OWN_FILES or key.startswith(_OWN_PLACES)
    return is_ours or (key.startswith("memory/") and not _day(layout_of(path)))


def _copies(asked: Asked) -> list[Path]:
    """What the five-layer memory has set aside when it migrated it, losing what stood above the first heading; whoever
    names such a file has it read. (lessons: 26)"""
    folders = {folder for path in asked.paths for folder in (path, path / FIVE_LAYER) if folder.name == FIVE_LAYER}
    return sorted(path for folder in folders for path in folder.glob("*.bak") if path.is_file())


def _source(house: House, asked: Asked, path: Path, known: "_Known") -> Source:
    layout, sanitizer = layout_of(path), house.sanitizer()
    try:
        text = sanitizer.text(_read(path, layout))
        tags, at = (MIGRATED, one_line(sanitizer.text(path.name))), _time(house, path, layout)
        found = pieces(text, layout.kind, layout.fallback)
        scope = _scope(house, asked, layout) if found else ""
    except (OSError, InvalidInput) as error:
        problem = error.message if isinstance(error, InvalidInput) else error.strerror or "it can't be read"
        return Source(str(path), problem=problem)
    drafts = list(_Drafts(layout.kind, scope, tags, at).of(found))
    expected = [known.taken(draft) for draft in drafts]
    taken = expected if asked.is_dry else _written(house, drafts, expected)
    return Source(str(path), tuple(sorted(taken, key=lambda one: one.line)), sanitizer.redactions)


def _read(path: Path, layout: Layout) -> str:
    """Raises OSError, and InvalidInput for what is no note: too large, no text, or a book of lineage's."""
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidInput("it has more than 16 MB", hint="take it apart first")
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidInput("it is no UTF-8 text", hint="convert it first") from error
    if layout.kind == CURATED and any(map(marker, text.splitlines())):
        raise InvalidInput(
            "it is a book of another workspace: `lineage bundle` brings over its entries", hint="lineage bundle --help"
        )
    return text


def _time(house: House, path: Path, layout: Layout) -> str:
    """The time of what notes none itself: the day that a file is of, else when it was changed."""
    if day := _day(layout):
        return f"{day}T00:00:00.000Z"
    try:
        return from_epoch(path.stat().st_mtime)
    except (ValueError, OverflowError):  # of no year that there is a name for
        return house.now


def _day(layout: Layout) -> str:
    return (layout.kind or "").partition("daily/")[2]


def _scope(house: House, asked: Asked, layout: Layout) -> str:
    """The scope of a file's entries. Raises InvalidInput where a name in its path can't be that of a book."""
    if layout.kind == CURATED:
        return GLOBAL
    agent = asked.agent_id or _agent(layout.agent)
    folder = project_folder(house, layout.project, claims=not asked.is_dry)
    return checked_book(house, f"project/{folder}" if folder else f"agent/{agent}", layout.kind or NOTE).scope


def _agent(name: str | None) -> str:
    try:
        return checked_agent(name) if name else DEFAULT_AGENT
    except InvalidInput:
        return DEFAULT_AGENT


@dataclass(frozen=True, slots=True)
class _Drafts:
    """What the policy makes of the pieces of a file. What it would drop isn't lost: words that must not be in force
    without the user wait in their book, what is too short or too long goes into one note, of the file's kind if any."""

    kind: str | None
    scope: str
    tags: tuple[str, ...]
    at: str

    def of(self, found: Iterable[Piece]) -> Iterator[_Draft]:
        withheld: dict[_Noted, list[Block]] = {}
        rest: dict[_Noted, list[Block]] = {}
        for piece in found:
            kept, barred = _apart(piece)
            if barred:
                withheld.setdefault(self._noted(piece, piece.kind), []).extend(barred)
            draft = self._admitted(replace(piece, blocks=kept)) if kept else None
            if draft:
                yield draft
            elif kept:
                rest.setdefault(self._noted(piece, self.kind or NOTE), []).extend(kept)
        yield from (self._made(noted, blocks, _reason(blocks)) for noted, blocks in withheld.items())
        yield from (self._made(noted, blocks, _barred(text_of(blocks))) for noted, blocks in rest.items())

    def _noted(self, piece: Piece, kind: str) -> _Noted:
        """With its bullets and boxes, as it stands, a text is no task: that would get another box."""
        return NOTE if kind == TASK else kind, piece.at or self.at, (*self.tags, *piece.tags)

    def _admitted(self, piece: Piece) -> _Draft | None:
        """The policy judges it as a note, whatever its kind is; None where it would drop it."""
        candidate = Candidate(NOTE, piece.text, ASSISTANT, "", quote=piece.text)
        result = admit(candidate, Setting(), HARNESS, self.scope)
        if isinstance(result, Dropped):
            return None
        return _Draft(piece.line, result._replace(kind=piece.kind), piece.at or self.at, (*self.tags, *piece.tags))

    def _made(self, noted: _Noted, blocks: Sequence[Block], reason: str) -> _Draft:
        (kind, at, tags), text = noted, text_of(blocks)
        origin = Origin(HARNESS, "", "", ASSISTANT, "", text)
        admitted = Admitted(kind, text, self.scope, bool(reason) or self.scope == GLOBAL, origin)
        return _Draft(min(block.line for block in blocks), admitted, at, tags, reason)


def _reason(blocks: Sequence[Block]) -> str:
    """Why blocks that were set apart are: for what one of them says, or all of them together."""
    return next(filter(None, map(_barred, (*(block.raw for block in blocks), text_of(blocks)))), _PERMISSION)


def _apart(piece: Piece) -> tuple[tuple[Block, ...], tuple[Block, ...]]:
    """The blocks of a piece that may be in force, and those that may not; all of them where the others together say
    what none of them says alone."""
    if not _barred(piece.text):
        return piece.blocks, ()
    kept = tuple(block for block in piece.blocks if not _barred(block.raw))
    if len(kept) == len(piece.blocks) or _barred(text_of(kept)):
        return (), piece.blocks
    return kept, tuple(block for block in piece.blocks if block not in kept)


def _barred(text: str) -> str:
    """Why a text is not in force unless the user says so, "" for no reason. (lessons: 17, 19)"""
    return _PERMISSION if is_permission(text) else _SELF_REFERENCE if is_self_referential(text) else ""


def _written(house: House, drafts: Sequence[_Draft], expected: Sequence[Taken]) -> list[Taken]:
    """Writes what is new; of what a full pending book has no room for the state says so. A run that died before this
    one may have left books over their caps and out of the index."""
    there: set[tuple[str, str]] = set()
    fresh = [draft for draft, one in zip(drafts, expected, strict=True) if one.state in (KEPT, WAITS)]
    for (at, tags), group in groupby(fresh, lambda draft: (draft.at, draft.tags)):
        kept = keep(house, [draft.admitted for draft in group], at=at, origin=None, tags=tags)
        there |= {(ref.shelf, entry.id) for ref, entry in kept.entries}
    refs = sorted({BookRef(one.scope, one.kind) for one in expected})
    for ref in refs:
        house.canon.books.roll_over(ref.scope, ref.kind)
    shelve(house, refs)
    return [
        replace(one, state=TOO_MANY) if one.state == WAITS and (PENDING, draft.identifier) not in there else one
        for one, draft in zip(expected, drafts, strict=True)
    ]


@dataclass(slots=True)
class _Known:
    """What the books hold and have forgotten, by book, as `keep` will find it: ids and texts; ids."""

    house: House
    _books: dict[tuple[str, str], tuple[set[str], frozenset[str]]] = field(default_factory=dict)

    def taken(self, draft: _Draft) -> Taken:
        """What becomes of a draft; it is known from then on."""
        admitted = draft.admitted
        known, forgotten = self._book(admitted.scope, admitted.kind)
        keys = {draft.identifier, normalized(admitted.text)}
        state = FORGOTTEN if draft.identifier in forgotten else KNOWN if known & keys else ""
        if not state:
            known |= keys
        return Taken(
            draft.line,
            admitted.scope,
            admitted.kind,
            state or (WAITS if admitted.pending else KEPT),
            draft.reason if not state else "",
        )

    def _book(self, scope: str, kind: str) -> tuple[set[str], frozenset[str]]:
        if (scope, kind) not in self._books:
            shelves = self.house.canon.books.shelves(scope, kind)
            books = [self.house.canon.books.read(ref) for ref in shelves]
            entries = [entry for book in books for entry in (*book.entries, *book.hand)]
            gone = superseded(entries)
            known = {normalized(entry.body) for entry in entries if entry.id not in gone}
            forgotten = frozenset[str]().union(*(book.forgotten for book in books))
            self._books[scope, kind] = known.union(*(book.known for book in books)), forgotten
        return self._books[scope, kind]
