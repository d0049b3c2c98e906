"""The session in a harness's transcript, as an adapter reads it: nothing is sanitized or decided yet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lineage.core.format.turns import Turn

DATA_TAG = "data"
"""The tag of transcripts with data attached to the session: only these have findings (format: Books)."""


@dataclass(frozen=True, slots=True)
class CompactionRecord:
    """A compaction in the transcript, after `turns_before` turns. `summary` is None without a readable one."""

    summary: str | None
    turns_before: int
    at: str | None = None
    trigger: str | None = None


@dataclass(frozen=True, slots=True)
class Capture:
    """A session in its source. Times are canonical UTC strings.

    `turns` are in the source's order: a tuple, or a sequence that reads a long transcript anew on each iteration.
    `session_id`, `parent_session` (of a sub-agent) and `forked_from` are the harness's own ids, if the source names
    them. `skipped` counts, by reason, the records that are not turns: unknown, damaged, bookkeeping, sub-agents.
    `has_data` says that data is attached to the session, so that it can have findings. `partial` says that only the
    prompts are left: the harness deleted the rest. `lane` is the lasting chat that the session is of. `project_hash` is
    the SHA-256 of the project's folder if the source names no more.
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
    skipped: Mapping[str, int] = field(default_factory=dict)
    has_data: bool = False
    partial: bool = False
    lane: str | None = None
    project_hash: str | None = None
