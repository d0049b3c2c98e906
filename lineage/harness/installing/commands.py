"""The command line that a harness runs, and telling which handlers in a configuration are lineage's."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from lineage.core.identity import checked_agent
from lineage.errors import InvalidInput

_STRINGS = ("command", "bash", "powershell", "commandWindows")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_WINDOWS = re.compile(r"""^(?:&\s*)?["']?[A-Za-z]:\\""")


@dataclass(frozen=True, slots=True)
class Command:
    """`lineage hook HARNESS --workspace DIR --agent NAME`; `program` is what starts lineage, absolute."""

    program: tuple[str, ...]
    harness: str
    workspace: str
    agent: str

    def __post_init__(self) -> None:
        """Raises InvalidInput for what no configuration file can hold."""
        checked_agent(self.agent)
        if any(map(_UNPRINTABLE.search, (*self.program, self.workspace))):
            raise InvalidInput(
                f"not a path that a hook can name: {self.workspace[:80]!r}",
                hint="move the workspace to a path of printable characters",
            )

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.program, "hook", self.harness, "--workspace", self.workspace, "--agent", self.agent)

    @property
    def shell(self) -> str:
        """One line for the shell that the harness uses: a POSIX shell, cmd on Windows."""
        return subprocess.list2cmdline(self.words) if os.name == "nt" else shlex.join(self.words)

    @property
    def bash(self) -> str:
        return shlex.join(self.words)

    @property
    def powershell(self) -> str:
        """
        >>> Command(("/opt/it's/lineage",), "copilot", "/w", "default").powershell
        "& '/opt/it''s/lineage' 'hook' 'copilot' '--workspace' '/w' '--agent' 'default'"
        """
        return "& " + " ".join("'" + word.replace("'", "''") + "'" for word in self.words)


@dataclass(frozen=True, slots=True)
class Entry:
    """A handler of lineage's in a list of hooks: `hooks[event][index]`, or the handler numbered `handler` in a group
    that others share. `words` is the command it runs."""

    event: str
    index: int
    handler: int | None
    words: tuple[str, ...]


def entries(hooks: Any, harness: str) -> Iterator[Entry]:
    """Lineage's handlers for `harness` in a `hooks` table, in order. What has another shape is somebody else's."""
    for event, groups in hooks.items() if isinstance(hooks, Mapping) else ():
        for index, group in enumerate(groups if isinstance(groups, Sequence) else ()):
            if isinstance(group, Mapping):
                yield from _in_group(event, index, group, harness)


def words_of(handler: Any, harness: str) -> tuple[str, ...] | None:
    """The command of a handler where it is lineage's for `harness`: `lineage … hook HARNESS …`, and nothing else in
    the same line."""
    if not isinstance(handler, Mapping):
        return None
    arguments = handler.get("args")
    if isinstance(handler.get("command"), str) and isinstance(arguments, list):
        words = (handler["command"], *(word for word in arguments if isinstance(word, str)))
        return words if is_ours(words, harness) else None
    lines = (handler.get(key) for key in _STRINGS)
    split = (_split(line) for line in lines if isinstance(line, str))
    return next((words for words in split if is_ours(words, harness)), None)


def is_ours(words: Sequence[str], harness: str) -> bool:
    """Whether a command line starts lineage's hook for `harness`.

    >>> is_ours(["/usr/bin/lineage", "hook", "codex"], "codex"), is_ours(["lineage", "status"], "codex")
    (True, False)
    """
    pairs = list(pairwise(words))
    if ("hook", harness) not in pairs:
        return False
    return any(_stem(word) == "lineage" for word in words[: pairs.index(("hook", harness))])


def option(words: Sequence[str], name: str) -> str | None:
    """The value of an option in a command line.

    >>> option(["lineage", "hook", "codex", "--agent", "ann"], "--agent")
    'ann'
    """
    return next((value for key, value in pairwise(words) if key == name), None)


def _in_group(event: str, index: int, group: Mapping[str, Any], harness: str) -> Iterator[Entry]:
    handlers = group.get("hooks")
    if not isinstance(handlers, list):
        words = words_of(group, harness)
        if words is not None:
            yield Entry(event, index, None, words)
        return
    found = [(number, words_of(handler, harness)) for number, handler in enumerate(handlers)]
    ours = [(number, words) for number, words in found if words is not None]
    for number, words in ours:
        yield Entry(event, index, None if len(ours) == len(handlers) else number, words)


def _split(line: str) -> tuple[str, ...]:
    """A line's words; none where it holds more than one command or cannot be split."""
    if _WINDOWS.match(line):
        line = line.replace("\\", "/")
    reader = shlex.shlex(line.removeprefix("& "), posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        words = tuple(reader)
    except ValueError:
        return ()
    return () if any(not set(word) - set("();<>|&") for word in words if word) else words


def _stem(word: str) -> str:
    path = PureWindowsPath(word) if "\\" in word else PurePosixPath(word)
    return path.name.lower().removesuffix(".exe")
