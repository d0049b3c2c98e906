"""Processes under measurement: the interpreter of this environment itself, never a shim."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_HERE = Path(__file__).parent
_OWN = ("LINEAGE_", "SIGNET_", "PYTHON")

BARE = (sys.executable, "-c", "pass")
LINEAGE = (sys.executable, str(Path(sys.executable).with_name("lineage")))
PLAIN_CAPTURE = (sys.executable, "-I", "-S", str(_HERE / "plain_capture.py"))


class Finished(NamedTuple):
    """What a launched command said of itself."""

    sanitizer_seconds: float
    peak: int


def run(command: Sequence[str]) -> str:
    """Runs a command to its end and gives back its stderr. Raises CalledProcessError where it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OWN)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return done.stderr


def launched(arguments: Sequence[str]) -> Finished:
    """Runs a lineage command under `launched.py`."""
    # -P: this folder's modules are not to be found as top-level ones
    said = run([sys.executable, "-P", str(_HERE / "launched.py"), *arguments]).splitlines()[-1].split()
    return Finished(float(said[0]), int(said[1]))


def peak_alone(name: str, folder: Path) -> int:
    """The peak of a case's subject in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(_HERE.parent)}
    command = [sys.executable, "-m", "benchmarks.alone", name, str(folder)]
    return int(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout)
