"""The adapter of Codex: its rollouts, and the list of session names beside them. (harnesses.md, section 2).

Two kinds of record repeat each other: an item is the model's view, an event the user's. Prompts come from the
events, because half of the items in the user's role are scaffolding; everything else comes from the items.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness import codex_records as records
from lineage.harness.adapter import BOOKKEEPING, NOTES, UNKNOWN, Collector, SessionLocation, list_files, read_turns
from lineage.harness.codex_turns import CodexThread, CodexTurns, find_parent
from lineage.harness.json_values import as_mapping, as_string, decode_json, format_media_note
from lineage.harness.jsonl import read_bytes, read_records
from lineage.harness.text import strip_injections
from lineage.harness.words import INTERRUPTION, QUESTION_TOOLS, list_answers

REPEATED = "repeated"
INHERITED = "inherited"
UNCONFIRMED = "unconfirmed"
# Codex compresses files older than 7 days.
COMPRESSED = ".zst"

_FOLDERS = ("sessions", "archived_sessions")
_PREFIX = "rollout-"
_SUFFIX = ".jsonl"
_NAMES = "session_index.jsonl"


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a rollout. Without a title of its own it takes the one in Codex's list of names.

    Raise TranscriptError for unreadable, compressed and foreign files.
    """
    if path.suffix == COMPRESSED:
        hint = "unpack it with `zstd -d`, then name the .jsonl file"
        raise TranscriptError(f"the transcript {path} is compressed", hint=hint)
    reader, turns = read_turns(path, _Reader)
    reader.refuse_foreign(path, "Codex record")
    reader.skipped += Counter({UNCONFIRMED: reader.turns.discard_pending()})
    thread = reader.thread
    return reader.build_capture(
        turns,
        session_id=thread.session_id,
        parent_session=thread.parent_session,
        forked_from=thread.forked_from,
        project=thread.project,
        title=thread.title or find_title(path, thread.session_id),
        models=tuple(thread.models),
        branches=tuple(thread.branches),
    )


class _Reader(Collector):
    """A collector of records in file order."""

    def __init__(self, max_chars: float) -> None:
        super().__init__(max_chars)
        self.thread = CodexThread()
        self.turns = CodexTurns(self.thread, self.buffer)
        self.at: str | None = None
        self.calls: dict[str, str] = {}
        self.questions: dict[str, Any] = {}
        self.failures: set[str] = set()
        self.has_prompt = False

    def add(self, record: dict[str, Any]) -> None:
        self.at = to_utc_or_none(record.get("timestamp"))
        payload = record.get("payload")
        if isinstance(payload, dict):
            is_ours = self._add_wrapped(record, as_string(record.get("type")), payload)
        else:
            is_ours = self._add_bare(record)
        if not is_ours:
            self.skip(UNKNOWN)
            return
        self.recognized_count += 1
        self.note_time(self.at)

    def _add_wrapped(self, record: dict[str, Any], kind: str, payload: dict[str, Any]) -> bool:
        """Add a record by its kind. Return whether it is one of Codex's."""
        ordinal = record.get("ordinal")
        match kind:
            # A sub-agent's file begins with a copy of its parent's history.
            case _ if isinstance(ordinal, int) and ordinal < self.thread.first_ordinal:
                self.skip(INHERITED)
            case "session_meta":
                self.thread.update_meta(payload, has_turns=bool(self.buffer))
                self.skip(BOOKKEEPING)
            case "turn_context":
                self.thread.update_context(payload)
                self.skip(BOOKKEEPING)
            case "response_item" if as_mapping(record.get("metadata")).get("compaction_output") is True:
                self.skip(REPEATED)  # the summary, which `compacted` holds
            case "response_item":
                self._add_item(payload)
            case "event_msg":
                self._add_event(payload)
            case "compacted":
                self._add_compaction(payload)
            case _ if kind in records.BOOKKEEPING_KINDS:
                self.skip(BOOKKEEPING)
            case _:
                return False
        return True

    def _add_bare(self, record: dict[str, Any]) -> bool:
        """Add a record without the wrapper, as Codex wrote them in 2025. Return whether it is one of Codex's."""
        # Those versions wrote no events, so items in the user's role are all there is.
        if records.is_bare_item(record):
            self._add_item(record, bare=True)
        elif records.is_bare_header(record):
            self.thread.update_meta(record, has_turns=bool(self.buffer))
            self.skip(BOOKKEEPING)
        elif record.get("record_type") == "state":
            self.skip(BOOKKEEPING)
        else:
            return False
        return True

    # Items: what the model saw

    def _add_item(self, item: dict[str, Any], *, bare: bool = False) -> None:
        match kind := as_string(item.get("type")):
            case "message":
                self._add_message(item, bare=bare)
            case "reasoning":
                text = self._text(item.get("summary")) or self._text(item.get("content"))
                self._add_assistant_text(text, item, thinking=True)
            case "agent_message":
                self._add_nonempty(Turn(TOOL, self._text(item.get("content")), name="agent_message"), item, BOOKKEEPING)
            case _ if kind in records.CALL_KINDS:
                call = records.parse_call(kind, item)
                call_id = as_string(item.get("call_id")) or as_string(item.get("id"))
                # Images that the model made come with their call.
                image = format_media_note("image/png", item["result"]) if as_string(item.get("result")) else ""
                self._append_call(call_id, call._replace(text=image))
                if call.name in QUESTION_TOOLS:
                    self.questions[call_id] = decode_json(item.get("arguments"))
            case _ if kind in records.RESULT_KINDS:
                self._add_result(as_string(item.get("call_id")), item.get("output"))
            case _:
                self.skip(BOOKKEEPING if kind in records.BOOKKEEPING_ITEMS else UNKNOWN)

    def _add_message(self, item: dict[str, Any], *, bare: bool) -> None:
        text = self._text(item.get("content"))
        match item.get("role"):
            case "assistant" if self.turns.consume_duplicate(False, as_string(item.get("id")), text):
                self.skip(REPEATED)
            case "assistant":
                self._add_assistant_text(text, item)
            case "user" if records.extract_prompt(text) and self.has_prompt:
                self.skip(REPEATED)
            # Only an event proves that the user typed it; it may follow.
            case "user" if records.extract_prompt(text) and not bare:
                self.turns.add_pending(Turn(USER, records.extract_prompt(text), self.at), as_string(item.get("id")))
            case "user":
                self._add_nonempty(Turn(USER, records.extract_prompt(text)), item, NOTES)
            case role:
                self.skip(NOTES if as_string(role) else UNKNOWN)

    def _add_assistant_text(self, text: str, item: dict[str, Any], *, thinking: bool = False) -> None:
        self._add_nonempty(Turn(ASSISTANT, text.strip("\n"), thinking=thinking), item, BOOKKEEPING)

    def _add_nonempty(self, turn: Turn, item: dict[str, Any], reason: str) -> None:
        """Add a turn with a text. Count one without text under `reason`."""
        if turn.text.strip():
            self._append(turn, as_string(item.get("id")))
        else:
            self.skip(reason)

    def _append_call(self, call_id: str, call: Turn) -> None:
        if call_id:
            self.calls[call_id] = call.name
        self._append(call._replace(call_id=call_id), call_id)

    def _add_result(self, call_id: str, output: Any) -> None:
        content, is_marked = records.parse_result(output)
        text, has_exit_code = records.strip_header(self._text(content))
        error = is_marked or has_exit_code or call_id in self.failures
        name = self.calls.get(call_id, "tool")
        turn = Turn(TOOL, strip_injections(text), name=name, error=error, call_id=call_id)
        self._append(turn, call_id and f"{call_id}/output")
        if call_id in self.questions:
            answers = list_answers(self.questions.pop(call_id), text)
            self.turns.append_words((answer._replace(at=self.at) for answer in answers), call_id)

    def _add_compaction(self, payload: dict[str, Any]) -> None:
        """Add a compaction. A remote one has an encrypted summary; `replacement_history` repeats old messages."""
        self.turns.flush_pending()
        summary = records.parse_summary(payload.get("message"))
        self.compactions.append(CompactionRecord(summary, len(self.buffer), self.at))
        self._add_nonempty(Turn(SYSTEM, summary or "", name="compaction"), {}, BOOKKEEPING)

    # Events: what the user saw

    def _add_event(self, event: dict[str, Any]) -> None:
        match kind := as_string(event.get("type")):
            case "user_message" if event.get("kind") not in (None, "plain"):
                self.skip(NOTES)
            case "user_message":
                self._add_prompt([as_string(event.get("message")), *records.list_images(event)], event)
            case "item_completed":
                self._add_completed_item(as_mapping(event.get("item")))
            case "thread_rolled_back" if isinstance(event.get("num_turns"), int):
                count = event["num_turns"]
                self._append(Turn(SYSTEM, f"[rolled back by {count} prompt{'s' * (count != 1)}]", name="rollback"))
            case "turn_aborted" if event.get("reason") == "interrupted":
                self.turns.append_words([INTERRUPTION._replace(at=self.at)], as_string(event.get("turn_id")))
            case "task_started" | "turn_started":
                self.thread.update_context(event)
                self.skip(BOOKKEEPING)
            case "thread_name_updated":
                self.thread.title = as_string(event.get("thread_name")).strip() or self.thread.title
                self.skip(BOOKKEEPING)
            case _ if kind in records.DUPLICATE_EVENTS:
                self._note_failure(as_string(event.get("call_id")), event)
                self.skip(REPEATED)
            case _:
                self.skip(BOOKKEEPING if kind in records.BOOKKEEPING_EVENTS else UNKNOWN)

    def _add_prompt(self, content: Any, item: dict[str, Any]) -> None:
        self.has_prompt = True
        self.skipped.update([REPEATED] * self.turns.discard_pending())
        self._add_nonempty(Turn(USER, records.extract_prompt(self._text(content))), item, NOTES)

    def _add_completed_item(self, item: dict[str, Any]) -> None:
        """Add a complete part of a turn. Paginated files have these in place of the older events."""
        match kind := as_string(item.get("type")):
            case "UserMessage":
                self._add_prompt(item.get("content"), item)
            case "AgentMessage":
                text = self._text(item.get("content"))
                if self.turns.consume_duplicate(True, as_string(item.get("id")), text):
                    self.skip(REPEATED)
                else:
                    self._add_assistant_text(text, item)
            case "Plan" if self.thread.is_paginated:  # cut out of the message beside it
                self._add_assistant_text(as_string(item.get("text")), item)
            case _ if kind in records.NATIVE_CALLS:
                self._add_native(kind, item)
            case "HookPrompt":
                self.skip(NOTES)
            case _:
                self.skip(REPEATED if kind in records.DUPLICATE_PARTS else UNKNOWN)

    def _add_native(self, kind: str, item: dict[str, Any]) -> None:
        """Add the end of a tool's work: a tool that the model called, or one that ran inside such a call."""
        call_id = as_string(item.get("id"))
        self._note_failure(call_id, item)
        if item.get("source") == "user_shell":
            self.skip(NOTES)
        elif call_id in self.calls:
            self.skip(REPEATED)
        else:
            call, output = records.parse_native_call(kind, item)
            self._append_call(call_id, call)
            self._add_result(call_id, output)

    def _note_failure(self, call_id: str, record: dict[str, Any]) -> None:
        if records.is_failure(record):
            self.failures.add(call_id)

    def _append(self, turn: Turn, record_id: str = "") -> None:
        self.turns.append(turn._replace(at=self.at), record_id)

    def _text(self, content: Any) -> str:
        return self.join_texts(records.extract_texts(content))


def list_sub_agent_places(transcript: Path, session: str) -> list[Path]:
    """Return the folders that may hold the transcripts of a session's sub-agents: those of its day and later."""
    if not transcript.parent.name.isdigit() or len(transcript.parents) <= 3:  # not in folders by day
        return []
    return [day for day in transcript.parents[3].glob("*/*/*") if day >= transcript.parent]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every rollout, a compressed one only if it has no unpacked copy.

    Those of sub-agents without a parent, such as a review's, are skipped.
    """
    for item in list_files(root, (_SUFFIX, _SUFFIX + COMPRESSED)):
        is_copy = item.path.suffix == COMPRESSED and item.path.with_suffix("").is_file()
        if item.path != root and (is_copy or not item.path.name.startswith(_PREFIX)):
            continue
        is_sub_agent, parent = _read_parent(item.path)
        if item.path == root or parent or not is_sub_agent:
            yield replace(item, parent=parent)


def _read_parent(path: Path) -> tuple[bool, str | None]:
    """Return whether a rollout is a sub-agent's, and its parent: they lie in the same folders under the same names."""
    try:
        first = next(read_records(path, Counter()), {})
    except TranscriptError:
        return False, None  # the later attempt to read it reports the error
    meta = as_mapping(first.get("payload"))
    parent = find_parent(meta)
    return parent is not None or "subagent" in as_mapping(meta.get("source")), parent


def find_title(path: Path, session: str | None) -> str | None:
    """Return the newest name of a session from the list beside the folder of its rollout."""
    home = next((folder.parent for folder in path.parents if folder.name in _FOLDERS), None)
    if not home or not session:
        return None
    try:
        lines = read_bytes(home / _NAMES).split(b"\n")
    except TranscriptError:
        return None  # older versions have no such list, and no session needs it
    # Decode only the lines with the id: the list has a line for every renaming of every session.
    needle = session.encode("utf-8", "replace")
    entries = (as_mapping(decode_json(line)) for line in reversed(lines) if needle in line)
    names = (as_string(entry.get("thread_name")).strip() for entry in entries if entry.get("id") == session)
    return next(filter(None, names), None)
