"""`lineage list`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.listed_sessions import ListedSessions, describe_rest
from lineage.cli.output import format_when, is_terminal, print_json, print_synopsis, print_text, print_warning
from lineage.cli.typed_names import project_filter
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.index import SessionFilter, SessionRow
from lineage.workspace.lookup import shorten_ids
from lineage.workspace.projects import KnownProjects, count_sessions, list_sessions
from lineage.workspace.typed_names import suggest_project
from lineage.workspace.workspace import Workspace

if TYPE_CHECKING:  # brings zoneinfo and with it sysconfig: only `--lane` pays for them
    from lineage.pipeline.conversations.lanes import LaneState

_MAX_SUB_AGENTS = 20
_MAX_LIMIT = 100_000


@options.command("sessions")
@options.agent
@project_filter("Only sessions of a project: a folder of it, its name, or owner/name.")
@options.path
@click.option("--lane", metavar="LANE", help="Only sessions of this lane, and whether the next message begins another.")
@click.option("--limit", type=click.IntRange(1, _MAX_LIMIT), default=20, show_default=True, help="How many at most.")
@click.option("--all", "takes_all", is_flag=True, help="All of them.")
@options.no_pager
def command(
    root: Path, agent: str, project: str | None, path: str | None, lane: str | None, limit: int, takes_all: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """List sessions, newest first, each with its title and outcome.

    Sub-agents are listed below the session that started them. The id in a list is a beginning of the session's whole
    id that means it alone: every command that takes a SESSION takes it.

    \b
    Example:
      lineage list --project demo --limit 5
      lineage list --path packages/api
      lineage list --lane home:telegram:dm:123
    """
    agent_id = None if agent == "all" else agent
    limit = _MAX_LIMIT if takes_all else limit
    if lane is not None:
        from lineage.pipeline.conversations.lanes import load_lane

        state = run_in_workspace(
            root, lambda ws: load_lane(ws, lane, agent_id, project=project, path=path, limit=limit)
        )
        return _print_lane(state, as_json=as_json)
    wanted = SessionFilter(project=project, path=path)
    listed, nothing = run_in_workspace(root, lambda ws: _load_listed(ws, agent_id, wanted, limit))
    if as_json:
        print_json({"sessions": listed.rows})
        return 0
    if is_terminal():
        from lineage.cli.session_screen import print_listed

        print_listed(listed)
    else:
        _print_rows(listed.rows, listed.sub_agents)
        if listed.total > len(listed.rows):
            print_warning(describe_rest(listed))
    if nothing:
        print_text(nothing)
    return 0


def _describe_nothing(ws: Workspace, agent_id: str | None, wanted: SessionFilter) -> str:
    """Return why no session is listed: the workspace has none, or none that the options ask for."""
    everything = count_sessions(ws, None, SessionFilter())
    if not everything:
        return "no sessions yet; `lineage session-end --help` says how they come in"
    likely = suggest_project(ws, wanted.project)
    near = f" (did you mean {likely}?)" if likely else ""
    asked = [f"in the project {wanted.project}{near}"] if wanted.project else []
    asked += [f"in {wanted.path}"] if wanted.path else []
    asked += [f"of the agent {agent_id or 'all'}"] * (agent_id not in (None, DEFAULT_AGENT) or not asked)
    own = count_sessions(ws, agent_id, SessionFilter()) if agent_id == DEFAULT_AGENT else 0
    rest = f"`lineage list` lists the {own}" if own else f"`lineage list --agent all` lists the {everything}"
    return f"no session {' '.join(asked)}; {rest} of the workspace"


def _load_listed(ws: Workspace, agent_id: str | None, wanted: SessionFilter, limit: int) -> tuple[ListedSessions, str]:
    """Return the sessions, and where there are none why."""
    rows = list_sessions(ws, agent_id, wanted=wanted, limit=limit)
    tokens = [row.session_token for row in rows if row.sub_agents]
    sub_agents = {token: ws.index.list_sessions(None, parent=token, limit=_MAX_SUB_AGENTS) for token in tokens}
    total = len(rows) if len(rows) < limit else count_sessions(ws, agent_id, wanted)
    listed = ListedSessions(rows, total, sub_agents)
    if is_terminal():
        shown = [row.session_token for group in (rows, *sub_agents.values()) for row in group]
        labels = KnownProjects(ws, ws.index.list_projects()).label_paths()
        listed = ListedSessions(rows, total, sub_agents, shorten_ids(ws, shown), labels)
    return listed, "" if rows else _describe_nothing(ws, agent_id, wanted)


def _print_lane(state: "LaneState", *, as_json: bool) -> int:
    if as_json:
        print_json(state)
        return 0
    if is_terminal():
        from lineage.cli.session_screen import print_listed

        print_listed(ListedSessions(state.sessions, len(state.sessions)))
    else:
        _print_rows(state.sessions, {})
    if state.current is None:
        print_text(f"no sessions in the lane {state.lane} yet")
    elif state.stale:
        print_text(
            f"session {state.current} is over since {format_when(state.over_at or '')} ({state.why}):"
            " the next message begins another"
        )
    else:
        until = f" until {format_when(state.over_at)} ({state.why})" if state.over_at else ""
        print_text(f"session {state.current} goes on{until}, last message {format_when(state.last_message or '')}")
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
