"""What an export may hold: of a session that stays behind, its sub-agents do too, and no tie names it.

Fails without `hidden` of `select_export`, its looks at tombstones in `_iter_rows`, and for ties to what isn't exported.
"""

from pathlib import Path

import pytest

from lineage.core.base.naming import derive_session_token
from lineage.index import SessionFilter
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.search.export_selection import ExportSelection, select_export
from lineage.pipeline.search.session_view import load_lineage
from lineage.workspace.workspace import Workspace
from tests.support.workspace import open_memory_workspace, write_capture

pytestmark = pytest.mark.leaves_findings  # files alone: no MEMORY.md, no notes

SENTENCE = "In reader.py the split was mended, and the last line of a file without a newline is kept now."


def write(ws: Workspace, session: str, minute: int, parent: str | None = None, **payload: object) -> None:
    at = f"2026-11-20T10:{minute:02d}:00.000Z"
    write_capture(ws, session, sentence=SENTENCE, captured_at=at, ended_at=at, parent=parent, **payload)


def select(ws: Workspace) -> ExportSelection:
    reindex(ws)
    return select_export(ws, None, SessionFilter())


def list_ties(ws: Workspace, found: ExportSelection, session: str) -> list[tuple[str, str]]:
    row = found.sessions[derive_session_token("default", session)]
    return [(one.tie, one.session_id) for one in load_lineage(ws, row, found.find_relatives).relatives]


def test_sub_agents_follow_their_session(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        for number, session in enumerate(("open", "closed", "gone")):
            write(ws, session, number, private=session == "closed")
            write(ws, f"{session}-1", number + 10, parent=session)
            if session != "gone":  # a removal leaves tombstones of these, too
                write(ws, f"{session}-2", number + 20, parent=f"{session}-1")
        write(ws, "alone", 40)
        reindex(ws)
        # the index knows nothing of it yet, and a tombstone in doubt counts
        ws.documents.store.create(f"memory/tombstones/{derive_session_token('default', 'gone')}.md", b"")
        assert derive_session_token("default", "gone") not in select_export(ws, None, SessionFilter()).sessions
        ws.index.delete_paths(
            path for path in ws.index.load_stamps() if derive_session_token("default", "gone") in path
        )
        found = select_export(ws, None, SessionFilter())
        assert [row.session_id for row in found.sessions.values()] == ["alone", "open", "open-1", "open-2"]
        assert found.left_out == {"private": 3}
        assert list_ties(ws, found, "open") == [("started", "open-1")]
        assert list_ties(ws, found, "open-1") == [("started by", "open"), ("started", "open-2")]
        assert [row.sub_agents for row in found.sessions.values()] == [0, 1, 1, 0]
        assert found.as_of == "2026-11-20T10:40:00.000Z"


def test_no_tie_names_what_stays_behind(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        write(ws, "closed", 1, private=True)
        write(ws, "other", 2, agent_id="ann")
        write(ws, "child", 3, parent="closed-elsewhere")
        found = select(ws)
        assert list_ties(ws, found, "child") == []
        assert set(select_export(ws, "ann", SessionFilter()).sessions) == {derive_session_token("ann", "other")}
