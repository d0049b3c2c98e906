"""The ledger's entries: one for each capture of the window, made of its artifacts' frontmatter. (format: MEMORY.md)"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from lineage.core import naming
from lineage.core.documents import Artifact, Manifest
from lineage.core.identity import is_trial
from lineage.core.privacy import GLOBAL, may_reach
from lineage.core.times import day
from lineage.core.window import membership


class Head(NamedTuple):
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


class Entry(NamedTuple):
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
        return may_reach(GLOBAL, private=self.private, token="")


class Tally(NamedTuple):
    """How many `entries` a project has on a day; "" stands for those that are private or name none."""

    day: str
    project: str
    entries: int


class Ledger(NamedTuple):
    """A window's entries, newest first, and the tallies of all of them: who renders takes as many entries as it shows
    and counts the others without looking at them."""

    entries: Iterable[Entry]
    tallies: Sequence[Tally]


def head(artifact: Artifact) -> Head:
    return Head(
        path=artifact.path,
        kind=artifact.kind,
        stem=artifact.stem,
        token=artifact.identity.token,
        session_id=artifact.session_id,
        project=artifact.project,
        sentence=artifact.memory_sentence,
        membership=membership(artifact.ended_at, artifact.captured_at),
        private=artifact.private,
        manifest_path=artifact.manifest_path,
    )


def is_visible(document: Artifact | Manifest) -> bool:
    """Whether the ledger and search show the session: temp and test sessions stay out."""
    return not is_trial(document.identity, document.project)


def ledger(found: Sequence[Entry]) -> Ledger:
    """The ledger of entries that are all at hand, newest first."""
    counts = Counter((day(entry.membership), _public_project(entry)) for entry in found)
    return Ledger(found, [Tally(*key, count) for key, count in sorted(counts.items())])


def entries(heads: Iterable[Head]) -> list[Entry]:
    """One entry for each capture, newest first; a session without one has its newest compaction's."""
    ordered = sorted(heads, key=lambda item: (item.token, item.stem))
    shown: list[Head] = []
    for _, group in groupby(ordered, key=lambda item: item.token):
        session = list(group)
        captures = [item for item in session if item.kind != naming.COMPACTION]
        shown += captures or [item for item in session if item.stem == session[-1].stem]
    return list(grouped(sorted(shown, key=lambda item: (item.membership, item.stem), reverse=True)))


def grouped(heads: Iterable[Head]) -> Iterator[Entry]:
    """The entries of heads that come sorted by stem: each stem's are one entry."""
    for _, group in groupby(heads, key=lambda item: item.stem):
        yield _entry({item.kind: item for item in group})


def _entry(parts: dict[str, Head]) -> Entry:
    shown = [parts[kind] for kind in naming.IMMUTABLE_SHOWN if kind in parts]
    first = shown[0]
    links = (*((item.path, item.kind) for item in shown), (first.manifest_path, naming.MANIFEST))
    return Entry(first.membership, first.stem, first.session_id, first.project, first.sentence, first.private, links)


def _public_project(entry: Entry) -> str:
    return (entry.project or "") if entry.is_public else ""
