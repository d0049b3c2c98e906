"""`lineage context`."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text, print_warning
from lineage.cli.typed_names import warn
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.memory.prompt_recall import recall_for_prompt
from lineage.projection.context_block import ContextBlock, SectionUsage
from lineage.recall.items import Recall, format_item
from lineage.workspace.book_folders import resolve_project_folder
from lineage.workspace.book_reader import BookReader
from lineage.workspace.lookup import MAX_CANDIDATES, describe_unshown, match_reference, resolve_session
from lineage.workspace.projects import KnownProjects, find_key
from lineage.workspace.typed_names import describe_missing, find_named
from lineage.workspace.workspace import Workspace


@options.command("context")
@click.option("--agent", "agent_id", metavar="ID", default="default", show_default=True, help="The agent.")
@options.project("Its project: a folder, `.` for example, or a name; else all of them.", metavar="PATH")
@click.option("--query", metavar="TEXT", help="The topic: it decides which decisions and lessons are shown.")
@click.option("--prompt", metavar="TEXT", help="Print what the hook gives the agent at this prompt instead.")
@click.option(
    "--session", metavar="SESSION", help="The running session, by its id or short id: its own findings are shown, too."
)
@click.option("--budget", type=click.IntRange(min=0), metavar="TOKENS", help="The most it may cost; 2000, or as set.")
@click.option(
    "--explain", is_flag=True, help="Print what each section costs, its limit and what was cut, not the text."
)
def command(root: Path, explain: bool, as_json: bool, prompt: str | None, **request: Any) -> int:
    """Print the memory that a new session starts with, within a budget of tokens.

    A token is four characters; other scripts cost more. --prompt prints what a prompt would get, in the project
    of --project or of this folder: often nothing. --explain shows what each section costs, or how near each
    passage came.

    \b
    Example:
      lineage context --project demo --query "the reader" --budget 1500
      lineage context --explain
      lineage context --prompt "the importer loses the last row" --explain
    """
    if prompt is not None:
        recall, note = run_in_workspace(root, partial(_recall, prompt=prompt, **request))
        warn(note)
        if as_json:
            print_json(recall.as_json())
        else:
            show = _explain_recall if explain else _print_items
            show(recall)
        return 0
    block, unread, unshown, note = run_in_workspace(root, partial(_build_block, request=ContextRequest(**request)))
    warn(note)
    if as_json:
        values = {"text": block.text, "tokens": block.tokens, "budget": block.budget}
        print_json({**values, "sections": block.sections, "unread": unread})
        return 0
    if explain:
        _explain(block)
    elif block.text:
        print_text(block.text, end="")
    else:
        print_warning("nothing is remembered yet, or nothing fits: see `lineage context --explain`")
    if unshown:
        print_warning(unshown)
    for path in unread:
        print_warning(f"can't be read, and is left out: {path}")
    return 0


def _build_block(ws: Workspace, request: ContextRequest) -> tuple[ContextBlock, list[str], str, str]:
    """Return the block, the paths of unreadable books, how many sessions can't be in it, and what its project is."""
    books = BookReader(ws)
    project, note = _find_project(ws, request.project)
    request = replace(request, session=_find_session(ws, request.session), project=project)
    return build_context(ws, request, books), books.unreadable_paths, describe_unshown(ws), note


def _find_project(ws: Workspace, name: str | None) -> tuple[str | None, str]:
    """Return the project that is meant, and what else its name may mean, or that nothing is known of it."""
    if not name:
        return name, ""
    project = find_named(ws, name)
    return project.project, project.describe_others() or describe_missing(ws, project)


def _find_session(ws: Workspace, name: str | None) -> str | None:
    """Return the short id of a captured session by a name or its beginning; a running one may have no capture yet."""
    rows = ws.index.list_sessions(None, reference=name, limit=MAX_CANDIDATES) if name else []
    return resolve_session(ws, name).session_token if name and match_reference(rows, name) else name


def _recall(
    ws: Workspace, *, prompt: str, agent_id: str, project: str | None, session: str | None, **_: object
) -> tuple[Recall, str]:
    named, note = _find_project(ws, project)
    place = named or str(Path.cwd())
    keys = KnownProjects(ws, ws.index.list_projects(), place).list_equal(find_key(ws, place))
    folder = resolve_project_folder(ws, place)
    session = _find_session(ws, session) or ""
    return recall_for_prompt(ws, prompt, agent_id=agent_id, keys=keys, folder=folder, session=session), note


def _print_items(recall: Recall) -> None:
    if recall.items:
        print_text("\n\n".join(map(format_item, recall.items)))
    else:
        print_warning("nothing is given at this prompt: `lineage context --prompt TEXT --explain` says why")


def _explain_recall(recall: Recall) -> None:
    """Print what was considered, the best first, with its features; the score is how far above the floor it is."""
    if recall.reason:
        print_text(f"nothing: {recall.reason}")
    for one in sorted(recall.considered, key=lambda one: -one.score):
        values = ", ".join(f"{name} {value:.2f}" for name, value in one.features.items())
        print_text(f"{one.verdict}: {one.row.at[:10]} {one.row.kind} {one.id} {one.row.title}")
        score = f"too little {', '.join(one.missed)}" if one.missed else f"{one.score:+.2f}"
        print_text(f"  {score}: {values}")
        print_text(f"  meets: {' '.join(word.text for word in one.met)}")


def _explain(block: ContextBlock) -> None:
    print_text(f"{'section':14}{'tokens':>7}{'limit':>9}  shown")
    for section in block.sections:
        print_text(f"{section.name:14}{section.tokens:7}{section.cap:9}  {_format_shown(section)}")
    print_text(f"{'total':14}{block.tokens:7}{block.budget:9}")


def _format_shown(section: SectionUsage) -> str:
    if section.dropped:
        return f"0 of {section.of}: dropped, there is no room for it"
    return f"{section.shown} of {section.of}" + (": cut" if section.cut else "") if section.of else "-"
