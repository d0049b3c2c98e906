"""The machine as lineage sees it: its configuration file, its environment, the histories of its harnesses."""

import os
from collections.abc import Mapping
from pathlib import Path

from lineage.config.machine import MachineSettings, parse_machine_settings
from lineage.errors import InvalidInput
from lineage.harness import detect_caller as callers
from lineage.pipeline.ingest.locate_transcript import HarnessHistories

STATE_FOLDER = ".lineage"
"""The folder of a workspace for files of this machine only: spool, locks, index, counters."""

SUPPRESS_VARIABLE = "LINEAGE_SUPPRESS"
"""Silences `lineage hook` in a process and all that it starts."""

_OTHERS_WRITE = 0o002
_OTHERS_SEE = 0o077


def machine_config_path(environment: Mapping[str, str], home: Path) -> Path:
    """Return `$XDG_CONFIG_HOME/lineage/config.toml`; `~/.config` replaces a variable that is unset or relative."""
    base = Path(environment.get("XDG_CONFIG_HOME") or "")
    return (base if base.is_absolute() else home / ".config") / "lineage" / "config.toml"


def load_machine_settings(environment: Mapping[str, str]) -> MachineSettings:
    """Return this machine's settings, the defaults without a file. Raises as `read_machine_settings` does."""
    return read_machine_settings(machine_config_path(environment, Path.home()))


def read_machine_settings(path: Path) -> MachineSettings:
    """Return the settings in a file, the defaults without one (format: Workspace).

    Raises InvalidInput for a file that is wrong or unreadable, that every user may change, or that holds a key and is
    readable by others.
    """
    try:
        status = path.stat()
        text = path.read_bytes().decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):  # the normal case: most machines have no such file
        return MachineSettings()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", hint="mend it, or move it away") from error
    # The file names programs to run: whoever may write it runs code as this user.
    if os.name != "nt" and status.st_mode & _OTHERS_WRITE:
        raise InvalidInput(f"{path} may be changed by anybody", hint=f"run `chmod o-w {path}`")
    settings = parse_machine_settings(text, str(path))
    if os.name != "nt" and settings.embedding.key and status.st_mode & _OTHERS_SEE:
        raise InvalidInput(f"{path} holds a key and may be read by others", hint=f"run `chmod 600 {path}`")
    return settings


def suppress_hooks() -> None:
    """Keep hooks silent in every process that this one starts: its work is no session."""
    os.environ[SUPPRESS_VARIABLE] = "1"


def detect_caller() -> callers.Caller | None:
    """Return the harness that runs this process for its agent; None for a person (format: Books)."""
    return callers.detect_caller(os.environ)


def detect_machine() -> HarnessHistories:
    """Return access to the transcripts that harnesses keep for this user."""
    return HarnessHistories(Path.home(), os.environ)
