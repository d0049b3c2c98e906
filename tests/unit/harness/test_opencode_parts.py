"""OpenCode's messages: which parts are turns, what was taken back, what is still under way. (harnesses.md 4.2)"""

import itertools
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, InputPart, Turn
from lineage.harness.opencode import read
from tests.support.opencode import (
    AT,
    Record,
    T,
    list_messages,
    make_assistant_message,
    make_export,
    make_text,
    make_tool_call,
    make_user_message,
    write_database,
)

SAMPLE = Path(__file__).parents[2] / "data/opencode/opencode-v1.db"
PNG = "iVBORw0KGgo" * 30

Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Reads messages as an export; parts get ids, messages ids and times where they have none."""

    def read_messages(*messages: Record, **info: Any) -> Capture:
        path = tmp_path / "export.json"
        path.write_text(json.dumps(make_export(*messages, **info)))
        return read(path)

    return read_messages


# Turns of version 1


def test_a_part_is_a_turn_with_its_id_and_time(reader: Reader) -> None:
    state = {"output": "ok", "time": {"start": T + 2000, "end": T + 3000}}
    capture = reader(
        make_assistant_message(
            {"type": "reasoning", "text": "\nHm.\n", "time": {"start": T + 1000, "end": T + 1500}},
            make_tool_call("edit", filePath="reader.py", oldString="a", newString="b", state=state),
            make_text("Done."),
        )
    )
    assert capture.turns == (
        Turn(ASSISTANT, "Hm.", "2026-10-02T09:00:01.000Z", thinking=True, source_id="prt_1_1"),
        Turn(ASSISTANT, "", "2026-10-02T09:00:02.000Z", name="edit", input="reader.py", source_id="prt_1_2")._replace(
            parts=(InputPart("b", old="a"),), call_id="prt_1_2"
        ),
        Turn(TOOL, "ok", "2026-10-02T09:00:03.000Z", name="edit", source_id="prt_1_2#result", call_id="prt_1_2"),
        Turn(ASSISTANT, "Done.", AT, source_id="prt_1_3"),
    )


def test_what_the_harness_wrote_into_a_prompt_is_a_note(reader: Reader) -> None:
    capture = reader(
        make_user_message(
            make_text("Continue", synthetic=True), make_text("<system-reminder>x</system-reminder>", synthetic=True)
        ),
        make_user_message(
            make_text("<lineage-context>\nold\n</lineage-context>\nFix it"),
            make_text("shown to you alone", ignored=True),
        ),
        make_assistant_message(make_text("\n\n")),
    )
    assert list_messages(capture) == [(USER, "Fix it")]
    assert capture.skipped == {"bookkeeping": 1, "harness notes": 3}


def test_what_the_harness_read_for_a_prompt_is_kept_and_nobodys_words(reader: Reader) -> None:
    capture = reader(
        make_user_message(
            make_text("Fix @a.py"),
            make_text("Called the Read tool", synthetic=True),
            make_text("import os\n<system-reminder>x</system-reminder>", synthetic=True),
            make_text("<system-reminder>x</system-reminder>", synthetic=True),
        ),
        make_assistant_message(make_text("Done.")),
    )
    assert [(turn.role, turn.name, turn.text, turn.source_id) for turn in capture.turns] == [
        (USER, "", "Fix @a.py", "prt_1_1"),
        (TOOL, "attachment", "Called the Read tool", "prt_1_2#said-1"),
        (TOOL, "attachment", "import os", "prt_1_3#said-1"),
        (ASSISTANT, "", "Done.", "prt_2_1"),
    ]
    assert capture.skipped == {"harness notes": 1}


@pytest.mark.parametrize(
    "kind", ["step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry", "hologram", ["text"], None]
)
def test_other_parts_are_counted(kind: Any, reader: Reader) -> None:
    capture = reader(make_assistant_message({"type": kind, "prompt": "words", "snapshot": "abc"}, make_text("Done.")))
    assert list_messages(capture) == [(ASSISTANT, "Done.")]
    assert capture.skipped == {"unknown" if kind in ("hologram", ["text"], None) else "bookkeeping": 1}


@pytest.mark.parametrize(
    ("file", "note"),
    [
        ({"mime": "image/png", "url": f"data:image/png;base64,{PNG}"}, "[image image/png, 247 bytes left out]"),
        ({"mime": "application/pdf", "url": "data:;base64,QUJD"}, "[file application/pdf, 3 bytes left out]"),
        ({"url": "data:image/gif;base64,QUJD"}, "[image image/gif, 3 bytes left out]"),
        ({"mime": "text/plain", "filename": "a.py", "url": "file:///home/ada/a.py"}, "[file a.py]"),
        ({"mime": "text/plain", "url": "file:///home/ada/a.py"}, "[file file:///home/ada/a.py]"),
    ],
)
def test_a_file_leaves_a_note(file: Record, note: str, reader: Reader) -> None:
    assert list_messages(reader(make_user_message({"type": "file", **file}))) == [(USER, note)]
    attached = make_tool_call("read", state={"output": "seen", "attachments": [file]})
    assert reader(make_assistant_message(attached)).turns[1].text == f"seen\n{note}"
    assert list_messages(reader({"type": "user", "text": "See", "files": [file]})) == [(USER, f"See\n{note}")]


def test_a_tool_that_failed_is_an_error_and_one_without_an_end_has_no_result(reader: Reader) -> None:
    capture = reader(
        make_assistant_message(
            make_tool_call("bash", "error", {"error": "exit 1"}, command="false"),
            make_tool_call("bash", "running", command="sleep 9"),
            make_tool_call("bash", "pending"),
            {"type": "tool"},
        )
    )
    assert [(turn.role, turn.name, turn.input, turn.text, turn.error) for turn in capture.turns] == [
        (ASSISTANT, "bash", "false", "", False),
        (TOOL, "bash", "", "exit 1", True),
        (ASSISTANT, "bash", "sleep 9", "", False),
        (ASSISTANT, "bash", "", "", False),
        (ASSISTANT, "tool", "", "", False),
    ]


def test_reminders_are_stripped_from_results(reader: Reader) -> None:
    state = {"output": "  1 import os\n<system-reminder>Be brief.</system-reminder>\n"}
    assert reader(make_assistant_message(make_tool_call("read", state=state))).turns[1].text == "  1 import os"


@pytest.mark.parametrize(("auto", "trigger"), [(True, "auto"), (False, "manual")])
def test_a_summary_is_a_compaction_and_knows_what_came_before(auto: bool, trigger: str, reader: Reader) -> None:
    capture = reader(
        make_user_message(make_text("Fix it")),
        make_user_message({"type": "compaction", "auto": auto}),
        make_assistant_message({"type": "reasoning", "text": "Summarize."}, make_text("1. Goal."), summary=True),
        make_user_message(make_text("Go on", synthetic=True)),
        make_assistant_message(make_text("2. Goal."), summary=True),
    )
    assert capture.compactions == (CompactionRecord("1. Goal.", 1, AT, trigger), CompactionRecord("2. Goal.", 2, AT))
    assert [turn.role for turn in capture.turns] == [USER, SYSTEM, SYSTEM]
    assert capture.turns[1] == Turn(SYSTEM, "1. Goal.", AT, name="compaction", source_id="prt_3_2")
    assert capture.skipped == {"bookkeeping": 2, "harness notes": 1}


def test_a_users_message_may_carry_a_summary_of_its_own(reader: Reader) -> None:
    assert list_messages(reader(make_user_message(make_text("Fix it"), summary={"title": "Fix", "diffs": []}))) == [
        (USER, "Fix it")
    ]


@pytest.mark.parametrize("title", ["New session - 2026-10-02T09:00:00.000Z", "Child session - 2026-10-02T09", "", None])
def test_a_title_that_nobody_gave_is_none(title: str | None, reader: Reader) -> None:
    assert reader(make_user_message(make_text("Fix it")), title=title).title is None


# Rolled back


@pytest.mark.parametrize(
    ("revert", "kept", "reverted"),
    [
        ({"messageID": "msg_3"}, ["one", "two", "three"], 2),
        ({"messageID": "msg_2", "partID": "prt_2_2"}, ["one", "two"], 3),
        ({"messageID": "msg_2", "partID": "prt_9_9"}, ["one"], 3),
        ({"messageID": "msg_1"}, [], 4),
        ({"messageID": "msg_9"}, ["one", "two", "three", "four", "five"], 0),
        ({}, ["one", "two", "three", "four", "five"], 0),
    ],
)
def test_what_the_user_took_back_is_counted(
    revert: Record, kept: list[str], reverted: int, reader: Reader, tmp_path: Path
) -> None:
    messages = [
        make_user_message(make_text("one")), make_assistant_message(make_text("two"), make_text("three")),
        make_user_message(make_text("four")), make_assistant_message(make_text("five")),
    ]  # fmt: skip
    session = make_export(*messages, revert=json.dumps(revert))
    for capture in (reader(*messages, revert=revert), read(write_database(tmp_path / "a.db", session))):
        assert [words for _, words in list_messages(capture)] == kept
        assert capture.skipped == ({"reverted": reverted} if reverted else {})


# Version 2


def test_rows_of_version_2_say_who_spoke(reader: Reader) -> None:
    capture = reader(
        {"type": "user", "text": "Fix it"},
        {"type": "shell", "command": "git status", "output": "clean"},
        {"type": "shell", "shell": {"command": "ls"}, "output": {"output": "a.py"}},
        {"type": "assistant", "content": [make_text("Done."), "loose"], "model": {"id": "claude-opus-5"}},
    )
    assert [(turn.role, turn.name, turn.input, turn.text) for turn in capture.turns] == [
        (USER, "", "", "Fix it"),
        (TOOL, "shell", "git status", "clean"),
        (TOOL, "shell", "ls", "a.py"),
        (ASSISTANT, "", "", "Done."),
    ]
    assert capture.skipped == {"unknown": 1}


def test_rows_that_nobody_said_are_counted(reader: Reader) -> None:
    notes = [{"type": kind, "text": "words"} for kind in ("system", "synthetic", "skill")]
    plain = [{"type": kind} for kind in ("agent-switched", "model-switched", "location-switched", "idle")]
    capture = reader(*notes, *plain, {"type": "user", "text": " "}, {"type": "tomorrow"})
    assert capture.turns == ()
    assert capture.skipped == {"bookkeeping": 4, "harness notes": 4, "unknown": 1}


def test_a_tools_content_and_error_are_its_result(reader: Reader) -> None:
    content = [
        make_text("one"),
        {"type": "file", "uri": f"data:image/png;base64,{PNG}"},
        make_text("two"),
        {"type": "odour"},
    ]
    failed = {"type": "tool", "name": "bash", "state": {"status": "error", "input": {}, "error": {"message": "no"}}}
    done = {"type": "tool", "name": "read", "state": {"status": "completed", "input": "a.py", "content": content}}
    capture = reader({"type": "assistant", "content": [done, failed]})
    assert [(turn.name, turn.input, turn.text, turn.error) for turn in capture.turns] == [
        ("read", "a.py", "", False),
        ("read", "", "one\n[image image/png, 247 bytes left out]\ntwo", False),
        ("bash", "", "", False),
        ("bash", "", "no", True),
    ]
    assert capture.skipped == {"unknown": 1}


@pytest.mark.parametrize(
    ("row", "compactions", "skipped"),
    [
        ({"status": "completed", "summary": "1. Goal.", "reason": "manual"}, [("1. Goal.", "manual")], {}),
        ({"summary": "1. Goal."}, [("1. Goal.", None)], {}),
        ({"status": "completed", "summary": ""}, [(None, None)], {"bookkeeping": 1}),
        ({"status": "failed", "summary": "1. Go"}, [], {"harness notes": 1}),
        ({"status": "running", "summary": "1. Go"}, [], {"unfinished": 1}),
    ],
)
def test_a_compaction_counts_once_it_is_complete(
    row: Record, compactions: list[tuple[str, str]], skipped: Record, reader: Reader
) -> None:
    capture = reader({"type": "compaction", **row})
    assert [(each.summary, each.trigger) for each in capture.compactions] == compactions
    assert capture.skipped == skipped


# Growth


def test_what_is_under_way_waits_and_so_does_what_follows(reader: Reader) -> None:
    capture = reader(
        make_user_message(make_text("Fix it")),
        make_assistant_message(
            make_text("I look."), make_tool_call("read"), make_tool_call("bash", "running"), make_tool_call("grep"),
            make_text("Now"), done=False
        ),
        make_user_message(make_text("also test it")),
    )  # fmt: skip
    assert list_messages(capture) == [(USER, "Fix it"), (ASSISTANT, "I look."), (ASSISTANT, "read"), (TOOL, "read")]
    assert capture.skipped == {"unfinished": 4}


def test_a_text_that_has_ended_need_not_wait(reader: Reader) -> None:
    capture = reader(make_assistant_message(make_text("I look.", time={"start": T, "end": T}), done=False))
    assert (list_messages(capture), capture.skipped) == ([(ASSISTANT, "I look.")], {})


@pytest.mark.parametrize(("row", "turns"), [({"output": "clean"}, 1), ({"time": {"completed": T}}, 1), ({}, 0)])
def test_a_command_waits_for_its_output(row: Record, turns: int, reader: Reader) -> None:
    assert len(reader({"type": "shell", "command": "git status", "done": False, **row}).turns) == turns


def test_what_broke_off_is_read_once_the_work_went_on(reader: Reader) -> None:
    broken = make_assistant_message(make_tool_call("bash", "running"), make_text("half a sen"), done=False)
    capture = reader(broken, make_user_message(make_text("go on")), make_assistant_message(make_text("Done.")))
    assert [words for _, words in list_messages(capture)] == ["bash", "half a sen", "go on", "Done."]
    assert capture.skipped == {}


@pytest.mark.parametrize("ending", [{"finish": "stop"}, {"error": {"name": "ProviderAuthError"}}])
def test_a_message_that_has_an_ending_is_complete(ending: Record, reader: Reader) -> None:
    assert list_messages(reader(make_assistant_message(make_text("Done."), done=False, **ending))) == [
        (ASSISTANT, "Done.")
    ]


PARTS = st.sampled_from(["text", "reasoning", "tool", "tools", "step-start"])
SCRIPT = st.lists(
    st.one_of(st.just("user"), st.just("compaction"), st.lists(PARTS, min_size=1, max_size=4)), max_size=6
)


def build_states(script: list[Any], new: bool) -> Iterator[list[Record]]:
    """Every state of a session's messages while it goes on: text grows, tools run side by side, a prompt is queued."""
    messages: list[Record] = []
    for number, step in enumerate(script):
        if step == "user":
            messages.append(make_prompt(f"prompt {number}", new))
        elif step == "compaction" and new:
            yield [*messages, {"type": "compaction", "status": "running", "summary": "1."}]
            messages.append({"type": "compaction", "status": "completed", "summary": f"{number}. Goal."})
        else:
            summary = {"summary": True} if step == "compaction" else {}
            parts = list(build_stages(["text"] if summary else step))
            for index, (shown, ended) in enumerate(parts):
                row = {"type": "assistant", "content": shown, "done": ended}
                row = row if new else make_assistant_message(*shown, done=ended, **summary)
                yield [*messages, row, *([make_prompt("queued", new)] if index else [])]
            messages += [row, make_prompt("queued", new)]
        yield messages


def make_prompt(words: str, new: bool) -> Record:
    return {"type": "user", "text": words} if new else make_user_message(make_text(words))


def build_stages(parts: list[str]) -> Iterator[tuple[list[Record], bool]]:
    shown: list[Record] = []
    for kind in parts:
        match kind:
            case "text" | "reasoning":
                yield [*shown, {"type": kind, "text": "half"}], False
                shown.append({"type": kind, "text": "half a sentence", "time": {"start": T, "end": T}})
            case "tool" | "tools":
                names = ["read", "bash"] if kind == "tools" else ["read"]
                yield [*shown, *(make_tool_call(name, "pending") for name in names)], False
                yield [*shown, *(make_tool_call(name, "running", path="a.py") for name in names)], False
                yield (
                    [
                        *shown,
                        make_tool_call(names[0], "running", path="a.py"),
                        *(make_tool_call(name) for name in names[1:]),
                    ],
                    False,
                )
                shown += [make_tool_call(name, state={"output": "ok"}, path="a.py") for name in names]
            case _:
                shown.append({"type": kind})
        yield [*shown], False
    yield shown, True


@pytest.mark.slow
@given(script=SCRIPT, new=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_session_that_goes_on_only_ever_adds_turns(script: list[Any], new: bool, reader: Reader) -> None:
    history = [reader(*json.loads(json.dumps(state))) for state in build_states(script, new)]
    for earlier, later in itertools.pairwise(history):
        assert later.turns[: len(earlier.turns)] == earlier.turns
    ids = [turn.source_id for turn in history[-1].turns] if history else []
    assert len(set(ids)) == len(ids)


def test_a_database_that_is_written_row_by_row_only_ever_adds_turns(tmp_path: Path) -> None:
    whole = read(SAMPLE, "ses_main01").turns
    path = tmp_path / "opencode.db"
    shutil.copyfile(SAMPLE, path)
    with closing(sqlite3.connect(path)) as connection:
        for count in range(13, -1, -1):
            connection.execute("DELETE FROM part WHERE id > ?", (f"prt_{count:04d}",))
            connection.execute("DELETE FROM message WHERE id NOT IN (SELECT message_id FROM part)")
            connection.commit()
            turns = read(path, "ses_main01").turns
            assert turns == whole[: len(turns)]
    assert turns == ()


# Damage

WHOLE = make_export(
    make_user_message(
        make_text("Fix it"), {"type": "file", "mime": "image/png", "url": "data:;base64,QUJD"}, {"type": "compaction"}
    ),
    make_assistant_message(make_text("1. Goal."), summary=True),
    make_assistant_message(
        make_tool_call("read", state={"output": "ok", "attachments": [{"url": "a"}], "time": {"start": T, "end": T}})
    ),
    {"type": "user", "text": "Test it", "files": [{"uri": "data:,x"}]},
    {"type": "shell", "shell": {"command": "ls"}, "output": {"output": "a.py"}},
    {
        "type": "assistant",
        "content": [
            make_text("a"),
            make_tool_call("b", state={"content": [make_text("c")], "error": {"message": "d"}}),
        ],
    },
    {"type": "compaction", "status": "completed", "reason": "auto", "summary": "2. Goal."},
    revert={"messageID": "msg_7", "partID": "prt_7_1"},
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.text(),
    st.sampled_from(['"\\ud800"', "9" * 400, "[3]", '{"a": 1}', "[]"]).map(json.loads),
)


@given(data=st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_session_with_any_value_anywhere_is_read(data: st.DataObject, tmp_path: Path) -> None:
    session = json.loads(json.dumps(WHOLE))
    for _ in range(data.draw(st.integers(1, 3))):
        inner: Any = session
        while True:
            key = data.draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
            if not (isinstance(inner[key], dict | list) and inner[key] and data.draw(st.booleans())):
                break
            inner = inner[key]
        inner[key] = data.draw(VALUES)
    (tmp_path / "export.json").write_text(json.dumps(session))
    capture = read(tmp_path / "export.json")
    assert all(turn.text or turn.name for turn in capture.turns)
    assert all(count > 0 for count in capture.skipped.values())


# A person's words in other records


def test_answers_to_questions_and_reasons_of_refusals_are_a_persons(reader: Reader) -> None:
    state = {"output": "User has answered your questions", "metadata": {"answers": [["Both", "and c.py"], []]}}
    refusal = "The user rejected permission to use this specific tool call with the following feedback: use make"
    capture = reader(
        make_assistant_message(
            make_tool_call("question", state=state, questions=[{"question": "Which file?"}, {"question": "When?"}]),
            make_tool_call("bash", "error", state={"error": refusal}, command="tox"),
            make_tool_call("bash", "error", state={"error": "no such file"}, command="tox"),
        )
    )
    assert [turn.text for turn in capture.turns if turn.role == USER] == ["> Which file?\n\nBoth\nand c.py", "use make"]
    assert all("#said-1" in (turn.source_id or "") for turn in capture.turns if turn.role == USER)


def test_an_interruption_is_noted_behind_what_was_done(reader: Reader) -> None:
    broken_off = make_assistant_message(make_text("I beg"), done=False, error={"name": "MessageAbortedError"})
    assert list_messages(reader(broken_off)) == [(ASSISTANT, "I beg"), (SYSTEM, "The user interrupted.")]


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ('"fix the reader"', "fix the reader"),
        ('"say \\"hello\\" twice"', 'say "hello" twice'),
        ('"fix" the "reader"', '"fix" the "reader"'),
        ('"reader"', '"reader"'),
        ("fix the reader", "fix the reader"),
    ],
)
def test_a_prompt_loses_the_quotes_of_the_command_line(text: str, prompt: str, reader: Reader) -> None:
    assert list_messages(reader(make_user_message(make_text(text)))) == [(USER, prompt)]
