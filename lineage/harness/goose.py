"""Goose's sessions: its SQLite database, an export, and the older JSONL file of one session. (harnesses.md, section 9)

A turn is one content of a message. Messages are only ever appended; a compaction appends its summary and, after it, a
copy of the last prompt, and takes the older messages from the agent's sight, not from ours.
"""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.adapter import SessionLocation
from lineage.harness.collector import BOOKKEEPING, NOTES, REPLAYED, UNKNOWN, Collector
from lineage.harness.history_files import list_files
from lineage.harness.json_values import as_list, as_mapping, as_string, format_media_note, parse_epoch
from lineage.harness.jsonl import DAMAGED, read_bytes, read_records
from lineage.harness.sqlite import Row, fetch_rows, list_tables, read_database
from lineage.harness.text import render_tool_input, strip_injections

_TABLES = frozenset({"sessions", "messages"})
_SKIPPED_TYPES = frozenset({"sub_agent", "hidden"})
_INTERACTION_TYPES = frozenset({"toolConfirmationRequest", "actionRequired", "redactedThinking"})
_DATABASE = "sessions.db"
_HEAD_BYTES = 4096
_HEADER = re.compile(rb'\s*\{[^\[]*?"working_dir"\s*:')
_HINT = "name `sessions.db`, or what `goose session export --format json` wrote"

JsonObject = dict[str, Any]


def read(path: Path, session: str | None = None) -> Capture:
    """A session of a database, or the one that a JSON or JSONL file holds.

    Raises TranscriptError for files that are unreadable, damaged or foreign, and databases that lack the session.
    """
    reader = _Reader()
    if path.suffix.lower() == ".db":
        header, messages = read_database(path, lambda connection: _read_session(connection, path, session))
        reader.begin(header)
        reader.add_messages(messages)
        return reader.finish()
    for record in _records(path, reader):
        reader.add(record)
    reader.add_messages(reader.pending)
    if reader.is_foreign:
        raise TranscriptError(f"no Goose session in {path}", hint=_HINT)
    return reader.finish(path.stem if path.suffix.lower() == ".jsonl" else None)


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """`sessions/` of the data folder."""
    if environment.get("GOOSE_PATH_ROOT"):
        return [Path(environment["GOOSE_PATH_ROOT"], "data/sessions")]
    return [Path(environment.get("XDG_DATA_HOME") or home / ".local/share", "goose/sessions")]


def discover(root: Path) -> Iterator[SessionLocation]:
    """The sessions of `sessions.db`, then the files of sessions that it doesn't hold. Sub-agents' and hidden sessions
    are passed over; a database that cannot be read is named, so that the reader says why."""
    known: set[str] = set()
    for item in list_files(root, (_DATABASE,)):
        if item.path.suffix.lower() != ".db":
            yield item
            return
        yield from _discover_in_database(item.path, known)
    if root.is_dir():
        yield from (item for item in list_files(root, (".json", ".jsonl")) if _is_session_file(item.path, known))


def _discover_in_database(path: Path, known_ids: set[str]) -> Iterator[SessionLocation]:
    try:
        sessions = read_database(path, _list_sessions)
    except TranscriptError:
        yield SessionLocation(path)
        return
    known_ids.update(sessions)
    yield from (SessionLocation(path, name) for name in sorted(sessions) if not _is_skipped(sessions[name]))


def _is_skipped(header: JsonObject) -> bool:
    return bool(header.get("parent_session_id")) or as_string(header.get("session_type")) in _SKIPPED_TYPES


def _is_session_file(path: Path, known_ids: set[str]) -> bool:
    try:
        with path.open("rb") as file:
            return path.stem not in known_ids and _HEADER.match(file.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


def _list_sessions(connection: sqlite3.Connection) -> dict[str, Row]:
    """The sessions by id."""
    listed = fetch_rows(connection, "SELECT * FROM sessions") if list_tables(connection) >= _TABLES else []
    return {as_string(row.get("id")): row for row in listed if as_string(row.get("id"))}


def _read_session(
    connection: sqlite3.Connection, path: Path, session: str | None
) -> tuple[JsonObject, list[JsonObject | None]]:
    """A session's row and its messages, as an export has them; None for one that cannot be read."""
    sessions = _list_sessions(connection)
    name = session or (next(iter(sessions)) if len(sessions) == 1 else "")
    if name not in sessions:
        what = f"session {session}" if session else f"one session but {len(sessions)}"
        raise TranscriptError(f"the database {path} does not hold {what}", hint="name one of its sessions by its id")
    query = "SELECT * FROM messages WHERE session_id = ? ORDER BY id"
    return _header(sessions[name]), [_message(row) for row in fetch_rows(connection, query, name)]


def _header(row: Row) -> JsonObject:
    return {**row, "model_config": _decode_json(row.get("model_config_json"))}


def _message(row: Row) -> JsonObject | None:
    content = _decode_json(row.get("content_json"))
    if not isinstance(content, list):
        return None
    return {
        "id": row.get("message_id"),
        "role": row.get("role"),
        "created": row.get("created_timestamp"),
        "content": content,
        "metadata": _decode_json(row.get("metadata_json")),
    }


def _decode_json(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _records(path: Path, reader: Collector) -> Iterator[JsonObject]:
    """The one object of a file that is spread over lines, else its lines."""
    whole = _decode_json(read_bytes(path).decode("utf-8", errors="replace").strip(" \t\r\n\x00\ufeff"))
    if isinstance(whole, dict):
        yield whole
    else:
        yield from read_records(path, reader.skipped)


@dataclass(slots=True)
class _Reader(Collector):
    header: JsonObject = field(default_factory=dict)
    pending: list[JsonObject | None] = field(default_factory=list)
    calls: dict[str, str] = field(default_factory=dict)
    content_counts: Counter[str] = field(default_factory=Counter)
    prompt: str = ""
    hidden_message: JsonObject = field(default_factory=dict)

    def finish(self, name: str | None = None) -> Capture:
        """What was read; `name` is the id of a session that its file is named after."""
        header = self.header
        model = as_string(as_mapping(header.get("model_config")).get("model_name"))
        return self.build_capture(
            session_id=as_string(header.get("id")) or name,
            parent_session=as_string(header.get("parent_session_id")) or None,
            project=as_string(header.get("working_dir")) or None,
            title=as_string(header.get("name")) or as_string(header.get("description")) or None,
            models=(model,) if model else (),
        )

    def begin(self, header: JsonObject) -> None:
        self.recognized_count += 1
        self.header = self.header or header

    def add(self, record: JsonObject) -> None:
        """An export, the header line of a file of lines, or a message."""
        if isinstance(record.get("working_dir"), str):
            self.begin(record)
            self.pending += [as_mapping(message) or None for message in as_list(record.get("conversation"))]
        else:
            self.pending.append(record)

    def add_messages(self, messages: list[JsonObject | None]) -> None:
        for index, message in enumerate(messages):
            following = messages[index + 1] if index + 1 < len(messages) else None
            if message is None:
                self.skip(DAMAGED)
            elif message.get("role") in (USER, ASSISTANT) and isinstance(message.get("content"), list):
                self.recognized_count += 1
                self._add_message(message, following)
            else:
                self.skip(UNKNOWN)

    def _add_message(self, message: JsonObject, following: JsonObject | None) -> None:
        at = parse_epoch(message.get("created"))
        self.times += [at] if at else []
        last_hidden, self.hidden_message = self.hidden_message, message if _is_hidden(message) else {}
        if self.hidden_message and (message["role"] == ASSISTANT or not _prompt(message)):
            self.skip(NOTES)
        elif self.hidden_message and _is_summary(message, following):
            self.append(list(self.add_compaction(_prompt(message), at)), at, self._source(message))
        elif last_hidden and _prompt(message) == self.prompt and _is_simultaneous(last_hidden, message):
            self.skip(REPLAYED)
        else:
            self.prompt = _prompt(message) if message["role"] == USER else self.prompt
            for content in message["content"]:
                self.append(list(self._turns_of(message["role"], as_mapping(content))), at, self._source(message))

    def _source(self, message: JsonObject) -> str | None:
        """The id of a message's next content: the message's own for the first. An answer that was streamed lies in
        several messages of one id."""
        record = as_string(message.get("id"))
        self.content_counts[record] += 1
        if not record or self.content_counts[record] == 1:
            return record or None
        return f"{record}#{self.content_counts[record] - 1}"

    def _turns_of(self, role: str, content: JsonObject) -> Iterator[Turn]:
        match content.get("type"):
            case "text":
                text = as_string(content.get("text"))
                yield from self._text_turn(role, strip_injections(text) if role == USER else text.strip("\n"))
            case ("thinking" | "reasoning") as kind:
                text = as_string(content.get(kind)) or as_string(content.get("text"))
                yield from self._text_turn(role, text.strip("\n"), thinking=True)
            case "toolRequest" | "frontendToolRequest":
                yield self._call(content)
            case "toolResponse":
                yield self._result(content)
            case "image":
                yield Turn(role, _image(content))
            case "systemNotification" | "conversationCompacted" | "contextLengthExceeded" | "summarizationRequested":
                self.skip(NOTES)
            case kind:
                self.skip(BOOKKEEPING if as_string(kind) in _INTERACTION_TYPES else UNKNOWN)

    def _text_turn(self, role: str, text: str, *, thinking: bool = False) -> Iterator[Turn]:
        if text.strip():
            yield Turn(role, text, thinking=thinking)
        else:
            self.skip(NOTES if role == USER else BOOKKEEPING)

    def _call(self, content: JsonObject) -> Turn:
        call = as_mapping(content.get("toolCall"))
        value = as_mapping(call.get("value"))
        name = as_string(value.get("name")) or "tool"
        self.calls[as_string(content.get("id"))] = name
        if call.get("status") == "error":
            return Turn(ASSISTANT, as_string(call.get("error")), name=name, error=True)
        return Turn(ASSISTANT, "", name=name, input=render_tool_input(value.get("arguments")))

    def _result(self, content: JsonObject) -> Turn:
        result = as_mapping(content.get("toolResult"))
        name = self.calls.get(as_string(content.get("id")), "tool")
        if result.get("status") == "error":
            return Turn(TOOL, strip_injections(as_string(result.get("error"))), name=name, error=True)
        value = result.get("value")
        blocks = value if isinstance(value, list) else as_list(as_mapping(value).get("content"))
        error = as_mapping(value).get("isError") is True
        return Turn(TOOL, strip_injections(self._text(blocks)), name=name, error=error)

    def _text(self, contents: list[Any]) -> str:
        return "\n".join(text for content in contents if (text := _content_text(as_mapping(content))))


def _is_hidden(message: JsonObject) -> bool:
    return as_mapping(message.get("metadata")).get("userVisible") is False


def _prompt(message: JsonObject) -> str:
    """A message's texts."""
    texts = (
        as_mapping(content).get("text") for content in message["content"] if as_mapping(content).get("type") == "text"
    )
    return "\n".join(map(as_string, texts)).strip("\n")


def _is_simultaneous(earlier: JsonObject, later: JsonObject) -> bool:
    """Whether nobody could have typed the later message: `created` is in seconds."""
    before, after = earlier.get("created"), later.get("created")
    return isinstance(before, int | float) and isinstance(after, int | float) and abs(after - before) <= 1


def _is_summary(message: JsonObject, following: JsonObject | None) -> bool:
    """Whether a prompt that people don't see is a compaction's summary. One that the agent doesn't see either is an
    older summary if the agent's instruction to go on follows it, else the last prompt, which was copied."""
    if as_mapping(message.get("metadata")).get("agentVisible") is not False:
        return True
    return following is not None and following.get("role") == ASSISTANT and _is_hidden(following)


def _content_text(content: JsonObject) -> str:
    match content.get("type"):
        case "text":
            return as_string(content.get("text"))
        case "image" | "audio":
            return _image(content)
        case "resource":
            resource = as_mapping(content.get("resource"))
            kind = as_string(resource.get("mimeType"))
            return as_string(resource.get("text")) or format_media_note(kind, as_string(resource.get("blob")))
        case "resource_link":
            return f"[{as_string(content.get('uri'))}]"
        case _:
            return ""


def _image(content: JsonObject) -> str:
    return format_media_note(as_string(content.get("mimeType")), as_string(content.get("data")))
