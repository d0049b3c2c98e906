"""Adapters that turn a harness's transcript into a `Capture`. One module per harness, in an explicit registry.

The module of an adapter is imported at its first use.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from lineage.errors import InvalidInput

if TYPE_CHECKING:  # callers that only check a harness's name need no capture types
    from lineage.harness.adapter import Adapter

HARNESS_NAMES = (
    "claude-code", "codex", "gemini", "qwen", "copilot", "cursor", "opencode", "pi", "openclaw", "goose", "aider",
    "antigravity", "generic",
)  # fmt: skip


class _AdapterRegistry(Mapping[str, "Adapter"]):
    """The adapters by name. The module of `claude-code` is `claude_code`."""

    def __getitem__(self, harness: str) -> "Adapter":
        if harness not in HARNESS_NAMES:
            raise KeyError(harness)
        return cast("Adapter", import_module(f"{__name__}.{harness.replace('-', '_')}"))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(HARNESS_NAMES))

    def __len__(self) -> int:
        return len(HARNESS_NAMES)


ADAPTERS: Mapping[str, "Adapter"] = _AdapterRegistry()


def validate_harness(harness: str) -> str:
    """Return the name unchanged. Raise InvalidInput for an unknown harness."""
    if harness not in HARNESS_NAMES:
        raise InvalidInput(f"unknown harness {harness[:60]!r}", hint=f"one of: {', '.join(HARNESS_NAMES)}")
    return harness


def load_adapter(harness: str) -> "Adapter":
    """Return the adapter of `harness`. Raise InvalidInput for an unknown harness."""
    return ADAPTERS[validate_harness(harness)]


__all__ = ["ADAPTERS", "HARNESS_NAMES", "load_adapter", "validate_harness"]
