"""The adapter of pi: sessions as a tree of entries, `--<cwd>--/<time>_<id>.jsonl`. OpenClaw writes the same entries.

All branches of the tree are kept, in file order, so a longer prefix of a file only ever adds turns: an entry gives a
turn for each of its blocks. (harnesses.md, sections 7 and 8)
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, InputPart, Turn
from lineage.harness.adapter import BOOKKEEPING, NOTES, REPLAYED, UNKNOWN, Collector, SessionLocation, list_files
from lineage.harness.json_values import JsonObject, as_blocks, as_list, as_mapping, as_string, format_media_note
from lineage.harness.text import strip_injections
from lineage.harness.tool_inputs import build_call_turn
from lineage.harness.words import INTERRUPTION, QUESTION_TOOLS, list_answers

_BOOKKEEPING = frozenset({"model_change", "thinking_level_change", "custom", "label", "leaf", "reset"})
_ROLES = frozenset({
    "user", "assistant", "toolResult", "bashExecution", "custom", "hookMessage", "branchSummary",
    "compactionSummary",
})  # fmt: skip
# The time in a file's name has dashes for colons.
_FILE_TIME = re.compile(r"^\d{4}-\d{2}-\d{2}T[0-9-]+Z_")
_GATEWAY = "openclaw"

WITHHELD = "kept from the agent"


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a file. Raise TranscriptError for unreadable and foreign files."""
    return read_tree_transcript(path, "pi")


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every session, forks included."""
    return list_files(root, (".jsonl",))


def read_tree_transcript(path: Path, harness: str) -> Capture:
    """Return the session of a file of entries. `harness` names the program in errors.

    Raise TranscriptError for unreadable and foreign files.
    """
    reader = _Reader()
    reader.read_lines(path, f"{harness} entry")
    return reader.finish()


def read_tree_records(records: Iterable[JsonObject], skipped: Counter[str]) -> Capture:
    """Return the session of entries that lie elsewhere. `skipped` counts the entries left out already."""
    reader = _Reader(skipped=skipped)
    for record in records:
        reader.add(record)
    return reader.finish()


@dataclass(slots=True)
class _Reader(Collector):
    header: dict[str, Any] = field(default_factory=dict)
    entry_count: int = 0
    name: str = ""
    seen_texts: set[str] = field(default_factory=set)
    questions: dict[str, Any] = field(default_factory=dict)

    def finish(self) -> Capture:
        """Return the session."""
        if not self.started_at:
            self.record_time(self.header.get("timestamp"))
        return self.build_capture(
            session_id=as_string(self.header.get("id")) or None,
            forked_from=_parse_parent_id(self.header),
            project=as_string(self.header.get("cwd")) or None,
            title=self.name or None,
        )

    def add(self, record: dict[str, Any]) -> None:
        kind = _kind(record)
        if kind == "session":
            # Others begin with a record of that type too; pi's says when in this member.
            self.recognized_count += "timestamp" in record
            self.header = self.header or record
            self.skip(BOOKKEEPING)
            return
        self.entry_count += 1
        entry = self._id(record)
        if not kind:
            self.skip(UNKNOWN)
        elif not self.check_replay(entry):
            # Other harnesses have entries of the other kinds too.
            self.recognized_count += kind == "message"
            at = self.record_time(record.get("timestamp"))
            self.append(self._turns_of(kind, record, at), at, entry)
            self.append_words(self._words_of(as_mapping(record.get("message"))), at, entry)

    def _id(self, record: dict[str, Any]) -> str | None:
        """Return an id of the entry across files; version 1 has none, so the entry's place takes part."""
        # An entry's own id, 8 hex digits, is unique in its file only. Its time makes it unique, and forks copy both.
        entry, session = as_string(record.get("id")), as_string(self.header.get("id"))
        if entry:
            return f"{entry}@{as_string(record.get('timestamp')) or session}"
        return f"{session}:{self.entry_count}" if session else None

    def _turns_of(self, kind: str, record: dict[str, Any], at: str | None) -> Iterator[Turn]:
        match kind:
            case "message":
                yield from self._message(record["message"], at)
            case "compaction":
                yield from self.add_compaction(record.get("summary"), at)
            case "branch_summary":
                yield from self._branch_summary(record.get("summary"))
            case "custom_message":
                self.skip(NOTES)
            case "session_info":
                self.name = as_string(record.get("name")).strip()
                self.skip(BOOKKEEPING)
            case _:
                self.skip(BOOKKEEPING)

    def _words_of(self, message: dict[str, Any]) -> Iterator[Turn]:
        """Yield a person's answer to a tool's question, and the note that the person stopped the agent."""
        if message.get("stopReason") == "aborted":
            yield INTERRUPTION
        for block in map(as_mapping, as_list(message.get("content"))):
            if block.get("type") == "toolCall" and as_string(block.get("name")) in QUESTION_TOOLS:
                self.questions[as_string(block.get("id"))] = block.get("arguments")
        if message.get("role") == "toolResult" and as_string(message.get("toolName")) in QUESTION_TOOLS:
            question = self.questions.get(as_string(message.get("toolCallId")))
            yield from list_answers(question, self._text(message.get("content")))

    def _message(self, message: dict[str, Any], at: str | None) -> Iterator[Turn]:
        match message["role"]:
            case "user":
                yield from self.keep_text(Turn(USER, strip_injections(self._text(message.get("content")))), NOTES)
            case "assistant":
                yield from self._assistant(message)
            case "toolResult":
                text = strip_injections(self._text(message.get("content")))
                name = as_string(message.get("toolName")) or "tool"
                call_id = as_string(message.get("toolCallId"))
                yield Turn(TOOL, text, name=name, error=message.get("isError") is True, call_id=call_id)
            case "bashExecution":
                yield from self._user_command(message)
            case "compactionSummary":
                yield from self.add_compaction(message.get("summary"), at)
            case "branchSummary":
                yield from self._branch_summary(message.get("summary"))
            case _:
                self.skip(NOTES)

    def _assistant(self, message: dict[str, Any]) -> Iterator[Turn]:
        # OpenClaw's gateway repeats texts that it delivered to a chat, under a model of its own.
        is_delivery = message.get("provider") == _GATEWAY
        if not is_delivery:
            self.note_model(message.get("model"))
        blocks = as_blocks(message.get("content"))
        if not blocks:
            self.skip(NOTES)
        for turn in [turn for block in blocks for turn in self._block(as_mapping(block))]:
            if is_delivery and turn.text in self.seen_texts:
                self.skip(REPLAYED)
                continue
            if turn.text:
                self.seen_texts.add(turn.text)
            yield turn

    def _block(self, block: dict[str, Any]) -> Iterator[Turn]:
        match block.get("type"):
            case ("text" | "thinking") as kind if as_string(block.get(kind)).strip():
                yield Turn(ASSISTANT, block[kind].strip("\n"), thinking=kind == "thinking")
            case "toolCall":
                yield build_call_turn(block.get("name"), block.get("arguments"), block.get("id"))
            case "text" | "thinking":
                self.skip(BOOKKEEPING)
            case "image":
                yield Turn(ASSISTANT, _image(block))
            case _:
                self.skip(UNKNOWN)

    def _user_command(self, message: dict[str, Any]) -> Iterator[Turn]:
        # The person ran it with `!!` to keep it from the agent, so it stays out of the agent's memory too.
        if message.get("excludeFromContext") is True:
            self.skip(WITHHELD)
            return
        failed = message.get("exitCode") not in (None, 0) or message.get("cancelled") is True
        output, command = as_string(message.get("output")).rstrip(), as_string(message.get("command"))
        parts = (InputPart(command, "bash"),)
        yield Turn(TOOL, output, name="bash", input=command, error=failed, parts=parts)

    def _branch_summary(self, summary: Any) -> Iterator[Turn]:
        return self.keep_text(Turn(SYSTEM, as_string(summary).strip("\n"), name="branch summary"), BOOKKEEPING)

    def _text(self, content: Any) -> str:
        return self.join_texts(map(_block_text, content if isinstance(content, list) else [content or ""]))


def _kind(record: dict[str, Any]) -> str:
    """Return the record's type, "" if it has none or not pi's shape."""
    kind, message = as_string(record.get("type")), record.get("message")
    match kind:
        case "session":
            return kind if as_string(record.get("id")) else ""
        case "message":
            return kind if isinstance(message, dict) and as_string(message.get("role")) in _ROLES else ""
        case "compaction" | "branch_summary" | "custom_message" | "session_info":
            return kind
        case _:
            return kind if kind in _BOOKKEEPING else ""


def _block_text(block: Any) -> str | None:
    if isinstance(block, str):
        return block
    if not isinstance(block, dict):
        return None
    if block.get("type") == "image":
        return _image(block)
    return block["text"] if isinstance(block.get("text"), str) else None


def _image(block: dict[str, Any]) -> str:
    return format_media_note(block.get("mimeType"), block.get("data"))


def _parse_parent_id(header: dict[str, Any]) -> str | None:
    """Return the id of the fork's origin. The header names its file, `<time>_<id>.jsonl`."""
    parent = as_string(header.get("parentSession")) or as_string(header.get("branchedFrom"))
    name = re.split(r"[/\\]", parent)[-1].removesuffix(".jsonl")
    return _FILE_TIME.sub("", name) or None
