"""The plan of a set-up: what is on the machine goes in, the missing steps come out. Nothing here reads or writes."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from lineage.core.base.plural import pluralize


class PlaceState(Enum):
    """What stands at the place of a memory."""

    FREE = "new"
    MEMORY = "exists, and stays as it is"
    UNFINISHED = "unfinished, will be completed"
    TAKEN = "other files"


@dataclass(frozen=True, slots=True)
class HarnessState:
    """A harness on this machine; `workspace` is the one that its hooks name, "" without hooks.

    `is_current` says that installing again would change nothing.
    """

    name: str
    workspace: str = ""
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class HistoryState:
    """The sessions that a harness keeps itself. `expiring` of them are deleted by it within days."""

    harness: str
    sessions: int
    expiring: int = 0


@dataclass(frozen=True, slots=True)
class SetupState:
    """What a set-up finds. The memory is to lie at `root`: the named `folder`, or below it if that is a vault.

    `default` is the workspace that this machine's configuration names, "" for none. `variable` is the variable of the
    environment that names another workspace than `root`, "" for none.
    """

    folder: Path
    root: Path
    place: PlaceState
    default: str
    variable: str
    harnesses: tuple[HarnessState, ...]
    history: tuple[HistoryState, ...]


@dataclass(frozen=True, slots=True)
class SetupPlan:
    """The steps of a set-up. `connects` and `imports` are harnesses; `is_new`: no file of the memory exists."""

    folder: Path
    root: Path
    makes_memory: bool
    is_new: bool
    sets_default: bool
    is_default: bool
    connects: tuple[str, ...]
    imports: tuple[str, ...]
    newest: int | None = None


def plan_setup(
    state: SetupState,
    *,
    harnesses: Collection[str] = (),
    is_trial: bool = False,
    wants_hooks: bool = True,
    wants_history: bool = True,
    newest: int | None = None,
) -> SetupPlan:
    """Return the missing steps. `harnesses` limits them to these; a trial leaves the machine's settings alone."""
    wanted = [one for one in state.harnesses if not harnesses or one.name in harnesses]
    missing = [one.name for one in wanted if not (one.is_current and one.workspace == str(state.root))]
    history = [one.harness for one in state.history if one.sessions and (not harnesses or one.harness in harnesses)]
    return SetupPlan(
        folder=state.folder,
        root=state.root,
        is_new=state.place is PlaceState.FREE,
        makes_memory=state.place is not PlaceState.MEMORY,
        sets_default=not is_trial and state.default != str(state.root),
        is_default=not is_trial or state.default == str(state.root),
        connects=tuple(missing) if wants_hooks and not is_trial else (),
        imports=tuple(history) if wants_history else (),
        newest=newest,
    )


def describe_history(history: Collection[HistoryState], days: int) -> str:
    """Return the found history in a sentence.

    >>> describe_history([HistoryState("claude-code", 311, 28), HistoryState("codex", 1)], 4)
    'up to 312 sessions of 2 harnesses; 28 will be deleted by Claude Code within 4 days'
    """
    found = [one for one in history if one.sessions]
    if not found:
        return "no earlier sessions"
    names = found[0].harness if len(found) == 1 else f"{len(found)} harnesses"
    expiring = sum(one.expiring for one in found)
    warning = f"; {expiring} will be deleted by Claude Code within {days} days" if expiring else ""
    # Files are counted, unread: two may be of one session, and one may hold none.
    return f"up to {pluralize(sum(one.sessions for one in found), 'session')} of {names}{warning}"
