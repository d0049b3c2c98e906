"""Claude Code's JSONL transcripts. (harnesses.md, section 1)

A turn is one block of a chained record, so that growing prefixes of a file only ever add turns: an API message that is
split over several lines gives a turn for each, a tool call and its result give one each.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lineage.core.capture import Capture, Compacted
from lineage.core.times import utc_or_none
from lineage.core.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.jsonl import DAMAGED, records
from lineage.harness.listing import files
from lineage.harness.port import Found
from lineage.harness.text import left_out, salient, without_injected

_CHAINED = frozenset({"user", "assistant", "attachment", "system", "progress"})
_BOOKKEEPING = frozenset(
    {
        "summary", "ai-title", "custom-title", "agent-name", "agent-setting", "agent-color", "mode", "permission-mode",
        "last-prompt", "queue-operation", "file-history-snapshot", "file-history-delta", "cost-state", "pr-link",
        "bridge-session", "tag", "worktree-state", "content-replacement", "speculation-accept",
    }
)  # fmt: skip
_WRAPPERS = (
    "<local-command-caveat>", "<command-name>", "<command-message>", "<local-command-stdout>", "<local-command-stderr>",
    "<bash-input>", "<bash-stdout>", "<bash-stderr>", "<task-notification>", "[Request interrupted by user",
)  # fmt: skip
_TITLES = {"custom-title": "customTitle", "ai-title": "aiTitle", "summary": "summary"}
_PRESERVED = frozenset({"preservedSegment", "preservedMessages"})
_SYNTHETIC = "<synthetic>"
_SUB_AGENTS = "subagents"

UNKNOWN = "unknown"
BOOKKEEPING = "bookkeeping"
NOTES = "harness notes"
SUB_AGENT = "sub-agent"
REPLAYED = "replayed"

_Shown = tuple[str | None, str, str, str, str]


def read(path: Path, session: str | None = None) -> Capture:
    """The session that a transcript file holds. Raises TranscriptError for unreadable and foreign files."""
    reader = _Reader()
    for record in records(path, reader.skipped):
        reader.add(record)
    if not reader.known and reader.skipped.keys() & {UNKNOWN, DAMAGED}:
        raise TranscriptError(
            f"no Claude Code record in {path}", hint="is it another harness's? name it with `--harness`"
        )
    return reader.capture()


def roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """`projects/` of the configuration folder."""
    return [Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude", "projects")]


def found(root: Path) -> Iterator[Found]:
    """Every main transcript; sub-agents' files lie in folders of their own and are passed over."""
    return (item for item in files(root, (".jsonl",)) if _SUB_AGENTS not in item.path.parts)


class _Reader:
    """Collects what the records say, in file order: timestamps are not a safe order."""

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()
        self.known = 0
        self.turns: list[Turn] = []
        self.compactions: list[Compacted] = []
        self.times: list[str] = []
        self.cwd: str | None = None
        self.models: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self.titles: dict[str, str] = {}
        self.summaries: list[tuple[str, str]] = []
        self.uuids: set[str] = set()
        self.calls: dict[str, str] = {}
        self.shown: set[_Shown] = set()
        self.replayable: set[_Shown] = set()
        self.trigger: str | None = None

    def capture(self) -> Capture:
        return Capture(
            turns=tuple(self.turns),
            started_at=self.times[0] if self.times else None,
            ended_at=self.times[-1] if self.times else None,
            project=self.cwd,
            title=self._title(),
            models=tuple(self.models),
            branches=tuple(self.branches),
            compactions=tuple(self.compactions),
            skipped=dict(sorted(self.skipped.items())),
        )

    def add(self, record: dict[str, Any]) -> None:
        kind = _kind(record)
        if kind in _BOOKKEEPING:
            self.known += 1
            self.skipped[BOOKKEEPING] += 1
            self._note_title(kind, record)
        elif kind in _CHAINED:
            self.known += kind != "system"  # other harnesses write records of that name too
            self._add_chained(kind, record)
        else:
            self.skipped[UNKNOWN] += 1

    def _add_chained(self, kind: str, record: dict[str, Any]) -> None:
        uuid = _string(record.get("uuid"))
        if record.get("isSidechain"):
            self.skipped[SUB_AGENT] += 1
            return
        if uuid in self.uuids:
            self.skipped[REPLAYED] += 1
            return
        if uuid:
            self.uuids.add(uuid)
        self._note_envelope(record)
        turns = list(self._turns_of(kind, record))
        for index, turn in enumerate(turns):
            source_id = f"{uuid}#{index}" if uuid and index else uuid or None
            self._append(turn, utc_or_none(record.get("timestamp")), source_id)
        if not turns and kind in ("system", "progress", "attachment"):
            self.skipped[BOOKKEEPING] += 1

    def _append(self, turn: Turn, at: str | None, source_id: str | None) -> None:
        key = (at, turn.role, turn.name, turn.input, turn.text)
        if at and key in self.replayable:
            self.skipped[REPLAYED] += 1
            return
        self.shown.add(key)
        self.turns.append(replace(turn, at=at, source_id=source_id))

    def _turns_of(self, kind: str, record: dict[str, Any]) -> Iterator[Turn]:
        match kind:
            case "user" if record.get("isCompactSummary"):
                yield self._compacted(record)
            case "user":
                yield from self._user(record)
            case "assistant":
                yield from self._assistant(record)
            case "attachment":
                yield from self._queued(record.get("attachment"))
            case "system" if record.get("subtype") == "compact_boundary":
                self._begin_window(record.get("compactMetadata"))

    def _user(self, record: dict[str, Any]) -> Iterator[Turn]:
        content = record["message"]["content"]
        blocks = content if isinstance(content, list) else [content]
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        yield from map(self._result, results)
        text = "" if results else without_injected(self._text(content))
        if text and _is_prompt(record, text):
            yield Turn(USER, text)
        elif not results or len(results) < len(blocks):
            self.skipped[NOTES] += 1

    def _assistant(self, record: dict[str, Any]) -> Iterator[Turn]:
        message = record["message"]
        if record.get("isApiErrorMessage") or message.get("model") == _SYNTHETIC:
            self.skipped[NOTES] += 1
            return
        if _string(message.get("model")):
            self.models[message["model"]] = None
        content = message["content"]
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if isinstance(block, dict):
                yield from self._block(block)
            else:
                self.skipped[UNKNOWN] += 1

    def _block(self, block: dict[str, Any]) -> Iterator[Turn]:
        match block.get("type"):
            case ("text" | "thinking") as kind if _string(block.get(kind)).strip():
                yield Turn(ASSISTANT, block[kind].strip("\n"), thinking=kind == "thinking")
            case "tool_use" | "server_tool_use":
                name = _string(block.get("name")) or "tool"
                self.calls[_string(block.get("id"))] = name
                yield Turn(ASSISTANT, "", name=name, input=salient(block.get("input")))
            case "text" | "thinking" | "redacted_thinking":
                self.skipped[BOOKKEEPING] += 1
            case _:
                self.skipped[UNKNOWN] += 1

    def _result(self, block: dict[str, Any]) -> Turn:
        name = self.calls.get(_string(block.get("tool_use_id")), "tool")
        text = without_injected(self._text(block.get("content")))
        return Turn(TOOL, text, name=name, error=block.get("is_error") is True)

    def _queued(self, attachment: Any) -> Iterator[Turn]:
        """A prompt typed while the agent worked; the queue's own bookkeeping line repeats it."""
        if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
            return
        text = without_injected(self._text(attachment.get("prompt")))
        if text and attachment.get("commandMode") in (None, "prompt") and _is_prompt(attachment, text):
            yield Turn(USER, text)

    def _begin_window(self, details: Any) -> None:
        """A compaction's boundary. What it preserves may be replayed after it, under new ids with the old times."""
        details = details if isinstance(details, dict) else {}
        self.trigger = _string(details.get("trigger")) or None
        self.replayable = set(self.shown) if details.keys() & _PRESERVED else set()

    def _compacted(self, record: dict[str, Any]) -> Turn:
        text = self._text(record["message"]["content"])
        self.compactions.append(Compacted(text, len(self.turns), utc_or_none(record.get("timestamp")), self.trigger))
        self.trigger = None
        return Turn(SYSTEM, text, name="compaction")

    def _text(self, content: Any) -> str:
        """The text of a record's or a result's content; images and documents leave a note of their size."""
        parts = []
        for block in content if isinstance(content, list) else [content or ""]:
            text = _block_text(block)
            if text is None:
                self.skipped[UNKNOWN] += 1
            else:
                parts.append(text)
        return "\n".join(parts)

    def _note_envelope(self, record: dict[str, Any]) -> None:
        at = utc_or_none(record.get("timestamp"))
        if at:
            self.times.append(at)
        self.cwd = self.cwd or _string(record.get("cwd")) or None
        if _string(record.get("gitBranch")):
            self.branches[record["gitBranch"]] = None

    def _note_title(self, kind: str, record: dict[str, Any]) -> None:
        text = _string(record.get(_TITLES.get(kind, "")))
        if kind == "summary":
            self.summaries.append((_string(record.get("leafUuid")), text))
        elif text.strip():
            self.titles[kind] = text

    def _title(self) -> str | None:
        """Of each kind the last one. A `summary` may belong to another session, its leaf tells; it may stand first."""
        own = [text for leaf, text in self.summaries if leaf in self.uuids and text.strip()]
        return self.titles.get("custom-title") or self.titles.get("ai-title") or (own[-1] if own else None)


def _kind(record: dict[str, Any]) -> str:
    """The record's type, "" where it has none or not the shape that Claude Code gives it."""
    kind = _string(record.get("type"))
    message = record.get("message")
    if kind in ("user", "assistant") and not (isinstance(message, dict) and "content" in message):
        return ""
    return kind


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_prompt(record: dict[str, Any], text: str) -> bool:
    """Whether a person typed it. (harnesses.md 1.7, human prompt rule)"""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return not record.get("isMeta") and kind in (None, "human") and not text.lstrip().startswith(_WRAPPERS)


def _block_text(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return None
    if isinstance(block.get("source"), dict):
        size = len(_string(block["source"].get("data")).rstrip("=")) * 3 // 4
        return left_out(f"{_string(block.get('type'))} {_string(block['source'].get('media_type'))}".strip(), size)
    return block["text"] if isinstance(block.get("text"), str) else None
