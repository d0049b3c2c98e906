"""`lineage config`: the settings of a workspace."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from lineage.app.locations import format_location, machine_config_path
from lineage.app.settings_file import find_setting, list_settings, set_setting
from lineage.cli import options
from lineage.cli.lazy import HelpfulGroup
from lineage.cli.output import print_result, print_text
from lineage.config.workspace import SETTINGS_FILE


@click.group("config", cls=HelpfulGroup)
def command() -> None:
    """Read and change the settings of a workspace. You can edit its lineage.toml by hand, too.

    \b
    Example:
      lineage config get
      lineage config get context.budget
      lineage config set context.budget 1500
      lineage config path
    """


@options.command("get", command)
@click.argument("name", required=False)
def get(root: Path, name: str | None, as_json: bool) -> int:
    """Print the setting NAME, or all settings in effect.

    \b
    Example:
      lineage config get context.budget
    """
    settings = list_settings(root)
    chosen = settings if name is None else {(known := find_setting(list(settings), name)): settings.get(known)}

    def print_lines() -> None:
        for key, value in chosen.items():
            print_text(_format_value(value) if name else f"{key} = {_format_value(value)}")

    return print_result(chosen, print_lines, as_json=as_json)


@options.command("set", command)
@click.argument("name")
@click.argument("values", metavar="VALUE...", nargs=-1, required=True, type=click.UNPROCESSED)
def set_(root: Path, name: str, values: Sequence[str], as_json: bool) -> int:
    """Set NAME to VALUE in lineage.toml. Comments and everything else in the file stay.

    A list takes several VALUEs. Programs, addresses and keys belong to this machine: edit its own file, which
    `lineage config path` names.

    \b
    Example:
      lineage config set recall.prompt false
    """
    value = set_setting(root, name, values)
    if name.startswith("context."):  # the next session is told by what it is now
        from lineage.app.workspace import run_in_workspace  # 0.2 s, which no other setting waits for
        from lineage.pipeline.memory.prepared_contexts import refresh_contexts

        run_in_workspace(root, refresh_contexts)
    line = f"{name} = {_format_value(value)} in {format_location(root)}/{SETTINGS_FILE}"
    return print_result({name: value}, lambda: print_text(line), as_json=as_json)


@options.command("path", command)
def path(root: Path, as_json: bool) -> int:
    """Print the paths of the settings: the workspace's file, and this machine's.

    \b
    Example:
      lineage config path
    """
    places = {
        "workspace": f"{format_location(root)}/{SETTINGS_FILE}",
        "machine": str(machine_config_path(os.environ, Path.home())),
    }

    def print_lines() -> None:
        for name, place in places.items():
            print_text(f"{name:10} {place}")

    return print_result(places, print_lines, as_json=as_json)


def _format_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
