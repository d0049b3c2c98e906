"""Records of Claude Code's transcripts: kinds, human prompts, session ids. (harnesses.md 1.7, 1.9)."""

from pathlib import Path
from typing import Any

from lineage.harness.adapter import BOOKKEEPING
from lineage.harness.claude_files import AGENT_PREFIX
from lineage.harness.json_values import as_mapping, as_string, measure_base64
from lineage.harness.text import format_omission

CHAINED_KINDS = frozenset({"user", "assistant", "attachment", "system", "progress"})
BOOKKEEPING_KINDS = frozenset({
    "summary", "ai-title", "custom-title", "agent-name", "agent-setting", "agent-color", "mode", "permission-mode",
    "last-prompt", "queue-operation", "file-history-snapshot", "file-history-delta", "cost-state", "pr-link",
    "bridge-session", "tag", "worktree-state", "content-replacement", "speculation-accept", "fork-context-ref",
})  # fmt: skip
TITLE_KEYS = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
# The model of messages that Claude Code writes itself.
SYNTHETIC_MODEL = "<synthetic>"

API_ERROR = "API errors"
HOOK = "hooks"
MISSING_RESULT = "tool results not found"

SYSTEM_REASONS = {"api_error": API_ERROR, "stop_hook_summary": HOOK} | dict.fromkeys(
    (
        "compact_boundary", "microcompact_boundary", "turn_duration", "local_command", "informational", "away_summary",
        "init", "status", "permission_retry", "bridge_status", "scheduled_task_fire", "agents_killed", "memory_saved",
    ),
    BOOKKEEPING,
)  # fmt: skip
# Texts in the user's role that the harness wrote.
_WRAPPERS = (
    "<local-command-caveat>", "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>",
    "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification>", "[Request interrupted by user",
)  # fmt: skip


class ClaudeSessionIds:
    """The ids of a file's session, learned record by record.

    A sub-agent's file is known by its name or by its first chained record. A file of copied records names several
    sessions: its own is the one in the file's name, else the last one.
    """

    def __init__(self, path: Path) -> None:
        self._stem = path.stem
        self._is_sub_agent = True if path.stem.startswith(AGENT_PREFIX) else None
        self._agent_id = path.stem.removeprefix(AGENT_PREFIX) if self._is_sub_agent else ""
        self._seen_ids: dict[str, None] = {}
        self._root_id = ""
        self._fork_id = ""

    def detect_sub_agent(self, record: dict[str, Any]) -> bool:
        """Return whether the file is a sub-agent's; `record` is its next chained record."""
        if self._is_sub_agent is None:
            self._is_sub_agent = bool(record.get("isSidechain"))
        if self._is_sub_agent:
            self._agent_id = self._agent_id or as_string(record.get("agentId"))
        return self._is_sub_agent

    def update(self, record: dict[str, Any]) -> None:
        """Note the ids in a record."""
        session = as_string(record.get("sessionId"))
        if session:
            # Moved to the end: the session of the last record counts.
            self._seen_ids.pop(session, None)
            self._seen_ids[session] = None
        self._root_id = self._root_id or as_string(record.get("session_id"))
        self._fork_id = as_string(as_mapping(record.get("forkedFrom")).get("sessionId")) or self._fork_id

    @property
    def session_id(self) -> str | None:
        """The main session's id, a sub-agent's as `agent-…`; None if no record names it."""
        return (f"{AGENT_PREFIX}{self._agent_id}" if self._agent_id else None) if self._is_sub_agent else self._main_id

    @property
    def parent_session(self) -> str | None:
        """The main session's id in a sub-agent's file."""
        return self._main_id if self._is_sub_agent else None

    @property
    def forked_from(self) -> str | None:
        """The session that the records were copied from.

        It is in `forkedFrom`, in records that kept their old id, or the root of the lineage. For a fork's fork the root
        is not its parent.
        """
        others = [name for name in (self._fork_id, *self._seen_ids, self._root_id) if name and name != self._main_id]
        return others[0] if others and self._main_id and not self._is_sub_agent else None

    @property
    def _main_id(self) -> str | None:
        return self._stem if self._stem in self._seen_ids else next(reversed(self._seen_ids), None)


def classify_record(record: dict[str, Any]) -> str:
    """Return the record's type, "" if it has none or not Claude Code's shape."""
    kind = as_string(record.get("type"))
    message = record.get("message")
    if kind in ("user", "assistant") and not (isinstance(message, dict) and "content" in message):
        return ""
    return kind


def is_prompt(record: dict[str, Any], text: str) -> bool:
    """Return whether a person typed the text. (harnesses.md 1.7, human prompt rule)."""
    kind = as_mapping(record.get("origin")).get("kind")
    return not record.get("isMeta") and kind in (None, "human") and not text.lstrip().startswith(_WRAPPERS)


def extract_block_text(block: Any) -> str | None:
    """Return a content block as text, a note for an image or document, None for blocks of other kinds."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return None
    source = block.get("source")
    if isinstance(source, dict):
        label = f"{as_string(block.get('type'))} {as_string(source.get('media_type'))}".strip()
        return format_omission(label, measure_base64(source.get("data")))
    return block["text"] if isinstance(block.get("text"), str) else None
