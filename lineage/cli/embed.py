"""`lineage admin embed`."""

import sys
from functools import partial
from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_result, print_text, show_progress
from lineage.core.base.plural import pluralize
from lineage.errors import format_extra_hint
from lineage.extraction.embedding.local import NO_MODEL, NOT_INSTALLED, UNREADABLE
from lineage.pipeline.search.embeddings import EmbedResult, count_pending, embed_pending
from lineage.pipeline.search.search import require_semantic
from lineage.workspace.workspace import Workspace


@options.command("embed", writes=True)
@click.option("--yes", is_flag=True, help="Send passages to an endpoint without asking.")
def command(root: Path, yes: bool, as_json: bool) -> int:
    """Make a vector for every passage that has none yet, for search by meaning.

    You can stop it at any time; the next run goes on from there. On a terminal it asks before passages leave this
    machine for an endpoint.

    \b
    Example:
      lineage admin embed
    """
    result = run_in_workspace(root, partial(_embed, asks=not yes and sys.stdin.isatty()), in_place=True)
    print_result(result, lambda: _print_result(result), as_json=as_json)
    return 1 if result.failed else 0


def _embed(ws: Workspace, *, asks: bool) -> EmbedResult:
    require_semantic(ws)
    if asks and ws.embedding and (host := ws.embedding.embedder.host) and (pending := count_pending(ws)):
        click.confirm(f"Send {pluralize(pending, 'passage')} to {host}?", abort=True)
    with show_progress("embed") as progress:
        return embed_pending(ws, progress=progress, checks_length=True)  # without a bound: the user waits for it


def _print_result(result: EmbedResult) -> None:
    dropped = f", {pluralize(result.dropped, 'vector')} dropped" if result.dropped else ""
    print_text(f"{pluralize(result.embedded, 'passage')} embedded, {result.reused} had a vector{dropped}")
    if result.failed in (NO_MODEL, UNREADABLE):
        print_text(
            f"nothing embedded: {result.failed}; check `model` in `[embedding]` of ~/.config/lineage/config.toml,"
        )
        print_text("see `lineage help semantic search`")
    elif result.failed.endswith(NOT_INSTALLED):
        print_text(f"nothing embedded: {result.failed}; {format_extra_hint('semantic')}")
    elif result.failed:
        print_text(f"ended early: {result.failed}; {pluralize(result.left, 'file')} left, run it again")
