"""Observe what lies there, apply what is missing: the loop under both flows. (architecture: one idea)"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from lineage.core import naming, transcript
from lineage.core.body import pieces_of
from lineage.core.documents import Artifact, Manifest
from lineage.core.ledger import is_visible
from lineage.core.planner import Intent, Seen, Step, plan
from lineage.core.sanitizer import redactions_in
from lineage.core.times import day
from lineage.core.window import Window, membership
from lineage.errors import IndexAway
from lineage.extract import Candidate
from lineage.extract.model.port import Proposals
from lineage.index import Row, Said, Waiting
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.learning import Learned, learn
from lineage.pipeline.publishing import Publication, take_in
from lineage.pipeline.reading import row_at, row_of_written
from lineage.store import ConflictError, read_or_none, together


class Carried(NamedTuple):
    """The steps that were due, none where the intent was true already, and what the capture taught in this run.
    `waits` says why rows, counts and MEMORY.md are still due: then the job is still in the spool."""

    steps: tuple[Step, ...]
    learned: Learned
    waits: str | None = None


class Known(NamedTuple):
    """What the run that captures knows already: what a language model would remember of the turns, the candidates that
    are `found` in them, and what they say by number. Whoever finishes a capture after a crash has none of it."""

    proposals: Proposals = Proposals()
    found: Sequence[Candidate] | None = None
    said: Said | None = None


_NOTHING = Known()


def carry_out(house: House, intent: Intent, known: Known = _NOTHING) -> Carried:
    """Makes the intent true, step by step. The caller holds the session's mutex.

    While the index is away the files are written, and the job stays in the spool for whoever finds the index back."""
    steps = plan(intent, seen_of(house, intent))
    run = _Run(house, intent, steps, known)
    try:
        for step in steps:
            _ACTIONS[step](run)
    except IndexAway as error:
        from lineage.pipeline.behind import fall_behind  # noqa: PLC0415  (servers are there as a rule)

        fall_behind(house, error)
        return Carried(steps, run.learned, f"its rows wait: {error.message}")
    return Carried(steps, run.learned)


def seen_of(house: House, intent: Intent) -> Seen:
    """What lies there of an intent already."""
    canon, first = house.canon, intent.artifacts[0]
    spooled = any(job.name == intent.job.name for job in canon.spool.pending(intent.job.token))
    if intent.is_first:
        return Seen(spooled)
    manifest = canon.manifests.get(intent.stem)
    return Seen(
        spooled=spooled,
        claimed=canon.claims.stem_of(intent.job.token) is not None,
        present=frozenset(
            artifact.kind for artifact in intent.artifacts if canon.artifacts.holds(artifact) is not None
        ),
        listed=manifest is not None and first.stem in _listed(manifest, first.kind),
        projected=_is_projected(house, intent.artifacts[-1], manifest),
        indexed=_is_known(lambda: house.index.has(_paths(intent))),
        counted=_is_known(lambda: house.telemetry.has_counted(first.stem, intent.job.flow)),
    )


def _is_known(asked: Callable[[], bool]) -> bool:
    """Nothing is known while the index is away."""
    try:
        return asked()
    except IndexAway:
        return False


class _Run:
    """One application of a plan."""

    def __init__(self, house: House, intent: Intent, steps: Sequence[Step], known: Known) -> None:
        self.house = house
        self.intent = intent
        self.steps = steps
        self.known = known
        self.learned = Learned()

    def spool(self) -> None:
        self.house.canon.spool.put(self.intent.job)

    def claim(self) -> None:
        stem = self.house.canon.claims.claim(self.intent.artifacts[0].identity, self.intent.stem)
        if stem != self.intent.stem:
            raise ConflictError("the session was claimed by another writer in the meantime")

    def write(self, kind: str) -> None:
        for artifact in self.intent.artifacts:
            if artifact.kind == kind:
                self.house.canon.artifacts.write(artifact)

    def link(self) -> None:
        self.house.canon.manifests.link(self.intent.stem, self.intent.artifacts, self.house.new_id(), self.house.now)

    def learn(self) -> None:
        self.learned = learn(self.house, self.intent.artifacts[0], self.known.proposals, self.known.found)

    def project(self) -> None:
        """MEMORY.md shows this run's rows: nobody else sees them before it is there, and then everybody does."""
        if Step.ROWS in self.steps:
            self._take_in()
        else:
            with Publication(self.house, self.intent.artifacts[0].agent_id) as publication:
                publication.publish()

    def index(self) -> None:
        """The rows, where they did not come with MEMORY.md."""
        if Step.PROJECTION not in self.steps:
            self._take_in()

    def _take_in(self) -> None:
        artifact = self.intent.artifacts[-1]
        time = membership(artifact.ended_at, artifact.captured_at)
        capture = Waiting(artifact.agent_id, artifact.identity.token, time, tuple(_paths(self.intent)))
        take_in(self.house, capture, self._rows)

    def _rows(self) -> list[Row]:
        house, stem = self.house, self.intent.stem

        def row_of(artifact: Artifact | None) -> Row | None:
            if artifact:
                said = self.known.said if artifact.kind == naming.TRANSCRIPT else None
                return row_of_written(house, artifact, said)
            manifest = row_at(house, naming.artifact_path(stem, naming.MANIFEST))
            return manifest[0] if manifest else None

        return list(filter(None, together(house.canon.store, row_of, (*self.intent.artifacts, None))))

    def count(self) -> None:
        """Counts what the file itself shows, so that a run that finishes another one's work counts the same."""
        first, job = self.intent.artifacts[0], self.intent.job
        self.house.telemetry.count_capture(
            first.stem,
            job.flow,
            job.token,
            at=first.captured_at,
            turns=_turns_in(first),
            redactions=sum(map(redactions_in, pieces_of(first.body))),
        )
        if self.learned.dropped:
            self.house.telemetry.count_drops(day(first.captured_at), self.learned.dropped)

    def clear(self) -> None:
        self.house.canon.spool.clear(self.intent.job)


_ACTIONS: Mapping[Step, Callable[[_Run], None]] = {
    Step.SPOOL: _Run.spool,
    Step.CLAIM: _Run.claim,
    Step.TRANSCRIPT: lambda run: run.write(naming.TRANSCRIPT),
    Step.SUMMARY: lambda run: run.write(naming.SUMMARY),
    Step.COMPACTION: lambda run: run.write(naming.COMPACTION),
    Step.MANIFEST: _Run.link,
    Step.KNOWLEDGE: _Run.learn,
    Step.PROJECTION: _Run.project,
    Step.ROWS: _Run.index,
    Step.TELEMETRY: _Run.count,
    Step.CLEAR: _Run.clear,
}


def _turns_in(artifact: Artifact) -> int:
    """How many turns a transcript holds: they are numbered without a gap, up to its watermark."""
    first = transcript.first_number(artifact.body) if artifact.kind == naming.TRANSCRIPT else None
    return artifact.watermark[0] - first + 1 if first else 0


def _paths(intent: Intent) -> list[str]:
    return [artifact.path for artifact in intent.artifacts] + [naming.artifact_path(intent.stem, naming.MANIFEST)]


def _listed(manifest: Manifest, kind: str) -> list[str]:
    return manifest.compactions if kind == naming.COMPACTION else manifest.captures


def _is_projected(house: House, artifact: Artifact, manifest: Manifest | None) -> bool:
    """Whether MEMORY.md exists and shows the artifact, where it has to show it at all."""
    blob = read_or_none(house.canon.store, naming.memory_md_path(artifact.agent_id))
    if blob is None:
        return False
    due = is_visible(artifact) and Window.ending(house.now).holds(membership(artifact.ended_at, artifact.captured_at))
    return not (due and _has_row(artifact, manifest)) or f"[[{artifact.path}|".encode() in blob.data


def _has_row(artifact: Artifact, manifest: Manifest | None) -> bool:
    """Every capture has a row in the ledger; a session that was only compacted so far has its newest compaction's."""
    if artifact.kind != naming.COMPACTION or manifest is None:
        return True
    return not manifest.captures and manifest.compactions[-1:] == [artifact.stem]
