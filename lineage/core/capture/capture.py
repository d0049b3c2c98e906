"""What an adapter makes of a harness's transcript, before anything is sanitized or decided."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lineage.core.format.turns import Turn

DATA_TAG = "data"
"""The tag of a transcript whose session has data attached: only there are findings. (format: Books)"""


class CompactionRecord(NamedTuple):
    """A compaction that the transcript records: its summary, and how many turns came before it. `summary` is None where
    the harness kept none, or kept it where it cannot be read: a state of its own."""

    summary: str | None
    turns_before: int
    at: str | None = None
    trigger: str | None = None


class Capture(NamedTuple):
    """A session as its source shows it. Times are canonical UTC strings, `turns` in the source's order: a tuple, or a
    sequence that reads them again each time where they are too many to be held.

    `session_id`, `parent_session` (of a sub-agent) and `forked_from` are the harness's own ids, where the source names
    them. `skipped` counts, by reason, the records that are not turns: unknown, damaged, bookkeeping, sub-agents.
    `has_data` declares that data is attached to the session: only then it can have findings.
    """

    turns: Sequence[Turn]
    started_at: str | None = None
    ended_at: str | None = None
    session_id: str | None = None
    parent_session: str | None = None
    forked_from: str | None = None
    project: str | None = None
    title: str | None = None
    models: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    compactions: tuple[CompactionRecord, ...] = ()
    skipped: Mapping[str, int] = {}
    has_data: bool = False
