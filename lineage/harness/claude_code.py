"""Claude Code's JSONL transcripts. (harnesses.md, section 1)

A turn is one block of a chained record, so that growing prefixes of a file only ever add turns: an API message that is
split over several lines gives a turn for each, a tool call and its result give one each.
"""

import json
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from sys import intern
from typing import Any

from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.claude_files import SpilledResults, discover, find_moved, list_roots, parse_spilled_name
from lineage.harness.claude_records import (
    API_ERROR,
    BOOKKEEPING,
    BOOKKEEPING_KINDS,
    CHAINED_KINDS,
    MISSING_RESULT,
    NOTES,
    REPLAYED,
    SUB_AGENT,
    SYNTHETIC_MODEL,
    TITLE_KEYS,
    UNKNOWN,
    ClaudeSessionIds,
    as_string,
    classify_record,
    extract_block_text,
    find_skip_reason,
    is_prompt,
)
from lineage.harness.jsonl import DAMAGED, TurnBuffer, read_turns
from lineage.harness.text import render_tool_input, strip_injections

__all__ = ["discover", "find_moved", "list_roots", "read"]

_PRESERVED_KEYS = frozenset({"preservedSegment", "preservedMessages"})


def read(path: Path, session: str | None = None) -> Capture:
    """The session that a transcript file holds. Raises TranscriptError for unreadable and foreign files."""
    reader, turns = read_turns(path, partial(_Reader, path))
    if not reader.recognized_count and reader.skipped.keys() & {UNKNOWN, DAMAGED}:
        raise TranscriptError(
            f"no Claude Code record in {path}", hint="is it another harness's? name it with `--harness`"
        )
    return reader.build_capture(turns)


class _Reader:
    """Collects what the records say, in file order: timestamps are not a safe order.

    Of ids and turns that are looked for again their hashes are kept, 64 bits with a key that each process draws anew:
    the texts would be a large part of a long file."""

    def __init__(self, path: Path, max_chars: float) -> None:
        self.session_ids = ClaudeSessionIds(path)
        self.spilled_results = SpilledResults(path)
        self.skipped: Counter[str] = Counter()
        self.recognized_count = 0
        self.buffer = TurnBuffer(max_chars)
        self.compactions: list[CompactionRecord] = []
        self.started_at: str | None = None
        self.ended_at: str | None = None
        self.cwd: str | None = None
        self.models: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self.titles: dict[str, str] = {}
        self.summaries: list[tuple[str, str]] = []
        self.uuid_hashes: set[int] = set()
        self.calls: dict[str, str] = {}
        self.turn_hashes = array("q")
        self.replayable_hashes: set[int] = set()
        self.trigger: str | None = None

    def build_capture(self, turns: Sequence[Turn]) -> Capture:
        return Capture(
            turns=turns,
            started_at=self.started_at,
            ended_at=self.ended_at,
            session_id=self.session_ids.session_id,
            parent_session=self.session_ids.parent_session,
            forked_from=self.session_ids.forked_from,
            project=self.cwd,
            title=self._title(),
            models=tuple(self.models),
            branches=tuple(self.branches),
            compactions=tuple(self.compactions),
            skipped=dict(sorted(self.skipped.items())),
        )

    def add(self, record: dict[str, Any]) -> None:
        kind = classify_record(record)
        if kind in BOOKKEEPING_KINDS:
            self.recognized_count += 1
            self.skipped[BOOKKEEPING] += 1
            self.session_ids.update(record)
            self._note_title(kind, record)
        elif kind in CHAINED_KINDS:
            self.recognized_count += kind != "system"  # other harnesses write records of that name too
            self._add_chained(kind, record)
        else:
            self.skipped[UNKNOWN] += 1

    def _add_chained(self, kind: str, record: dict[str, Any]) -> None:
        uuid = as_string(record.get("uuid"))
        if not self.session_ids.detect_sub_agent(record) and record.get("isSidechain"):
            self.skipped[SUB_AGENT] += 1
            return
        mark = hash(uuid)
        if mark in self.uuid_hashes:
            self.skipped[REPLAYED] += 1
            return
        if uuid:
            self.uuid_hashes.add(mark)
        at = to_utc_or_none(record.get("timestamp"))
        self._note_envelope(record, at)
        self.session_ids.update(record)
        turns = list(self._turns_of(kind, record))
        for index, turn in enumerate(turns):
            source_id = f"{uuid}#{index}" if uuid and index else uuid or None
            self._append(turn, at, source_id)
        if not turns and kind in ("system", "progress", "attachment"):
            self.skipped[find_skip_reason(kind, record)] += 1

    def _append(self, turn: Turn, at: str | None, source_id: str | None) -> None:
        said = hash((at, turn.role, turn.name, turn.input, turn.text))
        if at and said in self.replayable_hashes:
            self.skipped[REPLAYED] += 1
            return
        self.turn_hashes.append(said)
        self.buffer.append(Turn(turn.role, turn.text, at, *turn[3:7], source_id))

    def _turns_of(self, kind: str, record: dict[str, Any]) -> Iterator[Turn]:
        match kind:
            case "user" if record.get("isCompactSummary"):
                yield self._add_compaction(record)
            case "user":
                yield from self._user(record)
            case "assistant":
                yield from self._assistant(record)
            case "attachment":
                yield from self._queued_prompt(record.get("attachment"))
            case "system" if record.get("subtype") == "compact_boundary":
                self._begin_window(record.get("compactMetadata"))

    def _user(self, record: dict[str, Any]) -> Iterator[Turn]:
        content = record["message"]["content"]
        blocks = content if isinstance(content, list) else [content]
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        yield from map(self._result, results)
        text = "" if results else strip_injections(self._text(content))
        if text and is_prompt(record, text):
            yield Turn(USER, text)
        elif not results or len(results) < len(blocks):
            self.skipped[NOTES] += 1

    def _assistant(self, record: dict[str, Any]) -> Iterator[Turn]:
        message = record["message"]
        if record.get("isApiErrorMessage") or message.get("model") == SYNTHETIC_MODEL:
            self.skipped[API_ERROR if record.get("isApiErrorMessage") else NOTES] += 1
            return
        if as_string(message.get("model")):
            self.models[message["model"]] = None
        content = message["content"]
        for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
            if isinstance(block, dict):
                yield from self._block(block)
            else:
                self.skipped[UNKNOWN] += 1

    def _block(self, block: dict[str, Any]) -> Iterator[Turn]:
        match block.get("type"):
            case ("text" | "thinking") as kind if as_string(block.get(kind)).strip():
                yield Turn(ASSISTANT, block[kind].strip("\n"), thinking=kind == "thinking")
            case "tool_use" | "server_tool_use":
                name = intern(as_string(block.get("name")) or "tool")
                self.calls[as_string(block.get("id"))] = name
                yield Turn(ASSISTANT, "", name=name, input=render_tool_input(block.get("input")))
            case "text" | "thinking" | "redacted_thinking":
                self.skipped[BOOKKEEPING] += 1
            case _:
                self.skipped[UNKNOWN] += 1

    def _result(self, block: dict[str, Any]) -> Turn:
        name = self.calls.get(as_string(block.get("tool_use_id")), "tool")
        text = self._text(block.get("content"))
        if parse_spilled_name(text):
            text = self._read_spilled(text)
        return Turn(TOOL, strip_injections(text), name=name, error=block.get("is_error") is True)

    def _read_spilled(self, preview: str) -> str:
        """The result that was too big for the transcript; what its preview says where the file isn't there."""
        text = self.spilled_results.read(preview)
        if text is None:
            self.skipped[MISSING_RESULT] += 1
            return preview
        blocks = _blocks(text)
        return self._text(blocks) if blocks else text

    def _queued_prompt(self, attachment: Any) -> Iterator[Turn]:
        """A prompt typed while the agent worked; the queue's own bookkeeping line repeats it."""
        if not isinstance(attachment, dict) or attachment.get("type") != "queued_command":
            return
        text = strip_injections(self._text(attachment.get("prompt")))
        if text and attachment.get("commandMode") in (None, "prompt") and is_prompt(attachment, text):
            yield Turn(USER, text)

    def _begin_window(self, details: Any) -> None:
        """A compaction's boundary. What it preserves may be replayed after it, under new ids with the old times."""
        details = details if isinstance(details, dict) else {}
        self.trigger = as_string(details.get("trigger")) or None
        is_due = bool(details.keys() & _PRESERVED_KEYS)
        self.replayable_hashes = set(self.turn_hashes) if is_due else set()

    def _add_compaction(self, record: dict[str, Any]) -> Turn:
        text = self._text(record["message"]["content"])
        self.compactions.append(
            CompactionRecord(text, len(self.buffer), to_utc_or_none(record.get("timestamp")), self.trigger)
        )
        self.trigger = None
        return Turn(SYSTEM, text, name="compaction")

    def _text(self, content: Any) -> str:
        """The text of a record's or a result's content; images and documents leave a note of their size."""
        parts = []
        for block in content if isinstance(content, list) else [content or ""]:
            text = extract_block_text(block)
            if text is None:
                self.skipped[UNKNOWN] += 1
            else:
                parts.append(text)
        return "\n".join(parts)

    def _note_envelope(self, record: dict[str, Any], at: str | None) -> None:
        if at:
            self.started_at, self.ended_at = self.started_at or at, at
        self.cwd = self.cwd or as_string(record.get("cwd")) or None
        if as_string(record.get("gitBranch")):
            self.branches[record["gitBranch"]] = None

    def _note_title(self, kind: str, record: dict[str, Any]) -> None:
        text = as_string(record.get(TITLE_KEYS.get(kind, "")))
        if kind == "summary":
            self.summaries.append((as_string(record.get("leafUuid")), text))
        elif text.strip():
            self.titles[kind] = text

    def _title(self) -> str | None:
        """Of each kind the last one. A `summary` may belong to another session, its leaf tells; it may stand first."""
        own = [text for leaf, text in self.summaries if hash(leaf) in self.uuid_hashes and text.strip()]
        return self.titles.get("custom-title") or self.titles.get("ai-title") or (own[-1] if own else None)


def _blocks(text: str) -> list[Any]:
    """The content blocks that a spilled result is a JSON list of; none where it is plain text."""
    try:
        value = json.loads(text) if text.startswith("[") else []
    except (ValueError, RecursionError):
        return []
    return value if all(isinstance(item, dict) and extract_block_text(item) is not None for item in value) else []
