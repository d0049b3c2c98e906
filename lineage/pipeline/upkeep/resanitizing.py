"""Resanitize: committed artifacts under today's rules. (spec: sanitization contract)

For each session that holds what the rules redact: a job in the spool, the records in the manifest, then the files one
by one by compare-and-swap, then their rows; at last MEMORY.md and the scrub of what the databases held. Cut off at any
point, the next run or `recover` goes on: a file is either what its record says it was, or what it says it is.
"""

import contextlib
import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby

from lineage.core import naming
from lineage.core.book import redacted
from lineage.core.book_paths import BookRef
from lineage.core.documents import Artifact, Manifest, parsed_as, serialized
from lineage.core.job import RESANITIZE, Job
from lineage.core.redaction import resanitized
from lineage.core.replacement import Replacement
from lineage.core.sanitizer import Sanitizer
from lineage.errors import FormatError
from lineage.index import Row
from lineage.pipeline import embedding
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from lineage.pipeline.publishing import publish_all
from lineage.pipeline.reading import named_by, row_at
from lineage.store import read_or_none


@dataclass(slots=True)
class Resanitized:
    """What was replaced, or would be, oldest first; how many redactions of each rule that made; how many artifacts
    held nothing to redact; `books` whose entries were redacted; `problems` are (path, what is wrong): damaged files
    are left alone."""

    version: str
    dry_run: bool
    replaced: list[Replacement] = field(default_factory=list)
    redactions: dict[str, int] = field(default_factory=dict)
    unchanged: int = 0
    books: list[str] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Change:
    """A file that is to be replaced: what it holds, as the store knows it, and what it shall hold."""

    record: Replacement
    version: str
    artifact: Artifact


def resanitize(house: House, *, dry_run: bool = False) -> Resanitized:
    """Replaces every artifact, and the text of every entry of a book, in which the workspace's rules find something.
    What a hand wrote between the entries is its writer's. Raises EngineMissing and ConflictError."""
    done = Resanitized(house.rules.version, dry_run)
    jobs = []
    for token in _tokens(house):
        with sessions.exclusively(house, token):
            jobs += _session(house, token, done)
    books = _books(house, done)
    if jobs or (books and not dry_run):
        shelve(house, books)
        _finish(house, jobs)
    return done


def finish_resanitizing(house: House, job: Job) -> None:
    """One session whose run was cut off, from its job. The caller holds the session's mutex."""
    _session(house, job.token, Resanitized(house.rules.version, dry_run=False), begun=True)
    _finish(house, [job])


def _tokens(house: House) -> list[str]:
    """The sessions that were not removed, in order."""
    removed = house.canon.tombstones.tokens()
    names = (naming.parse_path(entry.key) for entry in house.canon.store.list(naming.MEMORY))
    tokens = sorted(name.token for name in names if name and name.token not in removed)
    return [token for token, _ in groupby(tokens)]


def _session(house: House, token: str, done: Resanitized, *, begun: bool = False) -> list[Job]:
    """Replaces a session's artifacts and their rows; the job that was spooled for it, if anything was to be done.
    `begun` says that a run was cut off here: what it replaced may have old rows still."""
    session = sessions.observed(house, token)
    if session.manifest is None:
        return []
    changes = _changes(house, session.manifest, done)
    if done.dry_run or not (changes or begun):
        return []
    job = Job(flow=RESANITIZE, token=token, captured_at=house.now, sentence="", quality="", payload={})
    house.canon.spool.put(job)
    records = [change.record for change in changes]
    house.canon.manifests.record(session.manifest.stem, records, house.sanitizer(), house.new_id(), house.now)
    for change in changes:
        house.canon.artifacts.replace(change.artifact, change.version)
    house.index.upsert(_rows(house, [*named_by(session.manifest), session.manifest.path]))
    return [job]


def _books(house: House, done: Resanitized) -> list[BookRef]:
    """Redacts the entries of books; which books had some. What is cut off here is taken up by running it again."""
    changed = []
    for ref in house.canon.books.list():
        sanitizer, book = house.sanitizer(), house.canon.books.read(ref)
        clean = redacted(book, sanitizer.text, by_hand=False)
        if clean.parts == book.parts:
            continue
        changed.append(ref)
        done.books.append(ref.path)
        done.redactions.update(Counter(done.redactions) + sanitizer.redactions)
        if not done.dry_run:
            house.canon.books.settle(ref, book, clean)
    return changed


def _rows(house: House, paths: list[str]) -> Iterator[Row]:
    for path in paths:
        with contextlib.suppress(FormatError):  # a damaged file has no row; the reindex reports it
            if found := row_at(house, path):
                yield found[0]


def _changes(house: House, manifest: Manifest, done: Resanitized) -> list[_Change]:
    changes = []
    for path in named_by(manifest):
        sanitizer = house.sanitizer()
        try:
            change = _change(house, path, sanitizer)
        except FormatError as error:
            done.problems.append((path, error.message))
            continue
        if change is None:
            done.unchanged += 1
            continue
        changes.append(change)
        done.replaced.append(change.record)
        done.redactions.update(Counter(done.redactions) + sanitizer.redactions)
    return changes


def _change(house: House, path: str, sanitizer: Sanitizer) -> _Change | None:
    blob = read_or_none(house.canon.store, path)
    if blob is None:
        return None
    artifact = parsed_as(Artifact, blob.data, path)
    clean = resanitized(artifact, sanitizer)
    if clean is None:
        return None
    old, new = (hashlib.sha256(data).hexdigest() for data in (blob.data, serialized(clean)))
    record = Replacement(path, old, new, artifact.sanitizer_version, clean.sanitizer_version)
    return _Change(record, blob.version, clean)


def _finish(house: House, jobs: list[Job]) -> None:
    """What the old texts left behind goes too: rendered rows, free pages, half-written files."""
    publish_all(house)
    house.canon.blocks.clear()
    house.index.scrub()
    embedding.prune(house)
    embedding.scrub(house)
    house.canon.store.tidy()
    for job in jobs:
        house.canon.spool.clear(job)
