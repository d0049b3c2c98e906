"""Composition for imports: this machine, how many processes it has room for, and the workspace."""

import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.app import open_house, with_house
from lineage.core.identity import checked_agent
from lineage.errors import InvalidInput, TranscriptError
from lineage.harness import ADAPTERS, adapter_of
from lineage.pipeline.incoming.history import Progress, Wanted, is_there
from lineage.pipeline.incoming.locating import Machine

if TYPE_CHECKING:
    from lineage.pipeline.incoming.importing import Imported

ALL = "all"
_MOST_JOBS = 4


def wanted(harness: str, paths: Sequence[str], *, agent_id: str, jobs: int | None) -> Wanted:
    """What a command line asks for; `jobs` is, where not given, one for each processor, at most four.

    Raises InvalidInput for an unknown harness or agent, and where nobody knows what to read; TranscriptError for a path
    at which there is nothing.
    """
    machine = Machine(Path.home(), os.environ)
    for path in paths:
        if not is_there(Path(path)):
            raise TranscriptError(
                f"there is nothing at {path}", hint="check the path; without one lineage looks itself"
            )
    if harness == ALL and paths:
        raise InvalidInput("whose files are these?", hint=f"name their harness: one of {', '.join(ADAPTERS)}")
    if harness != ALL and not paths and not adapter_of(harness).roots(machine.home, machine.environment):
        raise InvalidInput(
            f"{harness} keeps no history in a place of its own", hint=f"name it: `lineage import {harness} PATH`"
        )
    return Wanted(
        harnesses=tuple(sorted(ADAPTERS)) if harness == ALL else (harness,),
        agent_id=checked_agent(agent_id),
        machine=machine,
        paths=tuple(map(Path, paths)),
        jobs=jobs or min(os.cpu_count() or 1, _MOST_JOBS),
    )


def import_history(root: Path, asked: Wanted, progress: Progress) -> "tuple[Imported, ...]":
    """Imports into the workspace, which is made where there is none. Raises what the use case raises."""
    from lineage.pipeline.incoming import importing

    opened = partial(open_house, root, asks_model=False)  # thousands of sessions, and the same files each time
    return with_house(
        root, lambda house: importing.import_history(house, opened, asked, progress), create=True, writes=True
    )
