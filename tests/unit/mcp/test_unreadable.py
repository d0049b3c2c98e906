"""A line that is no message is mended where half a character is all that is wrong, and answered otherwise."""

import json

import mcp_types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from lineage.mcp.unreadable import build_error, mend_message


def refuse(line: str) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    return caught.value


def call(text: str) -> str:
    arguments = {"name": "remember", "arguments": {"text": text}}
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": arguments})


@given(st.text(st.characters(exclude_categories=())), st.sampled_from(["\ud83d", "\udc00", "\udc00\ud83d"]))
def test_half_a_character_is_replaced_and_all_others_stay(text: str, half: str) -> None:
    said = f"{text}, {half} and {text}"
    message = mend_message(refuse(call(said)))
    assert isinstance(message, SessionMessage)
    assert isinstance(message.message, mcp_types.JSONRPCRequest)
    arguments = (message.message.params or {})["arguments"]["text"]
    whole = said.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert (message.message.id, arguments.encode().decode()) == (7, whole)


@pytest.mark.parametrize(
    ("line", "number", "code"),
    [
        ("garbage", None, -32700),
        ("\ufffd\ufffd", None, -32700),
        ('{"jsonrpc": "2.0", "id": 1', None, -32700),
        ("[]", None, -32600),
        ('[{"jsonrpc": "2.0", "id": 3, "method": "tools/list"}]', None, -32600),
        ('{"jsonrpc": "2.0", "id": 3, "method": "tools/list", "params": [1]}', 3, -32600),
        ('{"jsonrpc": "2.0", "id": "nine", "method": 5}', "nine", -32600),
        ('{"jsonrpc": "2.0", "id": 4, "method": 5, "params": "\\ud83d"}', 4, -32600),
        ("[" * 100_000, None, -32700),
        ('{"jsonrpc": "2.0", "id": 5, "method": "ping", "params": {"a": ' + "[" * 500 + "]" * 500 + "}}", 5, -32700),
    ],
)
def test_what_is_no_message_is_answered_under_the_id_that_it_has(
    line: str, number: int | str | None, code: int
) -> None:
    error = mend_message(refuse(line))
    assert isinstance(error, ValidationError)
    answer = build_error(error)
    assert answer is not None
    assert (answer.id, answer.error.code) == (number, code)


@pytest.mark.parametrize(
    "line", ["", " \r\n", '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": "x"}']
)
def test_an_empty_line_and_a_notification_get_no_answer(line: str) -> None:
    assert build_error(refuse(line)) is None
