"""Processes under measurement: the interpreter of this environment itself, never a shim."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent
_OWN = ("LINEAGE_", "SIGNET_", "PYTHON")
Command = Sequence[str]

_QUIET = {"LINEAGE_NO_WORKER": "1"}

BARE = (sys.executable, "-c", "pass")
LINEAGE = (sys.executable, str(Path(sys.executable).with_name("lineage")))
PLAIN_SIGNAL = (sys.executable, str(_HERE / "plain_signal.py"))


class Finished(NamedTuple):
    """What a launched command said of itself."""

    sanitizer_seconds: float
    peak: int


def environment() -> dict[str, str]:
    """This process's, without what is set for lineage and for the interpreter."""
    return {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}


def run(command: Command, payload: str = "", *, worker: bool = False) -> str:
    """Runs a command to its end and gives back its stderr. It starts a worker only where `worker` says so. Raises
    CalledProcessError where it fails."""
    done = subprocess.run(
        command,
        env=environment() if worker else environment() | _QUIET,
        input=payload,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr


def launched(arguments: Sequence[str], payload: str = "") -> Finished:
    """Runs a lineage command under `launched.py`."""
    # -P: this folder's modules are not to be found as top-level ones
    command = [sys.executable, "-P", str(_HERE / "launched.py"), *arguments]
    said = run(command, payload).splitlines()[-1].split()
    return Finished(float(said[0]), int(said[1]))
