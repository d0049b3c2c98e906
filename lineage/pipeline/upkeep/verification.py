"""Verify: the offline proof of the MUST/SHOULD list. (law 2)

MUST, else data is lost or leaked; SHOULD, else a rebuild is due. Everything is read; nothing is changed.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from lineage.canon.archived_store import loaded
from lineage.core import naming
from lineage.core.body import Body
from lineage.core.book_paths import BOOKS, CURATED_PATH
from lineage.core.documents import Artifact, Claim, Manifest, unknown_keys
from lineage.core.ledger import Ledger, entries, head, is_visible, ledger
from lineage.core.replacement import Replacement, leads
from lineage.core.sanitizer import Sanitizer
from lineage.core.transcript import links_of
from lineage.core.window import Window
from lineage.errors import FormatError
from lineage.index import EntryRow, Shelved, owner_of, shelved
from lineage.pipeline.archive import checks as archive_checks
from lineage.pipeline.house import House
from lineage.pipeline.incoming.watching import is_sync_leftover
from lineage.pipeline.knowledge.shelving import by_book, read_books
from lineage.pipeline.publishing import projected_agents, rendered
from lineage.pipeline.reading import named_by
from lineage.store import read_or_none

MUST = "MUST"
SHOULD = "SHOULD"

_REINDEX = "lineage reindex"
_RENDER = "lineage render"
_RECOVER = "lineage recover"
_RESANITIZE = "lineage resanitize"
_REBUILD = "delete .lineage/index.db, then lineage reindex"
_RESTORE = "restore the file from a backup or git"
_BY_HAND = "edit the file: every word of it is still there"
_MERGE = "copy what only it says into the book, then delete it"

_SIBLING = re.compile(r"\[\[(memory/[^|\]#]+)")


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """What is wrong, where, and the command that mends it."""

    level: str
    path: str
    what: str
    mend: str


@dataclass(slots=True)
class Survey:
    """Everything canonical that the workspace holds, read once. `claims` are stems by token, None where damaged."""

    removed: frozenset[str]
    claims: dict[str, str | None] = field(default_factory=dict)
    artifacts: dict[str, Artifact] = field(default_factory=dict)
    manifests: dict[str, Manifest] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    records: list[Replacement] = field(default_factory=list)


def verify(house: House) -> list[Finding]:
    """Every finding, sorted; an empty list means that each promise of the format holds."""
    survey = _surveyed(house)
    found = [
        *survey.findings,
        *_manifests(survey),
        *_unnamed(survey),
        *_links(survey),
        *_spool(house),
        *_sanitized(house, survey),
        *_replaced(survey),
        *_rows(house, survey),
        *_books(house, survey.removed),
        *_ledgers(house, survey),
        *(Finding(MUST if fault.is_must else SHOULD, *fault[1:]) for fault in archive_checks.faults(house)),
    ]
    return sorted(found)


def _surveyed(house: House) -> Survey:
    survey = Survey(house.canon.tombstones.tokens())
    for entry in house.canon.store.list(naming.MEMORY):
        _survey_key(house, entry.key, survey)
    return survey


def _survey_key(house: House, path: str, survey: Survey) -> None:
    is_tombstone = path.startswith(naming.TOMBSTONES)
    buried = next((token for token in naming.tokens_in(path) if token in survey.removed), None)
    if buried and not is_tombstone:
        survey.findings.append(Finding(MUST, path, "a removed session's file came back", _again(buried)))
    elif naming.parse_path(path) or naming.is_register(path):
        _survey_file(house, path, survey)
    else:
        survey.findings.append(Finding(SHOULD, path, "not a name of ours: a sync's leftover?", "move it away"))


def _survey_file(house: House, path: str, survey: Survey) -> None:
    try:
        found = loaded(house.canon.store, path)
        if found is None:
            return
        document = found.document
    except FormatError as error:
        survey.findings.append(_damaged(path, error.message.removeprefix(f"{path}: "), survey))
        return
    if isinstance(document, Claim):
        survey.claims[document.session_token] = document.stem
    elif isinstance(document, Artifact):
        survey.artifacts[path] = document
        survey.hashes[path] = found.sha256
        for key in unknown_keys(found.head):
            survey.findings.append(Finding(SHOULD, path, f"a key of no artifact: {key!r}", "remove the key"))
    elif isinstance(document, Manifest):
        survey.manifests[path] = document
        survey.records += document.replacements()
        survey.hashes[path] = found.sha256


def _damaged(path: str, what: str, survey: Survey) -> Finding:
    """A file that breaks its contract. Of all of them only a claim can be made again."""
    if path.startswith(naming.CLAIMS):
        survey.claims.update(dict.fromkeys(naming.tokens_in(path)))
        return Finding(SHOULD, path, what, _RECOVER)
    return Finding(MUST, path, what, _RESTORE)


def _manifests(survey: Survey) -> Iterator[Finding]:
    """A manifest names only artifacts that exist; a session has one manifest, the claimed one."""
    for path, manifest in survey.manifests.items():
        for named in named_by(manifest):
            if named not in survey.artifacts:
                yield Finding(MUST, path, f"names {named}, which is not there", _RESTORE)
        token = manifest.identity.token
        if token not in survey.claims:
            yield Finding(SHOULD, path, "the session's claim is missing", _REINDEX)
        elif survey.claims[token] not in (None, manifest.stem) and named_by(manifest):
            yield Finding(SHOULD, path, "a second manifest of the session", _RECOVER)


def _unnamed(survey: Survey) -> Iterator[Finding]:
    named = {path for manifest in survey.manifests.values() for path in named_by(manifest)}
    for path, artifact in survey.artifacts.items():
        if path not in named:
            yield Finding(SHOULD, path, "in no manifest", _RECOVER)
        if artifact.manifest_path not in survey.manifests:
            yield Finding(SHOULD, path, f"its manifest {artifact.manifest_path} is not there", _RECOVER)


def _links(survey: Survey) -> Iterator[Finding]:
    """The siblings that a file opens with are there; a link to a removed session is no finding."""
    documents: dict[str, Artifact | Manifest] = {**survey.artifacts, **survey.manifests}
    for path, document in documents.items():
        for target in _SIBLING.findall(links_of(document.body)):
            name = naming.parse_path(target)
            if target not in survey.hashes and not (name and name.token in survey.removed):
                yield Finding(SHOULD, path, f"links to {target}, which is not there", _RECOVER)


def _spool(house: House) -> Iterator[Finding]:
    """The spool is private, and empty but for flows that are under way."""
    for key in house.canon.spool.store.exposed():
        yield Finding(MUST, f".lineage/{key}", "raw text that others can read", "chmod 700 .lineage/spool")
    for job in house.canon.spool.pending():
        yield Finding(SHOULD, f".lineage/spool/{job.name}", f"an unfinished {job.flow}", _RECOVER)
    for rung in house.canon.signals.pending():
        yield Finding(SHOULD, f".lineage/{rung.key}", f"a signal of {rung.harness} that waits", "lineage work")
    for rung in house.canon.signals.dead():
        yield Finding(SHOULD, f".lineage/{rung.key}", f"given up: {rung.why}", "look at it, then delete it")
    for key in [*house.canon.spool.damaged(), *house.canon.signals.damaged()]:
        yield Finding(SHOULD, f".lineage/{key}", "no job that can be read", "look at it, then delete it")


def _sanitized(house: House, survey: Survey) -> Iterator[Finding]:
    """Nothing unsanitized outside the spool: the rules of today find nothing in what is committed."""
    sanitizer = house.sanitizer()
    for path, artifact in survey.artifacts.items():
        before = Counter(sanitizer.redactions)
        _sanitize(sanitizer, f"{artifact.title}\n{artifact.memory_sentence}\n", artifact.body)
        for rule in sorted(sanitizer.redactions - before):
            yield Finding(MUST, path, f"holds what the rule {rule!r} redacts", _RESANITIZE)


def _sanitize(sanitizer: Sanitizer, head: str, body: Body) -> None:
    """The findings go into the sanitizer's counts; nothing else is kept."""
    if isinstance(body, str):
        sanitizer.text(head + body)
    else:
        deque(sanitizer.stream(chain([head], body.pieces())), maxlen=0)


def _replaced(survey: Survey) -> Iterator[Finding]:
    """An artifact that was replaced under new redaction rules is what the newest record of it says."""
    for record in {record.path: record for record in survey.records}.values():
        digest = survey.hashes.get(record.path)
        if digest == record.old:
            yield Finding(SHOULD, record.path, "its redaction under new rules was cut off", _RESANITIZE)
        elif digest not in (record.new, None):
            yield Finding(MUST, record.path, "changed since it was redacted under new rules", _RESTORE)


def _rows(house: House, survey: Survey) -> Iterator[Finding]:
    known = {item.path: item for item in house.index.known()}
    for path, digest in survey.hashes.items():
        if path not in known:
            yield Finding(SHOULD, path, "has no row in the index", _REINDEX)
        elif known[path].sha256 != digest:
            is_lawful = path in survey.manifests or leads(survey.records, path, known[path].sha256, digest)
            level, mend = (SHOULD, _REINDEX) if is_lawful else (MUST, _RESTORE)
            yield Finding(level, path, "changed since it was indexed", mend)
    for path in known.keys() - survey.hashes.keys():
        yield Finding(SHOULD, path, "has a row but no readable file", _REINDEX)


def _books(house: House, removed: frozenset[str]) -> Iterator[Finding]:
    """Books are whole, their rows are what they say, and nothing of a removed session is in them."""
    there = [entry.key for entry in house.canon.store.list(BOOKS)]
    for path in filter(is_sync_leftover, there):
        yield Finding(SHOULD, path, "a sync client's copy: what it says is in no book", _MERGE)
    known = {item.path: item.sha256 for item in house.index.books()}
    unreadable: dict[str, str] = {}
    for (scope, kind), shelves in by_book({CURATED_PATH, *there, *known}).items():
        if (token := owner_of(scope)) in removed:
            buried = (ref.path for ref in shelves if ref.path in there)
            yield from (Finding(MUST, path, "a removed session's book came back", _again(token)) for path in buried)
        found = shelved(next(read_books(house, [shelves], unreadable)))
        yield from _entries(found)
        rows = house.index.entries(scope, kind)
        yield from _shelved(found, {ref.path: known.get(ref.path) for ref in shelves}, rows)
    for path, what in unreadable.items():
        yield Finding(SHOULD, path, what.removeprefix(f"{path}: "), _BY_HAND)


def _entries(found: Shelved) -> Iterator[Finding]:
    for path, what in found.problems:
        yield Finding(SHOULD, path, what, _BY_HAND)
    for row in found.buried:
        yield Finding(MUST, row.path, f"entry {row.id} is what a removed session said", _again(row.origin_token))


def _shelved(found: Shelved, known: Mapping[str, str | None], rows: Sequence[EntryRow]) -> Iterator[Finding]:
    """Every entry has its row: `known` is the hash of each file when it was shelved."""
    files = dict.fromkeys(known) | dict(found.files)
    changed = [path for path, digest in files.items() if digest != known.get(path)]
    for path in changed:
        yield Finding(SHOULD, path, "its entries aren't those of the index", _REINDEX)
    differ = {row.path for row in {*rows}.symmetric_difference(found.rows)} if not changed else set()
    for path in differ:
        yield Finding(SHOULD, path, "its entries aren't those of the index, though it didn't change", _REBUILD)


def _again(token: str) -> str:
    return f"lineage remove {token} --again"


def _ledgers(house: House, survey: Survey) -> Iterator[Finding]:
    """MEMORY.md of each agent is what the files say, judged as of its last render."""
    marks = house.telemetry.marks()
    for agent in sorted({artifact.agent_id for artifact in survey.artifacts.values()} | projected_agents(house)):
        path = naming.memory_md_path(agent)
        blob = read_or_none(house.canon.store, path)
        window = Window.ending(marks.get(f"rendered {agent}", house.now))
        text = rendered(house, agent, _ledger(survey, agent, window)).text
        if blob is None or blob.data != text.encode():
            yield Finding(SHOULD, path, "is not what the files say" if blob else "is missing", _RENDER)


def _ledger(survey: Survey, agent: str, window: Window) -> Ledger:
    heads = (head(a) for a in survey.artifacts.values() if a.agent_id == agent and is_visible(a))
    return ledger([entry for entry in entries(heads) if window.holds(entry.membership)])
