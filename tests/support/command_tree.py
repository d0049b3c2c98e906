"""The tree of commands, and whether a message tells people what happened and what to type."""

import re
import shlex
from collections.abc import Iterator

import click

from lineage.cli.main import cli
from tests.support.commands import CommandResult

_QUOTED = re.compile(r"`(lineage(?: [^`]*)?)`")
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_/]*$|…$|FILE\.\w+$")
_OTHER_PROGRAM = re.compile(r"`(?:chmod|ls|ulimit|pipx|uv|pip|python3?|unset|zstd|openssl) [^`]+`")
_MAX_CHARACTERS = 1500


def walk_commands(command: click.Command = cli, path: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """Yield every command and group with its path, names of before and hidden ones too."""
    yield " ".join(path), command
    if isinstance(command, click.Group):
        with click.Context(command) as context:
            names = getattr(command, "list_names", command.list_commands)(context)
            for name in [*names, *(one for one in command.commands if one not in names)]:
                child = command.get_command(context, name)
                assert child is not None
                yield from walk_commands(child, (*path, name))


def find_typed(hint: str) -> list[str]:
    """Return the command lines of ours that a hint proposes."""
    return _QUOTED.findall(hint)


def describe_wrong_line(line: str) -> str | None:
    """Return what is wrong with a command line that a hint proposes, None where it can be typed as it stands.

    Its names are those of today, its options exist, and nothing that the command needs is missing.
    """
    try:
        words = shlex.split(line)[1:]
    except ValueError as error:
        return f"{line}: {error}"
    command: click.Command = cli
    context = click.Context(cli, info_name="lineage")
    if words[:2] and words[0] == "-w":
        words = words[2:]
    while isinstance(command, click.Group):
        if not words or words[0] == "…" or words == ["--help"]:
            return None
        child = command.get_command(context, words[0])
        is_listed = words[0] in command.list_commands(context) or words[-1] == "--help"
        if child is None or not is_listed:
            return f"{line}: no command of today is called {words[0]}"
        command, context = child, click.Context(child, info_name=words[0], parent=context)
        words = words[1:]
    if words[-1:] == ["--help"]:
        return None
    try:
        values, _, _ = command.make_parser(context).parse_args(list(words))
    except click.UsageError as error:
        return f"{line}: {error.format_message()}"
    needs = [one.name for one in command.params if isinstance(one, click.Argument) and one.required]
    missing = [name for name in needs if name is not None and not values.get(name)]
    return f"{line}: {missing} missing" if missing and words else None


def describe_bad_message(result: CommandResult) -> list[str]:
    """Return what a message on stderr lacks: one sentence of what happened, and one with a command to type."""
    err = result.err
    if "Traceback" in err or result.code == 3:
        return [f"a crash: {err[-600:]}"]
    lines = [line for line in err.rstrip("\n").split("\n") if line]
    at = next((number for number, line in enumerate(lines) if line.startswith("lineage: ")), None)
    if at is None:
        return ["no line says what happened"]
    if len(lines) != at + 2 or not lines[at + 1].startswith("  ") or at > 2:
        return [f"not one sentence and one hint: {lines}"]
    message, hint = lines[at].removeprefix("lineage: "), lines[at + 1].strip()
    wrong = [] if message and len(err) <= _MAX_CHARACTERS else [f"{len(err)} characters, {len(message)} of them said"]
    typed = find_typed(hint)
    if not typed and not _OTHER_PROGRAM.search(hint):
        wrong.append(f"no command to type: {hint}")
    return wrong + [trouble for line in typed if (trouble := describe_wrong_line(line))]
