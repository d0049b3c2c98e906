"""Records of Claude Code's transcripts: their kinds, what a person typed, whose they are. (harnesses.md 1.7, 1.9)"""

from pathlib import Path
from typing import Any

from lineage.harness.claude_files import AGENT_PREFIX
from lineage.harness.text import format_omission

CHAINED_KINDS = frozenset({"user", "assistant", "attachment", "system", "progress"})
BOOKKEEPING_KINDS = frozenset(
    {
        "summary", "ai-title", "custom-title", "agent-name", "agent-setting", "agent-color", "mode", "permission-mode",
        "last-prompt", "queue-operation", "file-history-snapshot", "file-history-delta", "cost-state", "pr-link",
        "bridge-session", "tag", "worktree-state", "content-replacement", "speculation-accept", "fork-context-ref",
    }
)  # fmt: skip
TITLE_KEYS = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
SYNTHETIC_MODEL = "<synthetic>"

UNKNOWN = "unknown"
BOOKKEEPING = "bookkeeping"
NOTES = "harness notes"
SUB_AGENT = "sub-agent"
REPLAYED = "replayed"
API_ERROR = "API errors"
HOOK = "hooks"
MISSING_RESULT = "tool results not found"

_SYSTEM_REASONS = {"api_error": API_ERROR, "stop_hook_summary": HOOK} | dict.fromkeys(
    (
        "compact_boundary", "microcompact_boundary", "turn_duration", "local_command", "informational", "away_summary",
        "init", "status", "permission_retry", "bridge_status", "scheduled_task_fire", "agents_killed", "memory_saved",
    ),
    BOOKKEEPING,
)  # fmt: skip
_WRAPPERS = (
    "<local-command-caveat>", "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>",
    "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification>", "[Request interrupted by user",
)  # fmt: skip


class ClaudeSessionIds:
    """Whose session a file holds: learned from its records one by one, told at the end.

    A file is a sub-agent's where its name or its first chained record says so. A file of copied records names more than
    one session: its own is the one that the file is called after, else the one that was named last.
    """

    def __init__(self, path: Path) -> None:
        self._stem = path.stem
        self._is_sub_agent = True if path.stem.startswith(AGENT_PREFIX) else None
        self._agent_id = path.stem.removeprefix(AGENT_PREFIX) if self._is_sub_agent else ""
        self._seen_ids: dict[str, None] = {}
        self._root_id = ""
        self._fork_id = ""

    def detect_sub_agent(self, record: dict[str, Any]) -> bool:
        """Whether the file is a sub-agent's, of which this is the next chained record."""
        if self._is_sub_agent is None:
            self._is_sub_agent = bool(record.get("isSidechain"))
        if self._is_sub_agent:
            self._agent_id = self._agent_id or as_string(record.get("agentId"))
        return self._is_sub_agent

    def update(self, record: dict[str, Any]) -> None:
        session = as_string(record.get("sessionId"))
        if session:
            self._seen_ids.pop(session, None)
            self._seen_ids[session] = None
        self._root_id = self._root_id or as_string(record.get("session_id"))
        fork = record.get("forkedFrom")
        self._fork_id = (as_string(fork.get("sessionId")) if isinstance(fork, dict) else "") or self._fork_id

    @property
    def session_id(self) -> str | None:
        """The main session's id, a sub-agent's as `agent-…`; None where no record names it."""
        return (f"{AGENT_PREFIX}{self._agent_id}" if self._agent_id else None) if self._is_sub_agent else self._main_id

    @property
    def parent_session(self) -> str | None:
        """The main session's id in a sub-agent's file."""
        return self._main_id if self._is_sub_agent else None

    @property
    def forked_from(self) -> str | None:
        """The session that the records were copied from: named in `forkedFrom`, by records that kept their old id, or
        as the root of the lineage, which for a fork's fork is not its parent."""
        others = [name for name in (self._fork_id, *self._seen_ids, self._root_id) if name and name != self._main_id]
        return others[0] if others and self._main_id and not self._is_sub_agent else None

    @property
    def _main_id(self) -> str | None:
        return self._stem if self._stem in self._seen_ids else next(reversed(self._seen_ids), None)


def classify_record(record: dict[str, Any]) -> str:
    """The record's type, "" where it has none or not the shape that Claude Code gives it."""
    kind = as_string(record.get("type"))
    message = record.get("message")
    if kind in ("user", "assistant") and not (isinstance(message, dict) and "content" in message):
        return ""
    return kind


def find_skip_reason(kind: str, record: dict[str, Any]) -> str:
    """Why a chained record that is no turn was left out."""
    return _SYSTEM_REASONS.get(as_string(record.get("subtype")), UNKNOWN) if kind == "system" else BOOKKEEPING


def is_prompt(record: dict[str, Any], text: str) -> bool:
    """Whether a person typed it. (harnesses.md 1.7, human prompt rule)"""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return not record.get("isMeta") and kind in (None, "human") and not text.lstrip().startswith(_WRAPPERS)


def extract_block_text(block: Any) -> str | None:
    """A content block as text, an image's or document's as a note of its size; None for blocks of other kinds."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return None
    if isinstance(block.get("source"), dict):
        size = len(as_string(block["source"].get("data")).rstrip("=")) * 3 // 4
        return format_omission(
            f"{as_string(block.get('type'))} {as_string(block['source'].get('media_type'))}".strip(), size
        )
    return block["text"] if isinstance(block.get("text"), str) else None


def as_string(value: Any) -> str:
    return value if isinstance(value, str) else ""
