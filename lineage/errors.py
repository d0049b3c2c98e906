"""The hierarchy of errors. Each class carries an exit code, each error a hint: the next command to type.

Expected failures (a full disk, a foreign transcript) are `LineageError`. Programming errors are not: they end with exit
code 3 and a report.
"""

import errno
from collections.abc import Sequence

from lineage.distribution import format_extra_command, format_package_command


class LineageError(Exception):
    """An expected failure: a message for people and a hint that names the next command."""

    exit_code = 1
    default_hint = "run `lineage status`"
    more = ""
    """The command to type where the hint names none; by default the help of the one that ran."""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint or self.default_hint


class InvalidInput(LineageError):
    """An input value is missing, malformed or not allowed: an id, time, option, payload or setting."""

    exit_code = 2
    default_hint = "run the command with `--help` to see what it takes"


class SettingsError(InvalidInput):
    """A settings file cannot be read, or a value in it is not allowed."""

    default_hint = "mend the file that `lineage config path` names, then run the command again"
    more = "`lineage config path` names the file"


class WorkspaceError(LineageError):
    """The workspace is missing, not writable, full, or owned by another user."""

    default_hint = "run `lineage init DIR`, or name another folder with `--workspace`"


class DiskFull(WorkspaceError):
    """There is no space for the output of a command."""

    default_hint = "free some space, by `lineage remove SESSION` say, and run it again: it finishes what was begun"


class TranscriptError(LineageError):
    """A transcript cannot be read, or is not one of the named harness."""

    default_hint = "check the path and `--harness`; `lineage session-end --help` lists the harnesses"


class FormatError(LineageError):
    """A file of the workspace breaks the format's contract."""

    default_hint = "run `lineage verify` for the list of findings"


class ImmutableError(LineageError):
    """A write would change a committed artifact (spec: immutable after commit)."""

    default_hint = "run `lineage verify`; a committed artifact is never rewritten"


class RemovedError(LineageError):
    """The session was removed: its tombstone refuses every writer (spec: deletion/removal)."""

    default_hint = "a removed session does not come back; `lineage verify` lists tombstones"


class NotFoundError(LineageError):
    """A reference matches no session."""

    default_hint = "run `lineage list` to see what is there"


class AmbiguousError(NotFoundError):
    """A reference matches more than one session."""

    default_hint = "give more characters of the id"


class DatabaseDamaged(LineageError):
    """A database of `.lineage/` cannot be read."""

    default_hint = "run `lineage reindex`: the index is rebuilt from the files"


class IndexUnavailable(LineageError):
    """The index's server cannot be used. Files are written; their rows wait for it."""

    default_hint = "start the server, or mend the address in ~/.config/lineage/config.toml; the next run catches up"


class EngineMissing(LineageError):
    """The redaction engine is not installed: nothing is captured without it."""

    def __init__(self, message: str, *, hint: str | None = None, then: str = "") -> None:
        super().__init__(message, hint=hint or format_package_hint("google-re2", then))


class ExtraMissing(LineageError):
    """A command needs an extra that a plain install does not bring."""

    def __init__(self, extra: str, missing: Sequence[str]) -> None:
        are = "are" if len(missing) > 1 else "is"
        super().__init__(f"{', '.join(missing)} {are} not installed", hint=format_extra_hint(extra))


def format_extra_hint(extra: str) -> str:
    """Return what brings an extra, by way of how lineage was installed."""
    return f"run `{format_extra_command(extra)}`"


def format_package_hint(package: str, then: str = "") -> str:
    """Return what installs a package beside lineage, and the command that comes `then`."""
    return f"run `{format_package_command(package)}`{f', then `{then}`' if then else ''}"


class FindingsReported(LineageError):
    """A check found problems."""

    exit_code = 4
    default_hint = "each finding names the command that mends it"


def describe_os_error(what: str, error: OSError, hint: str | None = None) -> WorkspaceError:
    """Return the error of a failed operation on a file: DiskFull if that is the cause."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(f"{what}: the disk is full")
    return WorkspaceError(f"{what}: {error.strerror or error}", hint=hint)
