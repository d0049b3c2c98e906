"""The generic transcript: a JSON list, JSON lines, plain text with or without speakers. (format: Commands)"""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import InvalidInput, TranscriptError
from lineage.harness.generic import parse_inline, read

TURNS: list[dict[str, Any]] = [
    {"role": "user", "text": "Fix it", "at": "2026-10-02T11:00:00+02:00", "id": "a"},
    {"role": "assistant", "text": "", "name": "Read", "input": {"path": "a.py"}, "id": 7},
    {"role": "tool", "text": "boom", "name": "Read", "error": True},
    {"role": "system", "text": "Changed outside", "at": "2026-10-02T08:59:00Z"},
]
EXPECTED = (
    Turn(USER, "Fix it", "2026-10-02T09:00:00.000Z", source_id="a"),
    Turn(ASSISTANT, "", name="Read", input="a.py", source_id="7"),
    Turn(TOOL, "boom", name="Read", error=True),
    Turn(SYSTEM, "Changed outside", "2026-10-02T08:59:00.000Z"),
)


def write_file(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_list_of_turns_is_taken_as_it_is() -> None:
    assert parse_inline(TURNS).turns == EXPECTED


@pytest.mark.parametrize("name", ["a.json", "a.JSON"])
def test_a_json_file_holds_the_list(name: str, tmp_path: Path) -> None:
    data = b"\xef\xbb\xbf" + json.dumps(TURNS, indent=2).encode() + bytes(16)
    assert read(write_file(tmp_path, name, data)).turns == EXPECTED


@pytest.mark.parametrize("name", ["a.jsonl", "a.JSONL"])
def test_a_jsonl_file_holds_a_turn_a_line(name: str, tmp_path: Path) -> None:
    capture = read(write_file(tmp_path, name, "".join(json.dumps(turn) + "\n" for turn in TURNS) + '{"role":'))
    assert capture.turns == EXPECTED
    assert capture.skipped == {"damaged": 1}


def test_first_and_last_time_are_those_of_the_order_given() -> None:
    capture = parse_inline(TURNS)
    assert (capture.started_at, capture.ended_at) == ("2026-10-02T09:00:00.000Z", "2026-10-02T08:59:00.000Z")


def test_turns_without_any_time_give_none() -> None:
    capture = parse_inline([{"role": "user", "text": "Hello"}])
    assert (capture.started_at, capture.ended_at, capture.turns[0].at) == (None, None, None)


def test_a_turn_without_text_and_tool_is_counted() -> None:
    capture = parse_inline(
        [{"role": "user", "text": "Hello"}, {"role": "user"}, {"role": "user", "text": None, "id": ""}]
    )
    assert [turn.text for turn in capture.turns] == ["Hello"]
    assert capture.skipped == {"without text": 2}


def test_only_true_is_an_error() -> None:
    assert [
        turn.error for turn in parse_inline([{"role": "tool", "text": "x", "error": e} for e in (True, "no", 1)]).turns
    ] == [
        True,
        False,
        False,
    ]


def test_our_own_context_is_stripped_wherever_text_comes_from() -> None:
    text = "<lineage-context>\nolder\n</lineage-context>\nFix it"
    assert parse_inline([{"role": "user", "text": text}]).turns[0].text == "Fix it"
    assert parse_inline(text).turns[0].text == "Fix it"


@pytest.mark.parametrize("name", ["a.txt", "notes", "a.md"])
def test_any_other_file_is_plain_text_of_one_turn(name: str, tmp_path: Path) -> None:
    assert read(write_file(tmp_path, name, "What I did:\n- a\n- b\n")).turns == (Turn(USER, "What I did:\n- a\n- b"),)


def test_plain_text_that_begins_with_a_speaker_is_split_by_speakers() -> None:
    text = "User: Fix it\nplease\nAI: Done.\n\nhuman:  Thanks\nAssistant:\nsystem: bye\nAgent: ok\ntool: 3 passed"
    assert [(turn.role, turn.text) for turn in parse_inline(text).turns] == [
        (USER, "Fix it\nplease"),
        (ASSISTANT, "Done."),
        (USER, "Thanks"),
        (SYSTEM, "bye"),
        (ASSISTANT, "ok"),
        (TOOL, "3 passed"),
    ]


def test_a_speaker_in_the_middle_of_prose_splits_nothing() -> None:
    text = "These are my notes.\nUser: wanted a fix"
    assert parse_inline(text).turns == (Turn(USER, text),)
    assert len(parse_inline("User: he said user: root").turns) == 1


@pytest.mark.parametrize("text", ["", " \n\t", "<system-reminder>x</system-reminder>"])
def test_text_without_words_has_no_turns(text: str) -> None:
    assert parse_inline(text).turns == ()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"role": "robot", "text": "x"}, "turn 1 has no known role"),
        ({"role": ["user"], "text": "x"}, "turn 1 has no known role"),
        ({"text": "x"}, "turn 1 has no known role"),
        ("x", "turn 1 has no known role"),
        ({"role": "user", "text": 3}, "turn 1: 'text' is not a string"),
        ({"role": "user", "text": "x", "at": 1790931600}, "turn 1: 'at' is not a string"),
        ({"role": "user", "text": "x", "name": {}}, "turn 1: 'name' is not a string"),
        ({"role": "user", "text": "x", "id": ["a"]}, "turn 1: 'id' is neither a string nor a number"),
        ({"role": "user", "text": "x", "at": "2026-10-02T09:00:00"}, "turn 1: a time without a zone"),
        ({"role": "user", "text": "x", "at": "yesterday"}, "turn 1: not a time"),
        ({"role": "user", "text": "x", "at": "9999-12-31T23:59:59-14:00"}, "turn 1: a time out of range"),
    ],
)
def test_a_turn_that_breaks_the_form_is_named(wrong: object, message: str, tmp_path: Path) -> None:
    turns = [{"role": "user", "text": "fine"}, wrong]
    for attempt in (
        lambda: parse_inline(turns),
        lambda: read(write_file(tmp_path, "a.json", json.dumps(turns))),
    ):
        with pytest.raises(InvalidInput) as caught:
            attempt()
        assert caught.value.message.startswith(message)
        assert caught.value.hint


def test_a_naive_time_in_a_jsonl_file_names_the_turn(tmp_path: Path) -> None:
    path = write_file(tmp_path, "a.jsonl", '{"role":"user","text":"x","at":"2026-10-02 09:00"}\n')
    with pytest.raises(InvalidInput, match="turn 0: a time without a zone"):
        read(path)


@pytest.mark.parametrize("value", [{"turns": []}, 3, None, True])
def test_neither_list_nor_string_is_refused_by_its_type(value: object) -> None:
    with pytest.raises(InvalidInput, match=f"not {type(value).__name__}"):
        parse_inline(value)


@pytest.mark.parametrize("saved_at", ["2026-03-16T16:51:11.839Z", 1773679871839])
def test_a_saved_conversation_of_an_agent_is_a_session(saved_at: object, tmp_path: Path) -> None:
    messages = [{"role": "user", "text": "Why?"}, {"role": "agent", "text": "Because."}]
    saved = {"agentId": "dev", "savedAt": saved_at, "messages": messages}
    found = read(write_file(tmp_path, "dev.json", json.dumps(saved)))
    assert [(turn.role, turn.text) for turn in found.turns] == [("user", "Why?"), ("assistant", "Because.")]
    assert found.ended_at == "2026-03-16T16:51:11.839Z"
    assert read(write_file(tmp_path, "dev.json", json.dumps(saved | {"messages": []}))).turns == ()


@pytest.mark.parametrize("messages", [7, ["x"], [{"role": "boss", "text": "x"}], [{"role": ["user"]}]])
def test_a_conversation_that_breaks_the_form_is_refused(messages: object, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        read(write_file(tmp_path, "dev.json", json.dumps({"savedAt": None, "messages": messages})))


@pytest.mark.parametrize("text", ["[{", "nothing", "[" * 100_000])
def test_a_json_file_that_is_not_json_is_an_error(text: str, tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="not valid JSON") as caught:
        read(write_file(tmp_path, "a.json", text))
    assert "a turn is" in caught.value.hint


@pytest.mark.parametrize("name", ["a.json", "a.txt"])
def test_an_empty_file_has_no_turns(name: str, tmp_path: Path) -> None:
    assert read(write_file(tmp_path, name, "\n")).turns == ()


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"GIF89a\x00\x01", "words".encode("utf-16-le")])
def test_plain_text_that_is_not_text_is_an_error(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="not a text file") as caught:
        read(write_file(tmp_path, "a.txt", data))
    assert "UTF-8" in caught.value.hint
