"""The adapter of generic transcripts: turns `{"role", "text", "at"?, "name"?, "input"?, "id"?}`, or plain text.

Inline transcripts in a payload have this form for every harness (format: Commands). So do an agent's conversations of
the five-layer memory, `{"agentId", "savedAt", "messages": [{"role": "user" | "agent", "text"}]}`.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from lineage.core.base.times import from_epoch, to_utc
from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ROLES, USER, Turn
from lineage.errors import InvalidInput, TranscriptError
from lineage.harness.adapter import Collector, SessionLocation, list_files, read_turns
from lineage.harness.json_values import as_mapping, as_string
from lineage.harness.jsonl import read_bytes
from lineage.harness.text import render_tool_input, strip_injections
from lineage.harness.tool_inputs import list_input_parts

_HINT = 'a turn is {"role": "user" | "assistant" | "tool" | "system", "text": "…", "at": "2026-03-28T22:34:06Z"}'
_SPEAKER = re.compile(r"^(user|human|assistant|ai|agent|tool|system):[ \t]*", re.IGNORECASE | re.MULTILINE)
_SUFFIXES = (".json", ".jsonl", ".md", ".txt")
_ROLE_OF = {"human": USER, "ai": "assistant", "agent": "assistant"}


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a `.json` list, `.jsonl` objects, or any other file as plain text.

    Raise TranscriptError for unreadable and foreign files, InvalidInput for turns that break the form.
    """
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        reader, turns = read_turns(path, _Reader)
        if not reader.has_roles and (reader.item_count or reader.skipped):
            raise TranscriptError(f"no turn in {path}", hint=_HINT)
        # A file without roles is foreign; one with them has a broken turn, which is worth a better message.
        reader.raise_first_error()
        return reader.build_capture(turns)
    text = _read_text(path)
    if suffix != ".json" or not text:
        return parse_inline(text)
    try:
        value = json.loads(text)
        return _parse_conversation(value) if isinstance(value, dict) and "messages" in value else parse_inline(value)
    except (ValueError, RecursionError) as error:
        raise TranscriptError(f"not valid JSON: {path}", hint=_HINT) from error


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every `.json`, `.jsonl`, `.md` and `.txt` file."""
    return list_files(root, _SUFFIXES)


def _read_text(path: Path) -> str:
    try:
        text = read_bytes(path).decode("utf-8-sig").strip(" \t\r\n\x00")
    except UnicodeDecodeError:
        text = "\x00"
    # Text with NUL is binary, or UTF-16.
    if "\x00" in text:
        raise TranscriptError(f"not a text file: {path}", hint="give a JSON list of turns or plain text in UTF-8")
    return text


def parse_inline(value: Any) -> Capture:
    """Return the capture of a list of turns or one string. Raise InvalidInput for anything else."""
    if isinstance(value, str):
        return Capture(turns=tuple(_parse_plain_text(value)))
    if isinstance(value, list):
        reader = _Reader()
        for item in value:
            reader.add(item)
        reader.raise_first_error()
        return reader.build_capture()
    raise InvalidInput(f"a transcript is a list of turns or a string, not {type(value).__name__}", hint=_HINT)


def _parse_conversation(value: dict[str, Any]) -> Capture:
    """Return the capture of a saved conversation. Its last message has the time of the saving."""
    saved_at, messages = value.get("savedAt"), value["messages"]
    if isinstance(saved_at, int | float):
        saved_at = from_epoch(saved_at / 1000)
    if not isinstance(messages, list):
        raise InvalidInput("'messages' is not a list", hint=_HINT)
    turns = [
        one | {"role": _ROLE_OF.get(as_string(one.get("role")), one.get("role"))} for one in map(as_mapping, messages)
    ]
    return parse_inline([*turns[:-1], *({"at": saved_at} | turn for turn in turns[-1:])])


class _Reader(Collector):
    """A collector of turns. A file without any role is another harness's, with any first error."""

    item_count = 0
    has_roles = False
    first_error: InvalidInput | None = None

    def add(self, record: Any) -> None:
        self.has_roles = self.has_roles or (isinstance(record, dict) and "role" in record)
        try:
            turn = _parse_turn(record, self.item_count)
        except InvalidInput as error:
            self.first_error = self.first_error or error
            return
        finally:
            self.item_count += 1
        self.note_time(turn.at)
        if turn.text or turn.name:
            self.buffer.append(turn)
        else:
            self.skip("without text")

    def raise_first_error(self) -> None:
        """Raise the InvalidInput of the first item that is no turn."""
        if self.first_error:
            raise self.first_error


def _parse_turn(item: Any, index: int) -> Turn:
    if not isinstance(item, dict) or as_string(item.get("role")) not in ROLES:
        raise InvalidInput(f"turn {index} has no known role", hint=_HINT)
    for key in ("text", "at", "name"):
        if not isinstance(item.get(key), str | None):
            raise InvalidInput(f"turn {index}: '{key}' is not a string", hint=_HINT)
    if not isinstance(item.get("id"), str | int | None):
        raise InvalidInput(f"turn {index}: 'id' is neither a string nor a number", hint=_HINT)
    record_id = item.get("id")
    shown = render_tool_input(item.get("input"))
    return Turn(
        role=item["role"],
        text=strip_injections(item.get("text") or ""),
        at=_parse_time(item.get("at"), index),
        name=item.get("name") or "",
        input=shown,
        parts=list_input_parts(item.get("input"), shown),
        error=item.get("error") is True,
        source_id=str(record_id) if record_id not in (None, "") else None,
    )


def _parse_time(value: str | None, index: int) -> str | None:
    try:
        return to_utc(value) if value else None
    except InvalidInput as error:
        raise InvalidInput(f"turn {index}: {error.message}", hint=error.hint) from error


def _parse_plain_text(text: str) -> Iterable[Turn]:
    """Return plain text as turns: by speaker if its lines begin with one (`User:`), else as one turn of the user."""
    text = strip_injections(text)
    marks = list(_SPEAKER.finditer(text))
    if not marks or marks[0].start() > 0:
        return [Turn(USER, text)] if text else []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    turns = []
    for mark, end in zip(marks, ends, strict=True):
        speaker, words = mark[1].lower(), text[mark.end() : end].strip()
        if words:
            turns.append(Turn(_ROLE_OF.get(speaker, speaker), words))
    return turns
