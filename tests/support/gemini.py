"""Gemini CLI's logs, record by record, as files of tests."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lineage.core.capture import Capture

SESSION = "8fd417af-eb7e-5338-87e3-67d47c02e1f8"
PNG = base64.b64encode(bytes(700)).decode()

Record = dict[str, Any]
Reading = Callable[..., Capture]


def written(path: Path, *records: Record) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def header(session: str = SESSION, **more: Any) -> Record:
    return {"sessionId": session, "projectHash": "7" * 64, "startTime": "2026-10-02T09:00:00.000Z"} | more


def message(message_id: str, kind: str, content: Any, **more: Any) -> Record:
    return {"id": message_id, "timestamp": "2026-10-02T09:01:00.000Z", "type": kind, "content": content, **more}


def user(message_id: str, *parts: Any, **more: Any) -> Record:
    return message(message_id, "user", [text(part) if isinstance(part, str) else part for part in parts], **more)


def gemini(message_id: str, content: Any = "", **more: Any) -> Record:
    return message(message_id, "gemini", content, **more)


def text(words: str) -> Record:
    return {"text": words}


def image() -> Record:
    return {"inlineData": {"mimeType": "image/png", "data": PNG}}


def answer(call_id: str = "c1", name: str = "read_file", **response: Any) -> Record:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def asked(call_id: str = "c1", name: str = "read_file", **arguments: Any) -> Record:
    return {"functionCall": {"id": call_id, "name": name, "args": arguments}}


def call(result: Any = None, status: str = "executing", call_id: str = "c1", **more: Any) -> Record:
    arguments = {"file_path": "a.py"}
    return {"id": call_id, "name": "read_file", "args": arguments, "result": result, "status": status, **more}


def rewritten(*messages: Any) -> Record:
    return {"$set": {"messages": list(messages)}}


def snapshot(message_id: str, words: str) -> Record:
    return user(message_id, f"<state_snapshot>{words}</state_snapshot>")


def spoken(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]
