"""`lineage init`."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import plain, say, say_json
from lineage.core.wording import counted
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.app.initializing import Initialized

_GUIDE = "handbook/Obsidian.md"
_MOST_NAMED = 8


@click.command("init")
@click.argument("directory", required=False, metavar="[DIR]")
@click.option("--folder", metavar="NAME", help="DIR is a vault: put everything under this folder of it.")
@click.option("--yes", is_flag=True, help="Replace what lineage's files conflict with, and do not ask.")
@click.option("--skip", is_flag=True, help="Leave what they conflict with, and do not ask.")
@options.as_json
@options.workspace
def command(root: Path, directory: str | None, folder: str | None, yes: bool, skip: bool, as_json: bool) -> int:
    """Make a workspace: settings, curated memory, the handbook. What is there already stays as it is.

    DIR may be an Obsidian vault: no note and no setting of it is touched. Where a file of lineage's has the name of one
    that says something else, it asks; elsewhere than on a terminal that file is left out, and listed. With --folder
    the workspace is that folder of the vault.

    \b
    Example:
      lineage init ~/memory
    """
    from lineage.app import initialize, workspace_root
    from lineage.app.places import shown

    if yes and skip:
        raise InvalidInput("--yes and --skip exclude each other", hint="give one of them")
    target = workspace_root(directory) if directory else root
    result = initialize(target, folder, _answer(yes=yes, asks=not (skip or as_json) and sys.stdin.isatty()))
    if as_json:
        say_json(asdict(result) | {"workspace": shown(result.workspace)})
    else:
        _say(result)
    return 0


def _answer(*, yes: bool, asks: bool) -> Callable[[str], bool]:
    """What is said to each conflict."""

    def answered(path: str) -> bool:
        return yes or (
            asks and click.confirm(f"{plain(path)} is there and isn't lineage's. Replace it?", default=False)
        )

    return answered


def _say(result: "Initialized") -> None:
    from lineage.app.places import shown

    say(f"workspace {shown(result.workspace)}")
    for path in result.made:
        say(f"  made {path}")
    for path in result.replaced:
        say(f"  replaced {path}")
    _list("left as they are", result.kept)
    for path in result.refused:
        say(f"  not made {path}: another file has the name (--yes replaces it)")
    _list(f"not made, this vault's settings are yours ({_GUIDE} says what they do)", result.withheld)
    _list("links of the workspace lead to these instead, rename them", result.shadowing)
    if not result.is_ignored:
        say("  .gitignore is yours: put `.lineage/` into it before you commit, it holds what nobody has redacted yet")
    say(f"Next: lineage -w {shown(result.workspace)} session-end --help")


def _list(title: str, paths: Sequence[str]) -> None:
    if paths:
        say(f"  {title}: {', '.join(paths) if len(paths) <= _MOST_NAMED else counted(len(paths), 'file')}")
