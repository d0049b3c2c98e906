"""Codex rollouts for tests: records, whole files of them, and the samples."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture
from lineage.harness.codex import read

DATA = Path(__file__).parents[1] / "data/codex"
LOCAL, REMOTE, FORK, PAGED_FORK, SUB_AGENT, NEWEST = sorted((DATA / "sessions").rglob("rollout-*.jsonl"))
ARCHIVED = DATA / "archived_sessions" / REMOTE.name
SAMPLES = sorted(path for path in DATA.rglob("*.jsonl") if path.name != "session_index.jsonl")
THREAD = "019f9000-0000-7000-8000-00000000000a"
PARENT = "019f9000-0000-7000-8000-0000000000aa"
PNG = base64.b64encode(bytes(700)).decode()
DATA_URL = f"data:image/png;base64,{PNG}"
NOTE = "[image image/png, 700 bytes left out]"
ENCRYPTED = "sk-" + "A1b2" * 20

Record = dict[str, Any]
Reader = Callable[..., Capture]


def read_capture(path: Path, *records: Record, bare: bool = False) -> Capture:
    """Reads records as a rollout: with a `session_meta` where they begin with none, with a time where they have none;
    `bare`: as they are."""
    lines = (json.dumps(record) + "\n" for record in (records if bare else _add_session_meta(records)))
    path.write_text("".join(lines), encoding="utf-8")
    return read(path)


def _add_session_meta(records: tuple[Record, ...]) -> Iterator[Record]:
    first = [] if records and records[0].get("type") == "session_meta" else [make_meta()]
    for number, record in enumerate([*first, *records]):
        yield {"timestamp": f"2026-10-02T09:{number:02d}:00.000Z"} | record


def make_meta(identity: str = THREAD, **more: Any) -> Record:
    return {"type": "session_meta", "payload": {"id": identity, "cwd": "/home/ada/demo", "source": "cli", **more}}


def make_item(kind: str, /, **more: Any) -> Record:
    return {"type": "response_item", "payload": {"type": kind, **more}}


def make_event(kind: str, /, **more: Any) -> Record:
    return {"type": "event_msg", "payload": {"type": kind, **more}}


def make_part(kind: str, **more: Any) -> Record:
    return make_event("item_completed", item={"type": kind, **more})


def make_message(role: str, *content: Any, **more: Any) -> Record:
    kind = "output_text" if role == "assistant" else "input_text"
    blocks = [{"type": kind, "text": block} if isinstance(block, str) else block for block in content]
    return make_item("message", role=role, content=blocks, **more)


def make_user_input(words: str, **more: Any) -> Record:
    return make_event("user_message", message=words, images=[], **more)


def make_call(name: str, call_id: str = "c1", **arguments: Any) -> Record:
    return make_item("function_call", name=name, arguments=json.dumps(arguments), call_id=call_id)


def make_result(output: Any, call_id: str = "c1") -> Record:
    return make_item("function_call_output", call_id=call_id, output=output)


def make_turn_start(turn_id: str) -> Record:
    return make_event("task_started", turn_id=turn_id)


def list_messages(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]


def list_ids(capture: Capture) -> list[str | None]:
    return [turn.source_id for turn in capture.turns]
