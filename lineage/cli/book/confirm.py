"""`lineage book confirm`."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from lineage.app.machine_config import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.errors import InvalidInput
from lineage.pipeline.memory.books import refuse_agents
from lineage.pipeline.memory.confirm import Evidence, confirm_entries, load_evidence


@click.command("confirm")
@click.argument("entry_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
@options.common
def command(root: Path, entry_ids: Sequence[str], yes: bool, as_json: bool) -> int:
    """Put in force what waits: each entry is shown with the words it came from and a link to them, then asked about.

    Only you can confirm, no agent. `lineage book list --pending` names what waits.

    \b
    Example:
      lineage book confirm 77ab 0c3e
    """
    # an agent must not put its own proposals in force
    refuse_agents(detect_caller(), "confirm what waits for the user")
    evidence = run_in_workspace(root, lambda ws: load_evidence(ws, entry_ids))
    if not yes and (as_json or not sys.stdin.isatty()):
        raise InvalidInput("this has to be confirmed", hint=f"`lineage book confirm {' '.join(entry_ids)} --yes`")
    accepted = [item for item in evidence if as_json or _ask(item, yes=yes)]
    places = run_in_workspace(root, lambda ws: confirm_entries(ws, accepted, detect_caller()), writes=True)
    if as_json:
        quotes = [{"quote": item.quote, "role": item.role, "said_at": item.turn_at} for item in accepted]
        print_json({"confirmed": [place.as_json() | quote for place, quote in zip(places, quotes, strict=True)]})
    else:
        for place in places:
            print_text(f"confirmed: {place.entry.id}, {place.ref.kind} of {place.ref.scope} ({place.ref.path})")
    return 0


def _ask(evidence: Evidence, *, yes: bool) -> bool:
    entry, ref = evidence.location.entry, evidence.location.ref
    print_text(f"{entry.id}  {ref.kind} of {ref.scope}, {entry.at[:10]}")
    _print_indented("says", entry.body)
    _print_indented("came from", evidence.quote)
    link = evidence.link or "no file: an agent asked for it by `lineage remember`"
    speaker = " ".join(filter(None, (evidence.role, evidence.turn_at)))
    print_text(f"  in: {link}" + (f" ({speaker})" if speaker else ""))
    for text in evidence.replaces:
        _print_indented("takes the place of", text)
    return yes or click.confirm(f"Put {entry.id} in force?")


def _print_indented(label: str, text: str) -> None:
    print_text(f"  {label}:")
    for line in text.split("\n"):
        print_text(f"    | {line}".rstrip())
