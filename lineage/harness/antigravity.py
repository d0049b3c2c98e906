"""The adapter of Antigravity, the editor and the command line `agy`: steps as JSON lines.

A session's `brain/<id>/.system_generated/logs/` holds its steps twice: `transcript_full.jsonl` whole,
`transcript.jsonl` with long texts cut in the middle, sometimes from further back. Older editors wrote `overview.txt`. A
step is a prompt, an answer with its calls, or a call's result; results name no call, they take the step numbers behind
the answer. The databases in `conversations/` have no public format and are never read.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.adapter import BOOKKEEPING, NOTES, UNKNOWN, Collector, SessionLocation, list_files
from lineage.harness.json_values import JsonObject, as_list, as_mapping, as_string, decode_json
from lineage.harness.jsonl import read_records, read_text
from lineage.harness.text import strip_injections
from lineage.harness.tool_inputs import build_call_turn

# The later ones hold texts in full.
_LOGS = ("overview.txt", "transcript.jsonl", "transcript_full.jsonl")
_FOLDERS = (".system_generated", "logs")
_PROMPT, _ANSWER, _CHECKPOINT = "USER_INPUT", "PLANNER_RESPONSE", "CHECKPOINT"
_SOURCES = {"USER_EXPLICIT": _PROMPT, "MODEL": _ANSWER, "SYSTEM": "", "SYSTEM_SDK": ""}
_SKIPPED = dict.fromkeys(
    (_PROMPT, _CHECKPOINT, "CONVERSATION_HISTORY", "EPHEMERAL_MESSAGE", "SYSTEM_MESSAGE", "ERROR_MESSAGE"), NOTES
)
_OPENING, _CLOSING = "<USER_REQUEST>", "</USER_REQUEST>"
_ADDED = re.compile(r"<(ADDITIONAL_METADATA|USER_SETTINGS_CHANGE)>.*?</\1>", re.DOTALL)
_MODEL = re.compile(r"`Model Selection` from .+? to (.+?)\. No need")
_CLOCK = re.compile(r"\A(?:(?:Created|Completed) At: [^\n]*\n)+\n?")
_FAILED = re.compile(r"^The command (?:exited|failed) with (?:exit )?code:? (?!0\b)-?\d+", re.MULTILINE)


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a log, with the steps of the logs beside it.

    Raise TranscriptError for unreadable and foreign files.
    """
    is_in_place = path.name in _LOGS and path.parts[-3:-1] == _FOLDERS
    reader = _Reader(session=path.parts[-4] if is_in_place and len(path.parts) > 3 else "")
    for step in _read_steps(path, is_in_place, reader.skipped):
        reader.add(step)
    reader.refuse_foreign(path, "Antigravity step")
    project = _find_project(path, reader.session) if reader.session else ""
    return reader.build_capture(session_id=reader.session or None, project=project or reader.cwd or None)


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every session once, by the log that goes back furthest."""
    for item in list_files(root, _LOGS):
        names = [name for name in ("transcript.jsonl", *_LOGS) if item.path.with_name(name).is_file()]
        if item.path == root or (item.path.parts[-3:-1] == _FOLDERS and item.path.name == names[0]):
            yield item


def _read_steps(path: Path, is_in_place: bool, skipped: Counter[str]) -> list[JsonObject]:
    """Return the steps in order, each from the log that holds it in full."""
    beside = [path.with_name(name) for name in _LOGS] if is_in_place else []
    steps: dict[object, JsonObject] = {}
    for log in [file for file in beside if file.is_file() and not file.is_symlink()] or [path]:
        for number, step in enumerate(read_records(log, skipped)):
            index = _index_of(step)
            steps[(log.name, number) if index is None else index] = step
    return list(steps.values())


@dataclass(slots=True)
class _Reader(Collector):
    session: str = ""
    cwd: str = ""
    calls: dict[int, Turn] = field(default_factory=dict)

    def add(self, record: JsonObject) -> None:
        source = as_string(record.get("source"))
        if source not in _SOURCES or not isinstance(record.get("content"), str | None):
            self.skip(UNKNOWN)
            return
        self.recognized_count += 1
        at, index = self.record_time(record.get("created_at")), _index_of(record)
        key = f"{self.session}:{index}" if self.session and index is not None else None
        turns = list(self._turns_of(source, as_string(record.get("type")) or _SOURCES[source], record, at))
        for part, turn in turns:
            self.buffer.append(turn._replace(at=at, source_id=f"{key}{part}" if key else None))
        if not turns:
            self.skip(_SKIPPED.get(as_string(record.get("type")), UNKNOWN if source == "SYSTEM" else BOOKKEEPING))

    def _turns_of(self, source: str, kind: str, record: JsonObject, at: str | None) -> Iterator[tuple[str, Turn]]:
        """Yield the turns of a step, each behind a mark that tells it from the others: the cut log may lack one."""
        text, index = as_string(record.get("content")), _index_of(record) or 0
        if kind == _PROMPT:
            if model := _MODEL.search(text):
                self.note_model(model[1])
            if prompt := _extract_request(text):
                yield "", Turn(USER, prompt)
        elif kind == _CHECKPOINT:
            for turn in self.add_compaction(text, at):
                yield "", turn
        elif source == "MODEL" and kind == _ANSWER:
            if thought := as_string(record.get("thinking")).strip():
                yield "#thinking", Turn(ASSISTANT, thought, thinking=True)
            if text.strip():
                yield "", Turn(ASSISTANT, text.strip("\n"))
            yield from self._calls(record, index)
        elif source == "MODEL":
            call = self.calls.pop(index, Turn(ASSISTANT, "", name=kind.lower()))
            result = strip_injections(_CLOCK.sub("", text))
            failed = record.get("status") == "ERROR" or bool(_FAILED.search(result[:200]))
            yield "", Turn(TOOL, result, name=call.name, error=failed, call_id=call.call_id)
            yield from self._calls(record, index)

    def _calls(self, record: JsonObject, index: int) -> Iterator[tuple[str, Turn]]:
        for number, call in enumerate(map(as_mapping, as_list(record.get("tool_calls"))), 1):
            arguments = _decode_arguments(call.get("args", call.get("arguments")))
            self.cwd = self.cwd or as_string(as_mapping(arguments).get("Cwd"))
            turn = build_call_turn(call.get("name"), arguments, f"{self.session}:{index}#call-{number}")
            self.calls[index + number] = turn
            yield f"#call-{number}", turn


def _index_of(step: JsonObject) -> int | None:
    index = step.get("step_index")
    return index if type(index) is int else None


def _extract_request(text: str) -> str:
    """Return the typed words: the harness adds the time, open files and changed settings behind them."""
    if text.lstrip().startswith(_OPENING):
        typed = text.partition(_OPENING)[2]
        text = typed.rpartition(_CLOSING)[0] if _CLOSING in typed else typed
    return strip_injections(_ADDED.sub("", text)).strip("\n")


def _decode_arguments(arguments: Any) -> Any:
    """Return a call's arguments as values: the cut log writes each as a JSON text."""
    values = list(as_mapping(arguments).values())
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) < len(values) or not any(isinstance(decode_json(text), str) for text in texts):
        return arguments
    return {name: value if (v := decode_json(value)) is None else v for name, value in arguments.items()}


def _find_project(path: Path, session: str) -> str:
    """Return the folder of a session: the editor's notes name it, the command line's for the last session of each."""
    cache = path.parents[4] / "cache"
    noted = as_mapping(as_mapping(_read_json(cache / "conversation_metadata.json")).get("conversations"))
    summary = as_mapping(as_mapping(noted.get(session)).get("summary"))
    uris = [as_string(uri) for uri in as_list(summary.get("WorkspaceURIs"))]
    last = as_mapping(_read_json(cache / "last_conversations.json"))
    folders = [folder for folder, name in last.items() if name == session]
    return next((unquote(urlsplit(uri).path) for uri in uris if uri.startswith("file://")), "") or next(
        iter(folders), ""
    )


def _read_json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except (TranscriptError, ValueError, RecursionError):
        return None
