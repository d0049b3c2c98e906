"""The adapters of all harnesses, and the parts of the registry by harness.

The module of an adapter is imported at its first use.
"""

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from lineage.errors import InvalidInput
from lineage.harness.places import resolve_place
from lineage.harness.registry import HARNESSES
from lineage.harness.spec import HarnessSpec

if TYPE_CHECKING:  # callers that only check a harness's name need no capture types
    from lineage.harness.adapter import Adapter

Part = TypeVar("Part")


class SpecView(Mapping[str, Part]):
    """A part of every harness's entry, by the harness's name, in the registry's order. Harnesses without it are out."""

    def __init__(self, get_part: Callable[[HarnessSpec], Part | None]) -> None:
        self._get_part = get_part

    def __getitem__(self, harness: str) -> Part:
        part = self._get_part(HARNESSES[harness])
        if part is None:
            raise KeyError(harness)
        return part

    def __iter__(self) -> Iterator[str]:
        return (name for name, spec in HARNESSES.items() if self._get_part(spec) is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Adapters(Mapping[str, "Adapter"]):
    """The adapters by name, sorted. The module of `claude-code` is `claude_code`, unless its entry names another."""

    def __getitem__(self, harness: str) -> "Adapter":
        module = HARNESSES[harness].adapter or f"lineage.harness.{harness.replace('-', '_')}"
        return cast("Adapter", import_module(module))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(HARNESSES))

    def __len__(self) -> int:
        return len(HARNESSES)


ADAPTERS: Mapping[str, "Adapter"] = _Adapters()


def validate_harness(harness: str) -> str:
    """Return the name unchanged. Raise InvalidInput for an unknown harness."""
    if harness not in HARNESSES:
        near = [name for name in HARNESSES if harness and name.startswith(f"{harness.lower()}-")]
        near = near or get_close_matches(harness.lower()[:60], HARNESSES, n=1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise InvalidInput(f"unknown harness {harness[:60]!r}", hint=f"{meant}name one of {', '.join(HARNESSES)}")
    return harness


def load_adapter(harness: str) -> "Adapter":
    """Return the adapter of `harness`. Raise InvalidInput for an unknown harness."""
    return ADAPTERS[validate_harness(harness)]


def list_history_roots(harness: str, home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the places of a harness's history on this machine, existing or not."""
    if list_roots := getattr(ADAPTERS[harness], "list_roots", None):
        return cast("list[Path]", list_roots(home, environment))
    places = (resolve_place(place, home, environment) for place in HARNESSES[harness].sessions)
    return [place for place in places if place is not None]


def has_history(harness: str) -> bool:
    """Return whether a harness keeps its sessions in a place of its own; False for an unknown one."""
    return harness in HARNESSES and bool(HARNESSES[harness].sessions or hasattr(ADAPTERS[harness], "list_roots"))


__all__ = ["ADAPTERS", "SpecView", "has_history", "list_history_roots", "load_adapter", "validate_harness"]
