"""What a reader gathers on its way through a transcript, in the file's order: timestamps are not a safe order."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import SYSTEM, Turn
from lineage.harness.json_values import as_string
from lineage.harness.jsonl import DAMAGED

UNKNOWN = "unknown"
BOOKKEEPING = "bookkeeping"
NOTES = "harness notes"
SUB_AGENT = "sub-agent"
REPLAYED = "replayed"


@dataclass(slots=True)
class Collector:
    """Turns, compactions and times so far. `known` counts the records that only this harness writes; every record
    that gives no turn is counted in `skipped`, by reason."""

    skipped: Counter[str] = field(default_factory=Counter)
    recognized_count: int = 0
    turns: list[Turn] = field(default_factory=list)
    compactions: list[CompactionRecord] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    seen_ids: set[str] = field(default_factory=set)

    @property
    def is_foreign(self) -> bool:
        """Whether the file holds something, and nothing of this harness."""
        return not self.recognized_count and bool(self.skipped.keys() & {UNKNOWN, DAMAGED})

    def skip(self, reason: str) -> None:
        self.skipped[reason] += 1

    def record_time(self, time: Any) -> str | None:
        """The canonical form of a record's time, remembered; None where it is none."""
        at = to_utc_or_none(time)
        if at:
            self.times.append(at)
        return at

    def check_replay(self, record_id: str | None) -> bool:
        """Whether a record of that id was met before; then it is counted."""
        if record_id and record_id in self.seen_ids:
            self.skip(REPLAYED)
            return True
        if record_id:
            self.seen_ids.add(record_id)
        return False

    def append(self, turns: Iterable[Turn], at: str | None, record_id: str | None) -> None:
        """The turns of one record: the first has its id, each later one the id and its place."""
        for index, turn in enumerate(turns):
            source = f"{record_id}#{index}" if record_id and index else record_id
            self.turns.append(turn._replace(at=at, source_id=source))

    def add_compaction(self, summary: Any, at: str | None, trigger: str | None = None) -> Iterator[Turn]:
        """A compaction, and the turn that shows its summary where the harness kept one."""
        text = as_string(summary).strip("\n")
        self.compactions.append(CompactionRecord(text if text.strip() else None, len(self.turns), at, trigger))
        if text.strip():
            yield Turn(SYSTEM, text, name="compaction")
        else:
            self.skip(BOOKKEEPING)

    def build_capture(self, **details: Any) -> Capture:
        """What was gathered. Of a fork that copies its parent's records, the first time is the parent's."""
        return Capture(
            turns=tuple(self.turns),
            started_at=self.times[0] if self.times else None,
            ended_at=self.times[-1] if self.times else None,
            compactions=tuple(self.compactions),
            skipped=dict(sorted(self.skipped.items())),
            **details,
        )
