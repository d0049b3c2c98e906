"""Qwen Code's transcripts: which records are turns, and what else a session's file says. (harnesses.md 10)"""

import base64
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import list_history_roots
from lineage.harness.qwen import discover, read

DATA = Path(__file__).parents[2] / "data/qwen"
PROJECT = DATA / "projects/-home-ada-demo"
SESSION = "1a46b76c-3b4d-5460-9668-518f120efcef"
RICH = PROJECT / f"chats/{SESSION}.jsonl"
PLAIN = PROJECT / "chats/2ee0e15e-1910-5c0f-9955-b3bcfc1ea027.jsonl"
SUB_AGENT = PROJECT / f"subagents/{SESSION}/agent-explore-1.jsonl"
PNG = base64.b64encode(bytes(700)).decode()
NOTE = "[image image/png, 700 bytes left out]"
SIGNATURE = "c2lnLXBsYWNlaG9sZGVy" * 6

Record = dict[str, Any]
Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Reads records as a transcript; each gets a uuid, a parent and a time, a minute apart, where it has none."""

    def complete(records: tuple[Record, ...]) -> Iterator[Record]:
        for number, record in enumerate(records, 1):
            parent = f"u{number - 1}" if number > 1 else None
            yield {"uuid": f"u{number}", "parentUuid": parent, "timestamp": f"2026-10-02T09:{number:02d}:00Z"} | record

    def read_records(*records: Record) -> Capture:
        path = tmp_path / "session.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in complete(records)), encoding="utf-8")
        return read(path)

    return read_records


def make_parts(*given: Any) -> list[Any]:
    return [{"text": part} if isinstance(part, str) else part for part in given]


def make_user(*given: Any, **more: Any) -> Record:
    return {"type": "user", "message": {"role": "user", "parts": make_parts(*given)}, **more}


def make_assistant(*given: Any, **more: Any) -> Record:
    return {"type": "assistant", "message": {"role": "model", "parts": make_parts(*given)}, **more}


def make_result(*given: Any, status: str = "success") -> Record:
    message = {"role": "user", "parts": make_parts(*given)}
    return {"type": "tool_result", "message": message, "toolCallResult": {"status": status, "resultDisplay": PNG}}


def make_system(subtype: str, **payload: Any) -> Record:
    return {"type": "system", "subtype": subtype, "systemPayload": payload}


def make_call_part(call_id: str = "c1", name: str = "read_file", **arguments: Any) -> Record:
    return {"functionCall": {"id": call_id, "name": name, "args": arguments}}


def make_response_part(call_id: str = "c1", name: str = "read_file", nested: Any = None, **response: Any) -> Record:
    more = {"parts": nested} if nested else {}
    return {"functionResponse": {"id": call_id, "name": name, "response": response, **more}}


def make_thought(words: str) -> Record:
    return {"text": words, "thought": True, "thoughtSignature": SIGNATURE}


def make_image() -> Record:
    return {"inlineData": {"mimeType": "image/png", "data": PNG}}


def make_compression(*texts: str, reason: str | None = None) -> Record:
    roles = ("user", "model")
    history = [{"role": roles[index % 2], "parts": [{"text": words}]} for index, words in enumerate(texts)]
    return make_system("chat_compression", info={"triggerReason": reason}, compressedHistory=history)


def list_texts(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]


# The samples as a whole


@pytest.mark.parametrize(
    ("path", "turns", "skipped"),
    [
        (PLAIN, 5, {"bookkeeping": 2}),
        (RICH, 14, {"bookkeeping": 4, "harness notes": 1, "rewound": 2, "sub-agent": 1}),
        (SUB_AGENT, 2, {}),
    ],
    ids=["plain", "rich", "sub-agent"],
)
def test_every_sample_is_read_and_what_is_no_turn_is_counted(path: Path, turns: int, skipped: dict[str, int]) -> None:
    capture = read(path)
    assert (len(capture.turns), capture.skipped) == (turns, skipped)


def test_no_sample_is_forgotten() -> None:
    assert sorted(DATA.rglob("*.jsonl")) == sorted([PLAIN, RICH, SUB_AGENT])


def test_the_sample_session_reads_as_it_went() -> None:
    assert [(turn.role, turn.name, turn.input or turn.text) for turn in read(RICH).turns] == [
        (USER, "", "Why does @reader.py lose the last line?\n[image image/png, 768 bytes left out]"),
        (ASSISTANT, "", "Look at the reader first."),
        (ASSISTANT, "", "I read it."),
        (ASSISTANT, "read_file", "reader.py"),
        (ASSISTANT, "run_shell_command", "pytest -q"),
        (TOOL, "read_file", "def read(path): ...\n[image image/png, 768 bytes left out]"),
        (TOOL, "run_shell_command", "exit code 1"),
        (USER, "", "check CRLF too"),
        (ASSISTANT, "", "The reader splits on newline only."),
        (USER, "", "never mind this one"),
        (ASSISTANT, "", "All right."),
        (SYSTEM, "compaction", "Goal: the reader keeps the last line."),
        (USER, "", "Now write the test"),
        (ASSISTANT, "", "Done: the reader has a test."),
    ]


def test_the_sample_session_says_what_it_was() -> None:
    capture = read(RICH)
    assert (capture.session_id, capture.parent_session, capture.forked_from) == (SESSION, None, None)
    assert (capture.title, capture.project) == ("Fix the reader", "/home/ada/demo")
    assert (capture.models, capture.branches) == (("qwen4-coder",), ("main", "fix/reader"))
    assert (capture.started_at, capture.ended_at) == ("2026-10-04T09:00:00.000Z", "2026-10-04T09:00:15.000Z")
    assert capture.compactions == (
        CompactionRecord("Goal: the reader keeps the last line.", 11, "2026-10-04T09:00:12.000Z", "auto"),
    )


# Turns of the agent


def test_a_record_gives_a_turn_a_part_with_ids_of_their_own(reader: Reader) -> None:
    capture = reader(
        make_assistant(make_thought("Look first."), "I look.", make_call_part(file_path="a.py"), model="qwen4-coder")
    )
    assert capture.turns == (
        Turn(ASSISTANT, "Look first.", "2026-10-02T09:01:00.000Z", thinking=True, source_id="u1"),
        Turn(ASSISTANT, "I look.", "2026-10-02T09:01:00.000Z", source_id="u1#1"),
        Turn(ASSISTANT, "", "2026-10-02T09:01:00.000Z", name="read_file", input="a.py", source_id="u1#2")._replace(
            call_id="c1"
        ),
    )
    assert capture.models == ("qwen4-coder",)
    assert SIGNATURE not in repr(capture)


def test_records_without_an_id_give_turns_without_one(reader: Reader) -> None:
    capture = reader(make_assistant("One.", "Two.", uuid=None), make_assistant("Three.", uuid=None))
    assert [(turn.text, turn.source_id) for turn in capture.turns] == [("One.", None), ("Two.", None), ("Three.", None)]


def test_a_record_that_says_nothing_is_counted(reader: Reader) -> None:
    capture = reader(make_assistant(), make_assistant("\n"), make_assistant({"hologram": {}}, "Done."))
    assert list_texts(capture) == [(ASSISTANT, "Done.")]
    assert capture.skipped == {"bookkeeping": 2, "unknown": 1}


def test_an_image_of_the_agents_leaves_a_note(reader: Reader) -> None:
    assert list_texts(reader(make_assistant("See", make_image()))) == [(ASSISTANT, "See"), (ASSISTANT, NOTE)]


# Tools


def test_a_result_is_named_after_its_call(reader: Reader) -> None:
    capture = reader(
        make_assistant(make_call_part("c1", "read_file"), make_call_part("c2", "grep"), make_call_part("c3", "")),
        make_result(make_response_part("c2", "other", output="two")),
        make_result(make_response_part("c1", output="one")),
        make_result(make_response_part("c9", "ls", output="three")),
        make_result(make_response_part("c3", "", output="four")),
    )
    assert [(turn.name, turn.text) for turn in capture.turns[3:]] == [
        ("grep", "two"),
        ("read_file", "one"),
        ("ls", "three"),
        ("tool", "four"),
    ]


@pytest.mark.parametrize(
    ("response", "status", "shown", "error"),
    [
        ({"output": "ok"}, "success", "ok", False),
        ({"output": "half"}, "error", "half", True),
        ({"error": "exit code 1"}, "success", "exit code 1", True),
        ({"error": "Cancelled"}, "cancelled", "Cancelled", True),
        ({"rows": [1]}, "success", '{"rows":[1]}', False),
    ],
)
def test_a_result_is_an_error_where_response_or_status_says_so(
    response: Record, status: str, shown: str, error: bool, reader: Reader
) -> None:
    turn = reader(make_result(make_response_part(**response), status=status)).turns[0]
    assert (turn.text, turn.error) == (shown, error)


def test_media_inside_and_beside_a_response_leave_notes(reader: Reader) -> None:
    capture = reader(
        make_result(
            make_response_part(nested=[make_image()], output="one"),
            make_image(),
            "beside",
            make_response_part("c2", "grep", output="two"),
        )
    )
    assert [(turn.name, turn.text) for turn in capture.turns] == [
        ("read_file", f"one\n{NOTE}\n{NOTE}\nbeside"),
        ("grep", "two"),
    ]
    assert [turn.source_id for turn in capture.turns] == ["u1", "u1#1"]


def test_a_result_without_a_response_is_its_text(reader: Reader) -> None:
    assert list_texts(reader(make_result("lost"), make_result())) == [(TOOL, "lost"), (TOOL, "tool")]


def test_the_structured_twin_of_a_result_is_not_read(reader: Reader) -> None:
    assert PNG not in repr(reader(make_result(make_response_part(output="short"))))


# Prompts


def test_what_a_hook_added_to_a_prompt_goes(reader: Reader) -> None:
    hook = "<qwen:user-prompt-submit-context>\n&lt;lineage-context&gt;\n</qwen:user-prompt-submit-context>"
    capture = reader(make_user("Fix it", hook), make_user(f"Test it\n{hook}"), make_user(hook))
    assert list_texts(capture) == [(USER, "Fix it"), (USER, "Test it")]
    assert capture.skipped == {"harness notes": 1}


@pytest.mark.parametrize(
    ("payload", "subtype", "shown"),
    [
        ({"displayText": "Fix @a.py", "hookContext": ""}, None, "Fix @a.py"),
        ({"displayText": "Fix @a.py"}, "mid_turn_user_message", "Fix @a.py"),
        ({"displayText": "Fix @a.py", "hookContext": None}, None, "import os"),
        ({"displayText": " ", "hookContext": "note"}, None, "import os"),
        ({"displayText": 3, "hookContext": "note"}, None, "import os"),
        ("Fix @a.py", None, "import os"),
    ],
)
def test_what_was_typed_stands_for_what_the_model_got(
    payload: Any, subtype: str | None, shown: str, reader: Reader
) -> None:
    capture = reader(make_user("import os", make_image(), systemPayload=payload, subtype=subtype))
    assert list_texts(capture) == [(USER, f"{shown}\n{NOTE}")]


@pytest.mark.parametrize(
    "envelope",
    [
        {"subtype": "notification"},
        {"subtype": "cron"},
        {"subtype": "goal_runtime", "provenance": "goal_runtime"},
        {"provenance": "system"},
    ],
    ids=str,
)
def test_what_no_person_typed_is_no_prompt(envelope: Record, reader: Reader) -> None:
    capture = reader(make_user("Task done", systemPayload={"displayText": "Task done", "hookContext": ""}, **envelope))
    assert capture.turns == ()
    assert capture.skipped == {"harness notes": 1}


@pytest.mark.parametrize("typed", ["", "Fix @a.py"], ids=["older", "newer"])
def test_the_content_of_files_that_a_prompt_names_is_nobodys_words(typed: str, reader: Reader) -> None:
    given = "Fix @a.py\n\n--- Content from referenced files ---\n\nimport os\n--- End of content ---"
    capture = reader(make_user(given, systemPayload={"displayText": typed, "hookContext": ""}), make_user("And now?"))
    assert list_texts(capture) == [(TOOL, "import os"), (USER, "Fix @a.py"), (USER, "And now?")]
    assert [turn.source_id for turn in capture.turns] == ["u1#said-1", "u1", "u2"]


@pytest.mark.parametrize(
    "envelope", [{}, {"provenance": "real_user"}, {"subtype": None}, {"subtype": "realtime_message"}], ids=str
)
def test_what_a_person_typed_is_a_prompt(envelope: Record, reader: Reader) -> None:
    assert list_texts(reader(make_user("Fix it", **envelope))) == [(USER, "Fix it")]


# Compressions and rewinds

ACKNOWLEDGED = "Got it. Thanks for the additional context!"


@pytest.mark.parametrize(
    ("texts", "summary"),
    [
        (("Goal: fix it.", ACKNOWLEDGED), "Goal: fix it."),
        (("Goal: fix it.\n\nResume the prior task using the summary above. Go on.", ACKNOWLEDGED), "Goal: fix it."),
        (("Think.\n<state_snapshot>\ngoal\n</state_snapshot>", ACKNOWLEDGED, "Go on", "Yes."), "goal"),
        (("<session_context>x</session_context>", "Hello.", "Goal", ACKNOWLEDGED), "Goal"),
        (("Fix it", "I fix it."), None),
        (("Goal",), None),
        ((), None),
    ],
)
def test_a_compression_keeps_its_summary_where_there_is_one(
    texts: tuple[str, ...], summary: str | None, reader: Reader
) -> None:
    capture = reader(make_user("Fix it"), make_compression(*texts), make_user("Go on"))
    assert capture.compactions == (CompactionRecord(summary, 1, "2026-10-02T09:02:00.000Z"),)
    expected = [(SYSTEM, summary)] if summary else []
    assert list_texts(capture) == [(USER, "Fix it"), *expected, (USER, "Go on")]
    assert capture.skipped == ({} if summary else {"bookkeeping": 1})


@pytest.mark.parametrize(
    ("reason", "trigger"),
    [("manual", "manual"), ("token_limit", "auto"), ("image_overflow", "auto"), ("tomorrow", None), (None, None)],
)
def test_a_compression_has_a_trigger(reason: str | None, trigger: str | None, reader: Reader) -> None:
    assert [each.trigger for each in reader(make_compression("Goal", ACKNOWLEDGED, reason=reason)).compactions] == [
        trigger
    ]


def test_what_a_rewind_drops_stays_and_is_counted(reader: Reader) -> None:
    capture = reader(
        make_user("a"), make_user("b"), make_user("c"), make_system("rewind", truncatedCount=1) | {"parentUuid": "u1"}
    )
    assert [turn.text for turn in capture.turns] == ["a", "b", "c"]
    assert capture.skipped == {"bookkeeping": 1, "rewound": 2}


def test_what_was_dropped_is_not_counted_twice(reader: Reader) -> None:
    capture = reader(
        make_user("a"),
        make_assistant("b"),
        make_user("c"),
        make_assistant("d", "e"),
        make_system("rewind", truncatedCount=2) | {"parentUuid": "u2"},
        make_user("f"),
        make_system("rewind", truncatedCount=5) | {"parentUuid": None},
        make_user("g"),
    )
    assert [turn.text for turn in capture.turns] == ["a", "b", "c", "d", "e", "f", "g"]
    assert capture.skipped == {"bookkeeping": 2, "rewound": 6}


# What is not a turn


@pytest.mark.parametrize("subtype", ["ui_telemetry", "attribution_snapshot", "slash_command", "tomorrow"])
def test_system_records_are_bookkeeping(subtype: str, reader: Reader) -> None:
    capture = reader(make_system(subtype, uiEvent={"response_text": "Done."}), make_assistant("Done."))
    assert list_texts(capture) == [(ASSISTANT, "Done.")]
    assert capture.skipped == {"bookkeeping": 1}


def test_sub_agents_in_a_session_are_counted_and_leave_no_trace(reader: Reader) -> None:
    capture = reader(make_user("Scan"), make_assistant("Found 2.", isSidechain=True, model="small", gitBranch="other"))
    assert list_texts(capture) == [(USER, "Scan")]
    assert (capture.skipped, capture.models, capture.branches) == ({"sub-agent": 1}, (), ())
    assert capture.ended_at == "2026-10-02T09:01:00.000Z"


def test_a_record_whose_id_was_seen_counts_once(reader: Reader) -> None:
    capture = reader(make_user("Fix it", uuid="same"), make_user("Fix it", uuid="same"))
    assert [turn.source_id for turn in capture.turns] == ["same"]
    assert capture.skipped == {"replayed": 1}


@pytest.mark.parametrize(
    "record",
    [
        {"type": "some-future-record"},
        {"type": None},
        {"type": "user"},
        {"type": "user", "message": {"role": "user", "content": "Fix it"}},
        {"type": "assistant", "message": {"parts": "Done."}},
    ],
)
def test_unknown_records_are_counted_and_the_others_read(record: Record, reader: Reader) -> None:
    capture = reader(make_user("Fix it"), record, make_assistant("Done."))
    assert list_texts(capture) == [(USER, "Fix it"), (ASSISTANT, "Done.")]
    assert capture.skipped == {"unknown": 1}


# Whose session it is, its title, branches and times


def test_a_sub_agents_file_is_a_session_of_its_own_with_a_parent() -> None:
    capture = read(SUB_AGENT)
    assert (capture.session_id, capture.parent_session) == ("explore-1", SESSION)
    assert list_texts(capture) == [(USER, "Find the call sites of read"), (ASSISTANT, "Two call sites.")]


def test_a_session_names_who_started_it_and_what_it_was_forked_from(reader: Reader) -> None:
    capture = reader(
        make_system("parent_session", parentSessionId="s-parent") | {"sessionId": "s-1"},
        make_user("Fix it", sessionId="s-1", forkedFrom={"sessionId": "s-0", "messageUuid": "u2"}),
    )
    assert (capture.session_id, capture.parent_session, capture.forked_from) == ("s-1", "s-parent", "s-0")


def test_the_last_title_wins(reader: Reader) -> None:
    titles = ("One", "Two", " ", 3)
    assert reader(*(make_system("custom_title", customTitle=title) for title in titles)).title == "Two"
    assert reader(make_user("Fix it")).title is None


def test_branches_are_a_set_and_the_project_is_the_first_folder(reader: Reader) -> None:
    capture = reader(
        make_user("a", gitBranch="main", cwd="/home/ada/demo"),
        make_user("b", gitBranch="fix", cwd="/home/ada/demo/sub"),
        make_user("c", gitBranch="main"),
    )
    assert (capture.branches, capture.project) == (("main", "fix"), "/home/ada/demo")


def test_first_and_last_time_are_those_of_the_files_order(reader: Reader) -> None:
    capture = reader(
        make_user("a", timestamp="2026-10-02T11:00:00+02:00"),
        make_system("ui_telemetry") | {"timestamp": "2026-10-02T08:00:00Z"},
        make_user("b", timestamp="no time"),
    )
    assert (capture.started_at, capture.ended_at) == ("2026-10-02T09:00:00.000Z", "2026-10-02T08:00:00.000Z")
    assert [turn.at for turn in capture.turns] == ["2026-10-02T09:00:00.000Z", None]


# Finding, and foreign files


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({}, "/home/ada/.qwen/projects"),
        ({"QWEN_HOME": "/srv/qwen"}, "/srv/qwen/projects"),
        ({"QWEN_HOME": "/srv/qwen", "QWEN_RUNTIME_DIR": "/run/qwen"}, "/run/qwen/projects"),
    ],
)
def test_the_history_lies_in_the_harnesss_folder_or_where_it_was_moved(environment: dict[str, str], root: str) -> None:
    assert list_history_roots("qwen", Path("/home/ada"), environment) == [Path(root)]


def test_sessions_and_sub_agents_are_found(tmp_path: Path) -> None:
    shutil.copytree(DATA / "projects", tmp_path, dirs_exist_ok=True)
    chats = tmp_path / "-home-ada-demo/chats"
    child = tmp_path / SUB_AGENT.relative_to(DATA / "projects")
    assert list(discover(tmp_path)) == [
        SessionLocation(path) for path in (chats / RICH.name, chats / PLAIN.name, child)
    ]
    assert [item.parent for item in discover(tmp_path)] == [None, None, SESSION]
    assert list(discover(SUB_AGENT)) == [SessionLocation(SUB_AGENT)]


def test_a_session_may_begin_with_any_record(reader: Reader) -> None:
    assert reader(make_system("session_model", modelId="qwen4-coder"), {"type": "tomorrow"}).turns == ()


@pytest.mark.parametrize(
    "records",
    [
        [{"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix it"}}, {"type": "system"}],
        [{"sessionId": "s", "projectHash": "7"}, {"id": "q", "type": "user", "content": [{"text": "Fix it"}]}],
        [{"type": "session_meta", "payload": {"id": SESSION}}],
        [{"role": "user", "text": "Fix it"}],
    ],
    ids=["claude-code", "gemini", "codex", "generic"],
)
def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(records: list[Record], reader: Reader) -> None:
    with pytest.raises(TranscriptError, match="no Qwen Code record") as caught:
        reader(*records)
    assert "--harness" in caught.value.hint


# A person's words in other records


def test_answers_reasons_and_cancelled_calls(reader: Reader) -> None:
    questions = [{"question": "Which port?", "header": "Port"}, {"question": "Why?", "header": "Why"}]
    words = "User has provided the following answers:\n\n**Port**: 8080\n**Why**: it is free\non all machines"
    capture = reader(
        make_assistant(make_call_part(name="ask_user_question", questions=questions)),
        make_result(make_response_part(name="ask_user_question", output=words)),
        make_assistant(make_call_part("c2", "write_file")),
        make_result(make_response_part("c2", "write_file", error="[Operation Cancelled]"), status="cancelled"),
    )
    assert [(turn.role, turn.text, turn.source_id) for turn in capture.turns if turn.role in (USER, SYSTEM)] == [
        (USER, "> Which port?\n\n8080", "u2#said-1"),
        (USER, "> Why?\n\nit is free\non all machines", "u2#said-2"),
        (SYSTEM, "The user interrupted.", "u4#said-1"),
    ]
