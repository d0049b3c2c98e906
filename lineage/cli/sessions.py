"""`lineage list`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_synopsis, print_text
from lineage.index import SessionFilter, SessionRow
from lineage.workspace.projects import list_sessions
from lineage.workspace.workspace import Workspace

if TYPE_CHECKING:  # brings zoneinfo and with it sysconfig: only `--lane` pays for them
    from lineage.pipeline.conversations.lanes import LaneState

_MAX_SUB_AGENTS = 20


@options.command("sessions")
@options.agent
@click.option("--project", metavar="NAME", help="Only sessions of a project: a folder of it, its name, or owner/name.")
@options.path
@click.option("--lane", metavar="LANE", help="Only sessions of this lane, and whether the next message begins another.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=20, show_default=True, help="How many at most.")
def command(
    root: Path, agent: str, project: str | None, path: str | None, lane: str | None, limit: int, as_json: bool
) -> int:
    """List sessions, newest first, each with its title and outcome.

    Sub-agents are listed below the session that started them.

    \b
    Example:
      lineage list --project demo --limit 5
      lineage list --path packages/api
      lineage list --lane home:telegram:dm:123
    """
    agent_id = None if agent == "all" else agent
    if lane is not None:
        from lineage.pipeline.conversations.lanes import load_lane

        state = run_in_workspace(
            root, lambda ws: load_lane(ws, lane, agent_id, project=project, path=path, limit=limit)
        )
        return _print_lane(state, as_json=as_json)
    rows, sub_agents = run_in_workspace(root, lambda ws: _load_rows(ws, agent_id, project, path, limit))
    if as_json:
        print_json({"sessions": rows})
        return 0
    _print_rows(rows, sub_agents)
    if not rows:
        print_text("no sessions yet; `lineage session-end --help` says how they come in")
    return 0


def _load_rows(
    ws: Workspace, agent_id: str | None, project: str | None, path: str | None, limit: int
) -> tuple[list[SessionRow], dict[str, list[SessionRow]]]:
    """Return the sessions, and the newest sub-agents of each by its token."""
    rows = list_sessions(ws, agent_id, wanted=SessionFilter(project=project, path=path), limit=limit)
    tokens = [row.session_token for row in rows if row.sub_agents]
    return rows, {token: ws.index.list_sessions(None, parent=token, limit=_MAX_SUB_AGENTS) for token in tokens}


def _print_lane(state: "LaneState", *, as_json: bool) -> int:
    if as_json:
        print_json(state)
        return 0
    _print_rows(state.sessions, {})
    if state.current is None:
        print_text(f"no sessions in the lane {state.lane} yet")
    elif state.stale:
        print_text(
            f"session {state.current} is over since {state.over_at} ({state.why}): the next message begins another"
        )
    else:
        until = f" until {state.over_at} ({state.why})" if state.over_at else ""
        print_text(f"session {state.current} goes on{until}, last message {state.last_message}")
    return 0


def _print_rows(rows: Iterable[SessionRow], sub_agents: Mapping[str, Sequence[SessionRow]]) -> None:
    for row in rows:
        captures = "" if row.captures == 1 else f" · {row.captures} captures"
        print_text(f"{row.membership_ts}  {row.session_id}  {row.harness}  {row.project or '-'}{captures}")
        print_synopsis(row.title, row.outcome)
        shown = sub_agents.get(row.session_token, ())
        for other in shown:
            print_text(f"    started {other.session_id}: {other.title}")
        if len(shown) < row.sub_agents:
            print_text(f"    and {row.sub_agents - len(shown)} more sub-agents")
