"""Where a session's transcript is now: harnesses move them, and the hooks of some name none. (harnesses.md 1.6, 0.2)"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from lineage.harness import ADAPTERS, Found


@dataclass(frozen=True, slots=True)
class Machine:
    """What the histories of harnesses are found by."""

    home: Path
    environment: Mapping[str, str]


def located(machine: Machine, harness: str, session: str, given: str | None) -> Path | None:
    """The transcript: the one that was given if it is there, else the one that the harness keeps of the session."""
    if given and (path := Path(given).expanduser()).is_file():
        return path
    return next((found.path for found in _history(machine, harness) if _is_of(found, session)), None)


def belonging(harness: str, transcript: Path) -> Iterator[Found]:
    """The transcripts of sub-agents, where the harness keeps them in a folder beside the session's own."""
    folder = transcript.with_suffix("")
    if harness in ADAPTERS and folder != transcript and folder.is_dir():
        yield from ADAPTERS[harness].found(folder)


def _history(machine: Machine, harness: str) -> Iterator[Found]:
    if harness in ADAPTERS:
        for root in ADAPTERS[harness].roots(machine.home, machine.environment):
            if root.exists():
                yield from ADAPTERS[harness].found(root)


def _is_of(found: Found, session: str) -> bool:
    return found.session == session if found.session else session in found.path.name
