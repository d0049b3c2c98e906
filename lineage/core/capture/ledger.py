"""The ledger: an entry for each capture of the window, the last 30 days (spec: window semantics; format: MEMORY.md)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, is_allowed_in_scope
from lineage.core.base.naming import derive_parent_token, is_test_session
from lineage.core.base.times import shift_time, to_date
from lineage.core.format.documents import Artifact, Manifest

WINDOW_DAYS = 30


@dataclass(frozen=True, slots=True)
class Window:
    """The range from `since` to `until`, both included, as canonical UTC times."""

    since: str
    until: str

    @staticmethod
    def from_end(now: str) -> "Window":
        """Return the window of the last 30 days before `now`.

        >>> Window.from_end("2026-03-31T00:00:00.000Z").since
        '2026-03-01T00:00:00.000Z'
        """
        return Window(shift_time(now, days=-WINDOW_DAYS), now)

    def contains(self, membership: str) -> bool:
        """Return whether a time lies in the window."""
        return self.since <= membership <= self.until


def compute_membership(ended_at: str | None, captured_at: str) -> str:
    """Return the time of a session in the ledger: its end or, without one, its capture."""
    return ended_at or captured_at


# Heads and entries are named tuples: every row of the window makes one, on each publish.
class ArtifactHead(NamedTuple):
    """The frontmatter of one artifact that the ledger needs."""

    path: str
    kind: str
    stem: str
    token: str
    session_id: str
    project: str | None
    sentence: str
    membership: str
    private: bool
    manifest_path: str


class LedgerEntry(NamedTuple):
    """One row of the ledger. `links` are pairs of path and label, in order of display."""

    membership: str
    stem: str
    session_id: str
    project: str | None
    sentence: str
    private: bool
    links: tuple[tuple[str, str], ...]

    @property
    def is_public(self) -> bool:
        """Whether the row may show the subject of the session."""
        return is_allowed_in_scope(GLOBAL, private=self.private, token="")


class NotedCapture(NamedTuple):
    """An entry as the notes of projects and days show it; no private session's, and none of the archive."""

    membership: str
    stem: str
    token: str
    project: str
    title: str
    ask: str
    harness: str
    manifest_path: str


class ProjectTally(NamedTuple):
    """The number of entries of a project on a day; the project "" holds private ones and those without one."""

    day: str
    project: str
    entries: int


class Ledger(NamedTuple):
    """A window's entries, newest first, and tallies: a renderer reads only the entries that it shows."""

    entries: Iterable[LedgerEntry]
    tallies: Sequence[ProjectTally]


def build_head(artifact: Artifact) -> ArtifactHead:
    """Return the head of an artifact."""
    return ArtifactHead(
        path=artifact.path,
        kind=artifact.kind,
        stem=artifact.stem,
        token=artifact.identity.token,
        session_id=artifact.session_id,
        project=artifact.project,
        sentence=artifact.memory_sentence,
        membership=compute_membership(artifact.ended_at, artifact.captured_at),
        private=artifact.private,
        manifest_path=artifact.manifest_path,
    )


def is_visible(document: Artifact | Manifest) -> bool:
    """Return whether the ledger and search show the session: temp and test sessions stay out."""
    return not is_test_session(document.identity, document.project)


def find_parent(document: Artifact | Manifest) -> str | None:
    """Return the token of the session that started this one, a sub-agent; None for any other session."""
    return derive_parent_token(document.identity, document.parent_session)


def build_ledger(entries: Sequence[LedgerEntry]) -> Ledger:
    """Return the ledger of all entries of a window, newest first."""
    counts = Counter((to_date(entry.membership), (entry.project or "") if entry.is_public else "") for entry in entries)
    return Ledger(entries, [ProjectTally(*key, count) for key, count in sorted(counts.items())])


def build_entries(heads: Iterable[ArtifactHead]) -> list[LedgerEntry]:
    """Return an entry for each capture, newest first; a session without captures gets its newest compaction's."""
    ordered = sorted(heads, key=lambda item: (item.token, item.stem))
    visible: list[ArtifactHead] = []
    for _, group in groupby(ordered, key=lambda item: item.token):
        session = list(group)
        captures = [item for item in session if item.kind != naming.COMPACTION]
        visible += captures or [item for item in session if item.stem == session[-1].stem]
    return list(group_heads(sorted(visible, key=lambda item: (item.membership, item.stem), reverse=True)))


def group_heads(heads: Iterable[ArtifactHead]) -> Iterator[LedgerEntry]:
    """Yield the entries of heads that come sorted by stem: the heads of a stem make one entry."""
    for _, group in groupby(heads, key=lambda item: item.stem):
        by_kind = {item.kind: item for item in group}
        ordered = [by_kind[kind] for kind in naming.ARTIFACT_DISPLAY_ORDER if kind in by_kind]
        head = ordered[0]
        links = (*((item.path, item.kind) for item in ordered), (head.manifest_path, naming.MANIFEST))
        yield LedgerEntry(head.membership, head.stem, head.session_id, head.project, head.sentence, head.private, links)
