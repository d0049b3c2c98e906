"""The command line of a hook, and recognizing lineage's handlers in a configuration."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from lineage.core.base.naming import validate_agent_id
from lineage.errors import InvalidInput

MCP, SKILL, RECALL = PARTS = ("mcp", "skill", "recall")
"""What `lineage hooks install` brings beside the capture of sessions. `--no-…` leaves a part out."""
BLOCK = "block"
"""What a session starts with: its size is a setting, `context.budget`."""

SERVER = "lineage"
"""The name of lineage's MCP server in every harness."""

# All harnesses' keys for a command line; some write one for each system.
_COMMAND_KEYS = ("command", "bash", "powershell", "commandWindows")
# Control characters, line separators and lone surrogates.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_WINDOWS = re.compile(r"""^(?:&\s*)?["']?[A-Za-z]:\\""")


@dataclass(frozen=True, slots=True)
class HookCommand:
    """The command `lineage hook HARNESS --workspace DIR --agent NAME`. `program` is the absolute path of lineage.

    The parts that were left out stand in it, too, so that installing again and `doctor` know what was wanted.
    """

    program: tuple[str, ...]
    harness: str
    workspace: str
    agent: str
    left_out: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Raise InvalidInput for a path that no configuration file can hold."""
        validate_agent_id(self.agent)
        if any(map(_UNPRINTABLE.search, (*self.program, self.workspace))):
            hint = "move the workspace to a path of printable characters"
            raise InvalidInput(f"not a path that a hook can name: {self.workspace[:80]!r}", hint=hint)

    @property
    def argv(self) -> tuple[str, ...]:
        """The command as a list of words."""
        choices = (f"--no-{part}" for part in PARTS if part in self.left_out)
        return (*self.program, "hook", self.harness, "--workspace", self.workspace, "--agent", self.agent, *choices)

    @property
    def server(self) -> tuple[str, ...]:
        """The command of the MCP server, as a list of words."""
        return (*self.program, "mcp", "--workspace", self.workspace, "--agent", self.agent)

    @property
    def shell(self) -> str:
        """The command as a line for the harness's shell: a POSIX shell, cmd on Windows."""
        return subprocess.list2cmdline(self.argv) if os.name == "nt" else shlex.join(self.argv)

    @property
    def bash(self) -> str:
        """The command as a line for a POSIX shell."""
        return shlex.join(self.argv)

    @property
    def powershell(self) -> str:
        """The command as a line for PowerShell.

        >>> HookCommand(("/opt/it's/lineage",), "copilot", "/w", "default").powershell
        "& '/opt/it''s/lineage' 'hook' 'copilot' '--workspace' '/w' '--agent' 'default'"
        """
        return "& " + " ".join("'" + word.replace("'", "''") + "'" for word in self.argv)


@dataclass(frozen=True, slots=True)
class HookEntry:
    """A handler of lineage's in a list of hooks: `hooks[event][index]`. `argv` is its command.

    In a group shared with others, `handler` is its number in the group.
    """

    event: str
    index: int
    handler: int | None
    argv: tuple[str, ...]


def find_entries(hooks: Any, harness: str) -> Iterator[HookEntry]:
    """Yield lineage's handlers for `harness` in a `hooks` table, in order. Values of another shape are ignored."""
    for event, groups in hooks.items() if isinstance(hooks, Mapping) else ():
        for index, group in enumerate(groups if isinstance(groups, Sequence) else ()):
            if isinstance(group, Mapping):
                yield from _find_in_group(event, index, group, harness)


def parse_handler(handler: Any, harness: str) -> tuple[str, ...] | None:
    """Return the command of a handler, None unless it is `lineage … hook HARNESS …` alone in its line."""
    if not isinstance(handler, Mapping):
        return None
    arguments = handler.get("args")
    if isinstance(handler.get("command"), str) and isinstance(arguments, list):
        argv = (handler["command"], *(word for word in arguments if isinstance(word, str)))
        return argv if is_lineage_command(argv, harness) else None
    lines = (handler.get(key) for key in _COMMAND_KEYS)
    commands = (_split_line(line) for line in lines if isinstance(line, str))
    return next((argv for argv in commands if is_lineage_command(argv, harness)), None)


def is_lineage_command(argv: Sequence[str], harness: str) -> bool:
    """Return whether a command line starts lineage's hook for `harness`.

    >>> is_lineage_command(["/usr/bin/lineage", "hook", "codex"], "codex")
    True
    >>> is_lineage_command(["lineage", "status"], "codex")
    False
    """
    pairs = list(pairwise(argv))
    if ("hook", harness) not in pairs:
        return False
    return any(map(_is_lineage, argv[: pairs.index(("hook", harness))]))


def _is_lineage(word: str) -> bool:
    path = PureWindowsPath(word) if "\\" in word else PurePosixPath(word)
    return path.name.lower().removesuffix(".exe") == "lineage"


def get_option(argv: Sequence[str], name: str) -> str | None:
    """Return the value of an option in a command line.

    >>> get_option(["lineage", "hook", "codex", "--agent", "ann"], "--agent")
    'ann'
    """
    return next((value for key, value in pairwise(argv) if key == name), None)


def find_left_out(argv: Sequence[str]) -> frozenset[str]:
    """Return the parts that an installed command leaves out."""
    return frozenset(part for part in PARTS if f"--no-{part}" in argv)


def parse_server(value: Any) -> tuple[str, ...]:
    """Return the words of an MCP server in a harness's settings if it is lineage's, else none."""
    if not isinstance(value, Mapping):
        return ()
    command, arguments = value.get("command"), value.get("args")
    words = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    texts = tuple(word for word in words if isinstance(word, str))
    return texts if "mcp" in texts and any(map(_is_lineage, texts)) else ()


def is_installed_server(value: Any) -> bool:
    """Return whether a server is one that lineage registered: people write their words in another order."""
    words = parse_server(value)
    return len(words) > 5 and (words[-5], words[-4], words[-2]) == ("mcp", "--workspace", "--agent")


def is_half_server(value: Any) -> bool:
    """Return whether a server's table starts nothing: what a harness wrote of one that was taken out since."""
    return isinstance(value, Mapping) and value.keys().isdisjoint(("command", "url", "httpUrl"))


def select_start(server: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that start a server; what else it is first given is its user's from then on."""
    return {key: server[key] for key in ("type", "command", "args") if key in server}


def starts_alike(server: Any, wanted: Mapping[str, Any]) -> bool:
    """Return whether a server in a harness's settings starts as the wanted one does."""
    return isinstance(server, Mapping) and select_start(wanted).items() <= server.items()


def _find_in_group(event: str, index: int, group: Mapping[str, Any], harness: str) -> Iterator[HookEntry]:
    handlers = group.get("hooks")
    if not isinstance(handlers, list):
        if (argv := parse_handler(group, harness)) is not None:
            yield HookEntry(event, index, None, argv)
        return
    commands = [(number, parse_handler(handler, harness)) for number, handler in enumerate(handlers)]
    ours = [(number, argv) for number, argv in commands if argv is not None]
    for number, argv in ours:
        yield HookEntry(event, index, None if len(ours) == len(handlers) else number, argv)


def _split_line(line: str) -> tuple[str, ...]:
    """Return a line's words, none if it holds more than one command or cannot be split."""
    # shlex takes a backslash for an escape; in a Windows path it is a separator.
    if _WINDOWS.match(line):
        line = line.replace("\\", "/")
    reader = shlex.shlex(line.removeprefix("& "), posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        words = tuple(reader)
    except ValueError:
        return ()
    # An operator means another command in the same line: not ours alone.
    return () if any(not set(word) - set("();<>|&") for word in words if word) else words
