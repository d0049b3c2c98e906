"""The ledger's entries: one for each capture of the window, made of its artifacts' frontmatter. (format: MEMORY.md)"""

from collections.abc import Iterable
from dataclasses import dataclass

from lineage.core import naming
from lineage.core.documents import Artifact, Manifest
from lineage.core.identity import is_trial
from lineage.core.window import membership


@dataclass(frozen=True, slots=True)
class Head:
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


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the ledger. `links` are (path, label), in the order in which they are shown."""

    membership: str
    stem: str
    session_id: str
    project: str | None
    sentence: str
    private: bool
    links: tuple[tuple[str, str], ...]


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


def entries(heads: Iterable[Head]) -> list[Entry]:
    """One entry for each capture, newest first; a session without one has its newest compaction's."""
    captures: dict[str, dict[str, Head]] = {}
    compactions: dict[str, Head] = {}
    captured = set()
    for item in heads:
        if item.kind == naming.COMPACTION:
            if item.token not in compactions or compactions[item.token].stem < item.stem:
                compactions[item.token] = item
        else:
            captures.setdefault(item.stem, {})[item.kind] = item
            captured.add(item.token)
    found = [_entry(parts) for parts in captures.values()]
    found += [_entry({naming.COMPACTION: item}) for token, item in compactions.items() if token not in captured]
    return sorted(found, key=lambda entry: (entry.membership, entry.stem), reverse=True)


def _entry(parts: dict[str, Head]) -> Entry:
    shown = [parts[kind] for kind in naming.IMMUTABLE_SHOWN if kind in parts]
    first = shown[0]
    links = (*((item.path, item.kind) for item in shown), (first.manifest_path, naming.MANIFEST))
    return Entry(first.membership, first.stem, first.session_id, first.project, first.sentence, first.private, links)
