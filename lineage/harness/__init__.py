"""Adapters: a harness's transcript → `Capture`. One module per harness, an explicit registry, no scanning."""

from collections.abc import Mapping

from lineage.errors import InvalidInput
from lineage.harness import (
    aider,
    claude_code,
    codex,
    copilot,
    cursor,
    gemini,
    generic,
    goose,
    openclaw,
    opencode,
    pi,
    qwen,
)
from lineage.harness.port import Adapter, Found

NAMES = (
    "claude-code", "codex", "gemini", "qwen", "copilot", "cursor", "opencode", "pi", "openclaw", "goose", "aider",
    "generic",
)  # fmt: skip

ADAPTERS: Mapping[str, Adapter] = {
    "aider": aider,
    "claude-code": claude_code,
    "codex": codex,
    "copilot": copilot,
    "cursor": cursor,
    "gemini": gemini,
    "generic": generic,
    "goose": goose,
    "openclaw": openclaw,
    "opencode": opencode,
    "pi": pi,
    "qwen": qwen,
}


def checked_name(harness: str) -> str:
    """The name itself. Raises InvalidInput for a harness that nobody knows."""
    if harness not in NAMES:
        raise InvalidInput(f"unknown harness {harness[:60]!r}", hint=f"one of: {', '.join(NAMES)}")
    return harness


def adapter_of(harness: str) -> Adapter:
    """The adapter of `harness`. Raises InvalidInput for a harness that has none."""
    if checked_name(harness) not in ADAPTERS:
        raise InvalidInput(
            f"transcript files of {harness} cannot be read yet",
            hint="give the transcript inline, as a list of turns: `lineage session-end --help`",
        )
    return ADAPTERS[harness]


__all__ = ["ADAPTERS", "NAMES", "Adapter", "Found", "adapter_of", "checked_name", "generic"]
