"""The messages of OpenCode, in all forms of storage. (harnesses.md 4.2).

A turn is one part of a message; a tool's result is one more. OpenCode overwrites messages while the agent works, so
reading ends at unfinished work: it may still change, and turns never do.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, TOOL, USER, InputPart, Turn
from lineage.harness.adapter import BOOKKEEPING, NOTES, UNFINISHED, UNKNOWN, Collector
from lineage.harness.json_values import JsonObject, as_list, as_mapping, as_string, format_media_note, parse_epoch
from lineage.harness.text import strip_injections
from lineage.harness.tool_inputs import build_call_turn
from lineage.harness.words import ATTACHMENT, INTERRUPTION, QUESTION_TOOLS, list_answers, list_reasons, name_words

REVERTED = "reverted"

_PLAIN_PARTS = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry"})
_PLAIN_ROWS = frozenset({"agent-switched", "model-switched", "location-switched", "idle"})
_NOTE_ROWS = frozenset({"system", "synthetic", "skill"})
# Kinds of messages that change while the agent works.
_WORK_KINDS = frozenset({"assistant", "shell", "compaction"})
_END_STATES = frozenset({"completed", "failed", "error", "cancelled", "interrupted"})
# OpenCode's title of a session until a model finds one.
_DEFAULT_TITLE = re.compile(r"(?:New|Child) session - \d{4}-")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)+)"', re.DOTALL)
_DATA_URL = re.compile(r"data:([^;,]*)[^,]*,")


def build_capture(info: JsonObject, messages: Sequence[JsonObject], skipped: Counter[str]) -> Capture:
    """Return the session. A message is `{"info", "parts"}` (version 1) or `{"id", "type", "time", …}` (version 2)."""
    reader = _Reader(skipped=skipped)
    messages = _drop_reverted(messages, as_mapping(info.get("revert")), skipped)
    working = _working_index(messages)
    for index, message in enumerate(messages[: working + 1]):
        reader.add_message(message, is_working=index == working)
    if len(messages) > working + 1:
        skipped[UNFINISHED] += len(messages) - working - 1
    title = as_string(info.get("title"))
    return reader.build_capture(
        session_id=as_string(info.get("id")) or None,
        parent_session=as_string(info.get("parentID")) or None,
        forked_from=as_string(info.get("forkedFrom")) or None,
        project=as_string(info.get("directory")) or None,
        title=None if _DEFAULT_TITLE.match(title) else title or None,
    )


def _drop_reverted(messages: Sequence[JsonObject], revert: JsonObject, skipped: Counter[str]) -> list[JsonObject]:
    """Return the messages before the one that the user went back to, and its parts before a reverted part."""
    ids = [_body(message).get("id") for message in messages]
    if not revert.get("messageID") or revert["messageID"] not in ids:
        return list(messages)
    index = ids.index(revert["messageID"])
    remaining = list(messages[:index])
    parts = as_list(messages[index].get("parts"))
    part_ids = [as_mapping(part).get("id") for part in parts]
    if revert.get("partID") in part_ids:
        remaining.append({**messages[index], "parts": parts[: part_ids.index(revert["partID"])]})
    skipped[REVERTED] += len(messages) - index
    return remaining


def _working_index(messages: Sequence[JsonObject]) -> int:
    """Return the position of the message in progress, else of the last one."""
    # Only the last piece of work can be in progress: one that broke off is followed by another.
    for index in range(len(messages) - 1, -1, -1):
        if _kind(messages[index]) in _WORK_KINDS:
            return len(messages) - 1 if _is_finished(messages[index]) else index
    return len(messages) - 1


def _is_finished(message: JsonObject) -> bool:
    body = _body(message)
    if _kind(message) == "compaction":
        return body.get("status") is None or as_string(body["status"]) in _END_STATES
    ended = as_mapping(body.get("time")).get("completed") or body.get("finish") or body.get("error")
    return bool(ended or (_kind(message) == "shell" and body.get("output")))


def _body(message: JsonObject) -> JsonObject:
    return as_mapping(message["info"]) if "info" in message else message


def _kind(message: JsonObject) -> str:
    return as_string(_body(message).get("role" if "info" in message else "type"))


@dataclass(slots=True)
class _Reader(Collector):
    trigger: str | None = None
    is_prompt: bool = False

    def add_message(self, message: JsonObject, *, is_working: bool) -> None:
        """Add a message; of an unfinished last one (`is_working`) only the parts before the unfinished one."""
        body, kind = _body(message), _kind(message)
        is_working = is_working and kind in _WORK_KINDS and not _is_finished(message)
        time = as_mapping(body.get("time"))
        at = parse_epoch(time.get("created"))
        self.note_time(at)
        self.note_time(parse_epoch(time.get("completed")))
        if "info" in message:
            self._add_parts(kind, body, as_list(message.get("parts")), at, is_working)
        elif kind == "assistant":
            parts = [_with_part_id(message, index, part) for index, part in enumerate(as_list(message.get("content")))]
            self._add_parts(kind, body, parts, at, is_working)
        elif is_working:
            self.skip(UNFINISHED)
        else:
            self._add_row(kind, message, at)

    def _add_parts(self, kind: str, body: JsonObject, parts: list[Any], at: str | None, is_working: bool) -> None:
        if kind not in (USER, ASSISTANT):
            self.skip(UNKNOWN)
            return
        if kind == ASSISTANT:
            self.note_model(as_string(body.get("modelID")) or as_mapping(body.get("model")).get("id"))
        is_summary = kind == ASSISTANT and body.get("summary") is True
        # Without a part of a person's the whole message is OpenCode's.
        self.is_prompt = kind == USER and not all(as_mapping(part).get("synthetic") for part in parts)
        for index, part in enumerate(parts):
            if is_working and _is_in_progress(as_mapping(part), last=index == len(parts) - 1):
                self.skipped[UNFINISHED] += len(parts) - index
                return
            if not isinstance(part, dict):
                self.skip(UNKNOWN)
            elif is_summary:
                self._add_summary(part, at)
            else:
                for turn in self._turns_of(kind, part, at):
                    self.buffer.append(turn)
        if as_mapping(body.get("error")).get("name") == "MessageAbortedError":
            self.append_words([INTERRUPTION], at, as_string(body.get("id")))

    def _turns_of(self, role: str, part: JsonObject, at: str | None) -> Iterator[Turn]:
        kind, source_id = as_string(part.get("type")), as_string(part.get("id")) or None
        at = parse_epoch(as_mapping(part.get("time")).get("start")) or at
        if kind == "text" and self.is_prompt and part.get("synthetic"):
            # What OpenCode put beside a prompt: the content of a file that it names, for one.
            turn = ATTACHMENT._replace(text=strip_injections(as_string(part.get("text"))), at=at)
            yield from self.keep_text(next(name_words([turn], source_id)), NOTES)
        elif kind in ("text", "reasoning"):
            if text := self._extract_text(role, part):
                yield Turn(role, text, at, thinking=kind == "reasoning", source_id=source_id)
        elif kind == "tool":
            yield from self._tool(part, at, source_id)
        elif kind == "file":
            yield Turn(role, _format_file_note(part), at, source_id=source_id)
        elif kind == "compaction":
            self.trigger = "auto" if part.get("auto") else "manual"
            self.skip(BOOKKEEPING)
        else:
            self.skip(BOOKKEEPING if kind in _PLAIN_PARTS else UNKNOWN)

    def _extract_text(self, role: str, part: JsonObject) -> str:
        """Return a text part's text; "" for a blank one or the harness's own: that one is counted."""
        text = as_string(part.get("text"))
        if part.get("synthetic") or part.get("ignored"):
            self.skip(NOTES)
            return ""
        text = _strip_quotes(strip_injections(text)) if role == USER else text.strip("\n")
        if not text.strip():
            self.skip(NOTES if role == USER else BOOKKEEPING)
            return ""
        return text

    def _tool(self, part: JsonObject, at: str | None, source_id: str | None) -> Iterator[Turn]:
        """Yield a call and, once it has ended, its result: one part holds both."""
        state = as_mapping(part.get("state"))
        time = {**as_mapping(part.get("time")), **as_mapping(state.get("time"))}
        name = as_string(part.get("tool")) or as_string(part.get("name")) or "tool"
        began = parse_epoch(time.get("start")) or parse_epoch(time.get("ran")) or at
        call_id = as_string(part.get("callID")) or source_id
        yield build_call_turn(name, state.get("input"), call_id, at=began, source_id=source_id)
        status = state.get("status")
        if status in ("completed", "error"):
            ended = parse_epoch(time.get("end")) or parse_epoch(time.get("completed")) or began
            result_id = f"{source_id}#result" if source_id else None
            turn = Turn(TOOL, self._output(state), ended, name=name, error=status == "error", source_id=result_id)
            yield turn._replace(call_id=as_string(call_id))
            words = list_answers(state.get("input"), state.get("metadata")) if name in QUESTION_TOOLS else ()
            yield from name_words((said._replace(at=ended) for said in (*words, *list_reasons(turn.text))), source_id)

    def _output(self, state: JsonObject) -> str:
        texts = [as_string(state.get("output"))]
        for item in as_list(state.get("content")):
            if as_mapping(item).get("type") == "text":
                texts.append(as_string(item.get("text")))
            elif as_mapping(item).get("type") in ("file", "image", "media"):
                texts.append(_format_file_note(item))
            else:
                self.skip(UNKNOWN)
        texts += [_format_file_note(as_mapping(item)) for item in as_list(state.get("attachments"))]
        error = state.get("error")
        texts.append(as_string(error) or as_string(as_mapping(error).get("message")))
        return strip_injections("\n".join(text for text in texts if text))

    def _add_summary(self, part: JsonObject, at: str | None) -> None:
        if part.get("type") == "text":
            summary = self.add_compaction(part.get("text"), at, self.trigger)
            self.append(summary, at, as_string(part.get("id")) or None)
            self.trigger = None
        else:
            self.skip(BOOKKEEPING)

    def _add_row(self, kind: str, row: JsonObject, at: str | None) -> None:
        """Add a message of version 2 from anyone but the agent."""
        source_id = as_string(row.get("id")) or None
        if kind == "user":
            self._add_prompt(row, at, source_id)
        elif kind == "shell":
            command = as_string(row.get("command")) or as_string(as_mapping(row.get("shell")).get("command"))
            output = as_string(row.get("output")) or as_string(as_mapping(row.get("output")).get("output"))
            turn = Turn(TOOL, strip_injections(output), at, name="shell", input=command, source_id=source_id)
            # A command that the user ran.
            self.buffer.append(turn._replace(parts=(InputPart(command, "bash"),)))
        elif kind == "compaction" and row.get("status") in (None, "completed"):
            summary = self.add_compaction(row.get("summary"), at, as_string(row.get("reason")) or None)
            self.append(summary, at, source_id)
        elif kind in _NOTE_ROWS or kind == "compaction":
            self.skip(NOTES)
        else:
            self.skip(BOOKKEEPING if kind in _PLAIN_ROWS else UNKNOWN)

    def _add_prompt(self, row: JsonObject, at: str | None, source_id: str | None) -> None:
        notes = [_format_file_note(as_mapping(item)) for item in as_list(row.get("files"))]
        text = "\n".join(part for part in (strip_injections(as_string(row.get("text"))), *notes) if part)
        if text:
            self.buffer.append(Turn(USER, text, at, source_id=source_id))
        else:
            self.skip(NOTES)


def _strip_quotes(text: str) -> str:
    """Return a prompt without the quotes that `opencode run` puts around an argument of several words."""
    quoted = _QUOTED.fullmatch(text)
    return quoted[1].replace('\\"', '"') if quoted and " " in text else text


def _with_part_id(message: JsonObject, index: int, part: Any) -> Any:
    """Return a part of a version 2 message under an id made of the message's id and the part's place."""
    # The part's own id is unique within the message at best.
    row = as_string(message.get("id"))
    return {**part, "id": f"{row}#{index}" if row else ""} if isinstance(part, dict) else part


def _is_in_progress(part: JsonObject, *, last: bool) -> bool:
    if part.get("type") == "tool":
        return as_mapping(part.get("state")).get("status") not in ("completed", "error")
    return last and part.get("type") in ("text", "reasoning") and not as_mapping(part.get("time")).get("end")


def _format_file_note(file: JsonObject) -> str:
    """Return the note for an attached file, never its content."""
    url = as_string(file.get("url")) or as_string(file.get("uri")) or as_string(file.get("data"))
    kind = as_string(file.get("mime")) or as_string(file.get("mimeType")) or as_string(file.get("mediaType"))
    encoded = _DATA_URL.match(url)
    if encoded or not url:
        return format_media_note(kind or (encoded[1] if encoded else ""), url[encoded.end() :] if encoded else "")
    return f"[file {as_string(file.get('filename')) or as_string(file.get('name')) or url}]"
