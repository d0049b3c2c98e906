"""Records of Claude Code's transcripts: their kinds, what a person typed, whose they are. (harnesses.md 1.7, 1.9)"""

from pathlib import Path
from typing import Any

from lineage.harness.claude_files import AGENT_PREFIX
from lineage.harness.text import left_out

CHAINED = frozenset({"user", "assistant", "attachment", "system", "progress"})
BOOKKEEPING_KINDS = frozenset(
    {
        "summary", "ai-title", "custom-title", "agent-name", "agent-setting", "agent-color", "mode", "permission-mode",
        "last-prompt", "queue-operation", "file-history-snapshot", "file-history-delta", "cost-state", "pr-link",
        "bridge-session", "tag", "worktree-state", "content-replacement", "speculation-accept", "fork-context-ref",
    }
)  # fmt: skip
TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
SYNTHETIC = "<synthetic>"

UNKNOWN = "unknown"
BOOKKEEPING = "bookkeeping"
NOTES = "harness notes"
SUB_AGENT = "sub-agent"
REPLAYED = "replayed"
API_ERROR = "API errors"
HOOK = "hooks"
MISSING_RESULT = "tool results not found"

_SYSTEM = {"api_error": API_ERROR, "stop_hook_summary": HOOK} | dict.fromkeys(
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


class Origin:
    """Whose session a file holds: learned from its records one by one, told at the end.

    A file is a sub-agent's where its name or its first chained record says so. A file of copied records names more than
    one session: its own is the one that the file is called after, else the one that was named last.
    """

    def __init__(self, path: Path) -> None:
        self._stem = path.stem
        self._sub_agent = True if path.stem.startswith(AGENT_PREFIX) else None
        self._agent = path.stem.removeprefix(AGENT_PREFIX) if self._sub_agent else ""
        self._named: dict[str, None] = {}
        self._root = ""
        self._fork = ""

    def is_sub_agents(self, record: dict[str, Any]) -> bool:
        """Whether the file is a sub-agent's, of which this is the next chained record."""
        if self._sub_agent is None:
            self._sub_agent = bool(record.get("isSidechain"))
        if self._sub_agent:
            self._agent = self._agent or string(record.get("agentId"))
        return self._sub_agent

    def note(self, record: dict[str, Any]) -> None:
        session = string(record.get("sessionId"))
        if session:
            self._named.pop(session, None)
            self._named[session] = None
        self._root = self._root or string(record.get("session_id"))
        fork = record.get("forkedFrom")
        self._fork = (string(fork.get("sessionId")) if isinstance(fork, dict) else "") or self._fork

    @property
    def session_id(self) -> str | None:
        """The main session's id, a sub-agent's as `agent-…`; None where no record names it."""
        return (f"{AGENT_PREFIX}{self._agent}" if self._agent else None) if self._sub_agent else self._main

    @property
    def parent_session(self) -> str | None:
        """The main session's id in a sub-agent's file."""
        return self._main if self._sub_agent else None

    @property
    def forked_from(self) -> str | None:
        """The session that the records were copied from: named in `forkedFrom`, by records that kept their old id, or
        as the root of the lineage, which for a fork's fork is not its parent."""
        others = [name for name in (self._fork, *self._named, self._root) if name and name != self._main]
        return others[0] if others and self._main and not self._sub_agent else None

    @property
    def _main(self) -> str | None:
        return self._stem if self._stem in self._named else next(reversed(self._named), None)


def kind_of(record: dict[str, Any]) -> str:
    """The record's type, "" where it has none or not the shape that Claude Code gives it."""
    kind = string(record.get("type"))
    message = record.get("message")
    if kind in ("user", "assistant") and not (isinstance(message, dict) and "content" in message):
        return ""
    return kind


def reason_of(kind: str, record: dict[str, Any]) -> str:
    """Why a chained record that is no turn was left out."""
    return _SYSTEM.get(string(record.get("subtype")), UNKNOWN) if kind == "system" else BOOKKEEPING


def is_prompt(record: dict[str, Any], text: str) -> bool:
    """Whether a person typed it. (harnesses.md 1.7, human prompt rule)"""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return not record.get("isMeta") and kind in (None, "human") and not text.lstrip().startswith(_WRAPPERS)


def block_text(block: Any) -> str | None:
    """A content block as text, an image's or document's as a note of its size; None for blocks of other kinds."""
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return None
    if isinstance(block.get("source"), dict):
        size = len(string(block["source"].get("data")).rstrip("=")) * 3 // 4
        return left_out(f"{string(block.get('type'))} {string(block['source'].get('media_type'))}".strip(), size)
    return block["text"] if isinstance(block.get("text"), str) else None


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""
