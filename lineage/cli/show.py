"""`lineage show`."""

from pathlib import Path

import click

from lineage.app.changed_files import count_changed_since
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.print_entry import describe_origin, print_entry
from lineage.cli.completion import complete_session
from lineage.cli.output import is_terminal, print_json, print_result, print_synopsis, print_text
from lineage.core.base.naming import SUMMARY
from lineage.core.format.turns import parse_turn_range
from lineage.pipeline.memory.books import EntryLocation
from lineage.pipeline.search.session_view import resolve_reference
from lineage.workspace.lookup import SessionText, shorten_ids, show_file, show_turns
from lineage.workspace.workspace import Workspace


@options.command("show")
@click.argument("session", shell_complete=complete_session)
@click.option(
    "--kind", type=click.Choice(["summary", "transcript", "compaction", "manifest"]), default="summary",
    show_default=True,
)  # fmt: skip
@click.option("--turns", metavar="A-B", help="Only these turns of the transcript, by number.")
@options.no_pager
def command(root: Path, session: str, kind: str, turns: str | None, as_json: bool) -> int:
    """Print a session: title, outcome and its newest summary, another of its files, or some of its turns.

    SESSION is a session's id, key or short id, or the beginning of one, or the id of an entry, as search gives it. The
    sub-agents that it started follow its summary.

    \b
    Example:
      lineage show 2489c83d --turns 12-18
    """
    target, name = run_in_workspace(root, lambda ws: _load_target(ws, session, kind, turns))
    if not isinstance(target, SessionText):
        return print_result({"entry": target.as_json()}, lambda: _print_entry(target), as_json=as_json)
    changed = count_changed_since(target.session, target.text) if target.kind == SUMMARY else None
    if as_json:
        value = {"session": target.session, "path": target.path, "text": target.text, "changed_since": changed}
        value |= {"sub_agents": target.sub_agents} if target.sub_agents else {}
        print_json({**value, "turns": [turn.as_json() for turn in target.turns]} if target.turns else value)
        return 0
    if is_terminal():
        from lineage.cli.session_screen import print_session_text

        print_session_text(target, name, changed)
        return 0
    if target.kind == SUMMARY:
        row = target.session
        print_text(f"{row.membership_ts}  {row.session_id}  {row.harness}  {row.project or '-'}")
        print_synopsis(row.title, row.outcome)
        if changed and changed.changed:
            print_text(f"    {changed}")
        print_text()
    print_text(target.text.rstrip("\n"))
    if target.sub_agents:
        print_text("\n## Sub-agents\n")
    for other in target.sub_agents:
        print_text(f"- {other.session_id}: {other.title}")
    return 0


def _print_entry(place: EntryLocation) -> None:
    print_entry(place)
    if origin := describe_origin(place.entry):
        print_text(f"    {origin}")


def _load_target(
    ws: Workspace, reference: str, kind: str, turns: str | None
) -> tuple[SessionText | EntryLocation, str]:
    """Return what is shown, and for a terminal the session's short id."""
    turn_range = parse_turn_range(turns) if turns is not None else None
    target = resolve_reference(ws, reference)
    if isinstance(target, EntryLocation):
        return target, ""
    token = target.session_token
    name = shorten_ids(ws, [token])[token] if is_terminal() else ""
    return show_turns(ws, token, *turn_range) if turn_range else show_file(ws, token, kind), name
