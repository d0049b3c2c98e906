"""`lineage init`."""

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from lineage.app.init_workspace import InitResult, init_workspace
from lineage.app.locations import format_location, resolve_workspace_root
from lineage.cli import options
from lineage.cli.output import print_result, print_text, strip_controls
from lineage.core.base.plural import pluralize
from lineage.errors import InvalidInput

_GUIDE = "lineage help Obsidian"
_MAX_NAMED = 8


@options.command("init")
@click.argument("directory", required=False, metavar="[DIR]", callback=options.require_name)
@click.option("--folder", metavar="NAME", help="DIR is a vault: put everything under this folder of it.")
@click.option("--shared", is_flag=True, help="Let the folder's group read it; else only you can.")
@click.option("--yes", is_flag=True, help="Replace your files of the same names, and do not ask.")
@click.option("--skip", is_flag=True, help="Keep your files of the same names, and do not ask.")
def command(
    root: Path, directory: str | None, folder: str | None, shared: bool, yes: bool, skip: bool, as_json: bool
) -> int:
    """Make a workspace: settings, curated memory, views. What is there already stays as it is.

    DIR may be an Obsidian vault: no note and no setting of it is touched. If one of your files has the name of
    one of lineage's, it asks; without a terminal it leaves that file out and lists it. In a
    vault of yours the workspace is one folder of it, `lineage` unless --folder names another.

    \b
    Example:
      lineage init ~/memory
    """
    if yes and skip:
        raise InvalidInput(
            "--yes and --skip exclude each other",
            hint="run `lineage init --yes` to replace files of yours, `lineage init --skip` to leave them",
        )
    target = resolve_workspace_root(directory) if directory else root
    asks = not (skip or as_json) and sys.stdin.isatty()

    def may_replace(path: str) -> bool:
        question = f"{strip_controls(path)} is there and isn't lineage's. Replace it?"
        return yes or (asks and click.confirm(question, default=False))

    run = options.note_run()
    run.root = None  # there is none yet, and it may be another than the one in use
    result = init_workspace(target, folder, may_replace, shared=shared)
    run.root = result.workspace
    value = asdict(result) | {"workspace": format_location(result.workspace)}
    return print_result(value, lambda: _print_result(result), as_json=as_json)


def _print_result(result: InitResult) -> None:
    print_text(f"workspace {format_location(result.workspace)}")
    for path in result.made:
        print_text(f"  made {path}")
    for path in result.replaced:
        print_text(f"  replaced {path}")
    _print_list("left as they are", result.kept)
    for path in result.refused:
        print_text(f"  not made {path}: another file has the name (--yes replaces it)")
    _print_list(f"not made, this vault's settings are yours (`{_GUIDE}` says what they do)", result.withheld)
    _print_list("links of the workspace lead to these instead, rename them", result.shadowing)
    if not result.is_ignored:
        print_text(
            "  .gitignore is yours: put `.lineage/` into it before you commit, it holds what nobody has redacted yet"
        )
    print_text(f"Next: lineage -w {format_location(result.workspace)} import all", folds=False)


def _print_list(title: str, paths: Sequence[str]) -> None:
    if paths:
        print_text(f"  {title}: {', '.join(paths) if len(paths) <= _MAX_NAMED else pluralize(len(paths), 'file')}")
