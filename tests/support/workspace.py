"""Opened workspaces for tests: real SQLite, a folder or a dictionary behind the store, a clock that stands still."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from lineage.app import locations
from lineage.app.databases import open_databases
from lineage.config import Settings
from lineage.core.base import naming
from lineage.core.capture.request import COMPACTION, SESSION_END, Request, parse_request
from lineage.core.format.documents import Artifact
from lineage.core.sanitizer import BUILTIN, Ruleset
from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.documents import Documents
from lineage.extraction.digests import build_digest
from lineage.index import Hit
from lineage.pipeline.capture.artifacts import build_summary, build_transcript
from lineage.pipeline.capture.compaction import capture_compaction
from lineage.pipeline.capture.session import CaptureResult
from lineage.pipeline.capture.session_end import capture_session
from lineage.pipeline.capture.source import read_source
from lineage.pipeline.search.search import search
from lineage.store import LocalStore, Store
from lineage.workspace.workspace import Workspace
from tests.support import memory_store
from tests.support.indexes import NUMBER, query_rows

NOW = "2026-11-21T12:00:00.000Z"
AGENT_KEYS = ("agent_id",)


@contextmanager
def open_test_workspace(
    root: Path,
    *,
    now: str = NOW,
    store: Store | None = None,
    private: Store | None = None,
    settings: Settings | None = None,
    rules: Ruleset = BUILTIN,
) -> Iterator[Workspace]:
    """Open a workspace in the folder `root`, or over these stores; its databases lie in `root/.lineage`."""
    counter = itertools.count(1)
    state = root / ".lineage"
    private = private or LocalStore(state, locks=state / "locks", private=True)
    index, telemetry = open_databases(root, private)
    ws = Workspace(
        documents=Documents(store or locations.open_store(root), private),
        index=index,
        telemetry=telemetry,
        settings=settings or Settings(),
        now=now,
        new_id=lambda: f"write-{next(counter)}",
        custom_rules=rules,
    )
    try:
        yield ws
    finally:
        ws.close()


@contextmanager
def open_memory_workspace(folder: Path, *, now: str = NOW) -> Iterator[Workspace]:
    """A workspace over dictionaries, or what the run has in their place; only its databases are files, in `folder`."""
    store, private = memory_store.MemoryStore(), memory_store.MemoryStore()
    with open_test_workspace(folder, now=now, store=store, private=private) as ws:
        yield ws


def at_time(ws: Workspace, now: str) -> Workspace:
    """The same workspace at another time."""
    return replace(ws, now=now)


def make_turns(*texts: str, start: str = "2026-11-20T10:00") -> list[dict[str, Any]]:
    """A generic transcript in which user and assistant alternate, one a minute, with ids by text and place."""
    roles = itertools.cycle(("user", "assistant"))
    hour = int(start[11:13])
    return [
        {
            "role": role,
            "text": text,
            "at": f"{start[:11]}{hour + minute // 60:02d}:{minute % 60:02d}:00Z",
            "id": f"r{minute}-{text[:20]}",
        }
        for minute, (role, text) in enumerate(zip(roles, texts, strict=False))
    ]


def build_end_request(ws: Workspace, session: str = "s-1", **payload: Any) -> Request:
    """A session-end request; by default of the harness `generic`, in the project /home/ada/demo, with two turns."""
    base: dict[str, Any] = {"harness": "generic", "session_id": session, "project": "/home/ada/demo"}
    if "transcript_path" not in payload:
        base["transcript"] = make_turns(
            "Why does reader.py drop the last line?", "It splits on newline; fixed in reader.py."
        )
    return parse_request(SESSION_END, {**base, **payload}, agent_id=None, now=ws.now)


def end_session(ws: Workspace, session: str = "s-1", **payload: Any) -> CaptureResult:
    return capture_session(ws, build_end_request(ws, session, **payload))


def write_capture(
    ws: Workspace,
    session: str = "s-1",
    *,
    sentence: str,
    captured_at: str,
    repository: str | None = None,
    parent: str | None = None,
    **payload: Any,
) -> tuple[Artifact, Artifact]:
    """A session's files, and nothing but the files: claim, transcript, summary and manifest, written straight away."""
    asked = build_end_request(ws, session, captured_at=captured_at, **payload)
    token = naming.derive_parent_token(asked.identity, parent)
    source = replace(read_source(ws, asked), repository=repository, parent_session=parent, parent_token=token)
    stem = ws.documents.claims.claim(asked.identity, naming.build_stem(asked.captured_at, asked.token))
    transcript = build_transcript(asked, source, source.turns, stem, (sentence, "ok"), ws.rules.version)
    artifacts = (transcript, build_summary(transcript, build_digest(source.turns), source.summary))
    for artifact in artifacts:
        ws.documents.artifacts.write(artifact)
    ws.documents.manifests.link(stem, artifacts, ws.new_id(), ws.now)
    return artifacts


def compact_session(
    ws: Workspace, session: str = "s-1", summary: str = "Goal: fix reader.py. Done: the split.", **payload: Any
) -> CaptureResult:
    base = {"harness": "generic", "session_id": session, "project": "/home/ada/demo", "summary": summary}
    return capture_compaction(ws, parse_request(COMPACTION, {**base, **payload}, agent_id=None, now=ws.now))


def read_store(store: Store, *prefixes: str) -> dict[str, bytes]:
    """Every key below the prefixes (all canonical places by default) with its bytes."""
    found = {e.key: store.read(e.key).data for prefix in prefixes or ("memory/", "agents/") for e in store.list(prefix)}
    return found | ({"MEMORY.md": store.read("MEMORY.md").data} if not prefixes and _has_memory_md(store) else {})


def _has_memory_md(store: Store) -> bool:
    from lineage.store import read_or_none

    return read_or_none(store, "MEMORY.md") is not None


def find_root(ws: Workspace) -> Path:
    """The folder of a workspace."""
    root: Path = ws.documents.spool.store.root.parent  # type: ignore[attr-defined]
    return root


def read_rows(ws: Workspace) -> list[dict[str, Any]]:
    """Every row of the index with what search finds it by, in path order, without row ids."""
    found = query_rows(
        ws.index,
        "select a.*, s.title as found_title, s.sentence as found_sentence, s.body as found_body, s.turns,"
        f" s.{NUMBER} - a.id * {MAX_PASSAGES} as found_place"
        f" from artifacts a left join search s"
        f" on s.{NUMBER} between a.id * {MAX_PASSAGES} and a.id * {MAX_PASSAGES} + {MAX_PASSAGES - 1}"
        f" order by a.source_path, s.{NUMBER}",
    )
    return [{key: row[key] for key in row if key != "id"} for row in found]


def read_capture_counts(ws: Workspace) -> list[tuple[Any, ...]]:
    """Every capture and compaction that telemetry counted."""
    return [tuple(row.values()) for row in query_rows(ws.telemetry, "select * from captures order by stem, kind")]


def search_sessions(
    ws: Workspace, query: str, agent_id: str | None, limit: int, *, by_passage: bool = False
) -> list[Hit]:
    """What `find` finds."""
    return list(search(ws, query, agent_id, limit, by_passage=by_passage).hits)
