"""Printing: text without control characters, JSON with stable keys, warnings and errors, progress bars.

A terminal gets lines that fit its width and times of its zone; a pipe gets whole lines and canonical times.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TextIO

import click

from lineage.errors import InvalidInput

if TYPE_CHECKING:  # `--help` imports nothing of the core
    from lineage.core.base.progress import Progress, StageProgress

_CONTROL_CHARACTERS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_MAX_LINE = 600
_LABEL = re.compile(r" *\S+(?: \S+)?  +(?=\S)")
"""A label in a column of its own, before its value."""
_COMMAND = re.compile(r"`lineage [^`]*`|(?<=→ )lineage .*$")
_JOINT = "\0"


def strip_controls(text: str) -> str:
    """Return the text without control and bidi characters: content must not send escape sequences to a terminal."""
    return text if text.replace("\n", "").isprintable() else re.sub(_CONTROL_CHARACTERS, "", text)


def is_terminal() -> bool:
    """Return whether stdout is a terminal: a person reads it."""
    return sys.stdout.isatty()


def format_when(time: str) -> str:
    """Return a canonical time for stdout: as people say it on a terminal, as it is in a pipe."""
    return _load_time_format()(time) if is_terminal() else time


@cache
def _load_time_format() -> Callable[[str], str]:
    """Read the clock, once a command, and return what writes times as of then."""
    from lineage.app import clock
    from lineage.core.base.local_times import format_local

    return partial(format_local, now=clock.now(), to_local=clock.to_local)


def fold(text: str, width: int) -> str:
    """Return the text with lines of at most `width` cells where words allow; a folded line goes on below its value.

    A command of lineage that is to be copied is one word.

    >>> print(fold("workspace  /srv/memory of the whole team", 30))
    workspace  /srv/memory of the
               whole team
    """
    return "\n".join(_fold_line(line, width) if len(line) * 2 > width else line for line in text.split("\n"))


def _fold_line(line: str, width: int) -> str:
    measure = _load_cell_measure(line)
    if measure(line) <= width:
        return line
    label, longest = _LABEL.match(line), max(map(measure, line.split(" ")))
    is_below = label and label.end() * 2 <= width and label.end() + longest <= width
    hang = label.end() if label and is_below else len(line) - len(line.lstrip(" ")) + 2
    first, *words = _split_words(line[hang:])
    lines, current = list[str](), line[:hang] + first
    for word in words:
        if current.strip() and measure(f"{current} {word}") > width:
            lines.append(current.rstrip(" "))
            current = " " * hang + word
        else:
            current = f"{current} {word}"
    return "\n".join([*lines, current])


def _split_words(text: str) -> list[str]:
    joined = _COMMAND.sub(lambda found: found[0].replace(" ", _JOINT), text)
    return [word.replace(_JOINT, " ") for word in joined.split(" ")]


def _load_cell_measure(line: str) -> Callable[[str], int]:
    """Return what measures a line's width on a terminal; wide and combining characters need a table."""
    if line.isascii():
        return len
    from rich.cells import cell_len

    return cell_len


def cut_line(line: str) -> str:
    """Return the line, on a terminal cut to its width with "…" at the end; a pipe gets it whole.

    A quotation keeps its closing mark.
    """
    width, measure = shutil.get_terminal_size().columns, _load_cell_measure(line)
    if not is_terminal() or measure(line) <= width:
        return line
    end = "…”" if line.endswith("”") else "…"
    room = max(0, width - len(end))
    kept = line[:room]
    while measure(kept) > room:
        kept = kept[:-1]
    return kept.rstrip() + end


def format_counts(counts: Mapping[str, int]) -> str:
    """Return counts as `name 3, other 5`, sorted by name."""
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def print_text(text: str = "", *, end: str = "\n", folds: bool = True) -> None:
    """Print text on stdout, folded to the width of a terminal unless its lines are somebody else's."""
    text = strip_controls(text)
    if folds and is_terminal():
        text = fold(text, shutil.get_terminal_size().columns)
    _echo(text + end, sys.stdout)


def print_raw(text: str) -> None:
    """Print what was drawn for a terminal as it is, colours too."""
    _echo(text, sys.stdout)


def print_synopsis(title: str, outcome: str) -> None:
    """Print a session's title and, if it says more, its outcome, a line each."""
    print_text(f"    {title}")
    if outcome not in ("", title):
        print_text(f"    → {outcome}")


def print_json(value: Any) -> None:
    """Print one JSON object, ASCII only: safe for every terminal and locale. A dataclass is one of its fields."""
    _echo(json.dumps(value, indent=2, ensure_ascii=True, default=asdict) + "\n", sys.stdout)


def print_result(value: Any, print_lines: Callable[[], object], *, as_json: bool) -> int:
    """Print a result, as one JSON object or by `print_lines` for people, and return the exit code 0."""
    if as_json:
        print_json(value)
    else:
        print_lines()
    return 0


def print_warning(text: str) -> None:
    """Print a remark about the result on stderr."""
    _echo(f"{strip_controls(text)}\n", sys.stderr)


def print_error(message: str, hint: str, command: str = "", more: str = "") -> None:
    """Print an error and its remedy on stderr, a line each.

    The remedy names something to type: where the hint has nothing, `more`, or the help of `command`, by default of the
    one that runs.
    """
    if not command:
        context = click.get_current_context(silent=True)
        command = context.command_path if context else "lineage"
    _echo(f"lineage: {_fit_line(message)}\n  {_fit_line(add_command(hint, command, more))}\n", sys.stderr)


def add_command(hint: str, command: str, more: str = "") -> str:
    """Return the hint with `more`, or the help of `command`, behind it, unless it names something to type.

    >>> (add_command("give one of them", "lineage init"), add_command("run `lineage list`", "lineage show"))
    ('give one of them; `lineage init --help` says more', 'run `lineage list`')
    """
    if hint in ("", InvalidInput.default_hint):
        return f"run `{command} --help` to see what it takes"
    more = more or f"`{command} --help` says more"
    return hint if "`lineage" in hint or "run `" in hint else f"{hint}; {more}"


def _fit_line(text: str) -> str:
    """Return the text as one line of bounded length: a name that somebody typed may be anything."""
    line = strip_controls(text).strip("\n").replace("\n", "\\n")
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE // 2]} … {line[-_MAX_LINE // 4 :]}"


def _echo(text: str, stream: TextIO) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:  # a terminal of another encoding: click replaces what it can't show
        click.echo(text, file=stream, nl=False)
    stream.flush()


@contextmanager
def show_progress(title: str) -> "Iterator[Progress | None]":
    """Draw a bar until the block ends. Yield its update function (done, total), None without a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with _draw_bars() as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def show_stages() -> "Iterator[StageProgress]":
    """Draw a bar for each stage until the block ends. Yield the update function (stage, done, total)."""
    if not sys.stderr.isatty():
        yield lambda stage, done, total: None
        return
    with _draw_bars(shows_counts=True) as bar:
        tasks: dict[str, Any] = {}

        def update(stage: str, done: int, total: int) -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage)
            bar.update(tasks[stage], completed=done, total=total)

        yield update


def _draw_bars(*, shows_counts: bool = False) -> Any:
    from rich import console, progress  # costs more than most commands take: loaded when there is a terminal to draw on

    columns = (*progress.Progress.get_default_columns(), *[progress.MofNCompleteColumn()] * shows_counts)
    return progress.Progress(*columns, console=console.Console(stderr=True), transient=True)
