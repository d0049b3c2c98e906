"""`.lineage/log/commands.log`: which commands ran in a workspace, how they ended and how long they took.

A line holds the time, lineage's version, the command's name, its exit code, its duration, the class of its error, the
harnesses and counts. It holds no value that a user, a session or a file chose: no path, title, query, id or message.
The log is this machine's own. Where it can't be written, the command goes on without it.
"""

import logging
import os
import stat
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from lineage import __version__
from lineage.app.locations import STATE_FOLDER, is_writable
from lineage.harness.registry import HARNESSES
from lineage.store.platform import make_directories

LOG_FILE = "commands.log"
"""The newest lines, in the folder `log` of this machine's files; older ones are in `commands.log.1` to `.3`."""

LOGGER = logging.getLogger("lineage")
"""The steps of a command, for `--verbose` alone: nothing that goes to it reaches a file."""

_FOLDER = "log"
_MAX_BYTES = 1 << 20
_BACKUPS = 3
# no link is followed, and nobody waits for the reader of a pipe
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(slots=True)
class CommandRun:
    """A run of a command, as it goes on.

    `command` is its name in the tree of commands. `root` is its workspace, None where there is none to log it in.
    `harnesses` and `counts` are what it worked on.
    """

    command: str = ""
    root: Path | None = None
    harnesses: set[str] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)


def format_run(run: CommandRun, at: str, code: int, milliseconds: int, error: type[BaseException] | None) -> str:
    """Return the line of a run that ended with an exit code, and with an `error`, if any. Unknown harnesses stay out.

    >>> format_run(CommandRun("memory add"), "2026-11-27T09:00:00.000Z", 0, 143, None).partition(" command=")[2]
    '"memory add" exit=0 ms=143'
    """
    parts = [at, f"version={__version__}", f'command="{run.command}"', f"exit={code}", f"ms={milliseconds}"]
    if error:
        parts.append(f"error={error.__name__}")
    if known := sorted(run.harnesses & HARNESSES.keys()):
        parts.append(f"harness={','.join(known)}")
    return " ".join([*parts, *(f"{name}={count:d}" for name, count in run.counts.items() if count)])


def log_line(root: Path | None, line: str, *, is_dry: bool) -> None:
    """Tell `--verbose` the line, and append it to the workspace's log unless the command `is_dry`.

    Nothing fails and nothing is made where there is no workspace, or where it is read-only, full or another user's.
    """
    LOGGER.info(line)
    if root is None or is_dry or not is_writable(root):
        return
    try:
        _append(root / STATE_FOLDER, line)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the workspace's name
        LOGGER.info("the run is not logged: %s", type(error).__name__)


def show_steps(format_text: Callable[[str], str]) -> None:
    """Print the steps of a command to stderr from now on, each as `format_text` makes it."""
    if not LOGGER.handlers:
        handler = _StepHandler(sys.stderr)
        handler.setFormatter(_StepFormatter(format_text))
        LOGGER.addHandler(handler)
        LOGGER.setLevel(logging.DEBUG)


def hide_steps() -> None:
    """Print no steps any more."""
    LOGGER.handlers.clear()
    LOGGER.setLevel(logging.NOTSET)


def _append(state: Path, line: str) -> None:
    """Append a line to the log below the folder of this machine's files. Raises OSError."""
    status = state.lstat()
    # what root makes in another user's folder its owner can't write: the hooks' log lies there, too
    if not stat.S_ISDIR(status.st_mode) or (hasattr(os, "geteuid") and status.st_uid != os.geteuid()):
        raise PermissionError(state)
    folder = state / _FOLDER
    make_directories(folder, 0o700)
    if folder.is_symlink():
        raise NotADirectoryError(folder)
    handler = _PrivateFileHandler(folder / LOG_FILE, maxBytes=_MAX_BYTES, backupCount=_BACKUPS, delay=True)
    try:
        handler.handle(logging.makeLogRecord({"msg": line}))
    finally:
        handler.close()


class _PrivateFileHandler(RotatingFileHandler):
    """Rotates files that are the owner's alone. Raises FileNotFoundError where another process renamed one first."""

    def _open(self) -> TextIOWrapper:
        return os.fdopen(os.open(self.baseFilename, _FLAGS, 0o600), "a", encoding="ascii")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        raise  # noqa: PLE0704  (the standard calls it where it caught the error)


class _StepHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Prints steps; a closed stderr breaks no command."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        pass


class _StepFormatter(logging.Formatter):
    def __init__(self, format_text: Callable[[str], str]) -> None:
        super().__init__("%(relativeCreated)6d ms  %(message)s")
        self._format_text = format_text

    def format(self, record: logging.LogRecord) -> str:
        return self._format_text(super().format(record))
