"""Command lines that are read without click: those of harnesses and scripts, which run with every session.

What such a command takes is declared once, as `Option`s; `options.declared` makes click's of them. A line that holds
nothing but options that are named in full is read here; any other is click's, which also says what is wrong with it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from lineage.app import workspace_root

_MOST_DIGITS = 18


class Option(NamedTuple):
    """An option by the `name` of its value. `words` are what is typed, "--name" where there are none; `least` says that
    the value is a whole number and how small it may be."""

    name: str
    help: str
    words: tuple[str, ...] = ()
    metavar: str | None = None
    default: str | bool | None = None
    is_flag: bool = False
    least: int | None = None

    @property
    def typed(self) -> tuple[str, ...]:
        return self.words or (f"--{self.name.replace('_', '-')}",)


class Command(NamedTuple):
    """What a command takes, in the order of its help, and what runs it: with the workspace and the value of each option
    by name. `run` gives back the exit code."""

    options: tuple[Option, ...]
    run: Callable[[Path, dict[str, Any]], int]


WORKSPACE = Option(
    "workspace",
    "A folder, or a bucket; else LINEAGE_WORKSPACE, else ~/.agents.",
    ("--workspace", "-w"),
    metavar="DIR",
)
JSON = Option("as_json", "Print one JSON object.", ("--json",), default=False, is_flag=True)


def started(arguments: Sequence[str], homes: Mapping[str, str]) -> Callable[[], int] | None:
    """The command that a whole line starts; None where click has to read it. `homes` names the module whose `COMMANDS`
    has the command."""
    place = next((place for place, word in enumerate(arguments[:3]) if word in homes), None)
    if place is None:
        return None
    name = arguments[place]
    command: Command = import_module(homes[name]).COMMANDS[name]
    first, values = _read(arguments[:place], [WORKSPACE]), _read(arguments[place + 1 :], [*command.options, WORKSPACE])
    if first is None or values is None:
        return None
    named = values.pop(WORKSPACE.name) or first[WORKSPACE.name]
    return lambda: command.run(workspace_root(named), values)


def _read(words: Sequence[str], options: Sequence[Option]) -> dict[str, Any] | None:
    """The values of options by name, of one that is repeated the last; None where anything else is among the words."""
    known = {word: option for option in options for word in option.typed}
    values: dict[str, Any] = {option.name: option.default for option in options}
    rest = iter(words)
    for word in rest:
        typed, is_joined, text = word.partition("=") if word.startswith("--") else (word, "", "")
        option = known.get(typed)
        value = _value(option, text if is_joined else None, rest) if option else None
        if option is None or value is None:
            return None
        values[option.name] = value
    return values


def _value(option: Option, joined: str | None, rest: Iterator[str]) -> str | int | bool | None:
    """The value of an option, with "=" or as the next word; None where it is none that is plain to see."""
    if option.is_flag:
        return True if joined is None else None
    text = next(rest, None) if joined is None else joined
    if text is None or (joined is None and text.startswith("-")):
        return None
    if option.least is None:
        return text
    is_number = len(text) <= _MOST_DIGITS and text.isascii() and text.isdecimal()
    return int(text) if is_number and int(text) >= option.least else None
