"""Shared by `watch` and `mirror`: a loop that SIGTERM ends, and the output of its rounds."""

import json
import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from lineage.app import clock
from lineage.cli.output import print_error, print_text
from lineage.errors import LineageError


@contextmanager
def stop_on_sigterm(stop: Callable[[], object]) -> Iterator[None]:
    """Let SIGTERM call `stop`, so that the running round is finished first."""
    before = signal.signal(signal.SIGTERM, lambda *_: stop())
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def print_round(line: str) -> None:
    """Print a line with the time before it."""
    print_text(f"{clock.now()} {line}")


def print_json_round(values: Mapping[str, Any]) -> None:
    """Print an object on one line, its time under `at`."""
    print_text(json.dumps({"at": clock.now(), **values}, ensure_ascii=True))


def print_round_error(error: LineageError) -> None:
    """Print the error of a round; the loop goes on."""
    print_error(error.message, error.hint)
