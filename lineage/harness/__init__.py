"""Adapters: a harness's transcript → `Capture`. One module per harness, an explicit registry, no scanning."""

from collections.abc import Callable, Mapping
from pathlib import Path

from lineage.core.capture import Capture
from lineage.errors import InvalidInput
from lineage.harness import claude_code, generic

Reader = Callable[[Path], Capture]

NAMES = (
    "claude-code", "codex", "gemini", "qwen", "copilot", "cursor", "opencode", "pi", "openclaw", "goose", "aider",
    "generic",
)  # fmt: skip

READERS: Mapping[str, Reader] = {
    "claude-code": claude_code.read,
    "generic": generic.read,
}


def checked_name(harness: str) -> str:
    """The name itself. Raises InvalidInput for a harness that nobody knows."""
    if harness not in NAMES:
        raise InvalidInput(f"unknown harness {harness[:60]!r}", hint=f"one of: {', '.join(NAMES)}")
    return harness


def reader_of(harness: str) -> Reader:
    """The function that reads a transcript file of `harness`. Raises InvalidInput for a harness that has none."""
    if checked_name(harness) not in READERS:
        raise InvalidInput(
            f"transcript files of {harness} cannot be read yet",
            hint="give the transcript inline, as a list of turns: `lineage session-end --help`",
        )
    return READERS[harness]


__all__ = ["NAMES", "READERS", "checked_name", "generic", "reader_of"]
