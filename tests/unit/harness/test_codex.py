"""Codex's rollouts: which records are turns. (harnesses.md 2.5, 2.6)"""

import json
from functools import partial
from pathlib import Path

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.harness.codex import read
from tests.support.codex import (
    ARCHIVED,
    DATA,
    DATA_URL,
    ENCRYPTED,
    FORK,
    LOCAL,
    NEWEST,
    NOTE,
    PAGED_FORK,
    PNG,
    REMOTE,
    SAMPLES,
    SUB_AGENT,
    THREAD,
    Reader,
    Record,
    list_messages,
    make_call,
    make_event,
    make_item,
    make_message,
    make_meta,
    make_part,
    make_result,
    make_turn_start,
    make_user_input,
    read_capture,
)
from tests.support.parametrize import each


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return partial(read_capture, tmp_path / "rollout-test.jsonl")


# The samples


def test_the_newest_sample_reads_as_it_went() -> None:
    assert [(turn.role, turn.name, turn.input or turn.text.split("\n")[0]) for turn in read(NEWEST).turns] == [
        (USER, "", "Why does the reader drop the last line? 日本語 🧵"),
        (ASSISTANT, "", "**Look at the reader**"),
        (ASSISTANT, "exec_command", "cat reader.py; false"),
        (TOOL, "exec_command", "def read(p): ..."),
        (ASSISTANT, "apply_patch", "reader.py, tests/test_reader.py"),
        (TOOL, "apply_patch", "Success. Updated reader.py"),
        (ASSISTANT, "web_search", "python last line without newline"),
        (ASSISTANT, "exec", "text(await tools.docs.lookup({query: 'readline'}))"),
        (ASSISTANT, "docs.lookup", "readline"),
        (TOOL, "docs.lookup", "no such page"),
        (TOOL, "exec", "Script completed"),
        (ASSISTANT, "", "The reader splits on newlines; I patched it."),
        (SYSTEM, "compaction", "Goal: fix the reader. Done: patch."),
        (USER, "", "Now the tests"),
        (SYSTEM, "rollback", "[rolled back by 1 prompt]"),
        (SYSTEM, "interruption", "The user interrupted."),
    ]


def test_the_newest_sample_says_what_it_was() -> None:
    capture = read(NEWEST)
    assert capture.session_id == "019f9000-0000-7000-8000-000000000010"
    assert (capture.parent_session, capture.forked_from) == (None, None)
    assert capture.title == "Reader loses last line"
    assert capture.project == "/home/ada/demo"
    assert capture.models == ("gpt-6-luna", "gpt-6-astra")
    assert capture.branches == ("fix/reader",)
    assert (capture.started_at, capture.ended_at) == ("2026-10-03T07:00:00.250Z", "2026-10-03T07:01:16.250Z")
    assert [turn.name for turn in capture.turns if turn.error] == ["exec_command", "docs.lookup"]


@each(
    ("path", "turns", "skipped"),
    [
        (LOCAL, 15, {"bookkeeping": 9, "harness notes": 3, "repeated": 7}),
        (REMOTE, 9, {"bookkeeping": 7, "harness notes": 4, "repeated": 4}),
        (ARCHIVED, 9, {"bookkeeping": 7, "harness notes": 4, "repeated": 4}),
        (FORK, 8, {"bookkeeping": 6, "harness notes": 3, "repeated": 3}),
        (PAGED_FORK, 2, {"bookkeeping": 1}),
        (SUB_AGENT, 7, {"bookkeeping": 5, "repeated": 3}),
        (NEWEST, 16, {"bookkeeping": 13, "harness notes": 2, "repeated": 9}),
        (DATA / "damaged/flat-legacy-2025.jsonl", 2, {"bookkeeping": 2}),
        (DATA / "damaged/meta-only.jsonl", 0, {"bookkeeping": 1}),
        (
            DATA / "damaged/torn-last-line.jsonl",
            15,
            {"bookkeeping": 8, "damaged": 1, "harness notes": 3, "repeated": 7},
        ),
    ],
    ids=lambda value: value.parent.name + "/" + value.name[-16:] if isinstance(value, Path) else None,
)
def test_every_sample_is_read_and_what_is_no_turn_is_counted(path: Path, turns: int, skipped: dict[str, int]) -> None:
    capture = read(path)
    assert len(capture.turns) == turns
    assert capture.skipped == skipped


def test_no_sample_is_left_out_above() -> None:
    assert len(SAMPLES) == 10


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parent.name + "/" + path.name[-16:])
def test_a_growing_sample_only_ever_adds_turns(path: Path, tmp_path: Path) -> None:
    whole, lines = read(path), path.read_bytes().splitlines(keepends=True)
    for count in range(len(lines) + 1):
        growing = tmp_path / "growing.jsonl"
        growing.write_bytes(b"".join(lines[:count]))
        capture = read(growing)
        assert capture.turns == whole.turns[: len(capture.turns)]
        assert capture.compactions == whole.compactions[: len(capture.compactions)]


@each("path", SAMPLES, ids=lambda path: path.parent.name + "/" + path.name[-16:])
def test_what_is_encrypted_is_in_no_sample(path: Path) -> None:
    assert not any(mark in repr(read(path)) for mark in ("A1b2A1b2", "QUFBQUFB", "AAAAAAAA"))


# Prompts: from the events where there are any


def test_what_events_and_items_both_say_is_said_once(reader: Reader) -> None:
    capture = reader(
        make_turn_start("t1"),
        make_message("user", "Fix it"),
        make_user_input("Fix it"),
        make_message("assistant", "Done."),
        make_event("agent_message", message="Done.", phase="final_answer"),
    )
    assert capture.turns == (
        Turn(USER, "Fix it", "2026-10-02T09:03:00.000Z", source_id=capture.turns[0].source_id),
        Turn(ASSISTANT, "Done.", "2026-10-02T09:04:00.000Z", source_id=capture.turns[1].source_id),
    )
    assert capture.skipped == {"bookkeeping": 2, "repeated": 2}


def test_the_same_words_in_two_prompts_are_two_turns(reader: Reader) -> None:
    exchange = (make_message("user", "Go on"), make_user_input("Go on"), make_message("assistant", "Done."))
    assert list_messages(reader(*exchange, *exchange)) == [(USER, "Go on"), (ASSISTANT, "Done.")] * 2


def test_scaffolding_in_the_users_role_is_no_prompt(reader: Reader) -> None:
    """Of a kind that nobody has heard of, too: the events tell what was typed."""
    capture = reader(
        make_message("developer", "<permissions instructions>…</permissions instructions>"),
        make_message("user", "# AGENTS.md instructions for /home/ada/demo\n\n<INSTRUCTIONS>\nx\n</INSTRUCTIONS>"),
        make_message("user", "<environment_context>\n</environment_context>"),
        make_message("user", "<tomorrows_context>x</tomorrows_context>"),
        make_message("user", "Fix it"),
        make_user_input("Fix it"),
        make_message("user", "<tomorrows_reminder>x</tomorrows_reminder>"),
        make_message("assistant", "Done."),
    )
    assert list_messages(capture) == [(USER, "Fix it"), (ASSISTANT, "Done.")]
    assert capture.skipped == {"bookkeeping": 1, "harness notes": 3, "repeated": 3}


@pytest.mark.parametrize(
    "words",
    [
        "<environment_context>x</environment_context>",
        "<user_instructions>x</user_instructions>",
        "<turn_aborted>\nThe user interrupted.\n</turn_aborted>",
        "<user_shell_command>ls</user_shell_command>",
        "  \n<skill>x</skill>",
        "<lineage-context>\nolder sessions\n</lineage-context>",
        "# Context from my IDE setup:\n\n## Active file: a.py",
        " ",
    ],
)
def test_what_the_harness_wrote_is_no_prompt_wherever_it_stands(words: str, reader: Reader) -> None:
    for record in (
        make_user_input(words),
        make_part("UserMessage", id="u1", content=[{"type": "text", "text": words}]),
    ):
        capture = reader(record)
        assert capture.turns == ()
        assert capture.skipped == {"bookkeeping": 1, "harness notes": 1}


@pytest.mark.parametrize("kind", ["environment_context", "user_instructions", 3])
def test_an_event_that_says_that_nobody_typed_it_is_no_prompt(kind: object, reader: Reader) -> None:
    assert reader(make_user_input("x", kind=kind)).skipped == {"bookkeeping": 1, "harness notes": 1}
    assert list_messages(reader(make_user_input("x", kind="plain"))) == [(USER, "x")]


@pytest.mark.parametrize(
    "preface",
    [
        "# Context from my IDE setup:\n\n## Active file: a.py\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\n",
        "# Files mentioned by the user:\n\n## a.png: /home/ada/a.png\n\n## My request for Codex:\n",
        "## My request for Codex: ",
    ],
)
def test_an_editors_preface_is_cut_off(preface: str, reader: Reader) -> None:
    assert list_messages(reader(make_user_input(preface + "Fix it"))) == [(USER, "Fix it")]


def test_a_heading_of_that_name_in_a_prompt_of_its_own_stays(reader: Reader) -> None:
    words = "Explain this line:\n## My request for Codex:\nthanks"
    assert list_messages(reader(make_user_input(words))) == [(USER, words)]


def test_our_own_block_is_stripped_from_prompts_and_results(reader: Reader) -> None:
    ours = "<lineage-context>\nolder sessions\n</lineage-context>\n\n"
    capture = reader(make_user_input(ours + "Fix it"), make_call("exec_command", cmd="cat x"), make_result(ours + "x"))
    assert list_messages(capture) == [(USER, "Fix it"), (ASSISTANT, "exec_command"), (TOOL, "x")]


def test_a_file_without_events_gives_its_user_messages(reader: Reader) -> None:
    records = [
        make_message("user", "<environment_context>x</environment_context>"),
        make_message("user", "Fix it", id="m1"),
        make_message("assistant", "Done."),
        make_message("user", "Thanks"),
    ]
    capture = reader(*records)
    assert list_messages(capture) == [(USER, "Fix it"), (ASSISTANT, "Done.")]
    assert (capture.turns[0].at, capture.turns[0].source_id) == ("2026-10-02T09:02:00.000Z", f"{THREAD}/m1")
    assert capture.skipped == {"bookkeeping": 1, "harness notes": 1, "unconfirmed": 1}
    assert list_messages(reader(*records, make_message("assistant", "Bye.")))[2:] == [
        (USER, "Thanks"),
        (ASSISTANT, "Bye."),
    ]


def test_images_leave_a_note_of_their_size(reader: Reader) -> None:
    image = {"type": "input_image", "image_url": DATA_URL}
    capture = reader(
        make_message("user", "See", image),
        make_event("user_message", message="See", images=[DATA_URL], local_images=["/home/ada/a.png"]),
        make_part("UserMessage", id="u", content=[{"type": "image", "image_url": {"url": DATA_URL}}]),
        make_event("user_message", message="", images=["https://example.invalid/a.png", "x" * 999, {}], local_images=7),
        make_call("view_image", path="a.png"),
        make_result([{"type": "input_text", "text": "a"}, image]),
        make_result(
            json.dumps([{"type": "text", "text": "b"}, {"type": "image", "data": PNG, "mimeType": "image/png"}])
        ),
    )
    assert [turn.text for turn in capture.turns if turn.text] == [
        f"See\n{NOTE}\n[image /home/ada/a.png]",
        NOTE,
        "[image https://example.invalid/a.png]\n[image]\n[image]",
        f"a\n{NOTE}",
        f"b\n{NOTE}",
    ]
    assert PNG not in repr(capture)


# Thinking and other agents


def test_the_summary_of_thinking_is_kept_and_the_encrypted_rest_is_not(reader: Reader) -> None:
    summary = [{"type": "summary_text", "text": "**Look**"}, {"type": "summary_text", "text": "**Patch**"}]
    capture = reader(
        make_item("reasoning", id="r1", summary=summary, content=None, encrypted_content=ENCRYPTED),
        make_event("agent_reasoning", text="**Look**"),
        make_part("Reasoning", id="r1", summary_text=["**Look**"]),
        make_item("reasoning", summary=[], content=[{"type": "reasoning_text", "text": "Raw."}]),
        make_item("reasoning", summary=[], encrypted_content=ENCRYPTED),
    )
    assert [(turn.text, turn.thinking) for turn in capture.turns] == [("**Look**\n**Patch**", True), ("Raw.", True)]
    assert ENCRYPTED not in repr(capture)
    assert capture.skipped == {"bookkeeping": 2, "repeated": 2}


def test_what_another_agent_says_is_kept_unless_it_is_encrypted(reader: Reader) -> None:
    secret = {"type": "encrypted_content", "encrypted_content": ENCRYPTED}
    capture = reader(
        make_item("agent_message", author="/root/r", content=[{"type": "input_text", "text": "Found 2."}, secret]),
        make_item("agent_message", author="/root/r", content=[secret]),
    )
    assert [(turn.role, turn.name, turn.text) for turn in capture.turns] == [(TOOL, "agent_message", "Found 2.")]
    assert ENCRYPTED not in repr(capture)
    assert capture.skipped == {"bookkeeping": 2}


# Compactions and rollbacks


def test_a_local_compaction_has_its_summary_without_the_preamble(reader: Reader) -> None:
    summary = "Goal: fix it.\n\nDone: half."
    capture = reader(
        make_user_input("Fix it"),
        {**make_message("assistant", summary), "metadata": {"compaction_output": True}},
        {"type": "compacted", "payload": {
            "message": f"Another language model started to solve this problem and so on:\n{summary}\n",
            "replacement_history": [{"type": "message", "role": "user", "content": []}],
        }},
        make_event("context_compacted"),
        make_part("ContextCompaction", id="cc"),
        make_user_input("Go on"),
        {"type": "compacted", "payload": {"message": "No preamble."}},
    )  # fmt: skip
    assert capture.compactions == (
        CompactionRecord(summary, 1, "2026-10-02T09:03:00.000Z"),
        CompactionRecord("No preamble.", 3, "2026-10-02T09:07:00.000Z"),
    )
    assert list_messages(capture) == [(USER, "Fix it"), (SYSTEM, summary), (USER, "Go on"), (SYSTEM, "No preamble.")]
    assert {turn.name for turn in capture.turns if turn.role == SYSTEM} == {"compaction"}
    assert capture.skipped == {"bookkeeping": 1, "repeated": 3}


@pytest.mark.parametrize("words", ["", " \n", None, "Another language model started to solve this problem, encrypted."])
def test_a_remote_compaction_is_one_without_a_summary(words: object, reader: Reader) -> None:
    encrypted = {"type": "compaction", "encrypted_content": ENCRYPTED}
    capture = reader(
        make_user_input("Fix it"),
        make_item("compaction", encrypted_content=ENCRYPTED),
        {"type": "compacted", "payload": {"message": words, "replacement_history": [encrypted]}},
        make_event("context_compacted"),
    )
    assert capture.compactions == (CompactionRecord(None, 1, "2026-10-02T09:03:00.000Z"),)
    assert list_messages(capture) == [(USER, "Fix it")]
    assert capture.skipped == {"bookkeeping": 3, "repeated": 1}


def test_a_compaction_counts_the_messages_that_waited_for_an_event(reader: Reader) -> None:
    capture = reader(make_message("user", "Fix it"), {"type": "compacted", "payload": {"message": "Goal."}})
    assert list_messages(capture) == [(USER, "Fix it"), (SYSTEM, "Goal.")]
    assert capture.compactions[0].turns_before == 1


@pytest.mark.parametrize(("count", "text"), [(1, "[rolled back by 1 prompt]"), (2, "[rolled back by 2 prompts]")])
def test_what_was_rolled_back_stays_and_is_marked(count: int, text: str, reader: Reader) -> None:
    exchanges = (
        make_user_input("Fix it"),
        make_message("assistant", "Done."),
        make_user_input("No"),
        make_message("assistant", "Undone."),
    )
    capture = reader(*exchanges, make_event("thread_rolled_back", num_turns=count))
    assert list_messages(capture)[:4] == list_messages(reader(*exchanges))
    assert (capture.turns[4].role, capture.turns[4].name, capture.turns[4].text) == (SYSTEM, "rollback", text)
    assert reader(make_event("thread_rolled_back", num_turns="all")).skipped == {"bookkeeping": 1, "unknown": 1}


# What is not a turn


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (make_event("token_count", info={}), "bookkeeping"),
        (make_event("turn_aborted", reason="replaced"), "bookkeeping"),
        (make_event("task_complete", last_agent_message="Done."), "bookkeeping"),
        (make_event("web_search_end", call_id="w", query="q"), "repeated"),
        (make_event("image_generation_end", call_id="i", result=PNG), "repeated"),
        (make_item("ghost_snapshot", ghost_commit={}), "bookkeeping"),
        (make_message("assistant", "\n"), "bookkeeping"),
        (make_message("system", "Be brief."), "harness notes"),
        ({"type": "world_state", "payload": {"full": True}}, "bookkeeping"),
        ({"type": "token_usage_record", "payload": {}}, "bookkeeping"),
        ({"type": "inter_agent_communication", "payload": {}}, "bookkeeping"),
        ({"type": "tomorrow", "payload": {}}, "unknown"),
        ({"type": "session_meta"}, "unknown"),
        (make_event("tomorrow"), "unknown"),
        (make_item("tomorrow"), "unknown"),
        (make_item("message", content=[]), "unknown"),
        (make_part("Tomorrow"), "unknown"),
        (make_event("item_completed"), "unknown"),
        ({"type": "response_item", "payload": {"type": ["message"]}}, "unknown"),
    ],
    ids=str,
)
def test_other_records_are_counted_and_the_rest_is_read(record: Record, reason: str, reader: Reader) -> None:
    capture = reader(make_meta(), make_user_input("Fix it"), record, make_user_input("Go on"))
    assert list_messages(capture) == [(USER, "Fix it"), (USER, "Go on")]
    assert capture.skipped == ({"bookkeeping": 2} if reason == "bookkeeping" else {"bookkeeping": 1, reason: 1})
    assert PNG not in repr(capture)


def test_unknown_blocks_are_counted(reader: Reader) -> None:
    capture = reader(make_message("assistant", {"type": "hologram"}, "Done.", 7, {"type": "text"}))
    assert list_messages(capture) == [(ASSISTANT, "Done.")]
    assert capture.skipped == {"bookkeeping": 1, "unknown": 3}


# A person's words in other records


def list_said(capture: Capture) -> list[tuple[str, str, str]]:
    """Role, text and the end of the id of the turns that stand beside others of their record."""
    said = (turn for turn in capture.turns if "#said-" in (turn.source_id or ""))
    return [(turn.role, turn.text, (turn.source_id or "").rpartition("/")[2]) for turn in said]


def test_answers_to_questions_are_a_persons(reader: Reader) -> None:
    questions = [{"id": "where", "question": "Where to?"}, {"id": "when", "question": "When?"}, {"id": "who"}]
    answers = {"where": {"answers": ["Staging", "user_note: not on a Friday"]}, "when": {"answers": []}}
    capture = reader(
        make_user_input("Ship it"),
        make_call("request_user_input", questions=questions),
        make_result(json.dumps({"answers": answers | {"who": {"answers": ["Me"]}}})),
    )
    assert list_said(capture) == [
        (USER, "> Where to?\n\nStaging\nnot on a Friday", "c1#said-1"),
        (USER, "Me", "c1#said-2"),
    ]
    assert capture.turns[-1].at == capture.turns[-2].at is not None


def test_an_interruption_is_noted_where_it_happened(reader: Reader) -> None:
    capture = reader(
        make_user_input("Fix it"),
        make_event("turn_aborted", turn_id="t7", reason="interrupted"),
        make_message("user", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>"),
        make_user_input("No, the other one"),
    )
    assert list_messages(capture) == [
        (USER, "Fix it"),
        (SYSTEM, "The user interrupted."),
        (USER, "No, the other one"),
    ]
    assert list_said(capture) == [(SYSTEM, "The user interrupted.", "t7#said-1")]
