"""The result of the two flows, session end and compaction."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

CAPTURED = "captured"
UNCHANGED = "unchanged"
REFUSED = "refused"

EMPTY = "empty"
NOTHING_NEW = "nothing new"
REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureResult:
    """The result of `session-end` and `compaction`; the field names are the JSON keys (format: Commands).

    Paths are relative to the workspace. `compactions` counts those that the transcript records; `learned` counts the
    entries that went into books.
    """

    status: str
    session_token: str
    reason: str | None = None
    manifest_path: str | None = None
    transcript_path: str | None = None
    summary_path: str | None = None
    compaction_path: str | None = None
    captured_at: str | None = None
    memory_sentence: str | None = None
    memory_sentence_quality: str | None = None
    turns: int = 0
    compactions: int = 0
    redactions: Mapping[str, int] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    learned: Mapping[str, Any] = field(default_factory=lambda: {"dropped": {}, "kept": 0, "pending": 0})

    def as_json(self) -> dict[str, Any]:
        """Return the result as a JSON object, its maps sorted by key."""
        values = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: dict(sorted(v.items())) if isinstance(v, Mapping) else v for name, v in values.items()}


def refuse_removed(session_token: str) -> CaptureResult:
    """Return the result for a removed session: nothing of it may be written again."""
    return CaptureResult(status=REFUSED, session_token=session_token, reason=REMOVED)


def join_notes(*notes: str | None) -> str | None:
    """Return the notes as one reason, None without any."""
    return "; ".join(filter(None, notes)) or None
