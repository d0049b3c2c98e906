"""Claude Code's JSONL transcripts. (harnesses.md, section 1)

A turn is one block of a chained record, so that growing prefixes of a file only ever add turns: an API message that is
split over several lines gives a turn for each, a tool call and its result give one each.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lineage.core.capture import Capture, Compacted
from lineage.core.times import utc_or_none
from lineage.core.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.jsonl import records
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

UNKNOWN = "unknown"
BOOKKEEPING = "bookkeeping"
NOTES = "harness notes"
SUB_AGENT = "sub-agent"
REPLAYED = "replayed"


def read(path: Path) -> Capture:
    """The session that a transcript file holds. Raises TranscriptError for unreadable and foreign files."""
    reader = _Reader()
    for record in records(path, reader.skipped):
        reader.add(record)
    if not reader.known and reader.skipped:
        raise TranscriptError(
            f"no Claude Code record in {path}", hint="is it another harness's? name it with `--harness`"
        )
    return reader.capture()


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
        self.uuids: set[str] = set()
        self.calls: dict[str, str] = {}
        self.shown: set[tuple[str, str]] = set()
        self.boundary: dict[str, Any] | None = None
        self.may_replay = False

    def capture(self) -> Capture:
        return Capture(
            turns=tuple(self.turns),
            started_at=self.times[0] if self.times else None,
            ended_at=self.times[-1] if self.times else None,
            project=self.cwd,
            title=self.titles.get("custom-title") or self.titles.get("ai-title") or self.titles.get("summary"),
            models=tuple(self.models),
            branches=tuple(self.branches),
            compactions=tuple(self.compactions),
            skipped=dict(sorted(self.skipped.items())),
        )

    def add(self, record: dict[str, Any]) -> None:
        kind = record.get("type")
        if kind in _BOOKKEEPING:
            self.known += 1
            self.skipped[BOOKKEEPING] += 1
            self._note_title(record)
        elif kind in _CHAINED and (kind not in ("user", "assistant") or isinstance(record.get("message"), dict)):
            self.known += 1
            self._add_chained(record)
        else:
            self.skipped[UNKNOWN] += 1

    def _add_chained(self, record: dict[str, Any]) -> None:
        if record.get("isSidechain"):
            self.skipped[SUB_AGENT] += 1
            return
        self._note_envelope(record)
        before = len(self.turns)
        for index, turn in enumerate(self._turns_of(record)):
            self._append(record, turn, index)
        if len(self.turns) == before and record["type"] in ("system", "progress", "attachment"):
            self.skipped[BOOKKEEPING] += 1

    def _append(self, record: dict[str, Any], turn: Turn, index: int) -> None:
        at = utc_or_none(record.get("timestamp"))
        key = (at or "", f"{turn.role}\n{turn.name}\n{turn.text}")
        if self.may_replay and at and key in self.shown:
            self.skipped[REPLAYED] += 1
            return
        self.shown.add(key)
        uuid = record.get("uuid")
        source = (f"{uuid}#{index}" if index else uuid) if isinstance(uuid, str) and uuid else None
        self.turns.append(Turn(turn.role, turn.text, at, turn.name, turn.input, turn.error, turn.thinking, source))

    def _turns_of(self, record: dict[str, Any]) -> Iterator[Turn]:
        match record["type"]:
            case "user":
                yield from self._user(record)
            case "assistant":
                yield from self._assistant(record)
            case "attachment":
                yield from _queued_prompt(record.get("attachment"))
            case "system" if record.get("subtype") == "compact_boundary":
                self.boundary = record
                details = record.get("compactMetadata")
                self.may_replay = isinstance(details, dict) and bool(
                    details.keys() & {"preservedSegment", "preservedMessages"}
                )

    def _user(self, record: dict[str, Any]) -> Iterator[Turn]:
        content = record["message"].get("content")
        if record.get("isCompactSummary"):
            yield from self._compacted(record, content)
            return
        blocks = content if isinstance(content, list) else [{"type": "text", "text": content}]
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        for block in results:
            yield self._result(block)
        text = without_injected(_text_of([block for block in blocks if block not in results]))
        if not text:
            if not results:
                self.skipped[NOTES] += 1
        elif _is_prompt(record, text):
            yield Turn(USER, text)
        else:
            self.skipped[NOTES] += 1

    def _assistant(self, record: dict[str, Any]) -> Iterator[Turn]:
        if record.get("isApiErrorMessage"):
            self.skipped[NOTES] += 1
            return
        message = record["message"]
        if isinstance(message.get("model"), str) and message["model"] != "<synthetic>":
            self.models[message["model"]] = None
        content = message.get("content")
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if isinstance(block, dict):
                yield from self._block(block)
            else:
                self.skipped[UNKNOWN] += 1

    def _block(self, block: dict[str, Any]) -> Iterator[Turn]:
        match block.get("type"):
            case "text":
                if isinstance(block.get("text"), str) and block["text"].strip():
                    yield Turn(ASSISTANT, block["text"])
            case "thinking":
                if isinstance(block.get("thinking"), str) and block["thinking"].strip():
                    yield Turn(ASSISTANT, block["thinking"], thinking=True)
            case "tool_use" | "server_tool_use":
                name = str(block.get("name") or "tool")
                self.calls[str(block.get("id"))] = name
                yield Turn(ASSISTANT, "", name=name, input=salient(block.get("input")))
            case "redacted_thinking":
                self.skipped[BOOKKEEPING] += 1
            case _:
                self.skipped[UNKNOWN] += 1

    def _result(self, block: dict[str, Any]) -> Turn:
        content = block.get("content")
        text = content if isinstance(content, str) else _text_of(content if isinstance(content, list) else [])
        name = self.calls.get(str(block.get("tool_use_id")), "tool")
        return Turn(TOOL, without_injected(text), name=name, error=bool(block.get("is_error")))

    def _compacted(self, record: dict[str, Any], content: Any) -> Iterator[Turn]:
        text = content if isinstance(content, str) else _text_of(content if isinstance(content, list) else [])
        details = (self.boundary or {}).get("compactMetadata")
        trigger = details.get("trigger") if isinstance(details, dict) else None
        at = utc_or_none(record.get("timestamp"))
        self.compactions.append(Compacted(text, len(self.turns), at, trigger if isinstance(trigger, str) else None))
        yield Turn(SYSTEM, text, name="compaction")

    def _note_envelope(self, record: dict[str, Any]) -> None:
        at = utc_or_none(record.get("timestamp"))
        if at:
            self.times.append(at)
        if isinstance(record.get("uuid"), str):
            self.uuids.add(record["uuid"])
        if self.cwd is None and isinstance(record.get("cwd"), str) and record["cwd"]:
            self.cwd = record["cwd"]
        if isinstance(record.get("gitBranch"), str) and record["gitBranch"]:
            self.branches[record["gitBranch"]] = None

    def _note_title(self, record: dict[str, Any]) -> None:
        """Settings-like records: the last one wins. A `summary` may belong to another session; its leaf tells."""
        for kind, key in (("custom-title", "customTitle"), ("ai-title", "aiTitle"), ("summary", "summary")):
            is_own = kind != "summary" or record.get("leafUuid") in self.uuids
            if record["type"] == kind and is_own and isinstance(record.get(key), str) and record[key].strip():
                self.titles[kind] = record[key]


def _is_prompt(record: dict[str, Any], text: str) -> bool:
    """Whether a person typed it. (harnesses.md 1.7, human prompt rule)"""
    origin = record.get("origin")
    kind = origin.get("kind") if isinstance(origin, dict) else None
    return not record.get("isMeta") and kind in (None, "human") and not text.startswith(_WRAPPERS)


def _queued_prompt(attachment: Any) -> Iterator[Turn]:
    """A prompt typed while the agent worked; the queue's own bookkeeping line repeats it."""
    if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
        return
    prompt = attachment.get("prompt")
    text = without_injected(prompt if isinstance(prompt, str) else _text_of(prompt if isinstance(prompt, list) else []))
    if text and not text.startswith(_WRAPPERS):
        yield Turn(USER, text)


def _text_of(blocks: list[Any]) -> str:
    """The text of content blocks; images and documents leave a note of their size."""
    parts = []
    for block in blocks:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            parts.append(block["text"])
        elif isinstance(block, dict) and isinstance(block.get("source"), dict):
            source = block["source"]
            size = len(str(source.get("data") or "")) * 3 // 4
            parts.append(left_out(f"{block.get('type', 'file')} {source.get('media_type', '')}".strip(), size))
    return "\n".join(parts)
