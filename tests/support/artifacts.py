"""Valid artifacts for tests below the pipeline: what is not named has a plain value."""

from typing import Any

from lineage.core.base import naming
from lineage.core.base.naming import Identity
from lineage.core.format.body import HASH_SCOPE, hash_body
from lineage.core.format.documents import FORMAT, Artifact
from lineage.index import Index, build_row

AT = "2026-11-20T10:30:00.000Z"
PROJECT = "/home/ada/demo"


def make_identity(session: str = "s-1", agent: str = "default") -> Identity:
    return Identity(agent, session)


def make_stem(session: str = "s-1", at: str = AT, agent: str = "default") -> str:
    return naming.build_stem(at, make_identity(session, agent).token)


def make_artifact(kind: str = naming.SUMMARY, session: str = "s-1", at: str = AT, **changes: Any) -> Artifact:
    """An artifact of `session`, captured at `at`; `changes` are fields of it."""
    agent = changes.get("agent_id", "default")
    owner = Identity(agent, session, changes.get("session_key"))
    body = changes.get("body", f"[[links]]\n\nThe {kind} of {session}.\n")
    values: dict[str, Any] = {
        "kind": kind,
        "agent_id": agent,
        "session_id": session,
        "session_key": None,
        "project": PROJECT,
        "harness": "generic",
        "captured_at": at,
        "started_at": at,
        "ended_at": at,
        "manifest_path": naming.artifact_path(naming.build_stem(at, owner.token), naming.MANIFEST),
        "source_node_id": None,
        "content_sha256": hash_body(body),
        "hash_scope": HASH_SCOPE,
        "sanitizer_version": "sanitize_transcript_v1+test",
        "memory_sentence": f"What happened in {session}, in a sentence that says it.",
        "memory_sentence_version": "memory_sentence_v1",
        "memory_sentence_quality": "ok",
        "memory_sentence_generated_at": at,
        "format": FORMAT,
        "repository": None,
        "lane": None,
        "private": False,
        "forked_from": None,
        "parent_session": None,
        "partial": False,
        "watermark": [2, "t-0123456789", "sanitize_transcript_v1+test"],
        "models": [],
        "branches": [],
        "title": f"Session {session}",
        "aliases": [],
        "tags": ["lineage"],
        "cssclasses": [],
        "body": body,
    }
    return Artifact(**{**values, **changes})


def make_capture(session: str = "s-1", at: str = AT, **changes: Any) -> tuple[Artifact, Artifact]:
    """Transcript and summary of one capture."""
    return make_artifact(naming.TRANSCRIPT, session, at, **changes), make_artifact(
        naming.SUMMARY, session, at, **changes
    )


def add_to_index(index: Index, *documents: Artifact) -> None:
    """The rows of artifacts that have no files."""
    index.upsert(build_row(document, b"", "") for document in documents)
