"""A session of every harness, captured in format 1 by the release of 54a349e, and grown since: its growth comes, once.

`grown/HARNESS/memory` holds that release's bytes of `before`, `after` is the same record later. Fails if a better
reader, another clipping limit or another way to make ids makes new what was captured.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture
from lineage.core.format.documents import Artifact, parse_document_as
from lineage.core.format.transcript import iter_turns
from lineage.core.format.turns import Turn
from lineage.harness import generic
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import ADAPTERS
from lineage.pipeline.capture.session import CAPTURED, UNCHANGED, CaptureResult
from lineage.pipeline.capture.session_end import capture_session
from lineage.pipeline.capture.source import read_source
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.workspace.workspace import Workspace
from tests.support.workspace import build_end_request, open_test_workspace, read_store

pytestmark = pytest.mark.slow

GROWN = Path(__file__).parent / "grown"


def read(harness: str, moment: str) -> Capture:
    (path,) = (GROWN / harness / moment).iterdir()
    if harness == "inline":
        return generic.parse_inline(json.loads(path.read_text(encoding="utf-8")))
    item = next(iter(ADAPTERS[harness].discover(path)), SessionLocation(path))
    return ADAPTERS[harness].read(item.path, item.session)


def end(ws: Workspace, harness: str, moment: str) -> CaptureResult:
    (path,) = (GROWN / harness / moment).iterdir()
    payload: dict[str, Any] = {"harness": harness, "transcript_path": str(path)}
    if harness == "inline":
        payload = {"transcript": json.loads(path.read_text(encoding="utf-8"))}
    request = build_end_request(ws, f"grown-{harness}", **payload)
    return capture_session(ws, request, read(harness, moment))


def list_turns(ws: Workspace, harness: str, moment: str) -> list[Turn]:
    request = build_end_request(ws, f"grown-{harness}")
    return list(read_source(ws, request, read(harness, moment)).turns)


def say(turns: Sequence[Turn]) -> list[tuple[str, str, str]]:
    """What turns say, in every format alike."""
    return [(turn.role, turn.name, " ".join(turn.text.split())) for turn in turns]


def test_every_harness_that_the_release_read_is_read_today() -> None:
    assert {path.name for path in GROWN.iterdir()} <= {*ADAPTERS, "inline"}


@pytest.mark.parametrize("harness", sorted(path.name for path in GROWN.iterdir()))
def test_its_growth_comes_once_and_nothing_else(harness: str, tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    shutil.copytree(GROWN / harness / "memory", root / "memory")
    with open_test_workspace(root, now="2026-11-20T11:00:00.000Z") as ws:
        reindex(ws)
        stored = read_store(ws.documents.store)
        (old,) = (parse_document_as(Artifact, data, path) for path, data in stored.items() if "--transcript" in path)
        captured = list(iter_turns(old.body))
        assert end(ws, harness, "before").status == UNCHANGED
        assert read_store(ws.documents.store).keys() == stored.keys()

        now_before, now_after = (list_turns(ws, harness, moment) for moment in ("before", "after"))
        result = end(ws, harness, "after")
        assert result.status == CAPTURED
        path = result.transcript_path or ""
        new = list(iter_turns(parse_document_as(Artifact, ws.documents.store.read(path).data, path).body))
        growth = now_after[len(now_before) :]
        assert growth
        assert [turn.text for turn in new[-len(growth) :]] == [turn.text for turn in growth]
        assert not set(say(new[: -len(growth)])) & set(say(captured))
        assert not {turn.id for turn in new} & {turn.id for turn in captured}
        assert end(ws, harness, "after").status == UNCHANGED
        assert end(ws, harness, "before").status == UNCHANGED
        assert verify(ws) == []
