"""Gemini CLI's transcripts: what a replay says once, and what is undone and stays. (harnesses.md 3.5)"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.harness.gemini import read
from tests.support.gemini import (
    PNG,
    Reader,
    Record,
    list_messages,
    make_header,
    make_image,
    make_message,
    make_model_message,
    make_request,
    make_response,
    make_rewrite,
    make_snapshot,
    make_text,
    make_tool_call,
    make_user_message,
    write_records,
)  # fmt: skip

NOTE = "[image image/png, 700 bytes left out]"
SIGNATURE = "c2lnLXBsYWNlaG9sZGVy" * 6


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Reads records as a log; a header stands before them where they begin with none."""

    def read_records(*records: Record) -> Capture:
        first = () if records and "sessionId" in records[0] else (make_header(),)
        return read(write_records(tmp_path / "log.jsonl", *first, *records))

    return read_records


# What an update adds


def test_a_message_that_grows_gives_each_of_its_parts_once(reader: Reader) -> None:
    thought = {"subject": "Look", "description": "at it", "timestamp": "2026-10-02T09:00:30Z"}
    done = make_tool_call([make_response(output="import os")], "success", timestamp="2026-10-02T09:02:00Z")
    capture = reader(
        make_model_message("g", thoughts=[thought]),
        make_model_message("g", "I read it.", thoughts=[thought]),
        make_model_message("g", "I read it.", thoughts=[thought], toolCalls=[make_tool_call()]),
        make_model_message("g", "I read it.", thoughts=[thought], toolCalls=[done]),
        make_model_message("g", "I read it.", thoughts=[thought], toolCalls=[done], tokens={"total": 9}),
    )
    assert capture.turns == (
        Turn(ASSISTANT, "Look\nat it", "2026-10-02T09:00:30.000Z", thinking=True, source_id="g#thought-0"),
        Turn(ASSISTANT, "I read it.", "2026-10-02T09:01:00.000Z", source_id="g"),
        Turn(
            ASSISTANT,
            "",
            "2026-10-02T09:01:00.000Z",
            name="read_file",
            input="a.py",
            source_id="g#call-c1",
            call_id="c1",
        ),
        Turn(
            TOOL, "import os", "2026-10-02T09:02:00.000Z", name="read_file", source_id="g#call-c1-result", call_id="c1"
        ),
    )
    assert capture.skipped == {"bookkeeping": 1, "replayed": 1}


def test_a_result_that_comes_with_new_words_stands_before_them(reader: Reader) -> None:
    capture = reader(
        make_model_message("g", toolCalls=[make_tool_call()]),
        make_model_message(
            "g",
            "Read.",
            toolCalls=[make_tool_call([make_response(output="import os")], "success"), make_tool_call(call_id="c2")],
        ),
    )
    assert list_messages(capture) == [
        (ASSISTANT, "read_file"),
        (TOOL, "import os"),
        (ASSISTANT, "Read."),
        (ASSISTANT, "read_file"),
    ]


def test_a_text_that_another_message_said_before_is_said_again(reader: Reader) -> None:
    capture = reader(
        make_model_message("g1", "Done."),
        make_model_message("g2"),
        make_model_message("g2", "Done."),
        make_user_message("q1", "Go"),
        make_user_message("q2", "Go"),
    )
    assert [turn.source_id for turn in capture.turns] == ["g1", "g2", "q1", "q2"]
    assert capture.skipped == {"bookkeeping": 2}


def test_a_text_that_is_written_anew_is_a_turn_of_its_own(reader: Reader) -> None:
    capture = reader(
        make_model_message("g", "It splits."),
        make_model_message("g", "It splits on LF."),
        make_model_message("g", [make_text("It splits on LF.")]),
    )
    assert [(turn.source_id, turn.text) for turn in capture.turns] == [
        ("g", "It splits."),
        ("g#text-2", "It splits on LF."),
    ]


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("Done.", "Done."),
        (make_text("Done."), "Done."),
        (["Done."], "Done."),
        ([make_text("Do"), make_text("ne.")], "Do\nne."),
        ("\n  Done.\n\n", "  Done."),
        ([make_text("Here"), make_image()], f"Here\n{NOTE}"),
    ],
    ids=repr,
)
def test_content_is_a_string_a_part_or_a_list_of_them(content: Any, shown: str, reader: Reader) -> None:
    assert [turn.text for turn in reader(make_model_message("g", content)).turns] == [shown]


@pytest.mark.parametrize("content", [None, "", [], " \n", [make_text("")], 3, [3]])
def test_a_message_without_words_is_counted(content: Any, reader: Reader) -> None:
    capture = reader(make_model_message("g", content), make_message("q", "user", content))
    assert capture.turns == ()
    assert capture.skipped["bookkeeping"] == 2
    assert capture.skipped["harness notes"] == 1


def test_unknown_parts_are_counted(reader: Reader) -> None:
    capture = reader(make_user_message("q", {"hologram": {}}, "Hi"))
    assert list_messages(capture) == [(USER, "Hi")]
    assert capture.skipped == {"bookkeeping": 1, "unknown": 1}


def test_thoughts_among_the_parts_count_where_there_is_no_list_of_them(reader: Reader) -> None:
    thought = {"text": "Look first.", "thought": True, "thoughtSignature": SIGNATURE}
    capture = reader(
        make_model_message("g1", [thought, make_text("Done.")]),
        make_model_message(
            "g2", [thought, make_text("Done.")], thoughts=[{"subject": "Look"}, {"description": "  "}, "loose"]
        ),
    )
    assert [(turn.thinking, turn.text) for turn in capture.turns] == [
        (True, "Look first."),
        (False, "Done."),
        (True, "Look"),
        (False, "Done."),
    ]
    assert SIGNATURE not in repr(capture)


# Tools


@pytest.mark.parametrize(
    ("response", "shown", "error"),
    [
        ({"output": "ok"}, "ok", False),
        ({"error": "exit code 1"}, "exit code 1", True),
        ({"output": "ok", "error": None}, "ok", False),
        ({"output": "2 of 3", "error": "1 failed"}, "2 of 3", False),
        ({"output": {"rows": [1, 2]}}, '{"output":{"rows":[1,2]}}', False),
        ({"content": [{"type": "image", "data": PNG}]}, "[data, 700 bytes left out]", False),
        ({}, "", False),
        ("plain", "plain", False),
    ],
    ids=repr,
)
def test_a_result_is_its_output_its_error_or_all_of_it(response: Any, shown: str, error: bool, reader: Reader) -> None:
    given = [{"functionResponse": {"id": "c1", "name": "read_file", "response": response}}]
    turn = reader(make_model_message("g", toolCalls=[make_tool_call(given, "success")])).turns[1]
    assert (turn.name, turn.error) == ("read_file", error)
    assert shown in turn.text
    assert PNG not in turn.text


def test_what_lies_beside_and_inside_a_response_belongs_to_the_result(reader: Reader) -> None:
    inside = make_response(output="two images")
    inside["functionResponse"]["parts"] = [make_image()]
    turn = reader(
        make_model_message("g", toolCalls=[make_tool_call([inside, make_image(), make_text("beside")], "success")])
    ).turns[1]
    assert turn.text == f"two images\n{NOTE}\n{NOTE}\nbeside"


@pytest.mark.parametrize(
    ("status", "result", "display", "shown"),
    [
        ("executing", None, "so far", []),
        ("awaiting_approval", [], "", []),
        ("success", None, "shown\n", [("shown", False)]),
        ("success", "text", "shown", [("text", False)]),
        ("", [make_response(output="text")], "", [("text", False)]),
        ("error", None, {"diff": 1}, [("", True)]),
        ("error", [make_response(output="half")], "", [("half", True)]),
        ("cancelled", [make_response(error="Cancelled")], "", [("Cancelled", True), ("The user interrupted.", False)]),
    ],
)
def test_a_call_has_a_result_when_it_has_ended(
    status: str, result: Any, display: Any, shown: list[tuple[str, bool]], reader: Reader
) -> None:
    turns = reader(make_model_message("g", toolCalls=[make_tool_call(result, status, resultDisplay=display)])).turns[1:]
    assert [(turn.text, turn.error) for turn in turns] == shown


def test_input_is_what_the_call_was_about_and_holds_no_blob(reader: Reader) -> None:
    capture = reader(
        make_model_message(
            "g1", toolCalls=[make_tool_call() | {"args": {"description": "Run", "command": "pytest -q"}}]
        ),
        make_model_message("g2", toolCalls=[make_tool_call(call_id="c2") | {"args": {"pixels": PNG, "scale": 2}}]),
        make_model_message("g3", toolCalls=[{}, "loose"]),
    )
    assert [(turn.name, turn.input) for turn in capture.turns] == [
        ("read_file", "pytest -q"),
        ("read_file", '{"pixels":"[data, 700 bytes left out]","scale":2}'),
        ("tool", ""),
    ]


def test_results_that_go_back_to_the_model_are_no_prompt(reader: Reader) -> None:
    done = make_tool_call([make_response(output="import os")], "success")
    capture = reader(
        make_model_message("g", toolCalls=[done]),
        make_user_message("r", make_response(output="import os"), make_image()),
    )
    assert list_messages(capture) == [(ASSISTANT, "read_file"), (TOOL, "import os")]
    assert capture.skipped == {"bookkeeping": 1, "replayed": 1}


def test_calls_and_results_that_stand_among_the_parts_alone_are_kept(reader: Reader) -> None:
    capture = reader(
        make_model_message("g", [make_request(file_path="a.py"), make_request("c2", file_path="b.py")]),
        make_user_message("r", make_response(output="one"), make_image(), make_response("c2", output="two")),
        make_user_message(
            "r2", make_response("c9", "grep", output="three"), make_response("", "ls"), make_response("", "pwd")
        ),
    )
    assert [(turn.role, turn.name, turn.input or turn.text, turn.source_id) for turn in capture.turns] == [
        (ASSISTANT, "read_file", "a.py", "g#call-c1"),
        (ASSISTANT, "read_file", "b.py", "g#call-c2"),
        (TOOL, "read_file", f"one\n{NOTE}", "r#result-c1"),
        (TOOL, "read_file", "two", "r#result-c2"),
        (TOOL, "grep", "three", "r2#result-c9"),
        (TOOL, "ls", "", "r2#result-1"),
        (TOOL, "pwd", "", "r2#result-2"),
    ]


def test_a_call_among_the_parts_and_in_the_list_is_one(reader: Reader) -> None:
    content = [make_request(file_path="a.py")]
    capture = reader(
        make_model_message("g", content),
        make_model_message("g", content, toolCalls=[make_tool_call([make_response(output="x")], "success")]),
    )
    assert list_messages(capture) == [(ASSISTANT, "read_file"), (TOOL, "x")]


# Prompts


@pytest.mark.parametrize(
    "words",
    [
        "<session_context>\nThis is the CLI.\n</session_context>",
        "  <hook_context>Earlier sessions: &lt;lineage-context&gt;</hook_context>",
        "<lineage-context>\nolder sessions\n</lineage-context>",
    ],
)
@pytest.mark.parametrize("as_parts", [False, True])
def test_what_harness_and_hooks_say_is_no_prompt(words: str, as_parts: bool, reader: Reader) -> None:
    capture = reader(make_user_message("q", words) if as_parts else make_message("q", "user", words))
    assert capture.turns == ()
    assert capture.skipped == {"bookkeeping": 1, "harness notes": 1}


@pytest.mark.parametrize(
    "prompt",
    [
        make_message("q", "user", "<hook_context>note</hook_context>\n\nFix it"),
        make_user_message("q", "Fix it", "<hook_context>note</hook_context>"),
        make_user_message("q", "<session_context>x</session_context>\nFix it\n\n<hook_context>note</hook_context>"),
        make_user_message("q", "<lineage-context>\nx\n</lineage-context>\nFix it"),
    ],
)
def test_what_is_wrapped_around_a_prompt_goes(prompt: Record, reader: Reader) -> None:
    assert list_messages(reader(prompt)) == [(USER, "Fix it")]


@pytest.mark.parametrize("words", ["What does <hook_context> mean?", "<session_context> is never closed"])
def test_a_prompt_may_speak_of_what_is_wrapped(words: str, reader: Reader) -> None:
    assert list_messages(reader(make_user_message("q", words))) == [(USER, words)]


def test_what_was_typed_stands_for_what_the_model_got(reader: Reader) -> None:
    content = [make_text("Fix @a.py"), make_text("--- a.py ---\nimport os"), make_image()]
    capture = reader(make_message("q", "user", content, displayContent=[make_text("Fix @a.py")]))
    assert list_messages(capture) == [(USER, f"Fix @a.py\n{NOTE}")]


@pytest.mark.parametrize("more", [{}, {"displayContent": [make_text("Fix @a.py")]}], ids=["older", "newer"])
def test_the_content_of_files_that_a_prompt_names_is_nobodys_words(reader: Reader, more: Record) -> None:
    """It stands before the prompt: older readers gave it with the prompt, so the prompt stays a capture's last turn."""
    file = "import os\n--- End of content ---\nprint()"
    content = [
        make_text("Fix @a.py"), make_text("\n--- Content from referenced files ---"),
        make_text("\nContent from @a.py:\n"), make_text(file), make_text("\n--- End of content ---"),
    ]  # fmt: skip
    capture = reader(make_message("q", "user", content, **more), make_message("q", "user", content, **more))
    assert [(turn.role, turn.name, turn.source_id) for turn in capture.turns] == [
        (TOOL, "attachment", "q#said-1"),
        (USER, "", "q"),
    ]
    assert "Content from @a.py:" in capture.turns[0].text
    assert file in capture.turns[0].text
    assert capture.turns[1].text == "Fix @a.py"


def test_a_prompt_may_speak_of_files_content(reader: Reader) -> None:
    words = "What is `--- Content from referenced files ---` for?"
    assert list_messages(reader(make_user_message("q", words))) == [(USER, words)]


def test_what_hooks_append_to_a_result_goes(reader: Reader) -> None:
    given = [make_response(output="ok\n\n<hook_context>note</hook_context>")]
    assert reader(make_model_message("g", toolCalls=[make_tool_call(given, "success")])).turns[1].text == "ok"


@pytest.mark.parametrize("kind", ["info", "error", "warning"])
def test_what_the_harness_tells_the_user_is_a_note(kind: str, reader: Reader) -> None:
    capture = reader(make_user_message("q", "Fix it"), make_message("i", kind, "Request cancelled."))
    assert list_messages(capture) == [(USER, "Fix it")]
    assert capture.skipped == {"bookkeeping": 1, "harness notes": 1}


# Rewinds


def test_what_a_rewind_drops_stays_and_is_counted(reader: Reader) -> None:
    capture = reader(
        make_user_message("q1", "a"),
        make_model_message("g1", "b"),
        make_user_message("q2", "c"),
        make_model_message("g2", "d"),
        {"$rewindTo": "q2"},
        make_user_message("q3", "e"),
    )
    assert [turn.text for turn in capture.turns] == ["a", "b", "c", "d", "e"]
    assert capture.skipped == {"bookkeeping": 2, "rewound": 2}


def test_what_was_dropped_is_not_counted_twice(reader: Reader) -> None:
    capture = reader(
        make_user_message("q1", "a"),
        make_user_message("q2", "b"),
        {"$rewindTo": "q2"},
        make_user_message("q3", "c"),
        {"$rewindTo": "q1"},
    )
    assert capture.skipped["rewound"] == 3


def test_a_rewind_to_an_unknown_message_drops_all(reader: Reader) -> None:
    capture = reader(
        make_user_message("q1", "a"), make_model_message("g1", "b"), {"$rewindTo": "nowhere"}, {"$rewindTo": "q1"}
    )
    assert len(capture.turns) == 2
    assert capture.skipped == {"bookkeeping": 3, "rewound": 2}


# Compressions


def test_a_list_with_a_snapshot_is_a_compression(reader: Reader) -> None:
    capture = reader(
        make_user_message("q1", "Fix it"),
        make_model_message("g1", "Reader.", toolCalls=[make_tool_call([make_response(output="import os")], "success")]),
        make_rewrite(
            make_snapshot("s1", "\ngoal: fix it\n"),
            make_model_message("a1", [make_text("Got it. Thanks for the additional context!")]),
            make_model_message(
                "k1", [{"text": "Hm.", "thought": True}, make_text("Reader."), make_request(file_path="a.py")]
            ),
            make_user_message("k2", make_response(output="im…")),
        ),
        make_user_message("q2", "Go on"),
        make_rewrite(
            make_snapshot("s1", "goal: fix it"),
            make_model_message("a1", "Got it."),
            make_snapshot("s2", "goal: test it"),
        ),
    )
    assert capture.compactions == (
        CompactionRecord("goal: fix it", 4, "2026-10-02T09:01:00.000Z"),
        CompactionRecord("goal: test it", 6, "2026-10-02T09:01:00.000Z"),
    )
    assert list_messages(capture)[4:] == [(SYSTEM, "goal: fix it"), (USER, "Go on"), (SYSTEM, "goal: test it")]
    assert (capture.turns[4].name, capture.turns[4].source_id) == ("compaction", "s1#compaction")
    assert capture.skipped == {"bookkeeping": 3, "harness notes": 1, "replayed": 4}


def test_a_snapshot_may_stand_in_a_line_of_its_own_after_what_the_model_thought(reader: Reader) -> None:
    words = "<scratchpad>What matters?</scratchpad>\n <state_snapshot>\ngoal\n</state_snapshot> bye"
    capture = reader(make_user_message("s", words), make_user_message("s", words))
    assert [compacted.summary for compacted in capture.compactions] == ["goal"]
    assert list_messages(capture) == [(SYSTEM, "goal")]


@pytest.mark.parametrize(("words", "summary"), [("<state_snapshot>cut sho", "cut sho"), ("<state_snapshot>", None)])
def test_a_snapshot_may_be_cut_short_or_empty(words: str, summary: str | None, reader: Reader) -> None:
    capture = reader(make_rewrite(make_user_message("s", words)))
    assert [compacted.summary for compacted in capture.compactions] == [summary]
    assert len(capture.turns) == (summary is not None)


def test_a_prompt_may_speak_of_a_snapshot(reader: Reader) -> None:
    capture = reader(make_user_message("q", "What is a <state_snapshot>?"))
    assert (list_messages(capture), capture.compactions) == ([(USER, "What is a <state_snapshot>?")], ())


def test_a_list_that_masks_results_says_nothing_new(reader: Reader) -> None:
    prompt, done = (
        make_user_message("q", "Fix it"),
        make_model_message("g", toolCalls=[make_tool_call([make_response(output="import os")], "success")]),
    )
    masked = make_model_message("g", toolCalls=[make_tool_call([make_response(output="[masked]")], "success")])
    capture = reader(prompt, done, make_rewrite(prompt, masked), masked)
    assert list_messages(capture)[1:] == [(ASSISTANT, "read_file"), (TOOL, "import os")]
    assert capture.compactions == ()
    assert capture.skipped == {"bookkeeping": 2, "replayed": 3}


def test_what_only_a_list_says_is_kept(reader: Reader) -> None:
    capture = reader(
        make_model_message("g1", toolCalls=[make_tool_call()]),
        make_rewrite(
            make_user_message("q", "Fix it"),
            make_model_message("g2", [make_text("Done."), make_request()]),
            {"no": "message"},
            3,
        ),
    )
    assert list_messages(capture) == [(ASSISTANT, "read_file"), (USER, "Fix it"), (ASSISTANT, "Done.")]
    assert capture.skipped == {"bookkeeping": 2, "unknown": 2}


def test_a_copy_that_grows_afterwards_adds_what_is_new(reader: Reader) -> None:
    capture = reader(
        make_model_message("g", "Reader."),
        make_rewrite(
            make_snapshot("s", "goal"),
            make_model_message("a", "Got it."),
            make_model_message("k", [make_text("Reader.")]),
        ),
        make_model_message(
            "k",
            [make_text("Reader.")],
            toolCalls=[make_tool_call([make_response(output="x")], "success", call_id="c2")],
        ),
    )
    assert list_messages(capture) == [
        (ASSISTANT, "Reader."),
        (SYSTEM, "goal"),
        (ASSISTANT, "read_file"),
        (TOOL, "x"),
    ]


def test_a_copy_of_a_prompt_with_what_the_model_got_is_a_copy(reader: Reader) -> None:
    content = [make_text("Fix @a.py"), make_text("import os")]
    prompt = make_message("q", "user", content, displayContent=[make_text("Fix @a.py")])
    capture = reader(
        prompt,
        make_rewrite(
            make_snapshot("s", "goal"), make_model_message("a", "Got it."), make_message("k", "user", content)
        ),
    )
    assert list_messages(capture) == [(USER, "Fix @a.py"), (SYSTEM, "goal")]


def test_a_rewind_after_a_list_drops_what_the_list_holds(reader: Reader) -> None:
    capture = reader(
        make_user_message("q1", "a"),
        make_user_message("q2", "b"),
        make_rewrite(make_user_message("q2", "b")),
        make_user_message("q3", "c"),
        {"$rewindTo": "nowhere"},
    )
    assert capture.skipped["rewound"] == 2


# Title, models, times


def test_the_last_summary_is_the_title(reader: Reader) -> None:
    assert reader({"$set": {"summary": "One"}}, {"$set": {"summary": "Two"}}, {"$set": {"summary": " "}}).title == "Two"
    assert reader(make_header(summary="Old")).title == "Old"
    assert reader({"$set": {"summary": 3}}).title is None


def test_models_are_a_set_in_the_order_of_their_first_mention(reader: Reader) -> None:
    capture = reader(
        make_model_message("a", model="pro"),
        make_model_message("b", model="flash"),
        make_model_message("c", model="pro"),
        make_model_message("d", model=3),
    )
    assert capture.models == ("pro", "flash")


def test_a_session_begins_with_its_header_and_ends_with_its_last_turn(reader: Reader) -> None:
    late = make_user_message("q", "a") | {"timestamp": "2026-10-02T11:30:00+02:00"}
    capture = reader(late, make_model_message("g", "b") | {"timestamp": "soon"})
    assert (capture.started_at, capture.ended_at) == ("2026-10-02T09:00:00.000Z", "2026-10-02T09:30:00.000Z")
    assert [turn.at for turn in capture.turns] == ["2026-10-02T09:30:00.000Z", None]
    capture = reader(make_header(startTime=None), late)
    assert (capture.started_at, capture.ended_at) == ("2026-10-02T09:30:00.000Z",) * 2
    assert reader(make_header()).ended_at == "2026-10-02T09:00:00.000Z"


# Growth

IDS = st.sampled_from(["a", "b", "c"])
WORDS = st.sampled_from(["", "Go", "Done.", "<state_snapshot>goal", "<hook_context>x</hook_context>"])
PARTS = st.lists(
    st.builds(make_text, WORDS) | st.just(make_request()) | st.just(make_response(output="ok")), max_size=2
)
CALLS = st.lists(
    st.sampled_from(
        [
            make_tool_call(),
            make_tool_call(status="success"),
            make_tool_call([make_response(output="x")], "success", "c2"),
        ]
    ),
    max_size=2,
)
MESSAGES = st.builds(make_user_message, IDS, WORDS) | st.builds(make_model_message, IDS, WORDS | PARTS, toolCalls=CALLS)
REWINDS = st.builds(lambda message_id: {"$rewindTo": message_id}, IDS | st.just("nowhere"))
LISTS = st.builds(lambda messages: make_rewrite(*messages), st.lists(MESSAGES, max_size=3))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=st.lists(MESSAGES | REWINDS | LISTS, max_size=8))
def test_whatever_is_written_a_longer_log_only_adds_turns(records: list[Record], reader: Reader) -> None:
    whole = reader(*records).turns
    for count in range(len(records)):
        turns = reader(*records[:count]).turns
        assert turns == whole[: len(turns)]
    ids = [turn.source_id for turn in whole]
    assert len(set(ids)) == len(ids)
    assert all(ids)


# A person's words in other records


def make_answered_call(status: str, words: str, name: str, **arguments: Any) -> Record:
    return make_tool_call([make_response(name=name, output=words)], status) | {"name": name, "args": arguments}


def test_answers_and_reasons_are_a_persons(reader: Reader) -> None:
    questions = [{"question": "Which port?", "header": "Port"}, {"question": "Anything else?", "header": "More"}]
    reason = "Plan rejected. User feedback: keep it\n\nsmall\n\nThe plan is stored at: /p.md\nRevise the plan."
    capture = reader(
        make_model_message(
            "g1",
            toolCalls=[
                make_answered_call("success", '{"answers":{"0":"8080","1":" "}}', "ask_user", questions=questions)
            ],
        ),
        make_model_message("g2", toolCalls=[make_answered_call("success", reason, "exit_plan_mode") | {"id": "c2"}]),
    )
    assert [(turn.text, turn.source_id) for turn in capture.turns if turn.role == USER] == [
        ("> Which port?\n\n8080", "g1#call-c1#said-1"),
        ("keep it\n\nsmall", "g2#call-c2#said-1"),
    ]


def test_calls_that_were_cancelled_together_are_one_interruption(reader: Reader) -> None:
    calls = [make_answered_call("cancelled", "[Operation Cancelled]", "write_file") | {"id": name} for name in "ab"]
    capture = reader(make_model_message("g", toolCalls=calls), make_model_message("g", toolCalls=calls))
    notes = [turn.source_id for turn in capture.turns if turn.name == "interruption"]
    assert notes == ["g#said-1"]


def test_what_came_from_outside_loses_its_wrapper_and_nothing_else(reader: Reader) -> None:
    words = "<untrusted_context>\nOutput: no such file\n</untrusted_context>"
    capture = reader(make_model_message("g", toolCalls=[make_answered_call("success", words, "run_shell_command")]))
    assert capture.turns[1].text == "Output: no such file"
