"""A whole lineage command, as a user starts it; its last line on stderr says what cannot be seen from outside.

As a program: `python launched.py ARGUMENTS…` runs the command and then writes the sanitizer's seconds and the peak of
memory in bytes. A session end's sanitizer is under a clock, in whole commands and in process alike.
"""

import os
import sys
from collections.abc import Callable
from contextlib import nullcontext
from time import perf_counter
from typing import Any


class SanitizerClock:
    """Adds up what the sanitizer takes, the import of its rules and its engine's first use included."""

    def __init__(self) -> None:
        import hashlib  # noqa: F401, PLC0415  (whoever captures needs it, with a sanitizer or without one)

        start = perf_counter()
        from lineage.core.sanitizer import sanitizer  # noqa: PLC0415  (most commands do not need it)

        self.seconds = perf_counter() - start
        self._module: Any = sanitizer
        names = ("load_re2", "normalize_text", "find_spans", "find_split_spans")
        self._originals = {name: getattr(sanitizer, name) for name in names}

    def __enter__(self) -> "SanitizerClock":
        for name, original in self._originals.items():
            setattr(self._module, name, self._timed(original))
        return self

    def __exit__(self, *exception: object) -> None:
        for name, original in self._originals.items():
            setattr(self._module, name, original)

    def _timed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            start = perf_counter()
            try:
                return original(*arguments)
            finally:
                self.seconds += perf_counter() - start

        return timed


def peak_bytes() -> int:
    """The most memory that this program has held. Linux's own counter: others count the parent's from before exec."""
    try:
        with open("/proc/self/status", encoding="ascii") as file:  # noqa: PTH123  (pathlib would be in the figure)
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
    except OSError:
        import resource  # noqa: PLC0415

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _run() -> None:
    from lineage.__main__ import main  # noqa: PLC0415

    os._exit = sys.exit  # type: ignore[assignment]  # a hook's end leaves out the line below

    clock = SanitizerClock() if "session-end" in sys.argv else None
    try:
        with clock or nullcontext():
            main()
    finally:
        sys.stderr.write(f"\n{clock.seconds if clock else 0.0} {peak_bytes()}\n")


if __name__ == "__main__":
    _run()
