"""Adapters: a harness's transcript → `Capture`. One module per harness, an explicit registry, no scanning."""

from collections.abc import Callable, Mapping
from pathlib import Path

from lineage.core.capture import Capture
from lineage.errors import InvalidInput
from lineage.harness import claude_code, generic

Reader = Callable[[Path], Capture]

READERS: Mapping[str, Reader] = {
    "claude-code": claude_code.read,
    "generic": generic.read,
}


def reader_of(harness: str) -> Reader:
    """The function that reads a transcript of `harness`. Raises InvalidInput for a harness that has none."""
    if harness not in READERS:
        raise InvalidInput(f"no adapter for the harness {harness[:60]!r}", hint=f"one of: {', '.join(sorted(READERS))}")
    return READERS[harness]


__all__ = ["READERS", "generic", "reader_of"]
