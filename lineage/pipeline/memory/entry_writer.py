"""Learning from captures: turns → candidates → policy → books, each text once (format: Books).

A global text derived from a session waits on the `pending` shelf with its original words: the entry's `more` holds them
as JSON text under the key `quote`, and `lineage memory review` shows them. `from` links to the turn,
`[[memory/…--transcript.md#^t-0123456789]]`. The id is made of that turn: a turn that is captured again, in another
file, adds nothing, and a forgotten entry of it stays forgotten. Compactions teach nothing: they repeat what turns say.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from lineage.core.base.about import MAX_SUBJECTS
from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, is_allowed_in_scope, session_scope
from lineage.core.base.links import to_one_line, wikilink
from lineage.core.base.normalize import normalize_text
from lineage.core.books.book import Book, find_superseded
from lineage.core.books.entry import TASK, UNTIL_CAPTURE, Entry, compute_entry_id, new_entry
from lineage.core.books.sightings import add_sighting
from lineage.core.capture.capture import DATA_TAG
from lineage.core.capture.ledger import is_visible
from lineage.core.format.documents import Artifact
from lineage.core.format.tool_overlap import ToolEvidence
from lineage.extraction import admission_policy as policy
from lineage.extraction.about import bind_candidates
from lineage.extraction.candidates import HEURISTIC, MODEL, Candidate, extract_candidates
from lineage.extraction.model.port import MemoryProposals
from lineage.extraction.sentence_kinds import DECISION, PREFERENCE
from lineage.pipeline.memory.close_tasks import Closing, close_tasks, find_closing, find_later_closings
from lineage.pipeline.memory.global_rules import find_same_elsewhere
from lineage.pipeline.memory.merge_statements import (
    LEARNED,
    add_statements,
    compute_statement_id,
    is_about_same,
    is_learned,
)
from lineage.pipeline.memory.said_again import find_changes_of_mind, find_said_again
from lineage.pipeline.memory.workspace_evidence import gather_artifact_evidence
from lineage.store import read_or_none
from lineage.workspace.book_folders import resolve_project_folder
from lineage.workspace.book_index import index_books
from lineage.workspace.workspace import Workspace

QUOTE, TURN = "quote", "turn"
SIBLING_KINDS = {PREFERENCE: DECISION, DECISION: PREFERENCE}
"""What one session says as a rule another says as a decision."""

_Draft = tuple[policy.Admission, Entry]


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The written entries with their shelves, the number of dropped texts by reason, and the books that may differ."""

    entries: tuple[tuple[BookRef, Entry], ...]
    dropped: Counter[str]
    changed: tuple[BookRef, ...] = ()


def write_entries(
    ws: Workspace,
    admissions: Sequence[policy.Admission],
    *,
    at: str,
    origin: str | None,
    tags: Sequence[str] = (),
    supersedes: Sequence[str] = (),
    closing: Closing | None = None,
) -> WriteResult:
    """Write admitted texts as `write_drafts` does, and index the books."""
    result = write_drafts(ws, admissions, at=at, origin=origin, tags=tags, supersedes=supersedes, closing=closing)
    refs = [BookRef(one.scope, one.kind) for one in admissions]
    index_books(ws, [*refs, *result.changed, *([closing.ref] if closing else [])])
    return result


def write_drafts(
    ws: Workspace,
    admissions: Sequence[policy.Admission],
    *,
    at: str,
    origin: str | None,
    tags: Sequence[str] = (),
    supersedes: Sequence[str] = (),
    closing: Closing | None = None,
) -> WriteResult:
    """Write admitted texts into their books, pending ones onto the pending shelf. The caller indexes the books.

    A book over its cap rolls over. The same cap bounds pending entries. The caller publishes MEMORY.md.

    `at` is a canonical time. `origin` is the workspace path of the source artifact (no brackets), None for typed texts;
    the link of a text with a turn points at the turn. Texts that a shelf of the book holds or has forgotten are
    dropped, and those of removed sessions. `closing` ticks tasks that the session has done. What
    the user said in two projects waits for all of them, too. Raises InvalidInput if a
    derived text would supersede a user-stated one.
    """
    sanitizer = ws.build_sanitizer()
    build = partial(new_entry, at=at, tags=tuple(tags), supersedes=tuple(supersedes))
    allowed, dropped = _filter_allowed(ws, admissions)
    books: dict[tuple[str, str], list[_Draft]] = {}
    for found in allowed:
        admission = _follow_kind(ws, found) if not LEARNED.isdisjoint(tags) else found
        entry = _build_entry(admission, sanitizer.sanitize, origin, build)
        draft = replace(admission, text=entry.body), entry
        books.setdefault((admission.scope, admission.kind), []).append(draft)
    written: list[tuple[BookRef, Entry]] = []
    for (scope, kind), drafts in books.items():
        entries, others = _write_book(ws, scope, kind, drafts)
        written += entries
        dropped += others
        by_id = {entry.id: admission for admission, entry in drafts}
        for ref, entry in entries:
            if same := find_same_elsewhere(ws, ref, entry):
                proposal = replace(by_id[entry.id], scope=GLOBAL, pending=True)
                built = add_sighting(_build_entry(proposal, sanitizer.sanitize, origin, build), same)
                written += _write_book(ws, GLOBAL, kind, [(proposal, built)])[0]
    if closing:
        close_tasks(ws, closing)
    places = {*books, *((ref.scope, ref.kind) for ref, _ in written)}
    return WriteResult(tuple(written), dropped, tuple(BookRef(*place) for place in sorted(places)))


def parse_quote(entry: Entry) -> str:
    """Return the original words behind an entry, its body if it has none."""
    quote = dict(entry.more).get(QUOTE)
    words = json.loads(quote) if quote else None
    return words if isinstance(words, str) else entry.body


def collect_known(books: Iterable[Book]) -> tuple[set[str], frozenset[str]]:
    """Return the ids and normalized texts that the shelves of a book hold, and the ids that they have forgotten."""
    shelves = list(books)
    entries = [entry for book in shelves for entry in (*book.entries, *book.handwritten_entries)]
    superseded = find_superseded(entries)
    # An agent's text that nobody has judged keeps no other speaker from saying the same.
    standing = (entry for entry in entries if entry.id not in superseded and not entry.is_unjudged)
    texts = {normalize_text(entry.body) for entry in standing}
    forgotten = frozenset[str]().union(*(book.forgotten_ids for book in shelves))
    return texts.union(*(book.all_ids for book in shelves)), forgotten


def _filter_allowed(
    ws: Workspace, admissions: Sequence[policy.Admission]
) -> tuple[list[policy.Admission], Counter[str]]:
    """Return the texts without those of removed sessions and private ones (architecture: law 4)."""
    sessions = {admission.provenance.session for admission in admissions} - {""}
    removed = {token for token in sessions if ws.documents.tombstones.has(token)}
    allowed, dropped = [], Counter[str]()
    for admission in admissions:
        provenance = admission.provenance
        if provenance.session in removed:
            dropped[policy.REMOVED] += 1
        elif not is_allowed_in_scope(admission.scope, private=provenance.private, token=provenance.session):
            dropped[policy.PRIVATE] += 1
        else:
            allowed.append(admission)
    return allowed, dropped


def _follow_kind(ws: Workspace, admission: policy.Admission) -> policy.Admission:
    """Return a rule as a decision, or a decision as a rule, where that book holds the statement that it amends."""
    other = SIBLING_KINDS.get(admission.kind)
    if other is None:
        return admission
    own, books = BookRef(admission.scope, admission.kind), ws.documents.books
    is_same = partial(is_about_same, text=admission.text, is_user_stated=admission.is_user_stated)
    is_there = not is_same(books.read(own)) and is_same(books.read(BookRef(admission.scope, other)))
    return replace(admission, kind=other) if is_there else admission


def clean_subjects(about: Sequence[str], clean: Callable[[str], str]) -> tuple[str, ...]:
    """Return what an entry is about without what looks like a secret."""
    return tuple(dict.fromkeys(one for one in about if one and clean(one) == one))[:MAX_SUBJECTS]


def _build_entry(
    admission: policy.Admission, clean: Callable[[str], str], origin: str | None, build: Callable[..., Entry]
) -> Entry:
    scope, kind, provenance = admission.scope, admission.kind, admission.provenance
    link = wikilink(origin + (f"#^{provenance.turn_id}" if provenance.turn_id else "")) if origin else None
    text, quote = clean(admission.text), clean(to_one_line(provenance.quote))
    about = clean_subjects(admission.about, clean)
    entry = build(scope, kind, text, source=admission.source, tool=provenance.tool or None, origin=link, about=about)
    if provenance.turn_id:
        entry = entry._replace(id=compute_entry_id(scope, kind, text, provenance.turn_id))
    needs_quote = admission.pending or quote not in ("", to_one_line(text))
    more = {QUOTE: quote} if needs_quote else {}
    if provenance.turn_id and not link:
        more[TURN] = provenance.turn_id
    marks = (UNTIL_CAPTURE,) if admission.until_capture else ()
    return entry._replace(more=(*marks, *((key, json.dumps(value)) for key, value in more.items())))


def _write_book(
    ws: Workspace, scope: str, kind: str, drafts: Sequence[_Draft]
) -> tuple[list[tuple[BookRef, Entry]], Counter[str]]:
    """Write the new ones of the drafts for a book, and count the others by reason. Each shelf is written once."""
    books = {ref: ws.documents.books.read(ref) for ref in _relevant_shelves(ws, scope, kind, drafts)}
    learned = [entry for admission, entry in drafts if is_learned(entry) and not admission.pending]
    for ref, name in find_said_again(books, learned):
        ws.documents.books.bring_back(ref, name)
        books |= {changed: ws.documents.books.read(changed) for changed in (ref, BookRef(scope, kind))}
    drafts = [(admission, _take_free_id(admission, entry, books.values())) for admission, entry in drafts]
    new, dropped = _select_new(drafts, books, find_changes_of_mind(books, learned))
    max_entries, written = ws.documents.books.find_cap(scope, kind).max_entries, []
    for shelf in ("", PENDING):
        ref = BookRef(scope, kind, shelf)
        entries = [entry for admission, entry in new if admission.pending == (shelf == PENDING)]
        # The book in use rolls over into archives; nothing archives pending entries, so they stop at the cap.
        room = max(0, max_entries - len(books[ref].entries)) if shelf else len(entries)
        book, added = add_statements(books[ref], entries[:room])
        dropped[policy.TOO_MANY] += len(entries[room:])
        dropped[policy.KNOWN] += len(entries[:room]) - len(added)
        written += [(ref, entry) for entry in added]
        ws.documents.books.write_merged(ref, books[ref], book)
    if len(books[BookRef(scope, kind)].entries) + len(written) > max_entries:
        ws.documents.books.roll_over(scope, kind)
    return written, +dropped


def _take_free_id(admission: policy.Admission, entry: Entry, books: Iterable[Book]) -> Entry:
    """Return a typed text under an id of its own, where an entry that was reworded since has the id of its words."""
    if admission.provenance.turn_id:
        return entry  # what a capture finds again was reworded by somebody: it stays that
    texts = {one.id: normalize_text(one.body) for book in books for one in book.entries}
    while texts.get(entry.id, normalize_text(entry.body)) != normalize_text(entry.body):
        entry = entry._replace(id=compute_entry_id(admission.scope, admission.kind, entry.body, entry.id))
    return entry


def _relevant_shelves(ws: Workspace, scope: str, kind: str, drafts: Sequence[_Draft]) -> Iterator[BookRef]:
    """Yield the shelves that may hold one of the drafts."""
    for ref in ws.documents.books.list_shelves(scope, kind):
        if ref.shelf in ("", PENDING):
            yield ref
        elif blob := read_or_none(ws.documents.store, ref.path):
            # Archives grow forever: a search of the raw bytes spares parsing those without any of the texts.
            archive = _fold(blob.data.decode("utf-8", "replace"))
            first_lines = (_fold(entry.body.partition("\n")[0]).rstrip(" .!。！") for _, entry in drafts)
            if any(entry.id in archive for _, entry in drafts) or any(line in archive for line in first_lines):
                yield ref


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def _select_new(
    drafts: Sequence[_Draft], books: Mapping[BookRef, Book], news: Set[str]
) -> tuple[list[_Draft], Counter[str]]:
    """Return the drafts that no shelf has forgotten, and none but their own holds: there they are counted.

    `news` are texts that are none of those that shelves hold, though an archive has them.
    """
    known, forgotten = collect_known(books.values())
    known -= news
    held = {
        ref.shelf: {normalize_text(one.body) for one in book.active_entries if not one.is_unjudged}
        for ref, book in books.items()
    }
    ids = {}
    for admission, entry in drafts:
        scope, kind, text = admission.scope, admission.kind, normalize_text(entry.body)
        # Words that were typed once and forgotten stay forgotten, from any later speaker too.
        names = [compute_entry_id(scope, kind, admission.text, None)]
        if is_learned(entry):
            names.append(compute_statement_id(scope, kind, admission.text))
            shelf = PENDING if admission.pending else ""
            known -= {text} if {own for own, texts in held.items() if text in texts} == {shelf} else set()
        ids[admission] = next((name for name in names if name in forgotten), entry.id)
    new, dropped = policy.select_new([admission for admission, _ in drafts], known, forgotten, ids.__getitem__)
    entries = dict(drafts)
    return [(admission, entries[admission]) for admission in new], dropped


@dataclass(frozen=True, slots=True)
class LearnResult:
    """The number of entries that a capture wrote, of those that wait for the user, and of dropped ones by reason."""

    written: int = 0
    pending: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return the counts as a JSON object."""
        return {"kept": self.written, "pending": self.pending, "dropped": dict(sorted(self.dropped.items()))}


def learn_from_capture(
    ws: Workspace,
    artifact: Artifact,
    proposals: MemoryProposals,
    known_candidates: Sequence[Candidate] | None = None,
    evidence: ToolEvidence | None = None,
    settled: Set[str] = frozenset(),
    write: Callable[..., WriteResult] = write_entries,
) -> LearnResult:
    """Learn from the transcript of a capture and from a language model's proposals about it.

    The caller holds the session's lock. `known_candidates` and `evidence` are those of the transcript's turns, if the
    caller has them.
    `settled` are ids in the session's own books that a person has changed or forgotten: they aren't learned again.
    `write` writes what was admitted.
    Temp, test and removed sessions teach nothing, and nothing is learned if `knowledge.extract` is off.
    """
    token = artifact.identity.token
    if not (ws.settings.knowledge.extract and is_visible(artifact)) or ws.documents.tombstones.has(token):
        return LearnResult()
    if known_candidates is None or evidence is None:
        evidence = gather_artifact_evidence(ws, artifact)
        known_candidates = (
            extract_candidates(evidence.turns, evidence) if known_candidates is None else known_candidates
        )
    turns = evidence.turns[evidence.offset :] if evidence.offset else evidence.turns
    bound = bind_candidates([*known_candidates, *proposals.candidates], turns, artifact.project, artifact.subfolder)
    count = len(known_candidates)
    finders = ((HEURISTIC, bound[:count]), (MODEL, bound[count:]))
    results = [_write_candidates(ws, artifact, via, found, settled, write) for via, found in finders if found]
    if closing := find_closing(ws, artifact, evidence, turns):
        write(ws, (), at=artifact.captured_at, origin=artifact.path, closing=closing)
    written, pending = sum(result.written for result in results), sum(result.pending for result in results)
    return LearnResult(written, pending, sum((Counter(one.dropped) for one in results), Counter(proposals.dropped)))


def drop_settled(admissions: Sequence[policy.Admission], token: str, settled: Set[str]) -> list[policy.Admission]:
    """Return the texts without those that a person changed or forgot while they lay in the session's own books."""
    ids = (compute_entry_id(session_scope(token), one.kind, one.text, one.provenance.turn_id) for one in admissions)
    return [admission for admission, identifier in zip(admissions, ids, strict=True) if identifier not in settled]


def _write_candidates(
    ws: Workspace,
    artifact: Artifact,
    via: str,
    candidates: Sequence[Candidate],
    settled: Set[str],
    write: Callable[..., WriteResult],
) -> LearnResult:
    token = artifact.identity.token
    # A private session must not even claim a project's folder: the claim would tell that the session took place.
    may_leave = is_allowed_in_scope(GLOBAL, private=artifact.private, token=token)
    project = resolve_project_folder(ws, artifact.project, artifact.repository, claim=True) if may_leave else None
    context = policy.CandidateContext(
        token, artifact.agent_id, project, artifact.private, has_data=DATA_TAG in artifact.tags
    )
    admissions, dropped = policy.admit_all(candidates, context, via)
    admissions = drop_settled(admissions, token, settled)
    result = write(ws, admissions, at=artifact.captured_at, origin=artifact.path, tags=(via,))
    if any(ref.kind == TASK and not ref.shelf for ref, _ in result.entries):
        for closing in find_later_closings(ws, artifact):
            write(ws, (), at=artifact.captured_at, origin=artifact.path, closing=closing)
    pending = sum(ref.shelf == PENDING for ref, _ in result.entries)
    return LearnResult(len(result.entries) - pending, pending, dropped + result.dropped)
