"""The user's editor: finding it, its command line, running it. Nothing goes through a shell."""

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
    """Return the words of VISUAL, else of EDITOR. Raises InvalidInput with `hint` if neither names a program."""
    try:
        # EDITOR may hold options, `code --wait` for example
        words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    except ValueError:
        words = []
    if not words:
        raise InvalidInput("no editor is set", hint=f"set VISUAL or EDITOR, or {hint}")
    return words


def build_command(command: Sequence[str], path: Path, line: int | None, *, waits: bool = False) -> list[str]:
    """Return the command line that opens a file, at a line if one is given.

    With `waits`, an editor that would return at once is asked to wait until its window is closed.

    >>> (build_command(["vi"], Path("/a.md"), 3), build_command(["code"], Path("/a.md"), 3), build_command(["vi"],
    ... Path("/a.md"), None))
    (['vi', '+3', '/a.md'], ['code', '--goto', '/a.md:3'], ['vi', '/a.md'])
    """
    name = Path(command[0]).stem.lower()
    wait_option = ["--wait"] if waits and name in _GOTO_EDITORS else []
    if line is None or name in _PLAIN_PROGRAMS:
        return [*command, *wait_option, str(path)]
    if name in _GOTO_EDITORS:
        return [*command, *wait_option, "--goto", f"{path}:{line}"]
    return [*command, f"{path}:{line}"] if name in _SUFFIX_EDITORS else [*command, f"+{line}", str(path)]


def run_program(command: Sequence[str], *, hint: str, failure_hint: str) -> None:
    """Run a program of the user's and wait for it.

    Raises InvalidInput with `hint` if it can't be started, LineageError with `failure_hint` if it fails.
    """
    try:
        code = subprocess.run(command, check=False).returncode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidInput(f"{command[0]} can't be started: {reason}", hint=hint) from error
    if code:
        raise LineageError(f"{command[0]} ended with exit code {code}", hint=failure_hint)
