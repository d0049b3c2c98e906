"""`lineage remember`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lineage.cli import options
from lineage.cli.output import plain, say, say_json
from lineage.cli.texts import text_or_stdin
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.pipeline.knowledge.remembering import Remembered


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
    from lineage.app import caller, with_house
    from lineage.pipeline.knowledge.remembering import Memo, remember

    memo = Memo(text=text_or_stdin(text), kind=_kind(kind, curated=curated, daily=daily), **given)
    return report(with_house(root, lambda house: remember(house, memo, caller()), writes=True), as_json=as_json)


def _kind(kind: str | None, *, curated: bool, daily: bool) -> str:
    named = [] if kind is None else [kind]
    named += [name for name, is_it in (("curated", curated), ("daily", daily)) if is_it]
    if len(named) > 1:
        raise InvalidInput(f"one kind, not {len(named)}", hint="give one of `--kind`, `--curated`, `--daily`")
    return named[0] if named else "note"


def report(outcome: "Remembered", *, as_json: bool) -> int:
    """Prints what became of a text; the exit code: 1 where it was not taken."""
    is_taken = outcome.status in ("remembered", "pending", "known")
    if as_json:
        say_json(asdict(outcome))
    elif is_taken:
        _say(outcome)
    else:
        reason = f": {outcome.reason}" if outcome.reason != outcome.status else ""
        click.echo(f"lineage: {outcome.status}{reason}; nothing was written\n  {plain(outcome.hint or '')}", err=True)
    return 0 if is_taken else 1


def _say(outcome: "Remembered") -> None:
    where = f"{outcome.kind} of {outcome.scope} ({outcome.path})"
    if outcome.status == "pending":
        say(f"waits: {outcome.id}, {where}: called from inside {outcome.harness}")
        say(f"  the user puts it in force: lineage book confirm {outcome.id}")
    else:
        say(f"{outcome.status}: {outcome.id or 'under an id of its book'}, {where} {outcome.trust or ''}".rstrip())
    if outcome.hint:
        say(f"  {outcome.hint}")
    if outcome.redactions:
        say("  redacted: " + ", ".join(f"{name} {count}" for name, count in outcome.redactions.items()))
