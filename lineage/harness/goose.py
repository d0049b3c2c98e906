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

from lineage.core.capture import Capture
from lineage.core.turns import ASSISTANT, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.collector import BOOKKEEPING, NOTES, REPLAYED, UNKNOWN, Collector
from lineage.harness.jsonl import DAMAGED, read_bytes, records
from lineage.harness.listing import files
from lineage.harness.port import Found
from lineage.harness.sqlite import Row, inspected, rows, tables
from lineage.harness.text import salient, without_injected
from lineage.harness.values import epoch, mapping, medium, sequence, string

_TABLES = frozenset({"sessions", "messages"})
_PASSED_OVER = frozenset({"sub_agent", "hidden"})
_ASKING = frozenset({"toolConfirmationRequest", "actionRequired", "redactedThinking"})
_DATABASE = "sessions.db"
_OPENING = 4096
_HEADER = re.compile(rb'\s*\{[^\[]*?"working_dir"\s*:')
_HINT = "name `sessions.db`, or what `goose session export --format json` wrote"

Object = dict[str, Any]


def read(path: Path, session: str | None = None) -> Capture:
    """A session of a database, or the one that a JSON or JSONL file holds.

    Raises TranscriptError for files that are unreadable, damaged or foreign, and databases that lack the session.
    """
    reader = _Reader()
    if path.suffix.lower() == ".db":
        header, messages = inspected(path, lambda connection: _of_database(connection, path, session))
        reader.begin(header)
        reader.add_messages(messages)
        return reader.session()
    for record in _records(path, reader):
        reader.add(record)
    reader.add_messages(reader.waiting)
    if reader.foreign:
        raise TranscriptError(f"no Goose session in {path}", hint=_HINT)
    return reader.session(path.stem if path.suffix.lower() == ".jsonl" else None)


def roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """`sessions/` of the data folder."""
    if environment.get("GOOSE_PATH_ROOT"):
        return [Path(environment["GOOSE_PATH_ROOT"], "data/sessions")]
    return [Path(environment.get("XDG_DATA_HOME") or home / ".local/share", "goose/sessions")]


def found(root: Path) -> Iterator[Found]:
    """The sessions of `sessions.db`, then the files of sessions that it doesn't hold. Sub-agents' and hidden sessions
    are passed over; a database that cannot be read is named, so that the reader says why."""
    known: set[str] = set()
    for item in files(root, (_DATABASE,)):
        if item.path.suffix.lower() != ".db":
            yield item
            return
        yield from _found_in_database(item.path, known)
    if root.is_dir():
        yield from (item for item in files(root, (".json", ".jsonl")) if _is_session_file(item.path, known))


def _found_in_database(path: Path, known: set[str]) -> Iterator[Found]:
    try:
        sessions = inspected(path, _sessions)
    except TranscriptError:
        yield Found(path)
        return
    known.update(sessions)
    yield from (Found(path, name) for name in sorted(sessions) if not _is_passed_over(sessions[name]))


def _is_passed_over(header: Object) -> bool:
    return bool(header.get("parent_session_id")) or string(header.get("session_type")) in _PASSED_OVER


def _is_session_file(path: Path, known: set[str]) -> bool:
    try:
        with path.open("rb") as file:
            return path.stem not in known and _HEADER.match(file.read(_OPENING)) is not None
    except OSError:
        return False


def _sessions(connection: sqlite3.Connection) -> dict[str, Row]:
    """The sessions by id."""
    listed = rows(connection, "SELECT * FROM sessions") if tables(connection) >= _TABLES else []
    return {string(row.get("id")): row for row in listed if string(row.get("id"))}


def _of_database(connection: sqlite3.Connection, path: Path, session: str | None) -> tuple[Object, list[Object | None]]:
    """A session's row and its messages, as an export has them; None for one that cannot be read."""
    sessions = _sessions(connection)
    name = session or (next(iter(sessions)) if len(sessions) == 1 else "")
    if name not in sessions:
        what = f"session {session}" if session else f"one session but {len(sessions)}"
        raise TranscriptError(f"the database {path} does not hold {what}", hint="name one of its sessions by its id")
    query = "SELECT * FROM messages WHERE session_id = ? ORDER BY id"
    return _header(sessions[name]), [_message(row) for row in rows(connection, query, name)]


def _header(row: Row) -> Object:
    return {**row, "model_config": _decoded(row.get("model_config_json"))}


def _message(row: Row) -> Object | None:
    content = _decoded(row.get("content_json"))
    if not isinstance(content, list):
        return None
    return {
        "id": row.get("message_id"),
        "role": row.get("role"),
        "created": row.get("created_timestamp"),
        "content": content,
        "metadata": _decoded(row.get("metadata_json")),
    }


def _decoded(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _records(path: Path, reader: Collector) -> Iterator[Object]:
    """The one object of a file that is spread over lines, else its lines."""
    whole = _decoded(read_bytes(path).decode("utf-8", errors="replace").strip(" \t\r\n\x00\ufeff"))
    if isinstance(whole, dict):
        yield whole
    else:
        yield from records(path, reader.skipped)


@dataclass(slots=True)
class _Reader(Collector):
    header: Object = field(default_factory=dict)
    waiting: list[Object | None] = field(default_factory=list)
    calls: dict[str, str] = field(default_factory=dict)
    contents: Counter[str] = field(default_factory=Counter)
    prompt: str = ""
    hidden: Object = field(default_factory=dict)

    def session(self, name: str | None = None) -> Capture:
        """What was read; `name` is the id of a session that its file is named after."""
        header = self.header
        model = string(mapping(header.get("model_config")).get("model_name"))
        return self.capture(
            session_id=string(header.get("id")) or name,
            parent_session=string(header.get("parent_session_id")) or None,
            project=string(header.get("working_dir")) or None,
            title=string(header.get("name")) or string(header.get("description")) or None,
            models=(model,) if model else (),
        )

    def begin(self, header: Object) -> None:
        self.known += 1
        self.header = self.header or header

    def add(self, record: Object) -> None:
        """An export, the header line of a file of lines, or a message."""
        if isinstance(record.get("working_dir"), str):
            self.begin(record)
            self.waiting += [mapping(message) or None for message in sequence(record.get("conversation"))]
        else:
            self.waiting.append(record)

    def add_messages(self, messages: list[Object | None]) -> None:
        for index, message in enumerate(messages):
            following = messages[index + 1] if index + 1 < len(messages) else None
            if message is None:
                self.skip(DAMAGED)
            elif message.get("role") in (USER, ASSISTANT) and isinstance(message.get("content"), list):
                self.known += 1
                self._add_message(message, following)
            else:
                self.skip(UNKNOWN)

    def _add_message(self, message: Object, following: Object | None) -> None:
        at = epoch(message.get("created"))
        self.times += [at] if at else []
        last_hidden, self.hidden = self.hidden, message if _is_hidden(message) else {}
        if self.hidden and (message["role"] == ASSISTANT or not _prompt(message)):
            self.skip(NOTES)
        elif self.hidden and _is_summary(message, following):
            self.append(list(self.compacted(_prompt(message), at)), at, self._source(message))
        elif last_hidden and _prompt(message) == self.prompt and _is_at_once(last_hidden, message):
            self.skip(REPLAYED)
        else:
            self.prompt = _prompt(message) if message["role"] == USER else self.prompt
            for content in message["content"]:
                self.append(list(self._turns_of(message["role"], mapping(content))), at, self._source(message))

    def _source(self, message: Object) -> str | None:
        """The id of a message's next content: the message's own for the first. An answer that was streamed lies in
        several messages of one id."""
        record = string(message.get("id"))
        self.contents[record] += 1
        if not record or self.contents[record] == 1:
            return record or None
        return f"{record}#{self.contents[record] - 1}"

    def _turns_of(self, role: str, content: Object) -> Iterator[Turn]:
        match content.get("type"):
            case "text":
                text = string(content.get("text"))
                yield from self._said(role, without_injected(text) if role == USER else text.strip("\n"))
            case ("thinking" | "reasoning") as kind:
                text = string(content.get(kind)) or string(content.get("text"))
                yield from self._said(role, text.strip("\n"), thinking=True)
            case "toolRequest" | "frontendToolRequest":
                yield self._call(content)
            case "toolResponse":
                yield self._result(content)
            case "image":
                yield Turn(role, _image(content))
            case "systemNotification" | "conversationCompacted" | "contextLengthExceeded" | "summarizationRequested":
                self.skip(NOTES)
            case kind:
                self.skip(BOOKKEEPING if string(kind) in _ASKING else UNKNOWN)

    def _said(self, role: str, text: str, *, thinking: bool = False) -> Iterator[Turn]:
        if text.strip():
            yield Turn(role, text, thinking=thinking)
        else:
            self.skip(NOTES if role == USER else BOOKKEEPING)

    def _call(self, content: Object) -> Turn:
        call = mapping(content.get("toolCall"))
        value = mapping(call.get("value"))
        name = string(value.get("name")) or "tool"
        self.calls[string(content.get("id"))] = name
        if call.get("status") == "error":
            return Turn(ASSISTANT, string(call.get("error")), name=name, error=True)
        return Turn(ASSISTANT, "", name=name, input=salient(value.get("arguments")))

    def _result(self, content: Object) -> Turn:
        result = mapping(content.get("toolResult"))
        name = self.calls.get(string(content.get("id")), "tool")
        if result.get("status") == "error":
            return Turn(TOOL, without_injected(string(result.get("error"))), name=name, error=True)
        value = result.get("value")
        blocks = value if isinstance(value, list) else sequence(mapping(value).get("content"))
        error = mapping(value).get("isError") is True
        return Turn(TOOL, without_injected(self._text(blocks)), name=name, error=error)

    def _text(self, contents: list[Any]) -> str:
        return "\n".join(text for content in contents if (text := _content_text(mapping(content))))


def _is_hidden(message: Object) -> bool:
    return mapping(message.get("metadata")).get("userVisible") is False


def _prompt(message: Object) -> str:
    """A message's texts."""
    texts = (mapping(content).get("text") for content in message["content"] if mapping(content).get("type") == "text")
    return "\n".join(map(string, texts)).strip("\n")


def _is_at_once(earlier: Object, later: Object) -> bool:
    """Whether nobody could have typed the later message: `created` is in seconds."""
    before, after = earlier.get("created"), later.get("created")
    return isinstance(before, int | float) and isinstance(after, int | float) and abs(after - before) <= 1


def _is_summary(message: Object, following: Object | None) -> bool:
    """Whether a prompt that people don't see is a compaction's summary. One that the agent doesn't see either is an
    older summary if the agent's instruction to go on follows it, else the last prompt, which was copied."""
    if mapping(message.get("metadata")).get("agentVisible") is not False:
        return True
    return following is not None and following.get("role") == ASSISTANT and _is_hidden(following)


def _content_text(content: Object) -> str:
    match content.get("type"):
        case "text":
            return string(content.get("text"))
        case "image" | "audio":
            return _image(content)
        case "resource":
            resource = mapping(content.get("resource"))
            kind = string(resource.get("mimeType"))
            return string(resource.get("text")) or medium(kind, string(resource.get("blob")))
        case "resource_link":
            return f"[{string(content.get('uri'))}]"
        case _:
            return ""


def _image(content: Object) -> str:
    return medium(string(content.get("mimeType")), string(content.get("data")))
