"""The user's editor: which one it is, how it is told a line, and running it. Nothing goes through a shell."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

from lineage.errors import InvalidInput, LineageError

_GOTO_EDITORS = frozenset({"code", "code-insiders", "codium", "cursor", "windsurf"})
"""Editors that take `--goto FILE:LINE`."""
_SUFFIX_EDITORS = frozenset({"subl", "zed", "hx"})
"""Editors that take `FILE:LINE`."""
_PLAIN_PROGRAMS = frozenset({"notepad", "open", "xdg-open", "gio"})
"""Programs that take a file alone; every other one takes `+LINE FILE`."""


def find_editor(hint: str) -> Sequence[str]:
    """The words of VISUAL, else EDITOR. Raises InvalidInput where neither names a program; `instead` says what to do
    then."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        words = shlex.split(named)
    except ValueError:
        words = []
    if not words:
        raise InvalidInput("no editor is set", hint=f"set VISUAL or EDITOR, or {hint}")
    return words


def build_command(command: Sequence[str], path: Path, line: int | None, *, waits: bool = False) -> list[str]:
    """The command line that opens a file, at a line where one is given. `waits` asks for the window to be closed first
    of editors that would return at once.

    >>> (build_command(["vi"], Path("/a.md"), 3), build_command(["code"], Path("/a.md"), 3), build_command(["vi"],
    ... Path("/a.md"), None))
    (['vi', '+3', '/a.md'], ['code', '--goto', '/a.md:3'], ['vi', '/a.md'])
    """
    name = Path(command[0]).stem.lower()
    wait = ["--wait"] if waits and name in _GOTO_EDITORS else []
    if line is None or name in _PLAIN_PROGRAMS:
        return [*command, *wait, str(path)]
    if name in _GOTO_EDITORS:
        return [*command, *wait, "--goto", f"{path}:{line}"]
    return [*command, f"{path}:{line}"] if name in _SUFFIX_EDITORS else [*command, f"+{line}", str(path)]


def run_program(command: Sequence[str], *, hint: str, failure_hint: str) -> None:
    """Runs a program of the user's and waits for it. Raises InvalidInput where it can't be started, with `hint`, and
    LineageError where it fails, with `failed`."""
    try:
        code = subprocess.run(command, check=False).returncode
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{command[0]} can't be started: {why}", hint=hint) from error
    if code:
        raise LineageError(f"{command[0]} ended with exit code {code}", hint=failure_hint)
