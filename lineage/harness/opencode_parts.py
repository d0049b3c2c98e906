"""What OpenCode's messages say, whichever form they were stored in. (harnesses.md 4.2)

A turn is one part of a message, a tool's result is one more. Messages are written over while the agent works, so the
reading ends where work is under way: what is there may change, what was read stays.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage.core.capture import Capture
from lineage.core.turns import ASSISTANT, TOOL, USER, Turn
from lineage.harness.collector import BOOKKEEPING, NOTES, UNKNOWN, Collector
from lineage.harness.text import salient, without_injected
from lineage.harness.values import epoch, mapping, medium, sequence, string

Object = dict[str, Any]

REVERTED = "reverted"
UNFINISHED = "unfinished"

_PLAIN_PARTS = frozenset({"step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry"})
_PLAIN_ROWS = frozenset({"agent-switched", "model-switched", "location-switched", "idle"})
_NOTE_ROWS = frozenset({"system", "synthetic", "skill"})
_WORK = frozenset({"assistant", "shell", "compaction"})
_ENDED = frozenset({"completed", "failed", "error", "cancelled", "interrupted"})
_UNNAMED = re.compile(r"(?:New|Child) session - \d{4}-")
_DATA_URL = re.compile(r"data:([^;,]*)[^,]*,")


def capture(info: Object, messages: Sequence[Object], skipped: Counter[str]) -> Capture:
    """The session. A message is `{"info", "parts"}` (version 1) or `{"id", "type", "time", …}` (version 2)."""
    reader = _Reader(skipped)
    kept = _without_reverted(messages, mapping(info.get("revert")), skipped)
    working = _at_work(kept)
    for index, message in enumerate(kept[: working + 1]):
        reader.add(message, at_work=index == working)
    if len(kept) > working + 1:
        skipped[UNFINISHED] += len(kept) - working - 1
    title = string(info.get("title"))
    return reader.capture(
        session_id=string(info.get("id")) or None,
        parent_session=string(info.get("parentID")) or None,
        forked_from=string(info.get("forkedFrom")) or None,
        project=string(info.get("directory")) or None,
        title=None if _UNNAMED.match(title) else title or None,
        models=tuple(reader.models),
    )


def _without_reverted(messages: Sequence[Object], revert: Object, skipped: Counter[str]) -> list[Object]:
    """The messages before the point that the user went back to, which is a message or a part of one."""
    ids = [_body(message).get("id") for message in messages]
    if not revert.get("messageID") or revert["messageID"] not in ids:
        return list(messages)
    at = ids.index(revert["messageID"])
    kept = list(messages[:at])
    parts = sequence(messages[at].get("parts"))
    part_ids = [mapping(part).get("id") for part in parts]
    if revert.get("partID") in part_ids:
        kept.append({**messages[at], "parts": parts[: part_ids.index(revert["partID"])]})
    skipped[REVERTED] += len(messages) - at
    return kept


def _at_work(messages: Sequence[Object]) -> int:
    """The position of the message that is still being written, else of the last one. Only the last piece of work can
    be: one that broke off is followed by another."""
    for index in range(len(messages) - 1, -1, -1):
        if _kind(messages[index]) in _WORK:
            return len(messages) - 1 if _is_finished(messages[index]) else index
    return len(messages) - 1


def _is_finished(message: Object) -> bool:
    body = _body(message)
    if _kind(message) == "compaction":
        return body.get("status") is None or string(body["status"]) in _ENDED
    ended = mapping(body.get("time")).get("completed") or body.get("finish") or body.get("error")
    return bool(ended or (_kind(message) == "shell" and body.get("output")))


def _body(message: Object) -> Object:
    return mapping(message["info"]) if "info" in message else message


def _kind(message: Object) -> str:
    return string(_body(message).get("role" if "info" in message else "type"))


@dataclass(slots=True)
class _Reader(Collector):
    models: dict[str, None] = field(default_factory=dict)
    trigger: str | None = None

    def add(self, message: Object, *, at_work: bool) -> None:
        """Reads a message; of the last one, if it is unfinished, what stands before the work that is under way."""
        body, kind = _body(message), _kind(message)
        at_work = at_work and kind in _WORK and not _is_finished(message)
        at = self._note_time(body)
        if "info" in message:
            self._add_parts(kind, body, sequence(message.get("parts")), at, at_work)
        elif kind == "assistant":
            parts = [_numbered(message, index, part) for index, part in enumerate(sequence(message.get("content")))]
            self._add_parts(kind, body, parts, at, at_work)
        elif at_work:
            self.skip(UNFINISHED)
        else:
            self._add_row(kind, message, at)

    def _note_time(self, body: Object) -> str | None:
        time = mapping(body.get("time"))
        at = epoch(time.get("created"))
        self.times += [known for known in (at, epoch(time.get("completed"))) if known]
        return at

    def _add_parts(self, kind: str, body: Object, parts: list[Any], at: str | None, at_work: bool) -> None:
        if kind not in (USER, ASSISTANT):
            self.skip(UNKNOWN)
            return
        if kind == ASSISTANT:
            self._note_model(body)
        summary = kind == ASSISTANT and body.get("summary") is True
        for index, part in enumerate(parts):
            if at_work and _is_under_way(mapping(part), last=index == len(parts) - 1):
                self.skipped[UNFINISHED] += len(parts) - index
                return
            if not isinstance(part, dict):
                self.skip(UNKNOWN)
            elif summary:
                self._add_summary(part, at)
            else:
                self.turns += self._turns_of(kind, part, at)

    def _note_model(self, body: Object) -> None:
        model = string(body.get("modelID")) or string(mapping(body.get("model")).get("id"))
        if model:
            self.models[model] = None

    def _turns_of(self, role: str, part: Object, at: str | None) -> Iterator[Turn]:
        kind, source_id = string(part.get("type")), string(part.get("id")) or None
        at = epoch(mapping(part.get("time")).get("start")) or at
        if kind in ("text", "reasoning"):
            text = self._words(role, part)
            if text:
                yield Turn(role, text, at, thinking=kind == "reasoning", source_id=source_id)
        elif kind == "tool":
            yield from self._tool(part, at, source_id)
        elif kind == "file":
            yield Turn(role, _note(part), at, source_id=source_id)
        elif kind == "compaction":
            self.trigger = "auto" if part.get("auto") else "manual"
            self.skip(BOOKKEEPING)
        else:
            self.skip(BOOKKEEPING if kind in _PLAIN_PARTS else UNKNOWN)

    def _words(self, role: str, part: Object) -> str:
        """A text part's text; "" and counted where it is blank or the harness's own."""
        text = string(part.get("text"))
        if part.get("synthetic") or part.get("ignored"):
            self.skip(NOTES)
            return ""
        text = without_injected(text) if role == USER else text.strip("\n")
        if not text.strip():
            self.skip(NOTES if role == USER else BOOKKEEPING)
            return ""
        return text

    def _tool(self, part: Object, at: str | None, source_id: str | None) -> Iterator[Turn]:
        """The call and, where it has ended, its result: one part holds both."""
        state = mapping(part.get("state"))
        time = {**mapping(part.get("time")), **mapping(state.get("time"))}
        name = string(part.get("tool")) or string(part.get("name")) or "tool"
        began = epoch(time.get("start")) or epoch(time.get("ran")) or at
        yield Turn(ASSISTANT, "", began, name=name, input=salient(state.get("input")), source_id=source_id)
        status = state.get("status")
        if status in ("completed", "error"):
            ended = epoch(time.get("end")) or epoch(time.get("completed")) or began
            result_id = f"{source_id}#result" if source_id else None
            yield Turn(TOOL, self._output(state), ended, name=name, error=status == "error", source_id=result_id)

    def _output(self, state: Object) -> str:
        texts = [string(state.get("output"))]
        for item in sequence(state.get("content")):
            if mapping(item).get("type") == "text":
                texts.append(string(item.get("text")))
            elif mapping(item).get("type") in ("file", "image", "media"):
                texts.append(_note(item))
            else:
                self.skip(UNKNOWN)
        texts += [_note(mapping(item)) for item in sequence(state.get("attachments"))]
        error = state.get("error")
        texts.append(string(error) or string(mapping(error).get("message")))
        return without_injected("\n".join(text for text in texts if text))

    def _add_summary(self, part: Object, at: str | None) -> None:
        if part.get("type") == "text":
            self.append(list(self.compacted(part.get("text"), at, self.trigger)), at, string(part.get("id")) or None)
            self.trigger = None
        else:
            self.skip(BOOKKEEPING)

    def _add_row(self, kind: str, row: Object, at: str | None) -> None:
        """A message of version 2 that isn't the agent's."""
        source_id = string(row.get("id")) or None
        if kind == "user":
            self._add_prompt(row, at, source_id)
        elif kind == "shell":
            self.turns.append(_command(row, at, source_id))
        elif kind == "compaction" and row.get("status") in (None, "completed"):
            summary = self.compacted(row.get("summary"), at, string(row.get("reason")) or None)
            self.append(list(summary), at, source_id)
        elif kind in _NOTE_ROWS or kind == "compaction":
            self.skip(NOTES)
        else:
            self.skip(BOOKKEEPING if kind in _PLAIN_ROWS else UNKNOWN)

    def _add_prompt(self, row: Object, at: str | None, source_id: str | None) -> None:
        notes = [_note(mapping(item)) for item in sequence(row.get("files"))]
        text = "\n".join(part for part in (without_injected(string(row.get("text"))), *notes) if part)
        if text:
            self.turns.append(Turn(USER, text, at, source_id=source_id))
        else:
            self.skip(NOTES)


def _numbered(message: Object, index: int, part: Any) -> Any:
    """A part of a version 2 message: its own id is unique within the message at best."""
    row = string(message.get("id"))
    return {**part, "id": f"{row}#{index}" if row else ""} if isinstance(part, dict) else part


def _is_under_way(part: Object, *, last: bool) -> bool:
    if part.get("type") == "tool":
        return mapping(part.get("state")).get("status") not in ("completed", "error")
    return last and part.get("type") in ("text", "reasoning") and not mapping(part.get("time")).get("end")


def _command(row: Object, at: str | None, source_id: str | None) -> Turn:
    """A command that the user ran in the session."""
    command = string(row.get("command")) or string(mapping(row.get("shell")).get("command"))
    output = string(row.get("output")) or string(mapping(row.get("output")).get("output"))
    return Turn(TOOL, without_injected(output), at, name="shell", input=command, source_id=source_id)


def _note(file: Object) -> str:
    """What stands for an attached file: never what is in it."""
    url = string(file.get("url")) or string(file.get("uri")) or string(file.get("data"))
    kind = string(file.get("mime")) or string(file.get("mimeType")) or string(file.get("mediaType"))
    encoded = _DATA_URL.match(url)
    if encoded or not url:
        return medium(kind or (encoded[1] if encoded else ""), url[encoded.end() :] if encoded else "")
    return f"[file {string(file.get('filename')) or string(file.get('name')) or url}]"
