"""Adapters: a harness's transcript → `Capture`. One module per harness, an explicit registry, no scanning.

A module is imported when its harness is first asked for.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from lineage.core.lazily import exporting
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.harness.port import Adapter, Found
else:
    __getattr__ = exporting(__name__, {"Adapter": "port", "Found": "port"})

NAMES = (
    "claude-code", "codex", "gemini", "qwen", "copilot", "cursor", "opencode", "pi", "openclaw", "goose", "aider",
    "generic",
)  # fmt: skip


class _Adapters(Mapping[str, "Adapter"]):
    """The adapters by name; the module of `claude-code` is `claude_code`."""

    def __getitem__(self, harness: str) -> "Adapter":
        if harness not in NAMES:
            raise KeyError(harness)
        return cast("Adapter", import_module(f"{__name__}.{harness.replace('-', '_')}"))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(NAMES))

    def __len__(self) -> int:
        return len(NAMES)


ADAPTERS: Mapping[str, "Adapter"] = _Adapters()


def checked_name(harness: str) -> str:
    """The name itself. Raises InvalidInput for a harness that nobody knows."""
    if harness not in NAMES:
        raise InvalidInput(f"unknown harness {harness[:60]!r}", hint=f"one of: {', '.join(NAMES)}")
    return harness


def adapter_of(harness: str) -> "Adapter":
    """The adapter of `harness`. Raises InvalidInput for a harness that nobody knows."""
    return ADAPTERS[checked_name(harness)]


__all__ = ["ADAPTERS", "NAMES", "Adapter", "Found", "adapter_of", "checked_name"]
