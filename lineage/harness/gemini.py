"""The adapter of Gemini CLI: logs in JSONL, replayed, and the single JSON document of older versions.

Every update writes a message again, so a turn is a thought, text, call or result that no earlier record held. Nothing
is undone: a rewind or a compression drops messages from the model's sight only. (harnesses.md, section 3)
"""

import glob
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, SAID, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness import genai
from lineage.harness.adapter import BOOKKEEPING, NOTES, REPLAYED, UNKNOWN, Collector, SessionLocation, list_files
from lineage.harness.genai import as_parts, extract_text, get_object
from lineage.harness.json_values import as_list, as_mapping, as_string, decode_json
from lineage.harness.jsonl import DAMAGED, read_records, read_text
from lineage.harness.words import INTERRUPTION, QUESTION_TOOLS, list_answers, list_reasons, name_words

_PREFIX = "session-"
_CHATS = "chats"
_SUFFIXES = (".json", ".jsonl")
_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_END_STATES = frozenset({"success", "error", "cancelled"})
_SUB_AGENT = "subagent"


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a file, with its other files in the same folder, in the order of their names.

    A resumed session may have several files of one id. Raise TranscriptError for unreadable and foreign files.
    """
    reader = _replay([path])
    reader.refuse_foreign(path, "Gemini CLI record")
    paths = _files_of(path, reader.session_id)
    return (reader if paths == [path] else _replay(paths)).finish(path)


def list_sub_agent_places(transcript: Path, session: str) -> list[Path]:
    """Return the files and folders that may hold the transcripts of a session's sub-agents."""
    return [transcript.parent / session]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every `session-*` file, and sub-agents' in a folder of `chats` with their parent's name."""
    for item in list_files(root, _SUFFIXES):
        if item.path == root or item.path.name.startswith(_PREFIX):
            yield item
        elif item.path.parent.parent.name == _CHATS:
            yield replace(item, parent=item.path.parent.name)


def _replay(paths: list[Path]) -> "_Reader":
    reader = _Reader()
    for record in (record for path in paths for record in _records(path, reader.skipped)):
        reader.add(record)
    return reader


def _records(path: Path, skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    """Yield a log's records. A document is one record, a header with the messages."""
    if path.suffix.lower() != ".json":
        yield from read_records(path, skipped)
        return
    text = read_text(path)
    document = as_mapping(decode_json(text))
    if document:
        yield document
    elif text:
        skipped[DAMAGED] += 1


def _files_of(path: Path, session: str | None) -> list[Path]:
    """Return the file and those beside it of the same session. Their names end with the beginning of its id."""
    ending = f"-{session[:8]}" if session else ""
    # A copy under another name stands for itself.
    if not ending or not (path.name.startswith(_PREFIX) and path.stem.endswith(ending)):
        return [path]
    beside = path.parent.glob(f"{_PREFIX}*{glob.escape(ending)}.json*")
    candidates = (file for file in beside if file.suffix in _SUFFIXES and not file.is_symlink())
    return sorted({path, *(file for file in candidates if _session_of(file) == session)})


def _session_of(path: Path) -> str | None:
    try:
        return as_string(next(_records(path, Counter()), {}).get("sessionId")) or None
    except TranscriptError:
        return None


@dataclass(slots=True)
class _Reader(Collector):
    """A replay of records in order. Emitted turns are known by ids: the message's, and those of its calls."""

    session_id: str | None = None
    is_sub_agent: bool = False
    title: str | None = None
    project_hash: str | None = None
    emitted_ids: set[str] = field(default_factory=set)
    seen_texts: set[tuple[str, str]] = field(default_factory=set)
    versions: Counter[str] = field(default_factory=Counter)
    calls: dict[str, str] = field(default_factory=dict)
    result_ids: set[str] = field(default_factory=set)
    visible_counts: dict[str, int] = field(default_factory=dict)

    def finish(self, path: Path) -> Capture:
        """Return the session. Its times are those of its turns: a header is written again at each resume."""
        turns = self.buffer.pop_turns()
        times = [turn.at for turn in turns if turn.at]
        return self.build_capture(
            turns=tuple(turns),
            started_at=self.started_at or (times[0] if times else None),
            ended_at=times[-1] if times else self.started_at,
            session_id=self.session_id,
            parent_session=path.parent.name if self.is_sub_agent else None,
            project=_find_project(path),
            project_hash=self.project_hash,
            title=self.title,
        )

    def add(self, record: dict[str, Any]) -> None:
        # The four kinds of record have no type; only this order tells them apart. (harnesses.md 3.5)
        self.recognized_count += 1
        if isinstance(record.get("$rewindTo"), str):
            self.skip(BOOKKEEPING)
            genai.rewind(self.visible_counts, self.skipped, record["$rewindTo"], include=True)
        elif _is_message(record):
            self._add_message(record)
        elif isinstance(record.get("$set"), dict):
            changes = record["$set"]
            self.skip(BOOKKEEPING)
            self._note(changes)
            if isinstance(changes.get("messages"), list):
                self._rewrite(changes["messages"])
        elif isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str):
            self._begin(record)
        else:
            self.recognized_count -= 1
            self.skip(UNKNOWN)

    def _begin(self, header: dict[str, Any]) -> None:
        """Begin a file. The header of an older one holds its messages."""
        self.skip(BOOKKEEPING)
        self.started_at = self.started_at or to_utc_or_none(header.get("startTime"))
        self.project_hash = as_string(header.get("projectHash")) or None
        self.visible_counts.clear()
        self._note(header)
        for message in as_list(header.get("messages")):
            if _is_message(message):
                self._add_message(message)
            else:
                self.skip(UNKNOWN)

    def _note(self, changes: dict[str, Any]) -> None:
        self.session_id = self.session_id or as_string(changes.get("sessionId")) or None
        self.is_sub_agent = self.is_sub_agent or changes.get("kind") == _SUB_AGENT
        self.title = as_string(changes.get("summary")).strip() or self.title

    def _rewrite(self, messages: list[Any]) -> None:
        """Take the list of messages that the model sees from now on."""
        # A compression replaces messages by a summary and copies under new ids; masking cuts results short. So only
        # the summary, and messages other than copies, are new.
        after_summary = False
        for message in messages:
            compactions = len(self.compactions)
            if not _is_message(message):
                self.skip(UNKNOWN)
            elif message["id"] in self.seen_ids:
                self.skip(REPLAYED)
            elif self._is_copy(message):
                self.skip(REPLAYED)
                self.versions[message["id"]] += 1
            elif after_summary and message["type"] == "gemini":
                self.skip(NOTES)
            else:
                self._add_message(message)
            after_summary = len(self.compactions) > compactions
        ids = [message["id"] for message in messages if _is_message(message)]
        self.seen_ids.update(ids)
        self.visible_counts = {each: self.visible_counts.get(each, 0) for each in ids}

    def _is_copy(self, message: dict[str, Any]) -> bool:
        content = as_parts(message.get("content"))
        tools = [tool for part in content if (tool := _tool_part(part))]
        text = extract_text(_text_parts(content), Counter())
        role = ASSISTANT if message["type"] == "gemini" else USER
        is_seen = (role, text.strip()) in self.seen_texts
        is_known = is_seen if text else bool(tools) or any(map(genai.is_thought, content))
        return is_known and all(as_string(tool.get("id")) in self.calls for tool in tools)

    def _add_message(self, message: dict[str, Any]) -> None:
        message_id = message["id"]
        is_repeated = message_id in self.seen_ids
        make_turns = {"user": self._user, "gemini": self._gemini}.get(message["type"])
        turns = list(make_turns(message)) if make_turns else []
        for turn in turns:
            self.buffer.append(turn)
        self.seen_ids.add(message_id)
        self.visible_counts[message_id] = self.visible_counts.get(message_id, 0) + len(turns)
        if not turns:
            reason = BOOKKEEPING if message["type"] == "gemini" else NOTES
            self.skip(REPLAYED if is_repeated or _has_results(message) else reason)

    def _user(self, message: dict[str, Any]) -> Iterator[Turn]:
        """Yield a compression's summary, or a prompt: `displayContent` if files and hooks added to it."""
        content = as_parts(message.get("content"))
        if _has_results(message):
            yield from self._returned_results(message, content)
            return
        text = extract_text(content, self.skipped)
        summary = genai.find_snapshot(text)
        if summary is None:
            rest, attached = genai.split_attachment(text)
            # Before the prompt, which older readers gave with all of it: the last turn of a capture stays the last.
            for turn in name_words(attached, message["id"]):
                yield from self._emit(turn.source_id or "", turn, message)
            typed = extract_text(as_parts(message.get("displayContent")), self.skipped) if text else ""
            prompt = "\n".join([typed, *genai.list_media_notes(content)]) if typed else rest
            yield from self._emit_text(message, USER, prompt)
            self.seen_texts.add((USER, text.strip()))
        elif (key := f"{message['id']}#compaction") not in self.emitted_ids:
            for turn in self.add_compaction(summary, to_utc_or_none(message.get("timestamp"))):
                yield from self._emit(key, turn, message)

    def _returned_results(self, message: dict[str, Any], content: list[Any]) -> Iterator[Turn]:
        """Yield results on their way back to the model. Mostly the record of the calls held them before."""
        for index, (answer, parts) in enumerate(genai.split_responses(content)):
            call_id = as_string(answer.get("id"))
            if not (call_id and call_id in self.result_ids):
                self.result_ids.add(call_id)
                name = self.calls.get(call_id) or as_string(answer.get("name"))
                turn = genai.build_result_turn(name, parts, self.skipped, error=False)
                yield from self._emit(f"{message['id']}#result-{call_id or index}", turn, message)

    def _gemini(self, message: dict[str, Any]) -> Iterator[Turn]:
        """Yield an update's results of earlier calls, then its thoughts, its text, and new calls with results."""
        self.note_model(message.get("model"))
        content = as_parts(message.get("content"))
        calls = {_call_key(message, call, index): call for index, call in enumerate(_objects(message.get("toolCalls")))}
        earlier = calls.keys() & self.emitted_ids
        yield from self._results(message, {key: call for key, call in calls.items() if key in earlier})
        yield from self._thoughts(message, content)
        yield from self._emit_text(message, ASSISTANT, extract_text(_text_parts(content), self.skipped))
        yield from self._part_calls(message, content)
        for key, call in calls.items():
            turn = genai.build_call_turn(call)
            self.calls[as_string(call.get("id"))] = turn.name
            yield from self._emit(key, turn, message)
        yield from self._results(message, {key: call for key, call in calls.items() if key not in earlier})

    def _thoughts(self, message: dict[str, Any], content: list[Any]) -> Iterator[Turn]:
        thoughts = _objects(message.get("thoughts")) or [part for part in content if genai.is_thought(part)]
        for index, thought in enumerate(thoughts):
            words = (as_string(thought.get(key)).strip() for key in ("subject", "description", "text"))
            if text := "\n".join(filter(None, words)):
                turn = Turn(ASSISTANT, text, thinking=True)
                yield from self._emit(f"{message['id']}#thought-{index}", turn, message, thought)

    def _part_calls(self, message: dict[str, Any], content: list[Any]) -> Iterator[Turn]:
        """Yield calls among the parts. `toolCalls` repeats those that ran, with their results."""
        for index, part in enumerate(content):
            call = get_object(part, "functionCall")
            call_id = as_string(call.get("id"))
            if call and not (call_id and call_id in self.calls):
                turn = genai.build_call_turn(call)
                self.calls[call_id] = turn.name
                yield from self._emit(_call_key(message, call, index), turn, message)

    def _results(self, message: dict[str, Any], calls: dict[str, dict[str, Any]]) -> Iterator[Turn]:
        for key, call in calls.items():
            status, parts = as_string(call.get("status")), as_parts(call.get("result"))
            if parts or status in _END_STATES:
                self.result_ids.add(as_string(call.get("id")))
                name = as_string(call.get("name"))
                turn = genai.build_result_turn(name, parts, self.skipped, error=status == "error")
                turn = turn._replace(call_id=as_string(call.get("id")))
                turn = turn if turn.text else turn._replace(text=as_string(call.get("resultDisplay")).strip("\n"))
                yield from self._emit(f"{key}-result", turn, message, call)
                if status == "cancelled":
                    yield from self._emit(f"{message['id']}{SAID}1", INTERRUPTION, message, call)
                for words in name_words(_list_words(call, turn.text), key):
                    yield from self._emit(words.source_id or "", words, message, call)

    def _emit_text(self, message: dict[str, Any], role: str, text: str) -> Iterator[Turn]:
        """Yield a message's new text: the first under the message's id, later ones numbered."""
        key, message_id = (role, text.strip()), message["id"]
        if not text.strip() or (self.versions[message_id] and key in self.seen_texts):
            return
        self.seen_texts.add(key)
        self.versions[message_id] += 1
        number = self.versions[message_id]
        yield from self._emit(message_id if number == 1 else f"{message_id}#text-{number}", Turn(role, text), message)

    def _emit(self, source_id: str, turn: Turn, *timed: dict[str, Any]) -> Iterator[Turn]:
        """Yield a turn once, with the last time in the given records."""
        if source_id not in self.emitted_ids:
            self.emitted_ids.add(source_id)
            times = (to_utc_or_none(record.get("timestamp")) for record in reversed(timed))
            yield turn._replace(at=next(filter(None, times), None), source_id=source_id)


def _list_words(call: dict[str, Any], result: str) -> Iterator[Turn]:
    """Yield a person's words in the result of a call."""
    if as_string(call.get("name")) in QUESTION_TOOLS:
        yield from list_answers(call.get("args"), result)
    yield from list_reasons(result)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in as_list(value) if isinstance(each, dict)]


def _is_message(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("id"), str) and as_string(record.get("type")) in _TYPES


def _has_results(message: dict[str, Any]) -> bool:
    return any(get_object(part, "functionResponse") for part in as_parts(message.get("content")))


def _tool_part(part: Any) -> dict[str, Any]:
    return get_object(part, "functionCall") or get_object(part, "functionResponse")


def _text_parts(content: list[Any]) -> list[Any]:
    return [part for part in content if not (genai.is_thought(part) or _tool_part(part))]


def _call_key(message: dict[str, Any], call: dict[str, Any], index: int) -> str:
    return f"{message['id']}#call-{as_string(call.get('id')) or index}"


def _find_project(path: Path) -> str | None:
    """Return the folder of a history, from its own note or the registry. The hash in a file is not reversible."""
    # `tmp/<slug>/chats/…`: the slug names the project.
    slug = next((folder for folder in path.parents if (folder / "chats") in path.parents), None)
    if slug is None:
        return None
    projects = get_object(decode_json(_read_small_file(slug.parent.parent / "projects.json")), "projects")
    registered = (project for project, name in projects.items() if name == slug.name)
    return _read_small_file(slug / ".project_root").strip() or next(registered, None)


def _read_small_file(path: Path) -> str:
    try:
        return read_text(path)
    except TranscriptError:
        return ""
