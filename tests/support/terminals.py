"""A terminal of some size with a command in it, and what a person sees there."""

import fcntl
import os
import pty
import struct
import sys
import termios
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyte

_MAX_LINES = 2000


@dataclass(frozen=True)
class Seen:
    """How a command ended on a terminal: its exit code, the lines on the screen and the bytes that drew them."""

    code: int
    lines: list[str]
    data: bytes

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def run_on_terminal(
    root: Path, *arguments: str, columns: int = 80, rows: int = _MAX_LINES, keys: bytes = b"", **environment: str
) -> Seen:
    """Run the command line on a pseudo-terminal; `keys` are typed before it starts to read."""
    command = [sys.executable, "-m", "lineage", "--workspace", str(root), *arguments]
    return run_program_on_terminal(command, columns=columns, rows=rows, keys=keys, **environment)


def run_program_on_terminal(
    command: Sequence[str], *, columns: int = 80, rows: int = _MAX_LINES, keys: bytes = b"", **environment: str
) -> Seen:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    variables = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    variables |= {"TERM": "xterm-256color", "PYTHONIOENCODING": "", **environment}
    child = os.posix_spawnp(
        command[0],
        command,
        variables,
        file_actions=[(os.POSIX_SPAWN_DUP2, theirs, number) for number in (0, 1, 2)],
    )
    os.close(theirs)
    os.write(ours, keys)
    data = _read_all(ours)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    screen = pyte.Screen(columns, _MAX_LINES)
    pyte.ByteStream(screen).feed(data)
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[-1]:
        lines.pop()
    return Seen(code, lines, data)


def _read_all(descriptor: int) -> bytes:
    parts = []
    try:
        while part := os.read(descriptor, 1 << 16):
            parts.append(part)
    except OSError:  # Linux says so when the last program has closed its side
        pass
    finally:
        os.close(descriptor)
    return b"".join(parts)
