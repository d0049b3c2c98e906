"""One session in one file: a page that loads nothing, or markdown. Both hold every turn whole."""

import hashlib
from base64 import b64encode
from pathlib import Path

from markupsafe import Markup

from lineage.core.base.naming import SUMMARY
from lineage.errors import InvalidInput
from lineage.pipeline.search.export_selection import ExportSelection
from lineage.pipeline.search.session_view import TurnPage, load_turns
from lineage.projection.conversation_md import render_conversation
from lineage.web.export.session_values import build_session_values, list_facts
from lineage.web.pages import conversation
from lineage.web.rendering import render_template
from lineage.workspace.lookup import load_newest_file, resolve_session
from lineage.workspace.workspace import Workspace

_STYLE = Path(__file__).parents[1] / "static" / "style.css"


class SinglePageLinks:
    """Addresses in a file of its own: its turns are there, and nothing else."""

    def session(self, token: str, anchor: str = "", **asked: object) -> str:
        """Return the place of a turn in the file."""
        return f"#{asked['turn']}" if asked.get("turn") else ""

    def _find_nothing(self, *_: object, **__: object) -> str:
        return ""

    asset = home = file = turn = memory = entry = source = _find_nothing


def render_session_page(ws: Workspace, reference: str, *, include_private: bool = False) -> bytes:
    """Return a session as one page. Raises NotFoundError, and InvalidInput for a private one that isn't asked for."""
    row = resolve_session(ws, reference)
    refuse_private(row.session_id, is_private=row.private and not include_private)
    turns = load_turns(ws, row)
    file = load_newest_file(ws, row, SUMMARY)
    alone = ExportSelection({row.session_token: row}, (), row.membership_ts, {}, {})
    links, style = SinglePageLinks(), _STYLE.read_text(encoding="utf-8")
    values = build_session_values(ws, alone, row, file.text if file else "", links, whole=True)
    page = TurnPage(row, 1, len(turns), tuple(turns))
    shown = {
        "page": page, "turns": conversation.show_whole(turns), "steps": {}, "is_first": True, "panels": [],
        "requests": conversation.list_requests(turns), "edits": conversation.count_edits(turns),
        "to": links, "is_live": False, "style": Markup(style), "policy": _build_policy(style), "csrf": "", "did": "",
        "path": "", "root": "",
    }  # fmt: skip
    return render_template("single.html", {**values, **shown}).encode("utf-8", "replace")


def render_session_markdown(ws: Workspace, reference: str, *, include_private: bool = False) -> bytes:
    """Return a session's conversation as markdown. Raises as `render_session_page` does."""
    row = resolve_session(ws, reference)
    refuse_private(row.session_id, is_private=row.private and not include_private)
    chunks = render_conversation(row.title or row.session_id, list_facts(row), row.outcome, load_turns(ws, row))
    return "".join(chunks).encode("utf-8", "replace")


def refuse_private(session_id: str, *, is_private: bool) -> None:
    """Raise InvalidInput for a private session."""
    if is_private:
        raise InvalidInput(f"session {session_id} is private", hint="add `--include-private` to take it out of here")


def _build_policy(style: str) -> str:
    digest = b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
