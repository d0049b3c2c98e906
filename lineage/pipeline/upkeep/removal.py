"""Privacy removal: tombstone first, then files and entries, rows and projections, then the scrub. (format: Removal)

A removal that was cut off is finished by the next run: its job lies in the spool until the last step.
"""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from lineage.canon import Rung
from lineage.canon.bundles import holding
from lineage.core import naming, transcript
from lineage.core.archive import ARCHIVE
from lineage.core.book_paths import ref_of
from lineage.core.documents import Artifact, Manifest, Tombstone
from lineage.core.identity import DEFAULT_AGENT, TOKEN, session_token
from lineage.core.job import REMOVAL, Job
from lineage.core.links import one_line
from lineage.errors import FormatError, NotFoundError, WorkspaceError
from lineage.harness.signals import signal
from lineage.pipeline.capture import session as sessions
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.forgetting import Taught, forget_taught, own_books, taught, text_without
from lineage.pipeline.lookup import resolve
from lineage.pipeline.publishing import projected_agents, publish_all
from lineage.pipeline.reading import readable_at
from lineage.pipeline.upkeep.forgetting import scrub
from lineage.store import read_or_none, together

_AGAIN = "what came back goes with `lineage remove {} --again`"

_SHORTEST_PROBE = 24
_MOST_PROBES = 400
_NOTE = ".md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a removal removed, checked and could not reach. With `dry_run` it says what would be removed.

    `entries` counts what the session taught, in its own books and in others. `elsewhere` are files of others, another
    session's or a hand-written note, that hold a line of the session too: theirs, named and not removed. So are books
    with an entry of it that has lost its end.
    """

    session_token: str
    session_id: str | None
    agent_id: str
    harness: str | None
    reason: str
    removed_at: str
    dry_run: bool
    removed_paths: list[str]
    spool_files: list[str]
    rows: int
    turns: int
    entries: int
    checked_files: int
    elsewhere: list[str]
    out_of_reach: list[str]


@dataclass(frozen=True, slots=True)
class _Target:
    """The session to be removed, as its files show it."""

    token: str
    agent_id: str
    session_id: str | None
    harness: str | None
    paths: list[str]
    turns: list[str]
    probes: frozenset[str]
    came_from: list[str]
    taught: Taught


def remove(house: House, reference: str, *, reason: str, dry_run: bool = False, again: bool = False) -> Receipt:
    """Removes a session for good. `again` deletes what came back of one that was removed before.

    Raises NotFoundError where no session, or more than one, answers to the reference, and where it was removed already
    and `again` is not set.
    """
    token = _token(house, reference, again=again)
    with sessions.exclusively(house, token):
        target = _target(house, token)
        job = _job(house, target, one_line(house.sanitizer().text(reason)))
        if dry_run:
            return _receipt(house, target, job, spooled=[], rows=0, dry_run=True)
        house.canon.spool.put(job)
        spooled, rows = finish_removal(house, job)
        return _receipt(house, target, job, spooled=spooled, rows=rows, dry_run=False)


def finish_removal(house: House, job: Job) -> tuple[list[str], int]:
    """The steps of a removal, from its job alone, however far it had come. The caller holds the session's mutex.

    Gives back the spool files and the number of rows that went.
    """
    house.canon.tombstones.put(_tombstone(job))
    paths = _paths(house, job.token)
    house.canon.archives.drop(paths)  # at once: each bundle is written again once
    for path in paths:
        house.canon.store.delete(path)
    forget_taught(house, job.token)
    spooled = house.canon.spool.discard(job.token) + _discarded_signals(house, job.token)
    spooled += house.canon.checkpoints.discard(job.token)
    house.canon.blocks.clear()
    rows = house.index.forget(job.token) + house.telemetry.forget(job.token)
    publish_all(house)
    rows += scrub(house)
    house.canon.store.tidy()
    house.canon.spool.clear(job)
    return spooled, rows


def _discarded_signals(house: House, token: str) -> list[str]:
    """Hooks' payloads of the session go too, whatever became of them."""
    rungs = [*house.canon.signals.pending(), *house.canon.signals.dead()]
    return house.canon.signals.discard([rung.key for rung in rungs if _token_of(rung) == token])


def _token_of(rung: Rung) -> str | None:
    found = signal(rung.harness, rung.payload)
    return found.identity(rung.agent).token if found else None


def _token(house: House, reference: str, *, again: bool) -> str:
    """The token of a session that is there, of one that only the spool or a claim knows, or of one that was removed."""
    named = [reference] if TOKEN.fullmatch(reference) else []
    agents = sorted({DEFAULT_AGENT, *house.index.agents(), *projected_agents(house)})
    named += [session_token(agent, reference) for agent in agents]
    buried = next(filter(house.canon.tombstones.has, named), None)
    if buried and again:
        return buried
    try:
        return resolve(house, reference).session_token
    except NotFoundError:
        if buried:
            raise NotFoundError(f"{reference!r} was removed already", hint=_AGAIN.format(reference)) from None
        known = (token for token in named if house.canon.spool.pending(token) or house.canon.claims.has(token))
        token = next(known, None)
        if token is None:
            raise
        return token


def _target(house: House, token: str) -> _Target:
    paths = _paths(house, token)
    documents = [document for path in paths if (document := readable_at(house, path))]
    transcripts = [d for d in documents if isinstance(d, Artifact) and d.kind == naming.TRANSCRIPT]
    turns = [turn for artifact in transcripts for turn in transcript.parsed(artifact.body)]
    first = documents[0] if documents else None
    came_from = next((list(d.imported_from) for d in documents if isinstance(d, Manifest)), [])
    owned = _of_originals(house, came_from)
    return _Target(
        token=token,
        agent_id=first.agent_id if first else _agent_of(house, token),
        session_id=first.session_id if first else None,
        harness=first.harness if first else None,
        paths=paths,
        turns=[turn for turn in dict.fromkeys(turn.id for turn in turns) if turn not in owned],
        probes=_probes(turn.text for turn in turns),
        came_from=came_from,
        taught=taught(house, token),
    )


def _of_originals(house: House, came_from: Iterable[str]) -> frozenset[str]:
    """The turns of the sessions that this one is a copy of and that live here: a turn belongs to the first session that
    holds it. (format: Captures)"""
    owned: set[str] = set()
    for token in came_from:
        with contextlib.suppress(FormatError):
            owned.update(sessions.captured_ids(house, sessions.observed(house, token)))
    return frozenset(owned)


def _agent_of(house: House, token: str) -> str:
    """The agent of a session without a readable file, as its tombstone or a spooled job says."""
    with contextlib.suppress(FormatError):
        if tombstone := house.canon.tombstones.get(token):
            return tombstone.agent_id
    said = (job.payload.get("agent_id") for job in house.canon.spool.pending(token))
    return next(filter(None, said), DEFAULT_AGENT)


def _paths(house: House, token: str) -> list[str]:
    """Every file of the session but its tombstone, its own books among them: a sync client's copies with other names
    too."""
    keys = (entry.key for place in (naming.MEMORY, ARCHIVE) for entry in house.canon.store.list(place))
    own = [key for key in keys if token in key and not key.startswith(naming.TOMBSTONES)]
    return own + own_books(house, token) + list(holding(house.canon.store, token))


def _probes(texts: Iterable[str]) -> frozenset[str]:
    """Lines that are long enough to tell the session's text from anybody else's."""
    lines = (line.strip() for text in texts for line in text.split("\n"))
    return frozenset(sorted({line for line in lines if len(line) >= _SHORTEST_PROBE})[:_MOST_PROBES])


def _job(house: House, target: _Target, reason: str) -> Job:
    payload = {
        "agent_id": target.agent_id,
        "reason": reason,
        "removed_paths": target.paths,
        "removed_turns": target.turns,
        "imported_from": target.came_from,
    }
    return Job(flow=REMOVAL, token=target.token, captured_at=house.now, sentence="", quality="", payload=payload)


def _tombstone(job: Job) -> Tombstone:
    return Tombstone(
        kind="tombstone",
        agent_id=job.payload["agent_id"],
        session_token=job.token,
        removed_at=job.captured_at,
        reason=job.payload["reason"],
        removed_paths=job.payload["removed_paths"],
        removed_turns=job.payload["removed_turns"],
        imported_from=job.payload.get("imported_from", []),
    )


def _receipt(house: House, target: _Target, job: Job, *, spooled: list[str], rows: int, dry_run: bool) -> Receipt:
    others = [entry.key for entry in house.canon.store.list("") if _is_others(entry.key, target)]
    holding_it = together(house.canon.store, lambda key: _holds(house, key, target), others)
    return Receipt(
        session_token=target.token,
        session_id=target.session_id,
        agent_id=target.agent_id,
        harness=target.harness,
        reason=job.payload["reason"],
        removed_at=job.captured_at,
        dry_run=dry_run,
        removed_paths=target.paths,
        spool_files=spooled,
        rows=rows,
        turns=len(target.turns),
        entries=target.taught.entries,
        checked_files=len(others),
        elsewhere=[key for key, holds in zip(others, holding_it, strict=True) if holds],
        out_of_reach=_out_of_reach(house, target),
    )


def _is_others(key: str, target: _Target) -> bool:
    """Whether a file is a note of somebody else's: another session's, a book, a page of the vault's owner."""
    return key.endswith(_NOTE) and key not in target.paths


def _holds(house: House, key: str, target: _Target) -> bool:
    """Whether a file holds a line of the session's when the session's entries are out of it, or may hold one."""
    if key in target.taught.damaged:
        return True
    with contextlib.suppress(WorkspaceError, FormatError):  # what cannot be read is nobody's to compare
        blob = read_or_none(house.canon.store, key)
        data, ref = blob.data if blob else b"", ref_of(key)
        text = (text_without(data, ref, target.token) if ref else data).decode("utf-8", errors="replace")
        return any(probe in text for probe in target.probes)
    return False


def _out_of_reach(house: House, target: _Target) -> list[str]:
    """What holds the session's text and is not lineage's."""
    where = f": ~/.claude/projects/*/{target.session_id}.jsonl" if target.harness == "claude-code" else ""
    return [
        f"the transcript that {target.harness or 'the harness'} keeps itself{where}",
        *house.canon.store.out_of_reach(),
        *house.index.out_of_reach(),
        *_sent_away(house),
    ]


def _sent_away(house: House) -> list[str]:
    """Where passages were sent to be embedded, as far as this machine's configuration still says."""
    place = house.embedding.embedder.place if house.embedding else ""
    return [f"what {place} kept of the redacted passages that it embedded"] if place else []
