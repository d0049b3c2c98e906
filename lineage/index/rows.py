"""From a canonical file to its row: path, hash, kind, identity and what the ledger and the lists show."""

import hashlib
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from lineage.core.base import naming
from lineage.core.capture.ledger import is_visible
from lineage.core.capture.window import compute_membership
from lineage.core.format import transcript
from lineage.core.format.documents import Artifact, Manifest
from lineage.core.search import passages
from lineage.core.search.passages import Passage


class ArtifactRow(NamedTuple):
    """One row of `artifacts`; the field names are the columns. `passages` go to the full-text table only."""

    source_path: str
    source_sha256: str
    source_kind: str
    agent_id: str
    session_id: str
    session_key: str | None
    session_token: str
    stem: str
    project: str | None
    harness: str
    captured_at: str
    started_at: str | None
    ended_at: str | None
    membership_ts: str
    manifest_path: str
    content_sha256: str
    memory_sentence: str
    memory_sentence_quality: str
    title: str
    private: int
    visible: int
    stamp: str
    passages: Iterable[Passage]


TurnTexts = Sequence[tuple[int, str]]
"""What turns say, by their numbers."""

COLUMNS = tuple(name for name in ArtifactRow._fields if name != "passages")
UPSERT = (
    f"insert into artifacts ({', '.join(COLUMNS)}) values ({', '.join(':' + c for c in COLUMNS)})"
    f" on conflict (source_path) do update set {', '.join(f'{c} = excluded.{c}' for c in COLUMNS)} returning id"
)
"""Writes the values of a row by name, in place of what the same path had, and gives its number."""


def build_row(
    document: Artifact | Manifest, data: bytes, stamp: str, turn_texts: TurnTexts | None = None
) -> ArtifactRow:
    """The row of a document that was read as `data`; `stamp` is what the store lists for it, `said` what the turns of a
    transcript say, where that is known without reading its body."""
    return build_row_from_hash(document, hashlib.sha256(data).hexdigest(), stamp, turn_texts)


def build_row_from_hash(
    document: Artifact | Manifest, sha256: str, stamp: str, turn_texts: TurnTexts | None = None
) -> ArtifactRow:
    """`build_row`, by the hash of the data."""
    artifact = document if isinstance(document, Artifact) else None
    return ArtifactRow(
        source_path=document.path,
        source_sha256=sha256,
        source_kind=document.kind,
        agent_id=document.agent_id,
        session_id=document.session_id,
        session_key=document.session_key,
        session_token=document.identity.token,
        stem=document.stem,
        project=document.project,
        harness=document.harness,
        captured_at=document.captured_at,
        started_at=document.started_at,
        ended_at=document.ended_at,
        membership_ts=compute_membership(document.ended_at, document.captured_at),
        manifest_path=artifact.manifest_path if artifact else document.path,
        content_sha256=document.content_sha256,
        memory_sentence=artifact.memory_sentence if artifact else "",
        memory_sentence_quality=artifact.memory_sentence_quality if artifact else "",
        title=document.title,
        private=int(document.private),
        visible=int(is_visible(document)),
        stamp=stamp,
        passages=_build_passages(document, turn_texts),
    )


def _build_passages(document: Artifact | Manifest, turn_texts: TurnTexts | None) -> Iterable[Passage]:
    """What search finds a document by: a transcript's turns without headings, a body without its links. One passage at
    least, for the title and the sentence; none of a manifest."""
    if document.kind == naming.MANIFEST:
        return ()
    found: Iterable[Passage]
    if document.kind == naming.TRANSCRIPT:
        found = passages.split_turns(transcript.extract_texts(document.body) if turn_texts is None else turn_texts)
    else:
        found = passages.split_text(str(document.body).partition("\n")[2])
    return found or (Passage(""),)
