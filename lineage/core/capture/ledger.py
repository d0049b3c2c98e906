"""The ledger's entries: one for each capture of the window, made of its artifacts' frontmatter. (format: MEMORY.md)"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.base.identity import is_test_session
from lineage.core.base.privacy import GLOBAL, is_allowed_in_scope
from lineage.core.base.times import to_date
from lineage.core.capture.window import compute_membership
from lineage.core.format.documents import Artifact, Manifest


class ArtifactHead(NamedTuple):
    """What the ledger needs of one artifact: frontmatter only, never its body."""

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
    """One row of the ledger. `links` are (path, label), in the order in which they are shown."""

    membership: str
    stem: str
    session_id: str
    project: str | None
    sentence: str
    private: bool
    links: tuple[tuple[str, str], ...]

    @property
    def is_public(self) -> bool:
        """Whether the row may say what the session was about."""
        return is_allowed_in_scope(GLOBAL, private=self.private, token="")


class ProjectTally(NamedTuple):
    """How many `entries` a project has on a day; "" stands for those that are private or name none."""

    day: str
    project: str
    entries: int


class Ledger(NamedTuple):
    """A window's entries, newest first, and the tallies of all of them: who renders takes as many entries as it shows
    and counts the others without looking at them."""

    entries: Iterable[LedgerEntry]
    tallies: Sequence[ProjectTally]


def build_head(artifact: Artifact) -> ArtifactHead:
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
    """Whether the ledger and search show the session: temp and test sessions stay out."""
    return not is_test_session(document.identity, document.project)


def build_ledger(entries: Sequence[LedgerEntry]) -> Ledger:
    """The ledger of entries that are all at hand, newest first."""
    counts = Counter((to_date(entry.membership), _public_project(entry)) for entry in entries)
    return Ledger(entries, [ProjectTally(*key, count) for key, count in sorted(counts.items())])


def build_entries(heads: Iterable[ArtifactHead]) -> list[LedgerEntry]:
    """One entry for each capture, newest first; a session without one has its newest compaction's."""
    ordered = sorted(heads, key=lambda item: (item.token, item.stem))
    shown: list[ArtifactHead] = []
    for _, group in groupby(ordered, key=lambda item: item.token):
        session = list(group)
        captures = [item for item in session if item.kind != naming.COMPACTION]
        shown += captures or [item for item in session if item.stem == session[-1].stem]
    return list(group_heads(sorted(shown, key=lambda item: (item.membership, item.stem), reverse=True)))


def group_heads(heads: Iterable[ArtifactHead]) -> Iterator[LedgerEntry]:
    """The entries of heads that come sorted by stem: each stem's are one entry."""
    for _, group in groupby(heads, key=lambda item: item.stem):
        yield _build_entry({item.kind: item for item in group})


def _build_entry(parts: dict[str, ArtifactHead]) -> LedgerEntry:
    shown = [parts[kind] for kind in naming.ARTIFACT_DISPLAY_ORDER if kind in parts]
    first = shown[0]
    links = (*((item.path, item.kind) for item in shown), (first.manifest_path, naming.MANIFEST))
    return LedgerEntry(
        first.membership, first.stem, first.session_id, first.project, first.sentence, first.private, links
    )


def _public_project(entry: LedgerEntry) -> str:
    return (entry.project or "") if entry.is_public else ""
