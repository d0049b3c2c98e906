"""Opened workspaces for tests: real SQLite, a folder or a dictionary behind the store, a clock that stands still."""

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lineage import store as stores
from lineage.app import places
from lineage.app.indexing import databases_of
from lineage.canon import Canon
from lineage.config import Settings
from lineage.core import naming
from lineage.core.documents import Artifact
from lineage.core.passages import MOST
from lineage.core.request import COMPACTION, SESSION_END, Request, request
from lineage.core.sanitizer import BUILTIN, Ruleset
from lineage.extract import digest
from lineage.index import Hit
from lineage.pipeline.capture.building import summary_of, transcript_of
from lineage.pipeline.capture.compaction import compaction
from lineage.pipeline.capture.session_end import session_end
from lineage.pipeline.capture.source import observed
from lineage.pipeline.finding import find
from lineage.pipeline.house import House, Outcome
from lineage.store import LocalStore, Store
from tests.support.indexes import NUMBER, asked

NOW = "2026-11-21T12:00:00.000Z"
AGENT_KEYS = ("agent_id",)


@contextmanager
def house_at(
    root: Path,
    *,
    now: str = NOW,
    store: Store | None = None,
    private: Store | None = None,
    settings: Settings | None = None,
    rules: Ruleset = BUILTIN,
) -> Iterator[House]:
    """A house whose workspace is the folder `root`, unless stores are given; its databases lie in `root/.lineage`."""
    counter = itertools.count(1)
    state = root / ".lineage"
    private = private or LocalStore(state, locks=state / "locks", private=True)
    index, telemetry = databases_of(root, private)
    house = House(
        canon=Canon(store or places.store_at(root), private),
        index=index,
        telemetry=telemetry,
        settings=settings or Settings(),
        now=now,
        new_id=lambda: f"write-{next(counter)}",
        own_rules=rules,
    )
    try:
        yield house
    finally:
        house.close()


@contextmanager
def memory_house(folder: Path, *, now: str = NOW) -> Iterator[House]:
    """A house over dictionaries, or what the run has in their place; only its databases are files, in `folder`."""
    with house_at(folder, now=now, store=stores.MemoryStore(), private=stores.MemoryStore()) as house:
        yield house


def at(house: House, now: str) -> House:
    """The same house at another time."""
    return house._replace(now=now)


def turns(*texts: str, start: str = "2026-11-20T10:00") -> list[dict[str, Any]]:
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


def end_request(house: House, session: str = "s-1", **payload: Any) -> Request:
    """A session-end request; by default of the harness `generic`, in the project /home/ada/demo, with two turns."""
    base: dict[str, Any] = {"harness": "generic", "session_id": session, "project": "/home/ada/demo"}
    if "transcript_path" not in payload:
        base["transcript"] = turns(
            "Why does reader.py drop the last line?", "It splits on newline; fixed in reader.py."
        )
    return request(SESSION_END, {**base, **payload}, agent_id=None, now=house.now)


def end(house: House, session: str = "s-1", **payload: Any) -> Outcome:
    return session_end(house, end_request(house, session, **payload))


def write_capture(
    house: House, session: str = "s-1", *, sentence: str, captured_at: str, **payload: Any
) -> tuple[Artifact, Artifact]:
    """A session's files, and nothing but the files: claim, transcript, summary and manifest, written straight away."""
    asked = end_request(house, session, captured_at=captured_at, **payload)
    source = observed(asked, house.rules, house.settings)
    stem = house.canon.claims.claim(asked.identity, naming.stem(asked.captured_at, asked.token))
    transcript = transcript_of(asked, source, source.turns, stem, (sentence, "ok"), house.rules.version)
    artifacts = (transcript, summary_of(transcript, digest(source.turns), source.summary))
    for artifact in artifacts:
        house.canon.artifacts.write(artifact)
    house.canon.manifests.link(stem, artifacts, house.new_id(), house.now)
    return artifacts


def compact(
    house: House, session: str = "s-1", summary: str = "Goal: fix reader.py. Done: the split.", **payload: Any
) -> Outcome:
    base = {"harness": "generic", "session_id": session, "project": "/home/ada/demo", "summary": summary}
    return compaction(house, request(COMPACTION, {**base, **payload}, agent_id=None, now=house.now))


def contents(store: Store, *prefixes: str) -> dict[str, bytes]:
    """Every key below the prefixes (all canonical places by default) with its bytes."""
    found = {e.key: store.read(e.key).data for prefix in prefixes or ("memory/", "agents/") for e in store.list(prefix)}
    return found | ({"MEMORY.md": store.read("MEMORY.md").data} if not prefixes and _has_memory_md(store) else {})


def _has_memory_md(store: Store) -> bool:
    from lineage.store import read_or_none

    return read_or_none(store, "MEMORY.md") is not None


def root_of(house: House) -> Path:
    """The folder of a workspace."""
    root: Path = house.canon.spool.store.root.parent  # type: ignore[attr-defined]
    return root


def rows(house: House) -> list[dict[str, Any]]:
    """Every row of the index with what search finds it by, in path order, without row ids."""
    found = asked(
        house.index,
        "select a.*, s.title as found_title, s.sentence as found_sentence, s.body as found_body, s.turns,"
        f" s.{NUMBER} - a.id * {MOST} as found_place"
        f" from artifacts a left join search s on s.{NUMBER} between a.id * {MOST} and a.id * {MOST} + {MOST - 1}"
        f" order by a.source_path, s.{NUMBER}",
    )
    return [{key: row[key] for key in row if key != "id"} for row in found]


def counted(house: House) -> list[tuple[Any, ...]]:
    """Every capture and compaction that telemetry counted."""
    return [tuple(row.values()) for row in asked(house.telemetry, "select * from captures order by stem, kind")]


def search(house: House, query: str, agent_id: str | None, limit: int, *, by_passage: bool = False) -> list[Hit]:
    """What `find` finds."""
    return list(find(house, query, agent_id, limit, by_passage=by_passage).hits)
