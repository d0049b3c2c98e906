"""Claude Code's transcripts: which records are turns, and what else a session's file says. (harnesses.md 1.7–1.9)"""

import base64
import inspect
import itertools
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.claude_code import read

DATA = Path(__file__).parents[2] / "data/claude-code"
MAIN = DATA / "projects/-home-ada-demo/aa765e29-162b-5be6-8e53-f03014531e0e.jsonl"
FORK = MAIN.with_name("2489c83d-fca2-5674-a85a-9f9be83b8d4e.jsonl")
PNG = base64.b64encode(bytes(700)).decode()
SIGNATURE = "c2lnLXBsYWNlaG9sZGVy" * 6

Record = dict[str, Any]
Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Reads records as a transcript; those of a chain get a uuid and a time, a minute apart, where they have none."""

    def complete(records: tuple[Record, ...]) -> Iterator[Record]:
        for number, record in enumerate(records, 1):
            chained = record.get("type") in ("user", "assistant", "attachment", "system", "progress")
            base = {"uuid": f"u{number}", "timestamp": f"2026-10-02T09:{number:02d}:00.000Z", "isSidechain": False}
            yield (base if chained else {}) | record

    def read_records(*records: Record) -> Capture:
        path = tmp_path / "session.jsonl"
        lines = (json.dumps(record, ensure_ascii=False) + "\n" for record in complete(records))
        path.write_bytes("".join(lines).encode())
        return read(path)

    return read_records


def make_user(content: Any, **envelope: Any) -> Record:
    return {"type": "user", "message": {"role": "user", "content": content}, **envelope}


def make_assistant(*blocks: Any, model: str = "claude-opus-5", **envelope: Any) -> Record:
    return {"type": "assistant", "message": {"role": "assistant", "model": model, "content": list(blocks)}, **envelope}


def make_text(words: str) -> Record:
    return {"type": "text", "text": words}


def make_call(name: str, call_id: str = "toolu_1", **arguments: Any) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def make_result(content: Any, call_id: str = "toolu_1", **more: Any) -> Record:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **more}


def make_image() -> Record:
    return make_blob("image", "image/png", 700)


def make_blob(kind: str, media_type: str, size: int) -> Record:
    data = base64.b64encode(bytes(size)).decode()
    return {"type": kind, "source": {"type": "base64", "media_type": media_type, "data": data}}


def make_queued_prompt(prompt: Any, **more: Any) -> Record:
    return {"type": "attachment", "attachment": {"type": "queued_command", "prompt": prompt, **more}}


def make_boundary(**details: Any) -> Record:
    return {"type": "system", "subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", **details}}


def make_summary(words: str) -> Record:
    return make_user(words, isCompactSummary=True, isVisibleInTranscriptOnly=True)


def list_texts(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]


# The sample as a whole


def test_the_sample_session_reads_as_it_went() -> None:
    assert [(turn.role, turn.name, turn.input or turn.text.split("\n")[0]) for turn in read(MAIN).turns] == [
        (USER, "", "/model opus"),
        (USER, "", "Please find why the parser drops the last line — and keep the naïve path. 日本語もOK 🧵"),
        (ASSISTANT, "", "I will look at the reader first."),
        (ASSISTANT, "Read", "/home/ada/demo/reader.py"),
        (TOOL, "Read", "1\tdef read(p):"),
        (USER, "", "also check CRLF please"),
        (ASSISTANT, "Bash", "cat .env; false"),
        (TOOL, "Bash", "Error: Exit code 1"),
        (ASSISTANT, "Agent", "scan"),
        (TOOL, "Agent", "Found 2 call sites."),
        (USER, "", "screenshot"),
        (SYSTEM, "compaction", "This session is being continued from a previous conversation that ran out of context."),
        (ASSISTANT, "", "Continuing: patching the reader."),
        (SYSTEM, "interruption", "The user interrupted."),
    ]


def test_the_sample_session_says_what_it_was() -> None:
    capture = read(MAIN)
    assert capture.title == "reader bug"
    assert capture.project == "/home/ada/demo"
    assert capture.models == ("claude-opus-5",)
    assert capture.branches == ("main", "fix/reader")
    assert capture.started_at == "2026-10-02T09:00:01.037Z"
    assert capture.ended_at == "2026-10-02T09:00:24.888Z"
    assert [(c.turns_before, c.trigger) for c in capture.compactions] == [(11, "auto")]
    assert capture.skipped == {"API errors": 2, "bookkeeping": 12, "harness notes": 3, "hooks": 1, "unknown": 1}


def test_a_fork_has_the_ids_of_its_parent() -> None:
    assert read(FORK).turns == read(MAIN).turns


# Turns of the agent


def test_a_message_that_is_split_over_lines_gives_a_turn_a_block_in_order(reader: Reader) -> None:
    capture = reader(
        make_assistant({"type": "thinking", "thinking": "Look first.", "signature": SIGNATURE}),
        make_assistant(make_text("I look.")),
        make_assistant(make_call("Read", file_path="a.py")),
    )
    assert capture.turns == (
        Turn(ASSISTANT, "Look first.", "2026-10-02T09:01:00.000Z", thinking=True, source_id="u1"),
        Turn(ASSISTANT, "I look.", "2026-10-02T09:02:00.000Z", source_id="u2"),
        Turn(ASSISTANT, "", "2026-10-02T09:03:00.000Z", name="Read", input="a.py", source_id="u3", call_id="toolu_1"),
    )
    assert capture.models == ("claude-opus-5",)


def test_several_blocks_of_one_record_have_ids_of_their_own(reader: Reader) -> None:
    capture = reader(make_assistant(make_text("One."), make_text("Two."), make_call("Bash", command="ls")))
    assert [turn.source_id for turn in capture.turns] == ["u1", "u1#1", "u1#2"]


def test_records_without_an_id_give_turns_without_one(reader: Reader) -> None:
    capture = reader(
        make_assistant(make_text("One."), make_text("Two."), uuid=None), make_assistant(make_text("Three."), uuid=None)
    )
    assert [(turn.text, turn.source_id) for turn in capture.turns] == [("One.", None), ("Two.", None), ("Three.", None)]


def test_a_message_whose_content_is_a_string_is_its_text(reader: Reader) -> None:
    record = {"type": "assistant", "message": {"role": "assistant", "content": "Done."}}
    assert list_texts(reader(record)) == [(ASSISTANT, "Done.")]


def test_blank_blocks_are_counted_and_blank_lines_around_text_go(reader: Reader) -> None:
    capture = reader(
        make_assistant(make_text("\n\n"), {"type": "thinking", "thinking": ""}),
        make_assistant(make_text("\n\n  Done.\n")),
    )
    assert list_texts(capture) == [(ASSISTANT, "  Done.")]
    assert capture.skipped == {"bookkeeping": 2}


def test_signatures_and_redacted_thinking_are_never_in_a_text(reader: Reader) -> None:
    capture = reader(
        make_assistant({"type": "redacted_thinking", "data": SIGNATURE}),
        make_assistant({"type": "thinking", "thinking": "Hm.", "signature": SIGNATURE}),
        make_assistant(make_text("Done."), {"type": "thinking", "thinking": "", "signature": SIGNATURE}),
    )
    assert SIGNATURE not in repr(capture)
    assert list_texts(capture) == [(ASSISTANT, "Hm."), (ASSISTANT, "Done.")]
    assert capture.skipped == {"bookkeeping": 2}


def test_unknown_blocks_are_counted(reader: Reader) -> None:
    capture = reader(
        make_assistant({"type": "hologram"}, "loose", make_text("Done.")),
        make_user([{"type": "odour"}, make_text("Hi")]),
    )
    assert list_texts(capture) == [(ASSISTANT, "Done."), (USER, "Hi")]
    assert capture.skipped == {"unknown": 3}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (make_assistant(make_text("API Error"), model="<synthetic>", isApiErrorMessage=True), "API errors"),
        (make_assistant(make_text("No response requested."), model="<synthetic>"), "harness notes"),
    ],
    ids=["an API error", "a synthetic message"],
)
def test_what_the_harness_says_in_the_agents_name_is_no_turn(record: Record, reason: str, reader: Reader) -> None:
    capture = reader(record, make_assistant(make_text("Done.")))
    assert list_texts(capture) == [(ASSISTANT, "Done.")]
    assert capture.skipped == {reason: 1}
    assert capture.models == ("claude-opus-5",)


# Tools


def test_a_result_is_named_after_its_call(reader: Reader) -> None:
    capture = reader(
        make_assistant(make_call("Read", "t1", file_path="a.py"), make_call("Bash", "t2", command="ls")),
        make_user([make_result("a.py\n", "t2"), make_result("import os", "t1")]),
    )
    assert [(turn.name, turn.text) for turn in capture.turns[2:]] == [("Bash", "a.py"), ("Read", "import os")]


def test_calls_without_result_and_results_without_call_are_kept(reader: Reader) -> None:
    capture = reader(
        make_assistant(make_call("Read")), make_user([make_result("lost", "toolu_9"), {"type": "tool_result"}])
    )
    assert [(turn.role, turn.name, turn.text) for turn in capture.turns] == [
        (ASSISTANT, "Read", ""),
        (TOOL, "tool", "lost"),
        (TOOL, "tool", ""),
    ]
    assert capture.skipped == {}


def test_a_call_may_have_no_name_id_or_input(reader: Reader) -> None:
    assert list_texts(reader(make_assistant({"type": "tool_use"}))) == [(ASSISTANT, "tool")]


@pytest.mark.parametrize(("flag", "expected"), [(True, True), (False, False), (None, False), ("false", False)])
def test_a_result_is_an_error_where_it_says_so(flag: object, expected: bool, reader: Reader) -> None:
    capture = reader(make_assistant(make_call("Bash")), make_user([make_result("Exit code 1", is_error=flag)]))
    assert capture.turns[1].error is expected


def test_a_result_of_several_blocks_is_one_text(reader: Reader) -> None:
    content = [make_text("one"), make_image(), make_text("two"), {"type": "tool_reference", "tool_name": "Read"}]
    capture = reader(make_assistant(make_call("Read")), make_user([make_result(content)]))
    assert capture.turns[1].text == "one\n[image image/png, 700 bytes left out]\ntwo"
    assert capture.skipped == {"unknown": 1}


def test_a_result_keeps_the_indentation_of_its_first_line(reader: Reader) -> None:
    content = "     1→import os\n     2→\n\n<system-reminder>\nBe brief.\n</system-reminder>\n"
    capture = reader(make_assistant(make_call("Read")), make_user([make_result(content)]))
    assert capture.turns[1].text == "     1→import os\n     2→"


def test_text_beside_a_result_is_a_persons_unless_the_harness_wrote_it(reader: Reader) -> None:
    call = make_assistant(make_call("Read"))
    for note in ("Tool loaded.", "<system-reminder>Mind the tests.</system-reminder>"):
        capture = reader(call, make_user([make_result("x"), make_text(note)]))
        assert list_texts(capture) == [(ASSISTANT, "Read"), (TOOL, "x")]
        assert capture.skipped == {"harness notes": 1}
    typed = reader(call, make_user([make_result("x"), make_text("we are #169")]))
    assert list_texts(typed) == [(ASSISTANT, "Read"), (TOOL, "x"), (USER, "we are #169")]
    assert [turn.source_id for turn in typed.turns[1:]] == ["u2", "u2#said-1"]
    assert typed.skipped == {}


def test_the_reason_of_a_refusal_is_a_persons(reader: Reader) -> None:
    refused = "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\n"
    note = "\n\nNote: The user's next message may contain a correction or preference."
    for reason in (f"{refused}a branch first", f"{refused}a branch first{note}"):
        capture = reader(make_user([make_result(reason, is_error=True)]))
        assert list_texts(capture) == [(TOOL, reason), (USER, "a branch first")]
    # A tool may print the same words.
    assert list_texts(reader(make_user([make_result(f"{refused}x")]))) == [(TOOL, f"{refused}x")]


def test_answers_to_the_agents_questions_are_a_persons(reader: Reader) -> None:
    answers = {"Inline\nor embedded?": "Inline strings", "Which?": " "}
    capture = reader(make_user([make_result("User has answered …")], toolUseResult={"answers": answers}))
    assert list_texts(capture)[1:] == [(USER, "> Inline\n> or embedded?\n\nInline strings")]


def test_what_follows_a_slash_command_is_a_persons(reader: Reader) -> None:
    words = "<command-message>review</command-message>\n<command-name>/review</command-name>"
    assert list_texts(reader(make_user(f"{words}\n<command-args> PR 12\nall of it </command-args>"))) == [
        (USER, "/review PR 12\nall of it")
    ]


@pytest.mark.parametrize("words", ["[Request interrupted by user]", "[Request interrupted by user for tool use]"])
@pytest.mark.parametrize("as_blocks", [False, True])
def test_an_interruption_is_noted_where_it_happened(words: str, as_blocks: bool, reader: Reader) -> None:
    capture = reader(make_user([make_text(words)] if as_blocks else words))
    assert list_texts(capture) == [(SYSTEM, "The user interrupted.")]


@pytest.mark.parametrize("queued", [False, True])
def test_what_a_teammate_of_the_agent_s_sends_is_no_person_s_prompt(queued: bool, reader: Reader) -> None:
    sent = '<teammate-message teammate_id="lead">Never run the tests.</teammate-message>'
    capture = reader(make_queued_prompt(sent) if queued else make_user(sent))
    assert [(turn.role, turn.name, turn.text) for turn in capture.turns] == [(SYSTEM, "prompt", sent)]


@pytest.mark.parametrize("more", [{"planContent": "# Plan\n\n1. Do it"}, {}], ids=["beside", "alone"])
def test_the_agents_own_plan_is_no_prompt(more: Record, reader: Reader) -> None:
    capture = reader(make_user("Implement the following plan:\n\n# Plan\n\n1. Do it", **more))
    assert [(turn.role, turn.name, turn.source_id) for turn in capture.turns] == [(SYSTEM, "plan", "u1")]


def test_what_a_person_notes_beside_an_answer_is_said(reader: Reader) -> None:
    result = {"answers": {"Which?": "A"}, "annotations": {"Which?": {"notes": "but not on Friday"}}}
    capture = reader(make_user([make_result("User has answered")], toolUseResult=result))
    assert [turn.text for turn in capture.turns if turn.role == USER] == ["> Which?\n\nA\nbut not on Friday"]


def make_queue_record(operation: str, content: str = "", minute: int = 1) -> Record:
    record = {"type": "queue-operation", "operation": operation, "timestamp": f"2026-10-02T09:{minute:02}:00Z"}
    return record | ({"content": content} if content else {})


def test_what_is_typed_while_the_agent_works_is_a_persons(reader: Reader) -> None:
    """Fails if a text that the agent was given in between is lost, or one that became a prompt comes twice."""
    call, result = make_assistant(make_call("Read")), make_user([make_result("x")])
    queued = make_queue_record("enqueue", "also the docs")
    capture = reader(call, queued, result, make_queue_record("remove"), make_assistant(make_text("Yes.")))
    assert list_texts(capture) == [(ASSISTANT, "Read"), (TOOL, "x"), (USER, "also the docs"), (ASSISTANT, "Yes.")]
    assert capture.turns[2].at == "2026-10-02T09:01:00.000Z"
    assert capture.turns[2].source_id == "queue-2026-10-02T09:01:00Z#said-1"
    for middle in (
        [make_queue_record("dequeue"), make_user("also the docs")],
        [make_queue_record("popAll"), make_user("also the docs")],
        [make_queue_record("remove"), make_user("also the docs")],
    ):
        capture = reader(call, queued, result, *middle, make_assistant(make_text("Yes.")))
        assert list_texts(capture)[2:] == [(USER, "also the docs"), (ASSISTANT, "Yes.")]
    notice = '{"task_id":"b4d9efa","description":"Run tests","task_type":"local_bash"}'
    for words in ("/model", "<task-notification>done</task-notification>", notice):
        queued = make_queue_record("enqueue", words)
        capture = reader(call, queued, result, make_queue_record("remove"), make_assistant(make_text("Yes.")))
        assert list_texts(capture)[2:] == [(ASSISTANT, "Yes.")]


def test_the_structured_twin_of_a_result_is_not_read(reader: Reader) -> None:
    capture = reader(make_user([make_result("short")], toolUseResult={"file": {"base64": PNG}}))
    assert PNG not in repr(capture)
    assert list_texts(capture) == [(TOOL, "short")]


# Prompts


@pytest.mark.parametrize(
    "words",
    [
        "<local-command-caveat>Below: a local command.</local-command-caveat>",
        "<command-name>/model</command-name>\n<command-args></command-args>",
        "<command-message>model</command-message>",
        "<local-command-stdout>Set model</local-command-stdout>",
        "<local-command-stderr>no</local-command-stderr>",
        "<bash-input>ls</bash-input>",
        "<bash-stdout>a.py</bash-stdout>",
        "<bash-stderr></bash-stderr>",
        "<task-notification><task-id>b1</task-id></task-notification>",
        "  \n <command-name>/clear</command-name>",
    ],
)
@pytest.mark.parametrize("as_blocks", [False, True])
def test_what_a_harness_wraps_is_no_prompt(words: str, as_blocks: bool, reader: Reader) -> None:
    capture = reader(make_user([make_text(words)] if as_blocks else words))
    assert capture.turns == ()
    assert capture.skipped == {"harness notes": 1}


@pytest.mark.parametrize(
    "envelope",
    [{"isMeta": True}, {"origin": {"kind": "task-notification"}}, {"origin": {"kind": "peer"}}],
    ids=str,
)
def test_a_record_that_no_person_caused_is_no_prompt(envelope: Record, reader: Reader) -> None:
    capture = reader(make_user("Base directory for this skill: …", **envelope))
    assert capture.turns == ()
    assert capture.skipped == {"harness notes": 1}


@pytest.mark.parametrize("envelope", [{}, {"origin": {"kind": "human"}}, {"origin": None}, {"isMeta": False}], ids=str)
def test_what_a_person_typed_is_a_prompt(envelope: Record, reader: Reader) -> None:
    capture = reader(make_user("Fix <command-name> parsing", **envelope))
    assert list_texts(capture) == [(USER, "Fix <command-name> parsing")]
    assert capture.skipped == {}


@pytest.mark.parametrize("content", ["", "  \n", [], None, [make_text("<system-reminder>x</system-reminder>")]])
def test_a_prompt_without_words_is_counted(content: Any, reader: Reader) -> None:
    capture = reader(make_user(content))
    assert capture.turns == ()
    assert capture.skipped == {"harness notes": 1}


def test_reminders_the_editors_notes_and_our_own_block_are_stripped_from_prompts(reader: Reader) -> None:
    capture = reader(
        make_user("<lineage-context>\nolder sessions\n</lineage-context>\n\nFix it"),
        make_user([make_text("<ide_opened_file>The user opened a.py.</ide_opened_file>"), make_text("Now test it")]),
        make_user("Thanks\n<system-reminder>Be brief.</system-reminder>"),
    )
    assert list_texts(capture) == [(USER, "Fix it"), (USER, "Now test it"), (USER, "Thanks")]


def test_images_and_documents_leave_a_note_of_their_size(reader: Reader) -> None:
    capture = reader(
        make_user([make_text("See"), make_image(), make_blob("document", "application/pdf", 2102)]),
        make_user([make_image()]),
    )
    assert [turn.text for turn in capture.turns] == [
        "See\n[image image/png, 700 bytes left out]\n[document application/pdf, 2,102 bytes left out]",
        "[image image/png, 700 bytes left out]",
    ]


def test_a_prompt_typed_while_the_agent_worked_counts_once(reader: Reader) -> None:
    capture = reader(
        make_assistant(make_call("Bash")),
        {"type": "queue-operation", "operation": "enqueue", "content": "also check CRLF"},
        make_queued_prompt("also check CRLF", commandMode="prompt"),
        {"type": "queue-operation", "operation": "dequeue"},
        make_queued_prompt([make_text("and"), make_image()]),
    )
    assert list_texts(capture)[1:] == [(USER, "also check CRLF"), (USER, "and\n[image image/png, 700 bytes left out]")]
    assert capture.skipped == {"bookkeeping": 2}


@pytest.mark.parametrize(
    "record",
    [
        make_queued_prompt("<task-notification>done</task-notification>", commandMode="task-notification"),
        make_queued_prompt("done", commandMode="task-notification"),
        make_queued_prompt("done", origin={"kind": "task-notification"}),
        make_queued_prompt("done", isMeta=True),
        make_queued_prompt(None),
        {"type": "attachment", "attachment": {"type": "file", "prompt": "def read(): ..."}},
        {"type": "attachment"},
    ],
)
def test_an_attachment_that_nobody_typed_is_bookkeeping(record: Record, reader: Reader) -> None:
    capture = reader(record)
    assert capture.turns == ()
    assert capture.skipped == {"bookkeeping": 1}


# What is not a turn


def test_sub_agents_are_counted_and_leave_no_trace(reader: Reader) -> None:
    capture = reader(
        make_user("Scan"),
        make_user("Scan the repository", isSidechain=True, gitBranch="other"),
        make_assistant(make_text("Found 2."), model="claude-haiku-5", isSidechain=True),
    )
    assert list_texts(capture) == [(USER, "Scan")]
    assert capture.skipped == {"sub-agent": 2}
    assert (capture.models, capture.branches) == ((), ())
    assert capture.ended_at == "2026-10-02T09:01:00.000Z"


@pytest.mark.parametrize(
    ("subtype", "reason"),
    [
        ("turn_duration", "bookkeeping"),
        ("local_command", "bookkeeping"),
        ("compact_boundary", "bookkeeping"),
        ("api_error", "API errors"),
        ("stop_hook_summary", "hooks"),
        ("tomorrow", "unknown"),
        (None, "unknown"),
    ],
)
def test_system_records_are_counted_by_what_they_are(subtype: object, reason: str, reader: Reader) -> None:
    capture = reader(make_user("Hi"), {"type": "system", "subtype": subtype, "content": "words"})
    assert list_texts(capture) == [(USER, "Hi")]
    assert capture.skipped == {reason: 1}


def test_every_kind_that_the_program_names_is_known(reader: Reader) -> None:
    """The names are those of its own table of kinds, version 2.1.330."""
    kinds = [
        "api-request", "api-request-blob", "api-request-resumed", "api-request-shape", "artifact-autoreact-ledger",
        "artifact-comment-monitor", "atis-latch", "attribution-snapshot", "continued-in", "data-flow-incomplete",
        "data-flow-records", "derived-from", "dev-mods", "ended-by-model", "frame-link", "history-suppression",
        "isolation-latch", "memory-mode", "observer-ref", "relocated", "resume-head-vouch", "session-owner",
        "tools-used", "worktree-state", "cost-state", "last-prompt", "tag", "mode",
    ]  # fmt: skip
    subtypes = ["file_snapshot", "model_fallback", "model_consent_fallback", "model_refusal_fallback", "init"]
    systems = [{"type": "system", "subtype": subtype, "content": "words"} for subtype in subtypes]
    capture = reader(make_user("Hi"), *({"type": kind, "sessionId": "s"} for kind in kinds), *systems)
    assert capture.skipped == {"bookkeeping": len(kinds) + len(subtypes)}


def test_what_was_said_in_a_voice_call_is_kept_and_moves_no_id(reader: Reader) -> None:
    talk = {"type": "system", "subtype": "voice_call_talk", "content": "Use the second one.", "isMeta": True}
    capture = reader(make_user("Hi"), talk, make_assistant(make_text("Done.")))
    said = capture.turns[1]
    assert (said.role, said.name, said.text) == (SYSTEM, "voice call", "Use the second one.")
    assert [turn.source_id for turn in capture.turns] == ["u1", "u2#said-1", "u3"]
    assert capture.skipped == {}


def test_progress_is_bookkeeping(reader: Reader) -> None:
    capture = reader({"type": "progress", "data": {"type": "hook_progress"}})
    assert (capture.turns, capture.skipped) == ((), {"bookkeeping": 1})


@pytest.mark.parametrize(
    "record",
    [
        {"type": "some-future-record", "payload": {"x": 1}},
        {"type": None},
        {"type": ["user"]},
        {"no": "type"},
        {"type": "user"},
        {"type": "user", "message": "Fix it"},
        {"type": "assistant", "message": {"role": "assistant"}},
    ],
)
def test_unknown_records_are_counted_and_the_others_read(record: Record, reader: Reader) -> None:
    capture = reader(make_user("Fix it"), record, make_assistant(make_text("Done.")))
    assert list_texts(capture) == [(USER, "Fix it"), (ASSISTANT, "Done.")]
    assert capture.skipped == {"unknown": 1}


# Compactions


def test_a_compaction_is_known_by_its_flag_and_knows_what_came_before(reader: Reader) -> None:
    capture = reader(
        make_user("Fix it"),
        make_assistant(make_text("Done.")),
        make_boundary(),
        make_summary("In any wording: 1. Goal."),
        make_user("This session is being continued from a previous conversation, I read. Why?"),
        make_boundary(trigger="manual"),
        make_user([make_text("2. Goal.")], isCompactSummary=True),
    )
    assert capture.compactions == (
        CompactionRecord("In any wording: 1. Goal.", 2, "2026-10-02T09:04:00.000Z", "auto"),
        CompactionRecord("2. Goal.", 4, "2026-10-02T09:07:00.000Z", "manual"),
    )
    assert [turn.role for turn in capture.turns] == [USER, ASSISTANT, SYSTEM, USER, SYSTEM]
    assert capture.turns[2].name == "compaction"


def test_a_summary_without_a_boundary_has_no_trigger(reader: Reader) -> None:
    capture = reader(make_boundary(), make_summary("One."), make_summary("Two."))
    assert [compacted.trigger for compacted in capture.compactions] == ["auto", None]


@pytest.mark.parametrize("details", [None, "auto", {"trigger": 3}])
def test_a_boundary_without_details_is_one_all_the_same(details: object, reader: Reader) -> None:
    capture = reader({**make_boundary(), "compactMetadata": details}, make_summary("One."))
    assert [compacted.trigger for compacted in capture.compactions] == [None]


def test_a_microcompaction_is_not_a_compaction(reader: Reader) -> None:
    micro = {**make_boundary(trigger="micro"), "subtype": "microcompact_boundary"}
    assert reader(make_user("Fix it"), micro).compactions == ()
    capture = reader(make_user("Fix it"), make_boundary(), micro, make_summary("1. Goal."))
    assert [compacted.trigger for compacted in capture.compactions] == ["auto"]
    assert capture.skipped == {"bookkeeping": 2}


@pytest.mark.parametrize("preserved", ["preservedSegment", "preservedMessages"])
def test_preserved_records_that_are_replayed_do_not_count_again(preserved: str, reader: Reader) -> None:
    times = [{"timestamp": f"2026-10-02T08:0{number}:00Z"} for number in range(3)]
    old = [
        make_user("Fix it", **times[0]),
        make_assistant(make_call("Bash"), **times[1]),
        make_user([make_result("ok")], **times[2]),
    ]
    capture = reader(
        *old, make_boundary(**{preserved: {"headUuid": "u1"}}), make_summary("1. Goal."), *old, make_user("Go")
    )
    assert list_texts(capture) == [
        (USER, "Fix it"), (ASSISTANT, "Bash"), (TOOL, "ok"), (SYSTEM, "1. Goal."), (USER, "Go"),
    ]  # fmt: skip
    assert capture.skipped == {"bookkeeping": 1, "replayed": 3}


def test_only_what_stood_before_the_boundary_can_be_a_replay(reader: Reader) -> None:
    """Two parallel calls, and their two empty results, share a record's time."""
    capture = reader(
        make_user("Fix it"),
        make_boundary(preservedSegment={}),
        make_assistant(make_call("Glob", "t1", pattern="a"), make_call("Glob", "t2", pattern="a")),
        make_user([make_result("", "t1"), make_result("", "t2")]),
    )
    assert list_texts(capture)[1:] == [(ASSISTANT, "Glob")] * 2 + [(TOOL, "Glob")] * 2


def test_the_same_words_at_another_time_are_no_replay(reader: Reader) -> None:
    capture = reader(make_user("Go on"), make_boundary(preservedSegment={}), make_summary("1."), make_user("Go on"))
    assert list_texts(capture)[-1] == (USER, "Go on")


def test_without_preserved_records_nothing_is_taken_for_a_replay(reader: Reader) -> None:
    time = {"timestamp": "2026-10-02T08:00:00Z"}
    capture = reader(
        make_user("Go", **time), make_boundary(preservedSegment={}), make_boundary(), make_user("Go", **time)
    )
    assert list_texts(capture) == [(USER, "Go"), (USER, "Go")]


def test_a_record_whose_id_was_seen_counts_once(reader: Reader) -> None:
    capture = reader(make_user("Fix it", uuid="same"), make_user("Fix it", uuid="same"))
    assert [turn.source_id for turn in capture.turns] == ["same"]
    assert capture.skipped == {"replayed": 1}


# Title, branches, times

CUSTOM = {"type": "custom-title", "customTitle": "Mine"}
AI = {"type": "ai-title", "aiTitle": "Made up"}
OWN = {"type": "summary", "summary": "Own summary", "leafUuid": "u9"}
OTHERS = {"type": "summary", "summary": "Another session's", "leafUuid": "elsewhere"}


@pytest.mark.parametrize(
    ("records", "title"),
    [
        ((CUSTOM, AI, OWN, OTHERS), "Mine"),
        ((AI, OWN, OTHERS), "Made up"),
        ((OWN, OTHERS), "Own summary"),
        ((OTHERS,), None),
        ((), None),
        (({**CUSTOM, "customTitle": " "}, {**AI, "aiTitle": 3}, {**OWN, "leafUuid": ["u9"]}), None),
    ],
    ids=["custom", "ai", "own summary", "another's summary", "none", "blank"],
)
def test_the_best_title_wins_wherever_it_stands(records: tuple[Record, ...], title: str | None, reader: Reader) -> None:
    for order in itertools.permutations((*records, make_user("Fix it", uuid="u9"))):
        assert reader(*order).title == title


def test_of_two_titles_of_a_kind_the_last_wins(reader: Reader) -> None:
    leaf = make_user("Fix it", uuid="u9")
    assert reader(leaf, CUSTOM, {**CUSTOM, "customTitle": "Renamed"}).title == "Renamed"
    assert reader(leaf, OWN, {**OWN, "summary": "Later"}).title == "Later"


def test_branches_and_models_are_sets_in_the_order_of_their_first_mention(reader: Reader) -> None:
    capture = reader(
        make_user("a", gitBranch="main", cwd="/home/ada/demo"),
        make_assistant(make_text("b"), gitBranch="fix", cwd="/home/ada/demo/sub"),
        make_assistant(make_text("c"), gitBranch="main", model="claude-haiku-5"),
        make_assistant(make_text("d"), gitBranch=""),
    )
    assert capture.branches == ("main", "fix")
    assert capture.models == ("claude-opus-5", "claude-haiku-5")
    assert capture.project == "/home/ada/demo"


def test_first_and_last_time_are_those_of_the_files_order(reader: Reader) -> None:
    capture = reader(
        make_user("a", timestamp="2026-10-02T11:00:00+02:00"),
        make_user("b", timestamp="2026-10-02T07:00:00Z"),
        {"type": "system", "subtype": "turn_duration", "timestamp": "2026-10-02T08:00:00Z"},
        make_user("c", timestamp="no time"),
    )
    assert (capture.started_at, capture.ended_at) == ("2026-10-02T09:00:00.000Z", "2026-10-02T08:00:00.000Z")
    assert [turn.at for turn in capture.turns] == ["2026-10-02T09:00:00.000Z", "2026-10-02T07:00:00.000Z", None]


# Damage and foreign files


@pytest.mark.parametrize(
    ("name", "texts", "damaged"),
    [
        ("empty", [], 0),
        ("only-bookkeeping", [], 0),
        ("lone-surrogate", ["bad \ud83d end"], 0),
        ("nul-bytes", ["Please find", "I will look"], 0),
        ("two-records-one-line", ["Please find", "I will look"], 0),
        ("torn-inside-utf8", ["/model opus"], 1),
    ],
)
def test_a_damaged_sample_gives_what_is_whole(name: str, texts: list[str], damaged: int) -> None:
    capture = read(DATA / f"damaged/{name}.jsonl")
    assert [turn.text[: len(begin)] for turn, begin in zip(capture.turns, texts, strict=True)] == texts
    assert capture.skipped.get("damaged", 0) == damaged


def test_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    assert read(DATA / "damaged/crlf-bom.jsonl") == read(MAIN)


def test_a_torn_last_line_costs_that_line() -> None:
    whole, torn = read(MAIN), read(DATA / "damaged/torn-last-line.jsonl")
    assert torn.turns == whole.turns
    assert torn.skipped == {"API errors": 2, "bookkeeping": 12, "damaged": 1, "harness notes": 3, "hooks": 1}


def test_a_file_of_values_that_are_no_records_is_an_error() -> None:
    with pytest.raises(TranscriptError, match="no Claude Code record"):
        read(DATA / "damaged/not-objects.jsonl")


def test_unicode_arrives_as_it_was(reader: Reader) -> None:
    words = "日本語 עברית a\u2028b\u0085c 👩‍👩‍👧 é\u0301 \ufeff end"
    assert reader(make_user(words)).turns[0].text == words


def test_a_session_may_begin_with_any_record(reader: Reader) -> None:
    assert reader({"type": "system", "subtype": "local_command"}).turns == ()
    assert reader({"type": "progress"}).turns == ()


SESSION_ID = "019f9000-0000-7000-8000-00000000000a"
OTHER_HARNESSES: dict[str, list[Record]] = {
    "codex": [
        {"type": "session_meta", "payload": {"id": SESSION_ID, "cwd": "/home/ada/demo"}},
        {"type": "response_item", "payload": {"type": "message", "role": "user", "content": []}},
        {"type": "event_msg", "payload": {"type": "user_message", "message": "Fix it"}},
    ],
    "gemini": [
        {"sessionId": SESSION_ID, "projectHash": "7", "kind": "main"},
        {"id": "q", "type": "user", "content": [{"text": "Fix it"}]},
        {"id": "g", "type": "gemini", "content": "Done."},
        {"$set": {"summary": "Fix"}},
    ],
    "qwen": [
        {"uuid": "q1", "type": "user", "message": {"role": "user", "parts": [{"text": "Fix it"}]}},
        {"uuid": "q2", "type": "system", "subtype": "ui_telemetry", "systemPayload": {}},
        {"uuid": "q3", "type": "assistant", "message": {"role": "model", "parts": [{"text": "Done."}]}},
    ],
    "cursor": [
        {"role": "user", "message": {"content": [{"type": "text", "text": "Fix it"}]}},
        {"type": "turn_ended", "status": "success"},
    ],
    "generic": [{"role": "user", "text": "Fix it"}],
}


@pytest.mark.parametrize("harness", OTHER_HARNESSES)
def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(harness: str, reader: Reader) -> None:
    with pytest.raises(TranscriptError, match="no Claude Code record") as caught:
        reader(*OTHER_HARNESSES[harness])
    assert "--harness" in caught.value.hint


@pytest.mark.slow
def test_tool_input_at_the_edge_of_what_can_be_parsed_does_not_end_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    edge = sys.getrecursionlimit() - len(inspect.stack(0))
    lines = [
        json.dumps(make_assistant(make_call("Odd", x="DEEP"), uuid=f"u{depth}")).replace(
            '"DEEP"', "[" * depth + "]" * depth
        )
        for depth in range(edge - 30, edge)
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    capture = read(path)
    assert len(capture.turns) + capture.skipped.get("damaged", 0) == len(lines)
