"""`lineage book edit`."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.book.printing import report
from lineage.cli.texts import text_or_stdin
from lineage.errors import InvalidInput, LineageError

if TYPE_CHECKING:
    from lineage.pipeline.knowledge.bookkeeping import Place

_GO_TO = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
"""Editors that take `--goto FILE:LINE`; the others take `+LINE FILE`."""


@click.command("edit")
@click.argument("entry_id", metavar="ID")
@click.argument("text", required=False)
@options.as_json
@options.workspace
def command(root: Path, entry_id: str, text: str | None, as_json: bool) -> int:
    """Give an entry another text; without TEXT, open its book in VISUAL or EDITOR, at its line. TEXT `-` is stdin.

    An edited entry keeps its id, date and source.

    \b
    Example:
      lineage book edit 718d "Prefers tabs in Makefiles, spaces elsewhere."
      lineage book edit 718d
    """
    from lineage.app import caller, with_house
    from lineage.pipeline.knowledge.bookkeeping import edit

    if text is None:
        place = _by_hand(root, entry_id)
    else:
        body = text_or_stdin([text])
        place = with_house(root, lambda house: edit(house, entry_id, body, caller()), writes=True)
    return report(place, "edited", as_json=as_json)


def _by_hand(root: Path, entry_id: str) -> "Place":
    """Lets the user edit the file, then brings index and MEMORY.md up to it."""
    from lineage.app import caller, with_house
    from lineage.app.places import is_bucket
    from lineage.pipeline.knowledge.bookkeeping import found, refuse_agents, settled

    refuse_agents(caller(), "open the user's editor")
    if is_bucket(root):
        raise InvalidInput("an editor opens files, and this book lies in a bucket", hint="lineage book edit ID TEXT")
    command = _editor()
    place = with_house(root, lambda house: found(house, entry_id))
    _run([*command, *_at_line(command, root / place.ref.path, place.line)])
    with_house(root, lambda house: settled(house, [place.ref]), writes=True)
    return place


def _editor() -> Sequence[str]:
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError:
        words = []
    if not words:
        raise InvalidInput("no editor is set", hint="set VISUAL or EDITOR, or give the text: lineage book edit ID TEXT")
    return words


def _at_line(command: Sequence[str], path: Path, line: int) -> list[str]:
    if Path(command[0]).stem.lower() in _GO_TO:
        return ["--wait", "--goto", f"{path}:{line}"]
    return [f"+{line}", str(path)]


def _run(command: Sequence[str]) -> None:
    try:
        code = subprocess.run(command, check=False).returncode
    except OSError as error:
        raise InvalidInput(f"{command[0]} can't be started: {error.strerror}", hint="set VISUAL or EDITOR") from error
    if code:
        raise LineageError(f"{command[0]} ended with exit code {code}", hint="what it saved is kept; run it again")
