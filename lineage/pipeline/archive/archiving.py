"""Archive: artifacts that are out of the window, packed by month.

What is in a bundle stays readable, listed, searched, verified, redacted and removed under the path that it had: that is
`canon.archived_store`, and nothing above it knows. Claims, manifests and tombstones stay in `memory/`, so a session
that is resumed finds its captures as ever, and what it adds lies in `memory/` until it is archived too. Links still
resolve: the month's folder has a note for each artifact whose path ends as the artifact's did, which is how Obsidian
looks for one.

    spool → bundles, each read back → notes → originals deleted, session by session → rows' stamps → spool cleared

A month at a time. A bundle is durable before the first original goes, and an original goes only where the bundle, as it
was read back, holds its very bytes. Cut off at any point, the next command goes on from the spool. What was redacted or
removed meanwhile leaves the bundle again.
"""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import NamedTuple

from lineage import __version__
from lineage.canon.archives import stamp_of
from lineage.core import naming
from lineage.core.archive import is_archivable, month_of
from lineage.core.bundle import LIMITS, SESSIONS, Bundle, Bundled
from lineage.core.documents import Artifact, Manifest, parsed_as
from lineage.core.job import ARCHIVING, Job
from lineage.core.times import utc_or_none
from lineage.core.window import DAYS, Window, membership
from lineage.errors import FormatError, InvalidInput
from lineage.pipeline.archive.notes import publish_archive
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.house import House
from lineage.pipeline.reading import named_by
from lineage.store import read_or_none

MOST_BYTES = 8 << 20
"""How large the artifacts of one bundle are together: what is read to read one of them, and rewritten to remove it."""

UNFINISHED, UNNAMED, RECENT, DAMAGED, LARGE = "unfinished", "in no manifest", "ended later", "damaged", "too large"

_MOST_MEMBERS = 2000
_HINT = f"name a day such as 2026-01-01, {DAYS} days ago or more"


@dataclass(slots=True)
class Archived:
    """What was archived, or would be: artifacts, sessions and bytes; how many artifacts of each month. `left` counts
    artifacts from before the day that stay, by reason; `problems` are (path, what is wrong)."""

    before: str
    dry_run: bool
    artifacts: int = 0
    sessions: int = 0
    bytes: int = 0
    months: dict[str, int] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)

    def leave(self, why: str) -> None:
        self.left[why] = self.left.get(why, 0) + 1


class _Found(NamedTuple):
    """An artifact that is to be archived."""

    artifact: Artifact
    manifest: Manifest
    data: bytes


def archive(house: House, before: str, *, dry_run: bool = False) -> Archived:
    """Archives every artifact that was captured, and whose session had ended, before the UTC day `before`.

    Running it again changes nothing. Raises InvalidInput for what is no day, or one inside the window.
    """
    done = Archived(before, dry_run)
    moment = _moment(house, before)
    tokens = set[str]()
    with sessions.exclusively(house, moment):  # a time is no token: no session has this mutex
        for month, paths in groupby(_candidates(house, moment, done), key=month_of):
            tokens |= _month(house, month, list(paths), moment, done)
    done.sessions = len(tokens)
    return done


def finish_archiving(house: House, job: Job) -> None:
    """The steps behind the bundles of a month, from its job alone, however far it had come. The caller holds the mutex
    of the job's token."""
    month = job.token
    publish_archive(house)
    for token, group in groupby(sorted(_unsettled(house, month), key=_token), key=_token):
        with sessions.exclusively(house, token):
            _settle(house, token, list(group))
    members = house.canon.archives.members(month)
    house.index.restamp([(path, stamp_of(member)) for path, member in members.items()])
    publish_archive(house)
    house.canon.archives.tidy()
    house.canon.spool.clear(job)


def _moment(house: House, before: str) -> str:
    moment = utc_or_none(f"{before}T00:00:00Z") if len(before) == len("2026-01-01") else None
    if moment is None:
        raise InvalidInput(f"not a day: {before[:40]!r}", hint=_HINT)
    if moment > Window.ending(house.now).since:
        raise InvalidInput(f"{before} is within the last {DAYS} days, which the ledger shows", hint=_HINT)
    return moment


def _candidates(house: House, moment: str, done: Archived) -> Iterator[str]:
    """The plain files of artifacts from before a moment, oldest first, but for sessions with something unfinished."""
    removed = house.canon.tombstones.tokens()
    waiting = {job.token for job in house.canon.spool.pending()}
    for entry in house.canon.archives.store.list(naming.MEMORY):
        name = naming.parse_path(entry.key)
        if name is None or not is_archivable(entry.key) or name.captured_at >= moment or name.token in removed:
            continue
        if name.token in waiting:
            done.leave(UNFINISHED)
        else:
            yield entry.key


def _month(house: House, month: str, paths: list[str], moment: str, done: Archived) -> set[str]:
    """Archives these files of a month; the tokens of the sessions. A file whose artifact is archived already, as after
    a sync, is settled with the others."""
    job = Job(flow=ARCHIVING, token=month, captured_at=house.now, sentence="", quality="", payload={})
    archived = house.canon.archives.members(month)
    is_due, tokens = any(path in archived for path in paths), set[str]()
    if is_due and not done.dry_run:
        house.canon.spool.put(job)
    found = (_found(house, path, moment, done) for path in paths if path not in archived)
    for pack in _packs(filter(None, found)):
        done.artifacts += len(pack)
        done.bytes += sum(len(one.data) for one in pack)
        done.months[month] = done.months.get(month, 0) + len(pack)
        tokens |= {one.artifact.identity.token for one in pack}
        if not done.dry_run:
            house.canon.spool.put(job)
            house.canon.archives.put(month, _bundle(pack), {one.artifact.path: one.data for one in pack})
    if not done.dry_run and (is_due or tokens):
        finish_archiving(house, job)
    return tokens


def _found(house: House, path: str, moment: str, done: Archived) -> _Found | None:
    """The artifact in a plain file with its manifest, None where it stays: counted by why."""
    blob = read_or_none(house.canon.archives.store, path)
    if blob is None:
        return None
    try:
        artifact = parsed_as(Artifact, blob.data, path)
        manifest = _manifest_of(house, artifact)
    except FormatError as error:
        done.leave(DAMAGED)
        done.problems.append((path, error.message))
        return None
    if manifest is None or path not in named_by(manifest):
        done.leave(UNNAMED)
    elif membership(artifact.ended_at, artifact.captured_at) >= moment:
        done.leave(RECENT)
    elif len(blob.data) > LIMITS.member_bytes:
        done.leave(LARGE)
    else:
        return _Found(artifact, manifest, blob.data)
    return None


def _manifest_of(house: House, artifact: Artifact) -> Manifest | None:
    name = naming.parse_path(artifact.manifest_path)
    return house.canon.manifests.get(name.stem) if name else None


def _packs(found: Iterable[_Found]) -> Iterator[list[_Found]]:
    """What goes into one bundle each: no more than is read at once."""
    pack: list[_Found] = []
    size = 0
    for one in found:
        if pack and (size + len(one.data) > MOST_BYTES or len(pack) == _MOST_MEMBERS):
            yield pack
            pack, size = [], 0
        pack.append(one)
        size += len(one.data)
    if pack:
        yield pack


def _bundle(found: list[_Found]) -> Bundle:
    held = {one.artifact.identity.token: _bundled(one.manifest) for one in found}
    return Bundle(
        holds=SESSIONS,
        exported_at=max(one.artifact.captured_at for one in found),
        lineage_version=__version__,
        sanitizer_version=max(one.artifact.sanitizer_version for one in found),
        private=any(one.artifact.private for one in found),
        sessions=tuple(held[token] for token in sorted(held)),
        members=(),
    )


def _bundled(manifest: Manifest) -> Bundled:
    identity = manifest.identity
    came_from = tuple(manifest.imported_from)
    return Bundled(identity.agent_id, identity.session_id, identity.session_key, identity.token, came_from)


def _unsettled(house: House, month: str) -> list[str]:
    """The archived artifacts of a month that have a plain file still, or whose session was removed."""
    removed = house.canon.tombstones.tokens()
    plain = {entry.key for entry in house.canon.archives.store.list(naming.MEMORY)}
    return [path for path in house.canon.archives.members(month) if path in plain or _token(path) in removed]


def _settle(house: House, token: str, paths: list[str]) -> None:
    """The originals of a session go where the bundle holds them; what was removed, or has other sound content by now,
    leaves the bundle instead."""
    is_removed = house.canon.tombstones.has(token)
    left = [path for path in paths if is_removed or not house.canon.archives.give_way(path)]
    house.canon.archives.drop([path for path in left if is_removed or _is_sound(house, path)])


def _is_sound(house: House, path: str) -> bool:
    """Whether a plain file holds an artifact that may stand for the archived one."""
    with contextlib.suppress(FormatError):
        blob = read_or_none(house.canon.archives.store, path)
        return blob is not None and parsed_as(Artifact, blob.data, path).path == path
    return False


def _token(path: str) -> str:
    return naming.tokens_in(path)[0]
