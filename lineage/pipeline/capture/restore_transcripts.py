"""Write lost transcripts again, from the session that its harness kept (spec: immutable content artifacts).

A file comes back only with exactly its bytes, by the hash that the index has, or had before it dropped the row. The
frontmatter comes from the summary, the turns from the harness.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.capture.capture import Capture
from lineage.core.capture.request import Request
from lineage.core.format.documents import Artifact
from lineage.core.format.turns import Turn
from lineage.pipeline.capture.apply import apply_plan
from lineage.pipeline.capture.artifacts import rebuild_transcript
from lineage.pipeline.capture.session import Session, find_hash, has_hash, load_session, locked_session, rebuild_intent
from lineage.pipeline.capture.session_end import count_inherited
from lineage.pipeline.capture.source import SessionSource, read_source
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """The paths of lost transcripts: those written again, and those whose bytes the harness's session doesn't give."""

    restored: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def restore_transcripts(ws: Workspace, request: Request, capture: Capture) -> RestoreResult:
    """Write a session's lost transcripts again, with their rows. Nothing is learned from them a second time.

    Raise RemovedError if the session or its parent was removed, WorkspaceError if a write fails.
    """
    if not _list_lost(ws, load_session(ws, request.token)):
        return RestoreResult()
    source = read_source(ws, request, capture)
    restored, lost = list[str](), list[str]()
    with locked_session(ws, request.token, source, is_end=False) as (session, _):
        for stem in _list_lost(ws, session):
            path = naming.artifact_path(stem, naming.TRANSCRIPT)
            artifact = _rebuild(ws, session, stem, request, source)
            if artifact is None:
                lost.append(path)
                continue
            ws.documents.artifacts.write(artifact)
            apply_plan(ws, rebuild_intent(ws, artifact, session))
            restored.append(path)
    return RestoreResult(tuple(restored), tuple(lost))


def find_lost_tokens(paths: Iterable[str]) -> set[str]:
    """Return the tokens of sessions with a summary and not its transcript, by the paths in `memory/` alone.

    >>> find_lost_tokens(["memory/2026-03-28T10-00-00.000Z--h7k3n4p2m2x6q3r5--summary.md"])
    {'h7k3n4p2m2x6q3r5'}
    """
    names = [name for name in map(naming.parse_path, paths) if name]
    whole = {name.stem for name in names if name.kind == naming.TRANSCRIPT}
    return {name.token for name in names if name.kind == naming.SUMMARY and name.stem not in whole}


def _list_lost(ws: Workspace, session: Session) -> list[str]:
    paths = ((stem, naming.artifact_path(stem, naming.TRANSCRIPT)) for stem in session.captures)
    return [stem for stem, path in paths if not ws.documents.artifacts.exists(path)]


def _rebuild(ws: Workspace, session: Session, stem: str, request: Request, source: SessionSource) -> Artifact | None:
    """Return a capture's transcript with exactly the bytes that it had, None if they are not to be had."""
    summary = load_readable_document(ws, naming.artifact_path(stem, naming.SUMMARY))
    if not isinstance(summary, Artifact):
        return None
    turns = _select_turns(ws, session, stem, request, source, summary)
    if not turns or [turns[-1].number, turns[-1].id] != summary.watermark[:2]:
        return None
    artifact = rebuild_transcript(summary, turns, has_data=source.has_data)
    digest = find_hash(ws, artifact.path)
    return artifact if digest and has_hash(artifact, digest) else None


def _select_turns(
    ws: Workspace, session: Session, stem: str, request: Request, source: SessionSource, summary: Artifact
) -> Sequence[Turn]:
    """Return the turns from the one behind the capture before this to its own last one."""
    position = session.captures.index(stem)
    if position:
        before = load_readable_document(ws, naming.artifact_path(session.captures[position - 1], naming.SUMMARY))
        first = before.watermark[0] if isinstance(before, Artifact) else len(source.turns)
    else:
        first = count_inherited(ws, request.identity.agent_id, source) if source.forked_from else 0
    return source.turns[first : summary.watermark[0]]
