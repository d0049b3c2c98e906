"""pi's sessions: a header and a tree of entries, of which every branch is kept. (harnesses.md, section 7)"""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn, compute_turn_id
from lineage.errors import TranscriptError
from lineage.harness.adapters import list_history_roots
from lineage.harness.pi import discover, read

DATA = Path(__file__).parents[2] / "data/pi"
SYNTHETIC = DATA / "session.jsonl"
SESSIONS = DATA / "sessions/--home-ada-demo--"
MAIN = SESSIONS / "2026-10-02T09-00-00-000Z_5d0c1a52-7f0e-5f3a-9d51-0c7a35b1c0de.jsonl"
FORK = SESSIONS / "2026-10-02T10-00-00-000Z_8f6a2d17-03bb-5e0c-8a44-6b1d2f9e7a10.jsonl"
OLD = SESSIONS / "2025-12-09T00-52-54-397Z_d97339c6-6c10-5827-846b-9ff1d9c3dc37.jsonl"
PNG = base64.b64encode(bytes(700)).decode()
SIGNATURE = "c2lnLXBsYWNlaG9sZGVy" * 6
ID = "5d0c1a52-7f0e-5f3a-9d51-0c7a35b1c0de"

Record = dict[str, Any]
Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Reads entries below a header; they get an id and a time, a minute apart, where they have none."""

    def read_entries(*entries: Record, **header: Any) -> Capture:
        path = tmp_path / "session.jsonl"
        lines = [{"type": "session", "version": 3, "id": ID, "cwd": "/home/ada/demo", **header}]
        for number, entry in enumerate(entries, 1):
            lines.append({"id": f"e{number}", "timestamp": format_minute(number), **entry})
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return read(path)

    return read_entries


def format_minute(number: int) -> str:
    return f"2026-10-02T09:{number:02d}:00.000Z"


def make_message(role: str, content: Any = None, **more: Any) -> Record:
    return {"type": "message", "message": {"role": role, "content": content, **more}}


def make_user(content: Any) -> Record:
    return make_message("user", content)


def make_assistant(*blocks: Any, model: str = "claude-opus-5", **more: Any) -> Record:
    return make_message("assistant", list(blocks), model=model, provider="anthropic", **more)


def make_text(words: str) -> Record:
    return {"type": "text", "text": words}


def make_call(name: str, **arguments: Any) -> Record:
    return {"type": "toolCall", "id": "tc1", "name": name, "arguments": arguments}


def make_result(content: Any, name: str = "read", **more: Any) -> Record:
    return make_message("toolResult", content, toolName=name, toolCallId="tc1", **more)


def make_image() -> Record:
    return {"type": "image", "data": PNG, "mimeType": "image/png"}


def list_texts(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]


# The samples as a whole


@pytest.mark.parametrize(
    ("path", "turns", "skipped"),
    [
        (SYNTHETIC, 6, {"bookkeeping": 4}),
        (MAIN, 13, {"bookkeeping": 5, "harness notes": 1}),
        (FORK, 6, {"bookkeeping": 3}),
        (OLD, 4, {"bookkeeping": 1}),
    ],
    ids=["synthetic", "main", "fork", "version 1"],
)
def test_every_sample_reads_and_says_what_was_left_out(path: Path, turns: int, skipped: dict[str, int]) -> None:
    capture = read(path)
    assert len(capture.turns) == turns
    assert capture.skipped == skipped


def test_the_sample_session_reads_as_it_went() -> None:
    note = "[image image/png, 700 bytes left out]"
    assert [(turn.role, turn.name, turn.input, turn.text) for turn in read(MAIN).turns] == [
        (USER, "", "", f"Why does the reader drop the last line? 日本語もOK 🧵\n{note}"),
        (ASSISTANT, "", "", "The split, probably."),
        (ASSISTANT, "", "", "I look at the reader."),
        (ASSISTANT, "read", "reader.py", ""),
        (TOOL, "read", "", f"def read(path): ...\n{note}"),
        (TOOL, "bash", "pytest -q", "1 failed"),
        (ASSISTANT, "bash", "cat missing", ""),
        (TOOL, "bash", "", "cat: missing: No such file"),
        (SYSTEM, "compaction", "", "Goal: fix the reader.\nDone: found the split."),
        (ASSISTANT, "", "", "Patched with splitlines."),
        (SYSTEM, "branch summary", "", "Tried splitlines; it breaks on form feeds."),
        (USER, "", "", "Split on newlines only."),
        (ASSISTANT, "", "", "Done."),
    ]


def test_the_sample_session_says_what_it_was() -> None:
    capture = read(MAIN)
    assert capture.session_id == ID
    assert capture.title == "reader bug"
    assert capture.project == "/home/ada/demo"
    assert capture.models == ("claude-opus-5", "claude-haiku-5")
    assert (capture.started_at, capture.ended_at) == (format_minute(1), format_minute(16))
    assert (capture.forked_from, capture.parent_session) == (None, None)
    assert [turn.error for turn in capture.turns if turn.role == TOOL] == [False, True, True]


# Ids, forks, versions


def test_a_fork_names_its_parent_and_has_its_turns_ids() -> None:
    fork, parent = read(FORK), read(MAIN)
    assert fork.forked_from == ID
    assert fork.turns[:5] == parent.turns[:5]
    assert fork.session_id == "8f6a2d17-03bb-5e0c-8a44-6b1d2f9e7a10"
    assert (fork.started_at, fork.ended_at) == (format_minute(1), format_minute(30))


@pytest.mark.parametrize(
    ("header", "parent"),
    [
        ({"parentSession": f"/home/ada/.pi/2026-10-02T09-00-00-000Z_{ID}.jsonl"}, ID),
        ({"branchedFrom": f"C:\\sessions\\2026-10-02T09-00-00-000Z_{ID}.jsonl"}, ID),
        ({"parentSession": f"/sessions/{ID}.jsonl"}, ID),
        ({"parentSession": ID}, ID),
        ({"parentSession": "my_session"}, "my_session"),
        ({"parentSession": ""}, None),
        ({"parentSession": ["x"]}, None),
        ({}, None),
    ],
)
def test_the_parent_is_the_id_in_its_files_name(header: Record, parent: str | None, reader: Reader) -> None:
    assert reader(make_user("Hi"), **header).forked_from == parent


def test_an_entrys_id_holds_across_files_by_its_time(reader: Reader) -> None:
    """Eight hex digits alone would sooner or later name turns of two sessions."""
    here = reader({**make_user("Fix it"), "id": "0a1b2c3d"}).turns[0]
    there = reader({**make_user("Fix it"), "id": "0a1b2c3d", "timestamp": format_minute(5)}, id="another").turns[0]
    assert here.source_id == f"0a1b2c3d@{format_minute(1)}"
    assert compute_turn_id(here.source_id) != compute_turn_id(there.source_id or "")


def test_an_entry_without_a_time_is_told_apart_by_its_session(reader: Reader) -> None:
    assert reader({**make_user("Hi"), "timestamp": None}).turns[0].source_id == f"e1@{ID}"


def test_several_blocks_of_one_entry_have_ids_of_their_own(reader: Reader) -> None:
    capture = reader(make_assistant(make_text("One."), make_text("Two."), make_call("bash", command="ls")))
    assert [turn.source_id for turn in capture.turns] == [f"e1@{format_minute(1)}{rest}" for rest in ("", "#1", "#2")]


def test_version_1_has_no_entry_ids_and_goes_by_place() -> None:
    capture = read(OLD)
    old = "d97339c6-6c10-5827-846b-9ff1d9c3dc37"
    assert [turn.source_id for turn in capture.turns] == [f"{old}:1", f"{old}:2", f"{old}:2#1", f"{old}:3"]
    assert capture.forked_from == "0f0e0d0c-0b0a-5908-8706-050403020100"
    assert capture.compactions == (CompactionRecord("A greeting.", 3, "2025-12-09T00:54:00.000Z"),)


def test_without_header_and_ids_a_turn_has_none(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps(make_user("Hi")), encoding="utf-8")
    assert read(path).turns == (Turn(USER, "Hi"),)


def test_an_entry_that_stands_twice_counts_once(reader: Reader) -> None:
    entry = {**make_user("Fix it"), "id": "same", "timestamp": format_minute(1)}
    capture = reader(entry, entry)
    assert list_texts(capture) == [(USER, "Fix it")]
    assert capture.skipped == {"bookkeeping": 1, "replayed": 1}


def test_the_first_header_is_the_files(reader: Reader) -> None:
    capture = reader({"type": "session", "id": "second", "cwd": "/elsewhere"}, make_user("Hi"))
    assert (capture.session_id, capture.project) == (ID, "/home/ada/demo")


def test_a_session_without_entries_began_with_its_header(reader: Reader) -> None:
    capture = reader(timestamp="2026-10-02T11:00:00+02:00")
    assert capture.turns == ()
    assert capture.started_at == capture.ended_at == "2026-10-02T09:00:00.000Z"


# Branches


def test_all_branches_are_kept_in_file_order(reader: Reader) -> None:
    capture = reader(
        {**make_user("Fix it"), "parentId": None},
        {**make_assistant(make_text("Left.")), "parentId": "e1"},
        {**make_assistant(make_text("Right.")), "parentId": "e1"},
        {**make_user("Back to the left"), "parentId": "e2"},
    )
    assert list_texts(capture) == [
        (USER, "Fix it"),
        (ASSISTANT, "Left."),
        (ASSISTANT, "Right."),
        (USER, "Back to the left"),
    ]


@given(parents=st.lists(st.integers(0, 20), max_size=20))
def test_whatever_the_tree_growth_only_adds_turns(parents: list[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("tree") / "session.jsonl"
    path.write_text(json.dumps({"type": "session", "id": ID}) + "\n", encoding="utf-8")
    seen: tuple[Turn, ...] = ()
    for number, parent in enumerate(parents):
        entry = {**make_user(f"turn {number}"), "id": f"e{number}", "parentId": f"e{min(parent, number)}"}
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        turns = read(path).turns
        assert turns[: len(seen)] == seen
        assert len(turns) == len(seen) + 1
        seen = turns


@pytest.mark.parametrize(
    "entry", [{"type": "branch_summary", "summary": "Tried."}, make_message("branchSummary", summary="Tried.")]
)
def test_what_was_tried_on_a_branch_is_a_note_of_the_systems(entry: Record, reader: Reader) -> None:
    capture = reader(entry, make_user("Go on"))
    assert capture.turns[0].name == "branch summary"
    assert list_texts(capture)[0] == (SYSTEM, "Tried.")
    assert capture.compactions == ()


@pytest.mark.parametrize("summary", ["", " \n", None, 3])
def test_a_branch_left_without_a_word_is_bookkeeping(summary: Any, reader: Reader) -> None:
    capture = reader({"type": "branch_summary", "summary": summary})
    assert (capture.turns, dict(capture.skipped)) == ((), {"bookkeeping": 2})


# Compactions


@pytest.mark.parametrize(
    "entry", [{"type": "compaction", "summary": "1. Goal."}, make_message("compactionSummary", summary="1. Goal.")]
)
def test_a_compaction_knows_what_came_before(entry: Record, reader: Reader) -> None:
    capture = reader(
        make_user("Fix it"), make_assistant(make_text("One."), make_text("Two.")), entry, make_user("Go on")
    )
    assert capture.compactions == (CompactionRecord("1. Goal.", 3, format_minute(3)),)
    assert (capture.turns[3].role, capture.turns[3].name) == (SYSTEM, "compaction")


@pytest.mark.parametrize("summary", ["", "  ", None, ["x"]])
def test_a_compaction_whose_summary_is_missing_is_one_all_the_same(summary: Any, reader: Reader) -> None:
    capture = reader(make_user("Fix it"), {"type": "compaction", "summary": summary})
    assert capture.compactions == (CompactionRecord(None, 1, format_minute(2)),)
    assert list_texts(capture) == [(USER, "Fix it")]
    assert capture.skipped == {"bookkeeping": 2}


# Prompts


@pytest.mark.parametrize("content", ["Fix it", [make_text("Fix it")], [make_text("Fix"), "it"]])
def test_a_prompts_content_is_text_or_blocks(content: Any, reader: Reader) -> None:
    assert list_texts(reader(make_user(content)))[0][1].split() == ["Fix", "it"]


def test_our_own_block_is_stripped_from_prompts(reader: Reader) -> None:
    assert list_texts(reader(make_user("<lineage-context>\nolder\n</lineage-context>\n\nFix it"))) == [(USER, "Fix it")]


@pytest.mark.parametrize("content", ["", None, [], "<lineage-context>x</lineage-context>"])
def test_a_prompt_without_words_is_counted(content: Any, reader: Reader) -> None:
    capture = reader(make_user(content))
    assert (capture.turns, dict(capture.skipped)) == ((), {"bookkeeping": 1, "harness notes": 1})


def test_images_leave_a_note_of_their_size(reader: Reader) -> None:
    capture = reader(
        make_user([make_image()]), make_result([make_text("a"), make_image()]), make_assistant(make_image())
    )
    note = "[image image/png, 700 bytes left out]"
    assert [turn.text for turn in capture.turns] == [note, f"a\n{note}", note]
    assert PNG not in repr(capture)


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "custom_message", "content": "Injected", "display": True},
        make_message("custom", "Injected", customType="tips"),
        make_message("hookMessage", "Injected"),
    ],
)
def test_what_an_extension_injects_nobody_typed(entry: Record, reader: Reader) -> None:
    capture = reader(entry, make_user("Hi"))
    assert list_texts(capture) == [(USER, "Hi")]
    assert capture.skipped == {"bookkeeping": 1, "harness notes": 1}


# The person's own commands


@pytest.mark.parametrize(
    ("outcome", "error"),
    [({"exitCode": 0}, False), ({"exitCode": 1}, True), ({}, False), ({"exitCode": 0, "cancelled": True}, True)],
)
def test_a_command_that_the_person_ran_shows_both_ends(outcome: Record, error: bool, reader: Reader) -> None:
    turn = reader(make_message("bashExecution", command="git status", output="clean\n", **outcome)).turns[0]
    assert (turn.role, turn.name, turn.input, turn.text) == (TOOL, "bash", "git status", "clean")
    assert turn.error is error


def test_a_command_that_was_kept_from_the_agent_is_kept_from_its_memory(reader: Reader) -> None:
    capture = reader(
        make_message("bashExecution", command="cat key", output="s", excludeFromContext=True), make_user("Hi")
    )
    assert list_texts(capture) == [(USER, "Hi")]
    assert capture.skipped == {"bookkeeping": 1, "kept from the agent": 1}


# The agent


def test_a_message_gives_a_turn_a_block_in_order(reader: Reader) -> None:
    thinking = {"type": "thinking", "thinking": "Look first.", "thinkingSignature": SIGNATURE}
    capture = reader(make_assistant(thinking, make_text("\nI look.\n"), make_call("read", path="a.py")))
    assert [(turn.text, turn.name, turn.input, turn.thinking) for turn in capture.turns] == [
        ("Look first.", "", "", True),
        ("I look.", "", "", False),
        ("", "read", "a.py", False),
    ]
    assert SIGNATURE not in repr(capture)


def test_blank_and_unknown_blocks_are_counted(reader: Reader) -> None:
    capture = reader(
        make_assistant(
            make_text(" "), {"type": "thinking", "thinking": ""}, {"type": "odour"}, "loose", make_text("Hi.")
        )
    )
    assert list_texts(capture) == [(ASSISTANT, "Hi.")]
    assert capture.skipped == {"bookkeeping": 3, "unknown": 2}


def test_a_message_that_failed_before_its_first_word_is_a_note(reader: Reader) -> None:
    capture = reader(make_assistant(stopReason="error", errorMessage="overloaded"))
    assert (capture.turns, dict(capture.skipped)) == ((), {"bookkeeping": 1, "harness notes": 1})


def test_a_message_whose_content_is_a_string_is_its_text(reader: Reader) -> None:
    assert list_texts(reader(make_message("assistant", "Done."))) == [(ASSISTANT, "Done.")]


def test_a_call_and_a_result_may_lack_a_name(reader: Reader) -> None:
    assert list_texts(reader(make_assistant({"type": "toolCall"}), make_message("toolResult"))) == [
        (ASSISTANT, "tool"),
        (TOOL, "tool"),
    ]


@pytest.mark.parametrize(("flag", "expected"), [(True, True), (False, False), (None, False), ("false", False)])
def test_a_result_is_an_error_where_it_says_so(flag: object, expected: bool, reader: Reader) -> None:
    assert reader(make_result([make_text("no")], isError=flag)).turns[0].error is expected


def test_a_models_name_counts_where_it_answered(reader: Reader) -> None:
    switched = {"type": "model_change", "modelId": "claude-haiku-5"}
    capture = reader(
        switched,
        make_assistant(make_text("a")),
        make_assistant(make_text("b"), model="gpt-6"),
        make_assistant(make_text("c")),
    )
    assert capture.models == ("claude-opus-5", "gpt-6")


# Title, bookkeeping, what is unknown


@pytest.mark.parametrize(
    ("names", "title"),
    [((), None), (("One",), "One"), (("One", " Two "), "Two"), (("One", ""), None), (("One", None), None)],
)
def test_the_last_name_is_the_title(names: tuple[Any, ...], title: str | None, reader: Reader) -> None:
    assert reader(*({"type": "session_info", "name": name} for name in names)).title == title


@pytest.mark.parametrize("kind", ["model_change", "thinking_level_change", "custom", "label", "leaf", "session_info"])
def test_entries_about_the_session_are_bookkeeping(kind: str, reader: Reader) -> None:
    capture = reader({"type": kind, "data": {"text": "words"}})
    assert (capture.turns, dict(capture.skipped)) == ((), {"bookkeeping": 2})


@pytest.mark.parametrize(
    "entry",
    [
        {"type": "tomorrow"},
        {"type": ["message"]},
        {"type": "message"},
        {"type": "message", "message": "Hi"},
        make_message("observer", "Hi"),
        {"type": "session", "id": 3},
    ],
)
def test_unknown_entries_are_counted_and_the_others_read(entry: Record, reader: Reader) -> None:
    capture = reader(make_user("Fix it"), entry, make_assistant(make_text("Done.")))
    assert list_texts(capture) == [(USER, "Fix it"), (ASSISTANT, "Done.")]
    assert capture.skipped == {"bookkeeping": 1, "unknown": 1}


OTHERS: dict[str, list[Record]] = {
    "claude-code": [{"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix it"}}],
    "copilot": [{"type": "user.message", "data": {"content": "Fix it"}, "id": "1"}],
    "cursor": [{"role": "user", "message": {"content": "Fix it"}}],
    "generic": [{"role": "user", "text": "Fix it"}],
}


@pytest.mark.parametrize("harness", OTHERS)
def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(harness: str, tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, OTHERS[harness])), encoding="utf-8")
    with pytest.raises(TranscriptError, match="no pi entry") as caught:
        read(path)
    assert "--harness" in caught.value.hint


# Finding sessions


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "/home/ada/.pi/agent/sessions"),
        ({"PI_CODING_AGENT_DIR": ""}, "/home/ada/.pi/agent/sessions"),
        ({"PI_CODING_AGENT_DIR": "/srv/pi"}, "/srv/pi/sessions"),
        ({"PI_CODING_AGENT_DIR": "/srv/pi", "PI_CODING_AGENT_SESSION_DIR": "/srv/logs"}, "/srv/logs"),
    ],
)
def test_the_history_lies_where_the_environment_says(environment: dict[str, str], expected: str) -> None:
    assert list_history_roots("pi", Path("/home/ada"), environment) == [Path(expected)]


def test_every_session_is_found_in_a_fixed_order() -> None:
    assert [item.path for item in discover(DATA / "sessions")] == [OLD, MAIN, FORK]
    assert [item.path for item in discover(MAIN)] == [MAIN]


# A person's words in other records


def test_an_answer_is_a_persons_and_an_abort_is_noted(reader: Reader) -> None:
    capture = reader(
        make_assistant(make_call("question", question="Which one?") | {"id": "tc1"}),
        make_result("User selected: 2. The second", "question"),
        make_assistant(make_text("Then I"), stopReason="aborted"),
    )
    assert [(turn.role, turn.text) for turn in capture.turns if "#said-1" in (turn.source_id or "")] == [
        (USER, "> Which one?\n\nThe second"),
        (SYSTEM, "The user interrupted."),
    ]
