"""The adapter of Claude Code: transcripts in JSONL. (harnesses.md, section 1).

A turn is one block of a chained record, so a longer prefix of a file only ever adds turns: an API message over several
lines gives a turn for each line, a tool call and its result give one each.
"""

from array import array
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from sys import intern
from typing import Any

from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SAID, SYSTEM, TOOL, USER, Turn
from lineage.harness import claude_history
from lineage.harness import claude_records as records
from lineage.harness.adapter import BOOKKEEPING, NOTES, REPLAYED, SUB_AGENT, UNKNOWN, Collector, read_turns
from lineage.harness.claude_records import SpilledResults, discover, parse_spilled_name, unwrap_summary
from lineage.harness.json_values import as_blocks, as_mapping, as_string, decode_json
from lineage.harness.text import strip_injections
from lineage.harness.tool_inputs import build_call_turn
from lineage.harness.words import INTERRUPTION

__all__ = ["discover", "list_sub_agent_places", "read", "unwrap_summary"]

_PRESERVED_KEYS = frozenset({"preservedSegment", "preservedMessages"})


def list_sub_agent_places(transcript: Path, session: str) -> list[Path]:
    """Return the places that may hold the transcripts of a session's sub-agents, beside it in older versions."""
    return [transcript.with_suffix(""), *transcript.parent.glob("agent-*.jsonl")]


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a transcript file. Raise TranscriptError for unreadable and foreign files."""
    if path.name == claude_history.NAME and claude_history.holds_prompts(path):
        return claude_history.read(path, session)
    reader, turns = read_turns(path, partial(_Reader, path))
    reader.refuse_foreign(path, "Claude Code record")
    return reader.build_capture(
        turns,
        session_id=reader.session_ids.session_id,
        parent_session=reader.session_ids.parent_session,
        forked_from=reader.session_ids.forked_from,
        project=reader.cwd,
        title=reader.choose_title(),
    )


class _Reader(Collector):
    """A collector of records in file order.

    It keeps hashes of ids and turns to recognize, 64 bits with a key per process: the texts would be a large part of a
    long file.
    """

    def __init__(self, path: Path, max_chars: float) -> None:
        super().__init__(max_chars)
        self.session_ids = records.ClaudeSessionIds(path)
        self.spilled_results = SpilledResults(path)
        self.cwd: str | None = None
        self.titles: dict[str, str] = {}
        self.summaries: list[tuple[str, str]] = []
        self.uuid_hashes: set[int] = set()
        self.calls: dict[str, str] = {}
        self.turn_hashes = array("q")
        self.replayable_hashes: set[int] = set()
        self.trigger: str | None = None
        # What was typed while the agent worked: (time, text), and what of it the agent was given.
        self.queued: list[tuple[str, str]] = []
        self.given: list[tuple[str, str]] = []

    def add(self, record: dict[str, Any]) -> None:
        kind = records.classify_record(record)
        if kind in records.BOOKKEEPING_KINDS:
            self.recognized_count += 1
            self.skip(BOOKKEEPING)
            self.session_ids.update(record)
            self._note_title(kind, record)
            self._note_queue(record)
        elif kind in records.CHAINED_KINDS:
            self.recognized_count += kind != "system"  # other harnesses write records of that name too
            self._add_chained(kind, record)
        else:
            self.skip(UNKNOWN)

    def _add_chained(self, kind: str, record: dict[str, Any]) -> None:
        uuid = as_string(record.get("uuid"))
        if not self.session_ids.detect_sub_agent(record) and record.get("isSidechain"):
            self.skip(SUB_AGENT)
            return
        uuid_hash = hash(uuid)
        if uuid_hash in self.uuid_hashes:
            self.skip(REPLAYED)
            return
        if uuid:
            self.uuid_hashes.add(uuid_hash)
        at = self.record_time(record.get("timestamp"))
        self.cwd = self.cwd or as_string(record.get("cwd")) or None
        self.note_branch(record.get("gitBranch"))
        self.session_ids.update(record)
        if kind == "assistant":
            self._append_given()
        words = list(self._words_of(kind, record))
        turns = list(self._turns_of(kind, record, has_words=bool(words)))
        self.given = [(when, text) for when, text in self.given if not any(text == turn.text for turn in turns)]
        for index, turn in enumerate(turns):
            source_id = f"{uuid}#{index}" if uuid and index else uuid or None
            self._append_turn(turn, at, source_id)
        for number, turn in enumerate(words, 1):
            self._append_turn(turn, at, f"{uuid}{SAID}{number}")
        if not turns and not words and kind in ("system", "progress", "attachment"):
            reason = records.SYSTEM_REASONS.get(as_string(record.get("subtype")), UNKNOWN)
            self.skip(reason if kind == "system" else BOOKKEEPING)

    def _append_turn(self, turn: Turn, at: str | None, source_id: str | None) -> None:
        turn_hash = hash((at, turn.role, turn.name, turn.input, turn.parts, turn.text))
        if at and turn_hash in self.replayable_hashes:
            self.skip(REPLAYED)
            return
        self.turn_hashes.append(turn_hash)
        self.buffer.append(turn._replace(at=at, source_id=source_id))

    def _turns_of(self, kind: str, record: dict[str, Any], *, has_words: bool) -> Iterator[Turn]:
        match kind:
            case "user" if record.get("isCompactSummary"):
                text = self._text(record["message"]["content"])
                at = to_utc_or_none(record.get("timestamp"))
                summary = records.unwrap_summary(text)
                self.compactions.append(CompactionRecord(summary, len(self.buffer), at, self.trigger))
                self.trigger = None
                yield Turn(SYSTEM, text, name="compaction")
            case "user":
                yield from self._user(record, has_words=has_words)
            case "assistant":
                yield from self._assistant(record)
            case "attachment":
                yield from self._queued_prompt(as_mapping(record.get("attachment")))
            case "system" if record.get("subtype") == "compact_boundary":
                details = as_mapping(record.get("compactMetadata"))
                self.trigger = as_string(details.get("trigger")) or None
                # Preserved records may follow once more, under new ids with their old times.
                self.replayable_hashes = set(self.turn_hashes) if details.keys() & _PRESERVED_KEYS else set()

    def _words_of(self, kind: str, record: dict[str, Any]) -> Iterator[Turn]:
        """Yield a person's words in a record of something else: a result, a command, an interruption."""
        talk = as_string(record.get("content")).strip() if kind == "system" else ""
        if talk and record.get("subtype") == records.VOICE_CALL:  # who of the two spoke isn't said
            yield Turn(SYSTEM, talk, name="voice call")
        if kind != "user" or record.get("isCompactSummary") or record.get("isMeta"):
            return
        blocks = as_blocks(record["message"]["content"])
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        for block in results:
            if block.get("is_error") is True and (
                reason := records.parse_refusal(_join(as_blocks(block.get("content"))))
            ):
                yield Turn(USER, reason)
        if results:
            yield from records.list_answers(record)
        others = [block for block in blocks if block not in results]
        text = strip_injections(_join(others))
        if text.startswith(records.INTERRUPTED):
            yield INTERRUPTION
        elif command := records.parse_command(text):
            yield Turn(USER, command)
        elif results and text and records.is_prompt(record, text):
            yield records.build_prompt(record, text)

    def _note_queue(self, record: dict[str, Any]) -> None:
        """Follow the words typed while the agent works: they wait until the agent gets them or they become a prompt."""
        match record.get("operation"):
            case "enqueue" if as_string(record.get("content")).strip():
                self.queued.append((as_string(record.get("timestamp")), record["content"].strip()))
            case "remove" if self.queued:
                self.given.append(self.queued.pop(0))
            case "dequeue" if self.queued:
                self.queued.pop(0)
            case "popAll":
                self.queued.clear()

    def _append_given(self) -> None:
        """Add the queued words that the agent was given, unless a prompt or an attachment has held them."""
        for when, text in self.given:
            is_command = text.startswith("/") and len(text.split()) == 1
            if not (is_command or text.startswith(records.QUEUED_NOTICE)) and records.is_prompt({}, text):
                self._append_turn(records.build_prompt({}, text), to_utc_or_none(when), f"queue-{when}{SAID}1")
        self.given.clear()

    def _user(self, record: dict[str, Any], *, has_words: bool) -> Iterator[Turn]:
        content = record["message"]["content"]
        blocks = content if isinstance(content, list) else [content]
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        yield from map(self._result, results)
        text = "" if results else strip_injections(self._text(content))
        if text and records.is_prompt(record, text):
            yield records.build_prompt(record, text)
        elif not has_words and (not results or len(results) < len(blocks)):
            self.skip(NOTES)

    def _assistant(self, record: dict[str, Any]) -> Iterator[Turn]:
        message = record["message"]
        if record.get("isApiErrorMessage") or message.get("model") == records.SYNTHETIC_MODEL:
            self.skip(records.API_ERROR if record.get("isApiErrorMessage") else NOTES)
            return
        self.note_model(message.get("model"))
        for block in as_blocks(message["content"]):
            if isinstance(block, dict):
                yield from self._block(block)
            else:
                self.skip(UNKNOWN)

    def _block(self, block: dict[str, Any]) -> Iterator[Turn]:
        match block.get("type"):
            case ("text" | "thinking") as kind if as_string(block.get(kind)).strip():
                yield Turn(ASSISTANT, block[kind].strip("\n"), thinking=kind == "thinking")
            case "tool_use" | "server_tool_use":
                # A session calls few tools many times: one copy of each name.
                name = intern(as_string(block.get("name")) or "tool")
                call = build_call_turn(name, block.get("input"), block.get("id"))
                self.calls[call.call_id] = name
                yield call
            case "text" | "thinking" | "redacted_thinking":
                self.skip(BOOKKEEPING)
            case _:
                self.skip(UNKNOWN)

    def _result(self, block: dict[str, Any]) -> Turn:
        call_id = as_string(block.get("tool_use_id"))
        name = self.calls.get(call_id, "tool")
        text = self._text(block.get("content"))
        if parse_spilled_name(text):
            text = self._read_spilled(text)
        return Turn(TOOL, strip_injections(text), name=name, error=block.get("is_error") is True, call_id=call_id)

    def _read_spilled(self, preview: str) -> str:
        """Return the result behind a preview, or the preview if its file is missing."""
        text = self.spilled_results.read(preview)
        if text is None:
            self.skip(records.MISSING_RESULT)
            return preview
        blocks = decode_json(text) if text.startswith("[") else []
        if not blocks or any(not isinstance(item, dict) or records.extract_block_text(item) is None for item in blocks):
            return text
        return self._text(blocks)

    def _queued_prompt(self, attachment: dict[str, Any]) -> Iterator[Turn]:
        """Yield a prompt typed while the agent worked. The queue's own record repeats it."""
        if attachment.get("type") != "queued_command":
            return
        text = strip_injections(self._text(attachment.get("prompt")))
        if text and attachment.get("commandMode") in (None, "prompt") and records.is_prompt(attachment, text):
            yield records.build_prompt(attachment, text)

    def _text(self, content: Any) -> str:
        blocks = content if isinstance(content, list) else [content or ""]
        return self.join_texts(map(records.extract_block_text, blocks))

    def _note_title(self, kind: str, record: dict[str, Any]) -> None:
        text = as_string(record.get(records.TITLE_KEYS.get(kind, "")))
        if kind == "summary":
            self.summaries.append((as_string(record.get("leafUuid")), text))
        elif text.strip():
            self.titles[kind] = text

    def choose_title(self) -> str | None:
        """Return the last custom title, else the last generated one, else the last summary."""
        # A file may begin with summaries of other sessions; the leaf shows whether one belongs here.
        summaries = [text for leaf, text in self.summaries if hash(leaf) in self.uuid_hashes and text.strip()]
        return self.titles.get("custom-title") or self.titles.get("ai-title") or (summaries[-1] if summaries else None)


def _join(blocks: list[Any]) -> str:
    """Return the texts of blocks. Unknown blocks are counted elsewhere."""
    return "\n".join(filter(None, map(records.extract_block_text, blocks)))
