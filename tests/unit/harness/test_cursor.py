"""Cursor's transcripts: prompts in tags, no ids, no results, files that are rewritten. (harnesses.md 5.3)"""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, USER, InputPart, Turn, assign_ids
from lineage.errors import TranscriptError
from lineage.harness.adapters import list_history_roots
from lineage.harness.cursor import discover, read
from tests.support.workspace import end_session, open_memory_workspace

DATA = Path(__file__).parents[2] / "data/cursor/projects"
ID = "3a55bfa4-4938-5588-bc80-23355f5613ea"
FOLDER = DATA / "home-ada-demo/agent-transcripts" / ID
MAIN = FOLDER / f"{ID}.jsonl"
BEFORE = FOLDER / f"{ID}.before-resume.jsonl"
SUB_AGENT = FOLDER / "subagents/f6cd8704-224e-5efe-b6e4-cc379e450772.jsonl"
PNG = base64.b64encode(bytes(700)).decode()
NOTE = "[image image/png, 700 bytes left out]"
STAMP = "<timestamp>Friday, Oct 2, 2026, 9:00 AM (UTC)</timestamp>"
NOTICE = "<system_notification>\nThe following task has finished.\n</system_notification>"

Record = dict[str, Any]
Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    def read_records(*records: Record, project: str = "home-ada-demo") -> Capture:
        path = tmp_path / project / "agent-transcripts" / ID / f"{ID}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        return read(path)

    return read_records


def make_record(role: str, *blocks: Any) -> Record:
    return {"role": role, "message": {"content": list(blocks)}}


def make_user(*texts: str) -> Record:
    return make_record("user", *map(make_text, texts))


def make_query(words: str) -> Record:
    return make_user(f"<user_query>\n{words}\n</user_query>")


def make_assistant(*blocks: Any) -> Record:
    return make_record("assistant", *blocks)


def make_text(words: str) -> Record:
    return {"type": "text", "text": words}


def make_call(name: str, **arguments: Any) -> Record:
    return {"type": "tool_use", "name": name, "input": arguments}


def make_image() -> Record:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}


def make_turn_end(status: str = "success") -> Record:
    return {"type": "turn_ended", "status": status}


def list_texts(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]


# The samples as a whole


@pytest.mark.parametrize(
    ("path", "turns", "skipped"),
    [(MAIN, 6, {"bookkeeping": 1}), (BEFORE, 4, {"bookkeeping": 1}), (SUB_AGENT, 3, {})],
    ids=["resumed", "before", "sub-agent"],
)
def test_every_sample_reads_and_says_what_was_left_out(path: Path, turns: int, skipped: dict[str, int]) -> None:
    capture = read(path)
    assert len(capture.turns) == turns
    assert capture.skipped == skipped


def test_the_sample_session_reads_as_it_went() -> None:
    assert [(turn.role, turn.name, turn.input or turn.text) for turn in read(MAIN).turns] == [
        (USER, "", "Fix the reader"),
        (ASSISTANT, "", "[REDACTED]\n\nReading the file."),
        (ASSISTANT, "Read", "reader.py"),
        (ASSISTANT, "", "Fixed."),
        (USER, "", "add a test"),
        (ASSISTANT, "", "Added."),
    ]


def test_the_sample_session_says_what_it_was() -> None:
    capture = read(MAIN)
    assert capture.session_id == ID
    assert capture.started_at == capture.ended_at == "2026-10-02T09:00:00.000Z"
    assert (capture.parent_session, capture.project, capture.title, capture.models) == (None, None, None, ())


def test_resuming_rewrites_the_file_and_only_adds_turns() -> None:
    before, after = read(BEFORE).turns, read(MAIN).turns
    assert after[: len(before)] == before
    assert list(assign_ids(after, "token"))[: len(before)] == list(assign_ids(before, "token"))


def test_turns_have_no_id_of_their_own() -> None:
    """Place and text alone would name turns of two sessions that begin alike."""
    assert {turn.source_id for turn in read(MAIN).turns} == {None}
    assert next(assign_ids(read(MAIN).turns, "one")).id != next(assign_ids(read(SUB_AGENT).turns, "another")).id


def test_a_prompt_that_was_rewritten_is_another_turn(reader: Reader) -> None:
    first, second = (next(assign_ids(reader(make_query(words)).turns, "token")).id for words in ("Fix it", "Mend it"))
    assert first != second


# Prompts


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("<user_query>\nFix it\n</user_query>", "Fix it"),
        ("<user_query>Fix it</user_query>", "Fix it"),
        (f"{STAMP}\n<user_query>\nFix it\n</user_query>", "Fix it"),
        (f"<user_query>\n{STAMP}\nFix it\n</user_query>", "Fix it"),
        ("<attached_files>\n<x>\n</attached_files>\n\n<user_query>\nFix it\n</user_query>", "Fix it"),
        (
            "<open_and_recently_viewed_files>\na.py\n</open_and_recently_viewed_files>\n<user_query>Go</user_query>",
            "Go",
        ),
        (f"{STAMP}\nFix it", "Fix it"),
        ("Fix it", "Fix it"),
        ("<user_query>\nWhat is </user_query> for?\n</user_query>", "What is </user_query> for?"),
        ("<user_query>\n<b>bold</b> and <user_query> again\n</user_query>", "<b>bold</b> and <user_query> again"),
        ("What does <user_query> mean?", "What does <user_query> mean?"),
        ("</user_query> <user_query>", "</user_query> <user_query>"),
        ("<timestamp>never closed", "<timestamp>never closed"),
        ("<user_query>\n    indented\n</user_query>", "    indented"),
        ("<user_query>\n<lineage-context>\nolder\n</lineage-context>\nFix it\n</user_query>", "Fix it"),
    ],
)
def test_a_prompt_is_taken_out_of_its_tags(given: str, words: str, reader: Reader) -> None:
    assert list_texts(reader(make_user(given))) == [(USER, words)]


def test_a_content_that_is_a_string_is_a_text(reader: Reader) -> None:
    capture = reader(
        {"role": "user", "message": {"content": "<user_query>Hi</user_query>"}},
        {"role": "assistant", "message": {"content": "Hello."}},
    )
    assert list_texts(capture) == [(USER, "Hi"), (ASSISTANT, "Hello.")]


def test_the_texts_of_one_prompt_are_one_turn(reader: Reader) -> None:
    attached = "<attached_files>\na.py\n</attached_files>"
    assert list_texts(reader(make_user(attached, "<user_query>Fix</user_query>", "it"))) == [(USER, "Fix\nit")]


@pytest.mark.parametrize(
    "texts",
    [
        (NOTICE,),
        (f"{STAMP}\n{NOTICE}\n<user_query>Briefly inform the user.</user_query>",),
        (NOTICE + "\n<user_query>Briefly inform the user.</user_query>",),
        (STAMP,),
        ("<user_info>\nOS: linux\n</user_info>", "<rules>\nBe brief.\n</rules>"),
        ("<user_query>\n\n</user_query>",),
        ("",),
        (),
    ],
)
def test_what_nobody_typed_is_a_note(texts: tuple[str, ...], reader: Reader) -> None:
    capture = reader(make_user(*texts))
    assert (capture.turns, dict(capture.skipped)) == ((), {"harness notes": 1})


def test_images_leave_a_note_of_their_size(reader: Reader) -> None:
    capture = reader(
        make_record("user", make_text("<user_query>See</user_query>"), make_image()), make_assistant(make_image())
    )
    assert list_texts(capture) == [(USER, f"See\n{NOTE}"), (ASSISTANT, NOTE)]
    assert PNG not in repr(capture)


@given(words=st.text(st.characters(exclude_categories=["Cs"])))
def test_whatever_was_typed_comes_out_of_its_tags(words: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("typed") / "session.jsonl"
    path.write_text(json.dumps(make_query(f"- {words} -")), encoding="utf-8")
    assert list_texts(read(path)) == [(USER, f"- {words} -")]


# Times


@pytest.mark.parametrize(
    ("stamp", "at"),
    [
        ("Friday, Oct 2, 2026, 9:00 AM (UTC)", "2026-10-02T09:00:00.000Z"),
        ("Friday, Sep 18, 2026, 9:02 PM (UTC-7)", "2026-09-19T04:02:00.000Z"),
        ("Saturday, Jun 13, 2026, 12:50 AM (UTC-7)", "2026-06-13T07:50:00.000Z"),
        ("Sunday, Jun 14, 2026, 12:05 PM (UTC+5:30)", "2026-06-14T06:35:00.000Z"),
        ("Sunday, Jun 14, 2026, 12:05\u202fPM (UTC+12)", "2026-06-14T00:05:00.000Z"),
        ("Friday, Oct 2, 2026, 9:00 AM", None),
        ("Friday, Okt 2, 2026, 9:00 AM (UTC)", None),
        ("Friday, Feb 31, 2026, 9:00 AM (UTC)", None),
        ("Friday, Oct 2, 2026, 99:00 PM (UTC)", None),
        ("now", None),
    ],
)
def test_a_prompts_time_is_that_of_its_tag(stamp: str, at: str | None, reader: Reader) -> None:
    capture = reader(
        make_user(f"<timestamp>{stamp}</timestamp>\n<user_query>Hi</user_query>"), make_assistant(make_text("Hello."))
    )
    assert [turn.at for turn in capture.turns] == [at, None]
    assert capture.started_at == capture.ended_at == at


def test_a_time_inside_the_query_counts_and_the_outer_one_wins(reader: Reader) -> None:
    late = STAMP.replace("9:00", "11:00")
    inside, both = (
        make_user(f"<user_query>{STAMP}\nHi</user_query>"),
        make_user(f"{late}<user_query>{STAMP}Ho</user_query>"),
    )
    capture = reader(inside, both)
    assert [turn.at for turn in capture.turns] == ["2026-10-02T09:00:00.000Z", "2026-10-02T11:00:00.000Z"]
    assert (capture.started_at, capture.ended_at) == (capture.turns[0].at, capture.turns[1].at)


def test_the_first_of_a_prompts_texts_that_has_a_time_gives_it(reader: Reader) -> None:
    late = STAMP.replace("9:00", "11:00")
    assert reader(make_user("<user_query>Hi", STAMP, f"{late}\nthere", "you")).turns[0].at == "2026-10-02T09:00:00.000Z"


# The agent


def test_a_message_gives_a_turn_a_block_in_order(reader: Reader) -> None:
    thinking = {"type": "thinking", "thinking": "Look first."}
    capture = reader(
        make_assistant(thinking, make_text("\nI look.\n"), make_call("Shell", command="ls", description="List"))
    )
    assert capture.turns == (
        Turn(ASSISTANT, "Look first.", thinking=True),
        Turn(ASSISTANT, "I look."),
        Turn(
            ASSISTANT,
            "",
            name="Shell",
            input="ls",
            parts=(InputPart("ls", "bash"), InputPart('{\n  "description": "List"\n}', "json")),
        ),
    )


def test_a_text_keeps_its_markers_and_one_that_is_nothing_else_is_bookkeeping(reader: Reader) -> None:
    capture = reader(
        make_assistant(make_text("[REDACTED]")),
        make_assistant(make_text(" [REDACTED]\n"), make_text("Done.\n\n[REDACTED]")),
    )
    assert list_texts(capture) == [(ASSISTANT, "Done.\n\n[REDACTED]")]
    assert capture.skipped == {"bookkeeping": 2}


def test_blank_and_unknown_blocks_are_counted(reader: Reader) -> None:
    odd = make_record("user", {"type": "odour"}, "loose", {"type": "text"}, make_text("<user_query>Hi</user_query>"))
    capture = reader(make_assistant(make_text(" "), {"type": "odour"}, "loose"), odd)
    assert list_texts(capture) == [(USER, "Hi")]
    assert capture.skipped == {"bookkeeping": 1, "unknown": 5}


def test_a_call_may_have_no_name_or_input(reader: Reader) -> None:
    assert list_texts(reader(make_assistant({"type": "tool_use"}))) == [(ASSISTANT, "tool")]


@pytest.mark.parametrize("status", ["success", "aborted", "error"])
def test_the_end_of_a_turn_is_bookkeeping(status: str, reader: Reader) -> None:
    capture = reader(make_query("Hi"), make_turn_end(status))
    assert list_texts(capture) == [(USER, "Hi")]
    assert capture.skipped == {"bookkeeping": 1}


# The laws of records, to which a harness without ids and times is not held elsewhere


def test_a_growing_file_only_ever_adds_turns_and_a_torn_line_waits(tmp_path: Path) -> None:
    whole, lines = read(MAIN).turns, MAIN.read_bytes().splitlines(keepends=True)
    path, seen = tmp_path / "session.jsonl", 0
    for count, following in enumerate([*lines[1:], b""], 1):
        path.write_bytes(b"".join(lines[:count]))
        turns = read(path).turns
        assert turns == whole[: len(turns)]
        assert len(turns) >= seen
        seen = len(turns)
        path.write_bytes(path.read_bytes() + following[: len(following) // 2])
        assert read(path).turns == turns
        assert read(path).skipped.get("damaged", 0) == bool(following)
    assert seen == len(whole)


@pytest.mark.parametrize("data", [b"", b"\n\n", b"\xef\xbb\xbf", bytes(20)], ids=repr)
def test_a_file_that_holds_nothing_has_no_turns(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(data)
    assert (read(path).turns, read(path).skipped, read(path).started_at) == ((), {}, None)


def test_damage_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_bytes(MAIN.read_bytes() + b"{torn\n[]\n")
    assert read(path).skipped == {"bookkeeping": 1, "damaged": 2}


VALUES = (
    st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text()) | st.dictionaries(st.text(), st.text())
)


@given(
    record=st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant"])}, optional={"type": VALUES}),
    block=st.dictionaries(st.sampled_from(["type", "text", "thinking", "name", "input", "source"]), VALUES),
    kind=st.sampled_from(["text", "thinking", "tool_use", "image"]),
)
def test_any_value_anywhere_is_read(
    record: Record, block: Record, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("odd") / "session.jsonl"
    path.write_text(json.dumps(record | {"message": {"content": [{"type": kind} | block, block]}}), encoding="utf-8")
    capture = read(path)
    assert all(turn.text or turn.name for turn in capture.turns)
    assert capture.turns or capture.skipped


def test_a_lone_surrogate_reaches_memory_as_a_replacement_character(tmp_path: Path) -> None:
    path = tmp_path / f"{ID}.jsonl"
    path.write_bytes(MAIN.read_bytes().replace(b"reader", rb"\ud83d"))
    with open_memory_workspace(tmp_path) as ws:
        outcome = end_session(ws, harness="cursor", transcript_path=str(path))
        assert outcome.status == "captured"
        assert "\ufffd" in ws.documents.store.read(outcome.transcript_path or "").data.decode()


# Session, parent, project


@pytest.mark.parametrize(
    ("path", "session", "parent"),
    [
        (f"p/agent-transcripts/{ID}/{ID}.jsonl", ID, None),
        (f"p/agent-transcripts/{ID}/{ID}.saved.jsonl", ID, None),
        (f"p/agent-transcripts/{ID}.jsonl", ID, None),
        (f"p/agent-transcripts/{ID}/subagents/c1.jsonl", "c1", ID),
        (f"p/agent-transcripts/{ID}/saved/c1.jsonl", "c1", None),
        ("elsewhere/saved.jsonl", None, None),
    ],
)
def test_the_path_says_whose_session_it_is(path: str, session: str | None, parent: str | None, tmp_path: Path) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(make_query("Hi")), encoding="utf-8")
    capture = read(file)
    assert (capture.session_id, capture.parent_session) == (session, parent)


@pytest.mark.parametrize(
    ("folder", "calls", "project"),
    [
        ("home-ada-demo", [make_call("Read", path="/home/ada/demo/src/reader.py")], "/home/ada/demo"),
        ("home-ada-my-demo", [make_call("Read", path="/home/ada/my.demo/reader.py")], "/home/ada/my.demo"),
        ("home-ada-demo", [make_call("Shell", command="ls", working_directory="/home/ada/demo")], "/home/ada/demo"),
        ("c-Work-demo", [make_call("Read", path="c:\\Work\\demo\\reader.py")], "c:\\Work\\demo"),
        (
            "home-ada-demo",
            [make_call("Read", path="/etc/hosts"), make_call("Read", path="/home/ada/demo/a")],
            "/home/ada/demo",
        ),
        (
            "home-ada-demo",
            [make_call("Read", path="/home/ada/demo/a"), make_call("Read", path="/etc/hosts")],
            "/home/ada/demo",
        ),
        ("home-ada--config", [make_call("Read", path="/home/ada/.config/a")], "/home/ada/.config"),
        ("home-ada-demo", [make_call("Read", path="/home/ada/demo_/a")], "/home/ada/demo_"),
        ("home-ada-demo", [make_call("Read", path="/home/ada/demolition/a.py")], None),
        ("home-ada-demo", [make_call("Read", path="home/ada/demo/a.py")], None),
        ("-", [make_call("Read", path="/")], None),
        ("home-ada-demo", [make_call("Read", path="reader.py"), make_call("Read", path=["/home/ada/demo/a"])], None),
        (
            "home-ada-demo",
            [make_call("Read", path="/" * 500_000), {"type": "tool_use", "input": "/home/ada/demo/a"}],
            None,
        ),
    ],
)
def test_the_project_is_the_directory_of_the_folders_name_that_a_call_shows(
    folder: str, calls: list[Record], project: str | None, reader: Reader
) -> None:
    assert reader(make_query("Hi"), make_assistant(*calls), project=folder).project == project


def test_a_relative_path_says_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path("agent-transcripts") / ID / "home.jsonl"
    monkeypatch.chdir(tmp_path)
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(make_assistant(make_call("Read", path="/home/jsonl/a.py"))), encoding="utf-8")
    assert (read(path).session_id, read(path).project) == (ID, None)


# What is unknown or another's


@pytest.mark.parametrize(
    "odd",
    [
        {"role": "system", "message": {"content": "words"}},
        {"role": ["user"], "message": {"content": "words"}},
        {"role": "user", "message": "words"},
        {"role": "user", "message": {"content": 3}},
        {"type": "tomorrow"},
        {},
    ],
)
def test_unknown_records_are_counted_and_the_others_read(odd: Record, reader: Reader) -> None:
    capture = reader(make_query("Fix it"), odd, make_assistant(make_text("Done.")))
    assert list_texts(capture) == [(USER, "Fix it"), (ASSISTANT, "Done.")]
    assert capture.skipped == {"unknown": 1}


OTHERS: dict[str, list[Record]] = {
    "claude-code": [{"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix it"}}],
    "copilot": [{"type": "user.message", "data": {"content": "Fix it"}, "id": "1"}],
    "generic": [{"role": "user", "text": "Fix it"}],
    "pi": [{"type": "session", "id": "x"}, {"type": "message", "message": {"role": "user", "content": "Fix it"}}],
}


@pytest.mark.parametrize("harness", OTHERS)
def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(harness: str, reader: Reader) -> None:
    with pytest.raises(TranscriptError, match="no Cursor record") as caught:
        reader(*OTHERS[harness])
    assert "--harness" in caught.value.hint


# Finding sessions


def test_the_history_lies_in_cursors_folder() -> None:
    assert list_history_roots("cursor", Path("/home/ada"), {"CURSOR_PROJECT_DIR": "/srv"}) == [
        Path("/home/ada/.cursor/projects")
    ]


def test_sessions_and_sub_agents_are_found_in_a_fixed_order() -> None:
    assert [item.path for item in discover(DATA)] == [BEFORE, MAIN, SUB_AGENT]
    assert [item.path for item in discover(MAIN)] == [MAIN]
