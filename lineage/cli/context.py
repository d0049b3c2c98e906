"""`lineage context`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text, print_warning, strip_controls
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.projection.context_block import ContextBlock, SectionUsage
from lineage.workspace.book_reader import BookReader
from lineage.workspace.workspace import Workspace


@click.command("context")
@click.option("--agent", "agent_id", metavar="ID", default="default", show_default=True, help="The agent.")
@click.option("--project", metavar="PATH", help="Its project: a folder of it, or its name.")
@click.option("--query", metavar="TEXT", help="What it is about: decides which decisions and lessons are shown.")
@click.option("--session", metavar="SESSION", help="The running session, by token or id: what it found is shown, too.")
@click.option("--budget", type=click.IntRange(min=0), metavar="TOKENS", help="The most it may cost; 2000, or as set.")
@click.option("--explain", is_flag=True, help="What each section cost, may cost, and what was cut, not the text.")
@options.as_json
@options.workspace
def command(root: Path, explain: bool, as_json: bool, **given: Any) -> int:
    """Print what a new session is told of earlier ones, within a budget for all of it.

    A token is four characters, rounded up; other scripts than English cost more of them.

    \b
    Example:
      lineage context --project demo --query "the reader" --budget 1500
      lineage context --explain
    """
    asked = ContextRequest(**given)
    block, unread = run_in_workspace(root, lambda ws: _told(ws, asked))
    if as_json:
        print_json(_as_json(block, unread))
        return 0
    if explain:
        _explain(block)
    elif block.text:
        print_text(block.text, end="")
    else:
        print_warning("nothing is remembered yet, or nothing fits: see `lineage context --explain`")
    for path in unread:
        print_warning(f"can't be read, and is left out: {strip_controls(path)}")
    return 0


def _told(ws: Workspace, asked: ContextRequest) -> tuple[ContextBlock, list[str]]:
    """The block, and the books that could not be read."""
    knowledge = BookReader(ws)
    return build_context(ws, asked, knowledge), knowledge.unreadable_paths


def _as_json(block: ContextBlock, unread: list[str]) -> dict[str, Any]:
    sections = [asdict(section) for section in block.sections]
    told = {"text": block.text, "tokens": block.tokens, "budget": block.budget, "sections": sections}
    return {**told, "unread": unread}


def _explain(block: ContextBlock) -> None:
    print_text(f"{'section':14}{'tokens':>7}{'at most':>9}  shown")
    for spent in block.sections:
        print_text(f"{spent.name:14}{spent.tokens:7}{spent.cap:9}  {_shown(spent)}")
    print_text(f"{'in all':14}{block.tokens:7}{block.budget:9}")


def _shown(spent: SectionUsage) -> str:
    if spent.dropped:
        return f"0 of {spent.of}: dropped, there is no room for it"
    return f"{spent.shown} of {spent.of}" + (": cut" if spent.cut else "") if spent.of else "-"
