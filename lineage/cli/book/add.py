"""`lineage book add`."""

from collections.abc import Sequence
from pathlib import Path

import click

from lineage.app.machine_config import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.arguments import read_text_argument
from lineage.cli.remember import print_outcome
from lineage.pipeline.memory.remember import Memo, remember


@click.command("add")
@click.argument("scope")
@click.argument("kind")
@click.argument("text")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; may be given several times.")
@click.option("--supersedes", metavar="ID", multiple=True, help="An entry of this book that it takes the place of.")
@options.as_json
@options.workspace
def command(
    root: Path, scope: str, kind: str, text: str, tags: Sequence[str], supersedes: Sequence[str], as_json: bool
) -> int:
    """Add an entry to a book: `lineage remember` with scope and kind named. TEXT `-` is stdin.

    \b
    Example:
      lineage book add project/lineage lesson "The index is rebuilt, never mended."
    """
    memo = Memo(text=read_text_argument([text]), scope=scope, kind=kind, tags=tuple(tags), supersedes=tuple(supersedes))
    return print_outcome(
        run_in_workspace(root, lambda ws: remember(ws, memo, detect_caller()), writes=True), as_json=as_json
    )
