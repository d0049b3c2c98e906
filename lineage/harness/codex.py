"""Codex's rollouts. (harnesses.md, section 2)

Two kinds of record tell the same: an item is what the model saw, an event what the user saw. Prompts come from the
events, for half of the items that bear the user's role are scaffolding; everything else comes from the items.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.codex_files import COMPRESSED, discover, find_title, list_roots
from lineage.harness.codex_records import (
    BOOKKEEPING_EVENTS,
    BOOKKEEPING_ITEMS,
    BOOKKEEPING_KINDS,
    CALL_KINDS,
    DUPLICATE_EVENTS,
    DUPLICATE_PARTS,
    NATIVE_CALLS,
    RESULT_KINDS,
    extract_prompt,
    extract_texts,
    format_generated_image,
    is_bare_header,
    is_bare_item,
    is_failure,
    list_images,
    parse_call,
    parse_native_call,
    parse_result,
    parse_summary,
    strip_header,
)
from lineage.harness.codex_thread import CodexThread
from lineage.harness.codex_turns import CodexTurns
from lineage.harness.json_values import as_mapping, as_string
from lineage.harness.jsonl import DAMAGED, TurnBuffer, read_turns
from lineage.harness.text import strip_injections

__all__ = ["discover", "list_roots", "read"]

UNKNOWN = "unknown"
BOOKKEEPING = "bookkeeping"
NOTES = "harness notes"
REPEATED = "repeated"
INHERITED = "inherited"
UNCONFIRMED = "unconfirmed"


def read(path: Path, session: str | None = None) -> Capture:
    """The session that a rollout holds, titled as Codex's list of names has it.

    Raises TranscriptError for unreadable, compressed and foreign files.
    """
    if path.suffix == COMPRESSED:
        raise TranscriptError(
            f"the transcript {path} is compressed", hint="unpack it with `zstd -d`, then name the .jsonl file"
        )
    reader, turns = read_turns(path, _Reader)
    if not reader.recognized_count and reader.skipped.keys() & {UNKNOWN, DAMAGED}:
        raise TranscriptError(f"no Codex record in {path}", hint="is it another harness's? name it with `--harness`")
    capture = reader.build_capture(turns)
    return capture if capture.title else capture._replace(title=find_title(path, capture.session_id))


class _Reader:
    """Collects what the records say, in file order."""

    def __init__(self, max_chars: float) -> None:
        self.skipped: Counter[str] = Counter()
        self.recognized_count = 0
        self.thread = CodexThread()
        self.turns = CodexTurns(self.thread, max_chars)
        self.compactions: list[CompactionRecord] = []
        self.started_at: str | None = None
        self.ended_at: str | None = None
        self.at: str | None = None
        self.calls: dict[str, str] = {}
        self.failures: set[str] = set()
        self.has_prompt = False

    @property
    def buffer(self) -> TurnBuffer:
        return self.turns.buffer

    def build_capture(self, turns: Sequence[Turn]) -> Capture:
        thread = self.thread
        skipped = self.skipped + Counter({UNCONFIRMED: self.turns.pending_count})
        return Capture(
            turns=turns,
            started_at=self.started_at,
            ended_at=self.ended_at,
            session_id=thread.session_id,
            parent_session=thread.parent_session,
            forked_from=thread.forked_from,
            project=thread.project,
            title=thread.title,
            models=tuple(thread.models),
            branches=tuple(thread.branches),
            compactions=tuple(self.compactions),
            skipped=dict(sorted(skipped.items())),
        )

    def add(self, record: dict[str, Any]) -> None:
        self.at = to_utc_or_none(record.get("timestamp"))
        payload = record.get("payload")
        if isinstance(payload, dict):
            is_ours = self._add_wrapped(record, as_string(record.get("type")), payload)
        else:
            is_ours = self._add_bare(record)
        if not is_ours:
            self._skip(UNKNOWN)
            return
        self.recognized_count += 1
        if self.at:
            self.started_at, self.ended_at = self.started_at or self.at, self.at

    def _add_wrapped(self, record: dict[str, Any], kind: str, payload: dict[str, Any]) -> bool:
        """A record by its kind; whether it is one of Codex's."""
        ordinal = record.get("ordinal")
        match kind:
            case _ if isinstance(ordinal, int) and ordinal < self.thread.first_ordinal:
                self._skip(INHERITED)
            case "session_meta":
                self.thread.update_meta(payload, has_turns=bool(self.turns.buffer))
                self._skip(BOOKKEEPING)
            case "turn_context":
                self.thread.update_context(payload)
                self._skip(BOOKKEEPING)
            case "response_item" if as_mapping(record.get("metadata")).get("compaction_output") is True:
                self._skip(REPEATED)  # the summary, which `compacted` holds
            case "response_item":
                self._add_item(payload)
            case "event_msg":
                self._add_event(payload)
            case "compacted":
                self._add_compaction(payload)
            case _ if kind in BOOKKEEPING_KINDS:
                self._skip(BOOKKEEPING)
            case _:
                return False
        return True

    def _add_bare(self, record: dict[str, Any]) -> bool:
        """A record of 2025, without the wrapper, from a time without events; whether it is one of Codex's."""
        if is_bare_item(record):
            self._add_item(record, bare=True)
        elif is_bare_header(record):
            self.thread.update_meta(record, has_turns=bool(self.turns.buffer))
            self._skip(BOOKKEEPING)
        elif record.get("record_type") == "state":
            self._skip(BOOKKEEPING)
        else:
            return False
        return True

    # What the model saw

    def _add_item(self, item: dict[str, Any], *, bare: bool = False) -> None:
        kind = as_string(item.get("type"))
        match kind:
            case "message":
                self._add_message(item, bare=bare)
            case "reasoning":
                text = self._text(item.get("summary")) or self._text(item.get("content"))
                self._add_assistant_text(text, item, thinking=True)
            case "agent_message":
                self._add_nonempty(Turn(TOOL, self._text(item.get("content")), name="agent_message"), item, BOOKKEEPING)
            case _ if kind in CALL_KINDS:
                self._add_call(kind, item)
            case _ if kind in RESULT_KINDS:
                self._add_result(as_string(item.get("call_id")), item.get("output"))
            case _:
                self._skip(BOOKKEEPING if kind in BOOKKEEPING_ITEMS else UNKNOWN)

    def _add_message(self, item: dict[str, Any], *, bare: bool) -> None:
        text = self._text(item.get("content"))
        match item.get("role"):
            case "assistant" if self.turns.consume_duplicate(False, as_string(item.get("id")), text):
                self._skip(REPEATED)
            case "assistant":
                self._add_assistant_text(text, item)
            case "user" if extract_prompt(text) and self.has_prompt:
                self._skip(REPEATED)
            case "user" if extract_prompt(text) and not bare:
                self.turns.add_pending(Turn(USER, extract_prompt(text), self.at), as_string(item.get("id")))
            case "user":
                self._add_nonempty(Turn(USER, extract_prompt(text)), item, NOTES)
            case role:
                self._skip(NOTES if as_string(role) else UNKNOWN)

    def _add_assistant_text(self, text: str, item: dict[str, Any], *, thinking: bool = False) -> None:
        self._add_nonempty(Turn(ASSISTANT, text.strip("\n"), thinking=thinking), item, BOOKKEEPING)

    def _add_nonempty(self, turn: Turn, item: dict[str, Any], reason: str) -> None:
        """Adds a turn if it has a text; `reason` is why it has none."""
        if turn.text.strip():
            self._append(turn, as_string(item.get("id")))
        else:
            self._skip(reason)

    def _add_call(self, kind: str, item: dict[str, Any]) -> None:
        name, argument = parse_call(kind, item)
        self._append_call(
            as_string(item.get("call_id")) or as_string(item.get("id")), name, argument, format_generated_image(item)
        )

    def _append_call(self, call_id: str, name: str, argument: str, text: str = "") -> None:
        if call_id:
            self.calls[call_id] = name
        self._append(Turn(ASSISTANT, text, name=name, input=argument), call_id)

    def _add_result(self, call_id: str, output: Any) -> None:
        content, marked = parse_result(output)
        text, exited = strip_header(self._text(content))
        error = marked or exited or call_id in self.failures
        name = self.calls.get(call_id, "tool")
        self._append(Turn(TOOL, strip_injections(text), name=name, error=error), call_id and f"{call_id}/output")

    def _add_compaction(self, payload: dict[str, Any]) -> None:
        """A compaction; of remote ones the summary is encrypted. `replacement_history` repeats old messages."""
        self.turns.flush_pending()
        summary = parse_summary(payload.get("message"))
        self.compactions.append(CompactionRecord(summary, len(self.turns.buffer), self.at))
        self._add_nonempty(Turn(SYSTEM, summary or "", name="compaction"), {}, BOOKKEEPING)

    # What the user saw

    def _add_event(self, event: dict[str, Any]) -> None:
        kind = as_string(event.get("type"))
        match kind:
            case "user_message" if event.get("kind") not in (None, "plain"):
                self._skip(NOTES)
            case "user_message":
                self._add_prompt([as_string(event.get("message")), *list_images(event)], event)
            case "item_completed":
                self._add_completed_item(as_mapping(event.get("item")))
            case "thread_rolled_back" if isinstance(event.get("num_turns"), int):
                count = event["num_turns"]
                self._append(Turn(SYSTEM, f"[rolled back by {count} prompt{'s' * (count != 1)}]", name="rollback"))
            case "task_started" | "turn_started":
                self.thread.update_context(event)
                self._skip(BOOKKEEPING)
            case "thread_name_updated":
                self.thread.update_title(event)
                self._skip(BOOKKEEPING)
            case _ if kind in DUPLICATE_EVENTS:
                self._note_failure(as_string(event.get("call_id")), event)
                self._skip(REPEATED)
            case _:
                self._skip(BOOKKEEPING if kind in BOOKKEEPING_EVENTS else UNKNOWN)

    def _add_prompt(self, content: Any, item: dict[str, Any]) -> None:
        self.has_prompt = True
        self.skipped.update([REPEATED] * self.turns.discard_pending())
        self._add_nonempty(Turn(USER, extract_prompt(self._text(content))), item, NOTES)

    def _add_completed_item(self, item: dict[str, Any]) -> None:
        """A part of a turn that is complete: what paginated files have in place of the older events."""
        kind = as_string(item.get("type"))
        match kind:
            case "UserMessage":
                self._add_prompt(item.get("content"), item)
            case "AgentMessage":
                text = self._text(item.get("content"))
                if self.turns.consume_duplicate(True, as_string(item.get("id")), text):
                    self._skip(REPEATED)
                else:
                    self._add_assistant_text(text, item)
            case "Plan" if self.thread.is_paginated:  # cut out of the message beside it
                self._add_assistant_text(as_string(item.get("text")), item)
            case _ if kind in NATIVE_CALLS:
                self._add_native(kind, item)
            case "HookPrompt":
                self._skip(NOTES)
            case _:
                self._skip(REPEATED if kind in DUPLICATE_PARTS else UNKNOWN)

    def _add_native(self, kind: str, item: dict[str, Any]) -> None:
        """The end of a tool's work: of one that the model called, or of one that ran inside such a call."""
        call_id = as_string(item.get("id"))
        self._note_failure(call_id, item)
        if item.get("source") == "user_shell":
            self._skip(NOTES)
        elif call_id in self.calls:
            self._skip(REPEATED)
        else:
            name, argument, output = parse_native_call(kind, item)
            self._append_call(call_id, name, argument)
            self._add_result(call_id, output)

    def _note_failure(self, call_id: str, ending: dict[str, Any]) -> None:
        if is_failure(ending):
            self.failures.add(call_id)

    # Shared

    def _append(self, turn: Turn, record_id: str = "") -> None:
        self.turns.append(turn._replace(at=self.at), record_id)

    def _skip(self, reason: str) -> None:
        self.skipped[reason] += 1

    def _text(self, content: Any) -> str:
        parts = []
        for text in extract_texts(content):
            if text is None:
                self._skip(UNKNOWN)
            else:
                parts.append(text)
        return "\n".join(parts)
