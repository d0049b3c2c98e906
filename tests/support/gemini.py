"""Gemini CLI's logs, record by record, as files of tests."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lineage.core.capture.capture import Capture

SESSION = "8fd417af-eb7e-5338-87e3-67d47c02e1f8"
PNG = base64.b64encode(bytes(700)).decode()

Record = dict[str, Any]
Reader = Callable[..., Capture]


def write_records(path: Path, *records: Record) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def make_header(session: str = SESSION, **more: Any) -> Record:
    return {"sessionId": session, "projectHash": "7" * 64, "startTime": "2026-10-02T09:00:00.000Z"} | more


def make_message(message_id: str, kind: str, content: Any, **more: Any) -> Record:
    return {"id": message_id, "timestamp": "2026-10-02T09:01:00.000Z", "type": kind, "content": content, **more}


def make_user_message(message_id: str, *parts: Any, **more: Any) -> Record:
    return make_message(
        message_id, "user", [make_text(part) if isinstance(part, str) else part for part in parts], **more
    )


def make_model_message(message_id: str, content: Any = "", **more: Any) -> Record:
    return make_message(message_id, "gemini", content, **more)


def make_text(words: str) -> Record:
    return {"text": words}


def make_image() -> Record:
    return {"inlineData": {"mimeType": "image/png", "data": PNG}}


def make_response(call_id: str = "c1", name: str = "read_file", **response: Any) -> Record:
    return {"functionResponse": {"id": call_id, "name": name, "response": response}}


def make_request(call_id: str = "c1", name: str = "read_file", **arguments: Any) -> Record:
    return {"functionCall": {"id": call_id, "name": name, "args": arguments}}


def make_tool_call(result: Any = None, status: str = "executing", call_id: str = "c1", **more: Any) -> Record:
    arguments = {"file_path": "a.py"}
    return {"id": call_id, "name": "read_file", "args": arguments, "result": result, "status": status, **more}


def make_rewrite(*messages: Any) -> Record:
    return {"$set": {"messages": list(messages)}}


def make_snapshot(message_id: str, words: str) -> Record:
    return make_user_message(message_id, f"<state_snapshot>{words}</state_snapshot>")


def list_messages(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]
