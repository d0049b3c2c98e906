"""`lineage remember`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lineage.app.machine_config import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text, strip_controls
from lineage.cli.stdin import read_text_argument
from lineage.errors import InvalidInput
from lineage.pipeline.memory.remember import Memo, RememberResult, remember


@click.command("remember")
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@click.option("--scope", metavar="SCOPE", help="global, project/NAME, agent/ID, peer/ID or session/TOKEN.")
@click.option(
    "--kind",
    metavar="KIND",
    help="note (the default), preference, decision, fact, context, finding, lesson, task, handoff, or any other name.",
)
@click.option("--curated", is_flag=True, help="Append it to AGENT_MEMORY.md.")
@click.option("--daily", is_flag=True, help="Into the agent's note of today (UTC).")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; may be given several times.")
@click.option("--supersedes", metavar="ID", multiple=True, help="An entry of the same book that it takes the place of.")
@click.option(
    "--agent",
    "agent_id",
    metavar="ID",
    default="default",
    show_default=True,
    help="Whose book, where it is an agent's.",
)
@click.option("--project", metavar="NAME", help="A project's book: the same as --scope project/NAME.")
@options.as_json
@options.workspace
def command(
    root: Path, text: Sequence[str], kind: str | None, curated: bool, daily: bool, as_json: bool, **given: Any
) -> int:
    """Remember TEXT: a note for every session, unless a scope or kind is named. TEXT `-` is stdin.

    What you say here counts as yours. Called by an agent it counts as derived, and what would be global waits until
    you confirm it. Secrets are redacted before anything is written.

    \b
    Example:
      lineage remember "The staging server is rebuilt every night."
      lineage remember --kind preference --tag style "Prefers tabs over spaces in Makefiles."
      lineage remember --project lineage --kind task "Write the release notes"
      lineage remember --curated "Ask before a dependency is added."
    """
    memo = Memo(text=read_text_argument(text), kind=_choose_kind(kind, curated=curated, daily=daily), **given)
    return print_outcome(
        run_in_workspace(root, lambda ws: remember(ws, memo, detect_caller()), writes=True), as_json=as_json
    )


def _choose_kind(kind: str | None, *, curated: bool, daily: bool) -> str:
    named = [] if kind is None else [kind]
    named += [name for name, is_it in (("curated", curated), ("daily", daily)) if is_it]
    if len(named) > 1:
        raise InvalidInput(f"one kind, not {len(named)}", hint="give one of `--kind`, `--curated`, `--daily`")
    return named[0] if named else "note"


def print_outcome(outcome: RememberResult, *, as_json: bool) -> int:
    """Prints what became of a text; the exit code: 1 where it was not taken."""
    is_taken = outcome.status in ("remembered", "pending", "known")
    if as_json:
        print_json(asdict(outcome))
    elif is_taken:
        _print_result(outcome)
    else:
        reason = f": {outcome.reason}" if outcome.reason != outcome.status else ""
        click.echo(
            f"lineage: {outcome.status}{reason}; nothing was written\n  {strip_controls(outcome.hint or '')}", err=True
        )
    return 0 if is_taken else 1


def _print_result(outcome: RememberResult) -> None:
    where = f"{outcome.kind} of {outcome.scope} ({outcome.path})"
    if outcome.status == "pending":
        print_text(f"waits: {outcome.id}, {where}: called from inside {outcome.harness}")
        print_text(f"  the user puts it in force: lineage book confirm {outcome.id}")
    else:
        print_text(
            f"{outcome.status}: {outcome.id or 'under an id of its book'}, {where} {outcome.trust or ''}".rstrip()
        )
    if outcome.hint:
        print_text(f"  {outcome.hint}")
    if outcome.redactions:
        print_text("  redacted: " + ", ".join(f"{name} {count}" for name, count in outcome.redactions.items()))
