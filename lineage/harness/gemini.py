"""Gemini CLI's transcripts: a log in JSONL that is replayed, and the single JSON document of older versions.
(harnesses.md, section 3)

A message is written again at every update, so a turn is what a record says that no earlier one said: a thought, a
text, a call, a result. Nothing is undone: what a rewind or a compression drops from the model's sight was said.
"""

import glob
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness import genai
from lineage.harness.adapter import SessionLocation
from lineage.harness.collector import BOOKKEEPING, NOTES, REPLAYED, UNKNOWN, Collector
from lineage.harness.genai import REWOUND, as_parts, extract_text, get_object
from lineage.harness.history_files import list_files
from lineage.harness.json_values import as_list, as_mapping, as_string
from lineage.harness.jsonl import DAMAGED, read_bytes, read_records

_PREFIX = "session-"
_SUFFIXES = (".json", ".jsonl")
_TYPES = frozenset({"user", "gemini", "info", "error", "warning"})
_END_STATES = frozenset({"success", "error", "cancelled"})
_SKIP_REASONS = {"gemini": BOOKKEEPING}
_SUB_AGENT = "subagent"


def read(path: Path, session: str | None = None) -> Capture:
    """The session that a file belongs to: all of its files that lie in one folder, in the order of their names.

    A resumed session may have several of one id. Raises TranscriptError for unreadable and foreign files.
    """
    reader = _replay([path])
    if reader.is_foreign:
        raise TranscriptError(
            f"no Gemini CLI record in {path}", hint="is it another harness's? name it with `--harness`"
        )
    together = _files_of(path, reader.session_id)
    return (reader if together == [path] else _replay(together)).finish(path)


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """`.gemini/tmp` of the home folder, or of the one that stands in for it."""
    return [Path(environment.get("GEMINI_CLI_HOME") or home, ".gemini", "tmp")]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Every `session-*` file; sub-agents' files have other names and are passed over."""
    return (item for item in list_files(root, _SUFFIXES) if item.path == root or item.path.name.startswith(_PREFIX))


def _replay(paths: list[Path]) -> "_Reader":
    reader = _Reader()
    for path in paths:
        for record in _records(path, reader.skipped):
            reader.add(record)
    return reader


def _records(path: Path, skipped: Counter[str]) -> Iterator[dict[str, Any]]:
    """A log's records; a document is one record, a header that holds the messages."""
    if path.suffix.lower() != ".json":
        yield from read_records(path, skipped)
        return
    text = read_bytes(path).decode("utf-8", errors="replace").strip(" \t\r\n\x00\ufeff")
    document = _decode_json(text) if text else {}
    if document:
        yield document
    elif text:
        skipped[DAMAGED] += 1


def _decode_json(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return as_mapping(value)


def _files_of(path: Path, session: str | None) -> list[Path]:
    """The file and those beside it that hold the same session: their names end with the beginning of its id."""
    ending = f"-{session[:8]}" if session else ""
    if not ending or not (path.name.startswith(_PREFIX) and path.stem.endswith(ending)):
        return [path]
    beside = path.parent.glob(f"{_PREFIX}*{glob.escape(ending)}.json*")
    named = (each for each in beside if each.suffix in _SUFFIXES and not each.is_symlink())
    return sorted({path, *(each for each in named if _session_of(each) == session)})


def _session_of(path: Path) -> str | None:
    """The session that a file's first record names; None where it cannot be read."""
    try:
        return as_string(next(_records(path, Counter()), {}).get("sessionId")) or None
    except TranscriptError:
        return None


@dataclass(slots=True)
class _Reader(Collector):
    """Replays records in order. What a message has said is known by ids: its own, and those of its calls."""

    session_id: str | None = None
    is_sub_agent: bool = False
    started_at: str | None = None
    title: str | None = None
    models: dict[str, None] = field(default_factory=dict)
    emitted_ids: set[str] = field(default_factory=set)
    seen_texts: set[tuple[str, str]] = field(default_factory=set)
    versions: Counter[str] = field(default_factory=Counter)
    calls: dict[str, str] = field(default_factory=dict)
    result_ids: set[str] = field(default_factory=set)
    visible_counts: dict[str, int] = field(default_factory=dict)

    def finish(self, path: Path) -> Capture:
        times = [turn.at for turn in self.turns if turn.at]
        return self.build_capture(
            session_id=self.session_id,
            parent_session=path.parent.name if self.is_sub_agent else None,
            project=_find_project(path),
            title=self.title,
            models=tuple(self.models),
        )._replace(
            started_at=self.started_at or (times[0] if times else None),
            ended_at=times[-1] if times else self.started_at,
        )

    def add(self, record: dict[str, Any]) -> None:
        """The four kinds of record are told apart in this order. (harnesses.md 3.5)"""
        self.recognized_count += 1
        if isinstance(record.get("$rewindTo"), str):
            self._rewind(record["$rewindTo"])
        elif _is_message(record):
            self._add_message(record)
        elif isinstance(record.get("$set"), dict):
            self._update(record["$set"])
        elif isinstance(record.get("sessionId"), str) and isinstance(record.get("projectHash"), str):
            self._begin(record)
        else:
            self.recognized_count -= 1
            self.skip(UNKNOWN)

    def _begin(self, header: dict[str, Any]) -> None:
        """A file begins; an older one's header holds its messages."""
        self.skip(BOOKKEEPING)
        self.started_at = self.started_at or to_utc_or_none(header.get("startTime"))
        self.visible_counts.clear()
        self._note(header)
        for message in as_list(header.get("messages")):
            if _is_message(message):
                self._add_message(message)
            else:
                self.skip(UNKNOWN)

    def _update(self, changes: dict[str, Any]) -> None:
        self.skip(BOOKKEEPING)
        self._note(changes)
        if isinstance(changes.get("messages"), list):
            self._rewrite(changes["messages"])

    def _note(self, changes: dict[str, Any]) -> None:
        self.session_id = self.session_id or as_string(changes.get("sessionId")) or None
        self.is_sub_agent = self.is_sub_agent or changes.get("kind") == _SUB_AGENT
        self.title = as_string(changes.get("summary")).strip() or self.title

    def _rewind(self, message_id: str) -> None:
        """Drops a message and all after it from the model's sight, all of them where it is unknown."""
        self.skip(BOOKKEEPING)
        ids = list(self.visible_counts)
        dropped = ids[ids.index(message_id) if message_id in self.visible_counts else 0 :]
        if rewound := sum(self.visible_counts.pop(each) for each in dropped):
            self.skipped[REWOUND] += rewound

    def _rewrite(self, messages: list[Any]) -> None:
        """The list that the model sees from now on: a compression puts a summary and copies, under new ids, in place
        of messages; masking cuts results short. Only the summary, and what is no copy, was not said before."""
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
        said = (_role(message), text.strip()) in self.seen_texts
        known = said if text else bool(tools) or any(map(genai.is_thought, content))
        return known and all(as_string(tool.get("id")) in self.calls for tool in tools)

    def _add_message(self, message: dict[str, Any]) -> None:
        message_id = message["id"]
        repeated = message_id in self.seen_ids
        turns = list(self._turns_of(message))
        self.turns += turns
        self.seen_ids.add(message_id)
        self.visible_counts[message_id] = self.visible_counts.get(message_id, 0) + len(turns)
        if not turns:
            self.skip(REPLAYED if repeated or _has_results(message) else _SKIP_REASONS.get(message["type"], NOTES))

    def _turns_of(self, message: dict[str, Any]) -> Iterator[Turn]:
        match message["type"]:
            case "user":
                yield from self._user(message)
            case "gemini":
                if as_string(message.get("model")):
                    self.models[message["model"]] = None
                yield from self._gemini(message)

    def _user(self, message: dict[str, Any]) -> Iterator[Turn]:
        """A compression's summary, or what was typed: `displayContent` where files and hooks added to it."""
        content = as_parts(message.get("content"))
        if _has_results(message):
            yield from self._returned_results(message, content)
            return
        text = extract_text(content, self.skipped)
        summary = genai.find_snapshot(text)
        if summary is None:
            typed = extract_text(as_parts(message.get("displayContent")), self.skipped) if text else ""
            yield from self._emit_text(
                message, USER, "\n".join([typed, *genai.list_media_notes(content)]) if typed else text
            )
            self.seen_texts.add((USER, text.strip()))
        elif (key := f"{message['id']}#compaction") not in self.emitted_ids:
            for turn in self.add_compaction(summary, to_utc_or_none(message.get("timestamp"))):
                yield from self._emit(key, turn, message)

    def _returned_results(self, message: dict[str, Any], content: list[Any]) -> Iterator[Turn]:
        """Results as they went back to the model; mostly the record of the calls has held them before."""
        for index, (answer, given) in enumerate(genai.split_responses(content)):
            call_id = as_string(answer.get("id"))
            if not (call_id and call_id in self.result_ids):
                self.result_ids.add(call_id)
                name = self.calls.get(call_id) or as_string(answer.get("name"))
                turn = genai.build_result_turn(name, given, self.skipped, error=False)
                yield from self._emit(f"{message['id']}#result-{call_id or index}", turn, message)

    def _gemini(self, message: dict[str, Any]) -> Iterator[Turn]:
        """What an update adds to calls that were shown comes first, then thoughts, text, and new calls with results."""
        content = as_parts(message.get("content"))
        calls = {_call_key(message, call, index): call for index, call in enumerate(_calls(message))}
        shown = calls.keys() & self.emitted_ids
        yield from self._results(message, {key: call for key, call in calls.items() if key in shown})
        yield from self._thoughts(message, content)
        yield from self._emit_text(message, ASSISTANT, extract_text(_text_parts(content), self.skipped))
        yield from self._part_calls(message, content)
        for key, call in calls.items():
            turn = genai.build_call_turn(call.get("name"), call.get("args"))
            self.calls[as_string(call.get("id"))] = turn.name
            yield from self._emit(key, turn, message)
        yield from self._results(message, {key: call for key, call in calls.items() if key not in shown})

    def _thoughts(self, message: dict[str, Any], content: list[Any]) -> Iterator[Turn]:
        thoughts = _objects(message.get("thoughts")) or [part for part in content if genai.is_thought(part)]
        for index, thought in enumerate(thoughts):
            words = (as_string(thought.get(key)).strip() for key in ("subject", "description", "text"))
            text = "\n".join(filter(None, words))
            if text:
                turn = Turn(ASSISTANT, text, thinking=True)
                yield from self._emit(f"{message['id']}#thought-{index}", turn, message, thought)

    def _part_calls(self, message: dict[str, Any], content: list[Any]) -> Iterator[Turn]:
        """Calls that stand among the parts; `toolCalls` has them too, with their results, where the tools ran."""
        for index, part in enumerate(content):
            call = get_object(part, "functionCall")
            call_id = as_string(call.get("id"))
            if call and not (call_id and call_id in self.calls):
                turn = genai.build_call_turn(call.get("name"), call.get("args"))
                self.calls[call_id] = turn.name
                yield from self._emit(_call_key(message, call, index), turn, message)

    def _results(self, message: dict[str, Any], calls: dict[str, dict[str, Any]]) -> Iterator[Turn]:
        for key, call in calls.items():
            status, given = call.get("status"), as_parts(call.get("result"))
            if given or status in _END_STATES:
                self.result_ids.add(as_string(call.get("id")))
                turn = genai.build_result_turn(
                    as_string(call.get("name")), given, self.skipped, error=status == "error"
                )
                turn = turn if turn.text else turn._replace(text=as_string(call.get("resultDisplay")).strip("\n"))
                yield from self._emit(f"{key}-result", turn, message, call)

    def _emit_text(self, message: dict[str, Any], role: str, text: str) -> Iterator[Turn]:
        """A message's text where it has not said it before: the first under the message's id, others are numbered."""
        key, message_id = (role, text.strip()), message["id"]
        if not text.strip() or (self.versions[message_id] and key in self.seen_texts):
            return
        self.seen_texts.add(key)
        self.versions[message_id] += 1
        number = self.versions[message_id]
        yield from self._emit(message_id if number == 1 else f"{message_id}#text-{number}", Turn(role, text), message)

    def _emit(self, source_id: str, turn: Turn, *timed: dict[str, Any]) -> Iterator[Turn]:
        """The turn where it wasn't shown; its time is the last one that the given records have."""
        if source_id not in self.emitted_ids:
            self.emitted_ids.add(source_id)
            times = (to_utc_or_none(record.get("timestamp")) for record in reversed(timed))
            yield turn._replace(at=next(filter(None, times), None), source_id=source_id)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in as_list(value) if isinstance(each, dict)]


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    return _objects(message.get("toolCalls"))


def _is_message(record: Any) -> bool:
    return isinstance(record, dict) and isinstance(record.get("id"), str) and as_string(record.get("type")) in _TYPES


def _role(message: dict[str, Any]) -> str:
    return ASSISTANT if message["type"] == "gemini" else USER


def _has_results(message: dict[str, Any]) -> bool:
    return any(get_object(part, "functionResponse") for part in as_parts(message.get("content")))


def _tool_part(part: Any) -> dict[str, Any]:
    return get_object(part, "functionCall") or get_object(part, "functionResponse")


def _text_parts(content: list[Any]) -> list[Any]:
    """The parts that are a message's text."""
    return [part for part in content if not (genai.is_thought(part) or _tool_part(part))]


def _call_key(message: dict[str, Any], call: dict[str, Any], index: int) -> str:
    return f"{message['id']}#call-{as_string(call.get('id')) or index}"


def _find_project(path: Path) -> str | None:
    """The folder that a history belongs to: its own note of it, else the registry's. The hash in a file names none."""
    slug = next((folder for folder in path.parents if (folder / "chats") in path.parents), None)
    if slug is None:
        return None
    projects = get_object(_decode_json(_read_small_file(slug.parent.parent / "projects.json")), "projects")
    named = (project for project, each in projects.items() if each == slug.name)
    return _read_small_file(slug / ".project_root").strip() or next(named, None)


def _read_small_file(path: Path) -> str:
    try:
        return read_bytes(path).decode("utf-8", errors="replace")
    except TranscriptError:
        return ""
