"""The values of an exported session's page, but its turns: what only a server or this machine knows is left out."""

from typing import Any

from lineage.index import SessionRow
from lineage.pipeline.search.export_selection import ExportSelection
from lineage.pipeline.search.session_view import load_lineage
from lineage.web import charts, display
from lineage.web.links import Links
from lineage.web.pages.sessions import MAX_SUMMARY
from lineage.workspace.workspace import Workspace


def build_session_values(
    ws: Workspace, selection: ExportSelection, row: SessionRow, summary: str, links: Links, *, whole: bool = False
) -> dict[str, Any]:
    """Return the values of a session's page; its summary is `whole`, or cut as on the server."""
    view = load_lineage(ws, row, selection.find_relatives)
    shown = display.cut_summary(summary)
    is_cut = not whole and len(shown) > MAX_SUMMARY
    given = ws.documents.recall_log.list_items(row.agent_id, row.session_id)
    return {
        "session": row, "view": view, "graph": charts.build_lineage_graph(view, links), "changed": None,
        "summary": shown[:MAX_SUMMARY] if is_cut else shown, "is_summary_cut": is_cut, "only": "", "find": "",
        "given": [item for item in given if _find_target(str(item["id"]), links)], "back": "",
    }  # fmt: skip


def _find_target(name: str, links: Links) -> str:
    token, _, passage = name.partition("/")
    return links.session(token) if passage else links.entry(name)


def list_facts(row: SessionRow) -> list[tuple[str, str]]:
    """Return what a session is, by name."""
    return [
        ("Session", row.session_id), ("Harness", row.harness), ("Agent", row.agent_id), ("Project", row.project or ""),
        ("Began", row.started_at or ""), ("Ended", row.ended_at or ""),
    ]  # fmt: skip
