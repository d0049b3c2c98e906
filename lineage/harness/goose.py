"""The adapter of Goose: its SQLite database, and an export of one session. (harnesses.md, section 9).

A turn is one content of a message. Messages are only ever appended: a compaction appends its summary, then a copy of
the last prompt, and hides the older messages from the agent.
"""

import json
import re
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness import adapter
from lineage.harness.json_values import (
    JsonObject,
    as_list,
    as_mapping,
    as_string,
    decode_json,
    format_media_note,
    parse_epoch,
)
from lineage.harness.jsonl import DAMAGED, read_text
from lineage.harness.sqlite import Row, fetch_rows, list_known_tables, read_database
from lineage.harness.text import strip_injections
from lineage.harness.tool_inputs import build_call_turn
from lineage.harness.words import INTERRUPTION, build_answer_turn

_TABLES = frozenset({"sessions", "messages"})
_SUB_AGENT = "sub_agent"
_SKIPPED_TYPES = frozenset({_SUB_AGENT, "hidden"})
_INTERACTION_TYPES = frozenset({"toolConfirmationRequest", "actionRequired", "redactedThinking"})
_INTERRUPTED = "Interrupted by the user"
_DATABASE = "sessions.db"
_HEAD_BYTES = 4096
# `working_dir` precedes the messages, so a few KB show whether a file is an export.
_HEADER = re.compile(rb'\s*\{[^\[]*?"working_dir"\s*:')
_HINT = "name `sessions.db`, or what `goose session export --format json` wrote"


def read(path: Path, session: str | None = None) -> Capture:
    """Return a session of a database, or the one of an export in JSON.

    Raise TranscriptError for files that are unreadable, damaged or foreign, and databases that lack the session.
    """
    if path.suffix.lower() == ".db":
        header, messages = read_database(path, lambda connection: _read_session(connection, path, session))
    else:
        text = read_text(path)
        if not text:
            return Capture(turns=())
        header = as_mapping(decode_json(text))
        if not isinstance(header.get("working_dir"), str):
            raise TranscriptError(f"no Goose session in {path}", hint=_HINT)
        messages = [as_mapping(message) or None for message in as_list(header.get("conversation"))]
    reader = _Reader()
    reader.add_messages(messages)
    model = as_string(as_mapping(header.get("model_config")).get("model_name"))
    return reader.build_capture(
        session_id=as_string(header.get("id")) or None,
        parent_session=as_string(header.get("parent_session_id")) or None,
        project=as_string(header.get("working_dir")) or None,
        title=as_string(header.get("name")) or as_string(header.get("description")) or None,
        models=(model,) if model else (),
    )


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return `sessions/` of the data folder."""
    if environment.get("GOOSE_PATH_ROOT"):
        return [Path(environment["GOOSE_PATH_ROOT"], "data/sessions")]
    return [Path(environment.get("XDG_DATA_HOME") or home / ".local/share", "goose/sessions")]


def list_sub_agent_places(transcript: Path, session: str) -> list[Path]:
    """Return the files and folders that may hold the transcripts of a session's sub-agents."""
    return [transcript] if transcript.suffix == ".db" else []


def discover(root: Path) -> Iterator[adapter.SessionLocation]:
    """Yield the sessions of `sessions.db`, then the exports of other sessions.

    Hidden sessions and those of sub-agents without a parent are skipped. An unreadable database is listed, so that
    reading it reports the error.
    """
    known_ids: set[str] = set()
    for item in adapter.list_files(root, (_DATABASE,)):
        if item.path.suffix.lower() != ".db":
            yield item
            return
        yield from _discover_in_database(item.path, known_ids)
    if root.is_dir():
        yield from (item for item in adapter.list_files(root, (".json",)) if _is_export(item.path, known_ids))


def _discover_in_database(path: Path, known_ids: set[str]) -> Iterator[adapter.SessionLocation]:
    try:
        sessions = read_database(path, _list_sessions)
    except TranscriptError:
        yield adapter.SessionLocation(path)
        return
    known_ids.update(sessions)
    for name, row in sorted(sessions.items()):
        parent, kind = as_string(row.get("parent_session_id")), as_string(row.get("session_type"))
        if kind not in _SKIPPED_TYPES or (parent and kind == _SUB_AGENT):
            yield adapter.SessionLocation(path, name, parent or None)


def _is_export(path: Path, known_ids: set[str]) -> bool:
    try:
        with path.open("rb") as file:
            return path.stem not in known_ids and _HEADER.match(file.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


def _list_sessions(connection: sqlite3.Connection) -> dict[str, Row]:
    rows = fetch_rows(connection, "SELECT * FROM sessions") if list_known_tables(connection, _TABLES) else []
    return {as_string(row.get("id")): row for row in rows if as_string(row.get("id"))}


def _read_session(
    connection: sqlite3.Connection, path: Path, session: str | None
) -> tuple[JsonObject, list[JsonObject | None]]:
    """Return a session's row and its messages in the form of an export. An unreadable message is None."""
    sessions = _list_sessions(connection)
    name = adapter.choose_session(sessions, session, f"the database {path}", "name one of its sessions by its id")
    header = {**sessions[name], "model_config": decode_json(sessions[name].get("model_config_json"))}
    query = "SELECT * FROM messages WHERE session_id = ? ORDER BY id"
    return header, [_message(row) for row in fetch_rows(connection, query, name)]


def _message(row: Row) -> JsonObject | None:
    content = decode_json(row.get("content_json"))
    if not isinstance(content, list):
        return None
    return {
        "id": row.get("message_id"),
        "role": row.get("role"),
        "created": row.get("created_timestamp"),
        "content": content,
        "metadata": decode_json(row.get("metadata_json")),
    }


@dataclass(slots=True)
class _Reader(adapter.Collector):
    calls: dict[str, str] = field(default_factory=dict)
    content_counts: Counter[str] = field(default_factory=Counter)
    prompt: str = ""
    hidden_message: JsonObject = field(default_factory=dict)

    def add_messages(self, messages: list[JsonObject | None]) -> None:
        for index, message in enumerate(messages):
            following = messages[index + 1] if index + 1 < len(messages) else None
            if message is None:
                self.skip(DAMAGED)
            elif message.get("role") in (USER, ASSISTANT) and isinstance(message.get("content"), list):
                self._add_message(message, following)
            else:
                self.skip(adapter.UNKNOWN)

    def _add_message(self, message: JsonObject, following: JsonObject | None) -> None:
        at = parse_epoch(message.get("created"))
        self.note_time(at)
        last_hidden, self.hidden_message = self.hidden_message, message if _is_hidden(message) else {}
        if self.hidden_message and (message["role"] == ASSISTANT or not _prompt(message)):
            self.skip(adapter.NOTES)
        elif self.hidden_message and _is_summary(message, following):
            self.append(self.add_compaction(_prompt(message), at), at, self._source(message))
        elif last_hidden and _prompt(message) == self.prompt and _is_simultaneous(last_hidden, message):
            self.skip(adapter.REPLAYED)
        else:
            self.prompt = _prompt(message) if message["role"] == USER else self.prompt
            for content in message["content"]:
                source = self._source(message)
                self.append(self._turns_of(message["role"], as_mapping(content)), at, source)
                self.append_words(_words_of(as_mapping(content)), at, source)

    def _source(self, message: JsonObject) -> str | None:
        """Return the id of a message's next content: the first takes the message's own."""
        # A streamed answer lies in several messages of one id, so the count goes on across messages.
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
                self.skip(adapter.NOTES)
            case kind:
                self.skip(adapter.BOOKKEEPING if as_string(kind) in _INTERACTION_TYPES else adapter.UNKNOWN)

    def _text_turn(self, role: str, text: str, *, thinking: bool = False) -> Iterator[Turn]:
        return self.keep_text(
            Turn(role, text, thinking=thinking), adapter.NOTES if role == USER else adapter.BOOKKEEPING
        )

    def _call(self, content: JsonObject) -> Turn:
        call = as_mapping(content.get("toolCall"))
        value = as_mapping(call.get("value"))
        name = as_string(value.get("name")) or "tool"
        self.calls[as_string(content.get("id"))] = name
        if call.get("status") == "error":
            return Turn(ASSISTANT, as_string(call.get("error")), name=name, error=True)
        return build_call_turn(name, value.get("arguments"), content.get("id"))

    def _result(self, content: JsonObject) -> Turn:
        result = as_mapping(content.get("toolResult"))
        name = self.calls.get(as_string(content.get("id")), "tool")
        call_id = as_string(content.get("id"))
        if result.get("status") == "error":
            text = strip_injections(as_string(result.get("error")))
            return Turn(TOOL, text, name=name, error=True, call_id=call_id)
        value = result.get("value")
        blocks = value if isinstance(value, list) else as_list(as_mapping(value).get("content"))
        error = as_mapping(value).get("isError") is True
        text = "\n".join(filter(None, map(_content_text, map(as_mapping, blocks))))
        return Turn(TOOL, strip_injections(text), name=name, error=error, call_id=call_id)


def _words_of(content: JsonObject) -> Iterator[Turn]:
    """Yield the values that a person filled in for a tool, and the note of an interruption."""
    data = as_mapping(content.get("data"))
    if content.get("type") == "actionRequired" and data.get("actionType") == "elicitationResponse":
        for name, value in as_mapping(data.get("user_data")).items():
            yield build_answer_turn(name, value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
    elif as_string(as_mapping(content.get("toolResult")).get("error")).startswith(_INTERRUPTED):
        yield INTERRUPTION


def _is_hidden(message: JsonObject) -> bool:
    return as_mapping(message.get("metadata")).get("userVisible") is False


def _prompt(message: JsonObject) -> str:
    contents = map(as_mapping, message["content"])
    texts = (as_string(content.get("text")) for content in contents if content.get("type") == "text")
    return "\n".join(texts).strip("\n")


def _is_simultaneous(earlier: JsonObject, later: JsonObject) -> bool:
    """Return whether two messages are too close to be typed one after the other: `created` is in seconds."""
    before, after = earlier.get("created"), later.get("created")
    return isinstance(before, int | float) and isinstance(after, int | float) and abs(after - before) <= 1


def _is_summary(message: JsonObject, following: JsonObject | None) -> bool:
    """Return whether a prompt hidden from people is a compaction's summary."""
    # Hidden from the agent too, it is an older summary if the instruction to go on follows, else the copied prompt.
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
            return as_string(resource.get("text")) or format_media_note(resource.get("mimeType"), resource.get("blob"))
        case "resource_link":
            return f"[{as_string(content.get('uri'))}]"
        case _:
            return ""


def _image(content: JsonObject) -> str:
    return format_media_note(content.get("mimeType"), content.get("data"))
