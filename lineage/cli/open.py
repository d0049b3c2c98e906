"""`lineage open`, and the user's editor: finding it, its command line, running it. Nothing goes through a shell."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import click

from lineage.app.locations import detect_caller
from lineage.app.open_target import FileLocation, find_opener, is_in_vault, locate_file
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.completion import complete_session
from lineage.cli.output import print_json, print_text
from lineage.core.format.turns import parse_turn_range
from lineage.errors import InvalidInput, LineageError, WorkspaceError
from lineage.pipeline.memory.books import refuse_agents
from lineage.pipeline.search.session_view import find_file_target

_OBSIDIAN, _EDITOR = "obsidian", "editor"


@options.command("open")
@click.argument("session", shell_complete=complete_session)
@click.option("--summary", "kind", flag_value="summary", default=True, help="Its newest summary; the default.")
@click.option("--transcript", "kind", flag_value="transcript", help="Its newest transcript instead.")
@click.option("--manifest", "kind", flag_value="manifest", help="Its manifest instead.")
@click.option("--turns", metavar="A-B", help="The transcript that holds turn A; an editor goes to its line.")
@click.option("--obsidian", "where", flag_value=_OBSIDIAN, help="In Obsidian.")
@click.option("--editor", "where", flag_value=_EDITOR, help="In VISUAL or EDITOR.")
@click.option("--print", "prints", is_flag=True, help="Print the address or path that would be opened, no more.")
def command(
    root: Path, session: str, kind: str, turns: str | None, where: str | None, prints: bool, as_json: bool
) -> int:
    """Open a session's note in Obsidian, where the workspace is in a vault, else in VISUAL or EDITOR.

    SESSION is a session's id, key or short id, or the beginning of one. The id of an entry opens its book. Archived
    sessions have a note, too.

    \b
    Example:
      lineage open 2489c83d --print
      lineage open 2489c83d --turns 2 --editor --print
    """
    turn = parse_turn_range(turns)[0] if turns is not None else None
    if not prints:
        # an agent must not pop up windows on the user's screen
        refuse_agents(detect_caller(), "open the user's programs")
    target = run_in_workspace(root, lambda ws: find_file_target(ws, session, kind, turn))
    file = locate_file(root, target)
    is_chosen = where is not None
    where = where or (_OBSIDIAN if is_in_vault(file.path) else _EDITOR)
    if where == _OBSIDIAN and not is_in_vault(file.path):
        raise WorkspaceError(
            f"{root} is in no vault of Obsidian",
            hint=f"open the folder in Obsidian once, or run `lineage open {session} --editor`",
        )
    if not prints:
        where = _open_file(file, where, session, is_chosen=is_chosen)
    uri = file.uri if where == _OBSIDIAN else None
    if as_json:
        print_json({"path": str(file.path), "line": file.line, "with": where, "uri": uri})
    elif prints:
        print_text(uri or str(file.path), folds=False)
    else:
        print_text(f"opened in {where}: {file.path}")
    return 0


def _open_file(file: FileLocation, where: str, session: str, *, is_chosen: bool) -> str:
    """Open a file and return where: where no program opens Obsidian's addresses, in the editor unless it was chosen."""
    if where == _OBSIDIAN and not is_chosen and (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
        try:
            return _open_file(file, where, session, is_chosen=True)
        except LineageError:
            where = _EDITOR
    prints = f"`lineage open {session} --print` prints where it is"
    if where == _EDITOR:
        command = build_command(find_editor(prints), file.path, file.line)
        run_program(command, hint=f"set VISUAL or EDITOR; {prints}", failure_hint=prints)
        return where
    program, hint = find_opener(), f"install Obsidian, set EDITOR for `--editor`, or run `lineage show {session}`"
    if program is None:
        raise InvalidInput("no program opens Obsidian's addresses here", hint=hint)
    try:
        # what an opener tries and misses, a line each, tells the user less than the one sentence below
        code = subprocess.run([*program, file.uri], check=False, stderr=subprocess.DEVNULL).returncode
    except OSError as error:
        raise InvalidInput(f"{program[0]} can't be started: {error.strerror}", hint=hint) from error
    if code:
        raise LineageError("nothing on this machine opens Obsidian's addresses", hint=hint)
    return where


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
