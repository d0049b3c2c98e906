"""`lineage context`."""

from functools import partial
from pathlib import Path
from typing import Any

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text, print_warning
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.projection.context_block import ContextBlock, SectionUsage
from lineage.workspace.book_reader import BookReader
from lineage.workspace.lookup import describe_unshown
from lineage.workspace.workspace import Workspace


@options.command("context")
@click.option("--agent", "agent_id", metavar="ID", default="default", show_default=True, help="The agent.")
@click.option("--project", metavar="PATH", help="Its project: a folder of it, or its name.")
@click.option("--query", metavar="TEXT", help="What it is about: decides which decisions and lessons are shown.")
@click.option("--session", metavar="SESSION", help="The running session, by token or id: what it found is shown, too.")
@click.option("--budget", type=click.IntRange(min=0), metavar="TOKENS", help="The most it may cost; 2000, or as set.")
@click.option("--explain", is_flag=True, help="What each section cost, may cost, and what was cut, not the text.")
def command(root: Path, explain: bool, as_json: bool, **request: Any) -> int:
    """Print what a new session is told of earlier ones, within a budget for all of it.

    A token is four characters, rounded up; other scripts than English cost more of them.

    \b
    Example:
      lineage context --project demo --query "the reader" --budget 1500
      lineage context --explain
    """
    block, unread, unshown = run_in_workspace(root, partial(_build_block, request=ContextRequest(**request)))
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


def _build_block(ws: Workspace, request: ContextRequest) -> tuple[ContextBlock, list[str], str]:
    """Return the block, the paths of unreadable books, and how many sessions can't be in it."""
    books = BookReader(ws)
    return build_context(ws, request, books), books.unreadable_paths, describe_unshown(ws)


def _explain(block: ContextBlock) -> None:
    print_text(f"{'section':14}{'tokens':>7}{'at most':>9}  shown")
    for section in block.sections:
        print_text(f"{section.name:14}{section.tokens:7}{section.cap:9}  {_format_shown(section)}")
    print_text(f"{'in all':14}{block.tokens:7}{block.budget:9}")


def _format_shown(section: SectionUsage) -> str:
    if section.dropped:
        return f"0 of {section.of}: dropped, there is no room for it"
    return f"{section.shown} of {section.of}" + (": cut" if section.cut else "") if section.of else "-"
