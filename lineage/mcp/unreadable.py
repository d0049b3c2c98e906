"""What a client sends that is no message: mended if that is certain, answered with an error otherwise.

The SDK drops it without a word, and its client waits for an answer until its own time is up.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError

from lineage.core.format.body import replace_surrogates

Received = SessionMessage | Exception


@asynccontextmanager
async def open_streams() -> AsyncIterator[tuple[MemoryObjectReceiveStream[Received], Any]]:
    """Yield what is read from stdin, and what is written to stdout. Lines that are no message are answered here."""
    async with stdio_server() as (reading, writing), anyio.create_task_group() as group:
        sending, receiving = anyio.create_memory_object_stream[Received](0)
        group.start_soon(_relay, reading, sending, writing)
        async with receiving:
            yield receiving, writing


async def _relay(reading: Any, sending: MemoryObjectSendStream[Received], writing: Any) -> None:
    async with reading, sending:
        async for received in reading:
            message = mend_message(received) if isinstance(received, ValidationError) else received
            error = build_error(message) if isinstance(message, ValidationError) else None
            if error:
                await writing.send(SessionMessage(error))
            elif isinstance(message, SessionMessage):
                await sending.send(message)


def mend_message(error: ValidationError) -> SessionMessage | ValidationError:
    """Return the message of a line with half a character, as programs cut emoji; the error for any other line.

    JSON can escape half a surrogate pair, UTF-8 can't hold it: U+FFFD takes its place.
    """
    try:
        text = replace_surrogates(json.dumps(json.loads(_find_line(error)), ensure_ascii=False))
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValidationError as still:
        return still
    except (ValueError, RecursionError):
        return error


def build_error(error: ValidationError) -> mcp_types.JSONRPCError | None:
    """Return the answer to a line that is no message, None if there is none to an empty line or a notification.

    It is to the line's request if that has an id, and quotes nothing of it.
    """
    is_json = all(one["type"] != "json_invalid" for one in error.errors())
    # Of the forms that a message can have it lacks a member of one at the least: that error tells the whole.
    missing = (one["input"] for one in error.errors() if one["type"] == "missing")
    whole = next(missing, None) if is_json else _parse(_find_line(error))
    members = whole if isinstance(whole, dict) else {}
    number = members.get("id") if isinstance(members.get("id"), int | str) else None
    if ("method" in members and number is None) or not (is_json or _find_line(error).strip()):
        return None
    code, text = (INVALID_REQUEST, "no request of JSON-RPC 2.0") if is_json else (PARSE_ERROR, "no JSON in one line")
    return mcp_types.JSONRPCError(jsonrpc="2.0", id=number, error=mcp_types.ErrorData(code=code, message=text))


def _parse(line: str) -> Any:
    """Return the value of a line that pydantic takes for no JSON for how deep it is; None for what is none."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _find_line(error: ValidationError) -> str:
    """Return the line that was read if it was taken for no JSON, else ""."""
    lines = (one["input"] for one in error.errors() if one["type"] == "json_invalid")
    return next((line for line in lines if isinstance(line, str)), "")
