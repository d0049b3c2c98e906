"""Claude Code's sessions: their files, their ids, and spilled tool results. (harnesses.md 1.6, 1.9)"""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.core.format.turns import ASSISTANT, TOOL, USER
from lineage.harness.adapters import list_history_roots
from lineage.harness.claude_code import discover, read

DATA = Path(__file__).parents[2] / "data/claude-code"
PROJECT = DATA / "projects/-home-ada-demo"
SESSION = "aa765e29-162b-5be6-8e53-f03014531e0e"
FORKED = "2489c83d-fca2-5674-a85a-9f9be83b8d4e"
MAIN = PROJECT / f"{SESSION}.jsonl"
SUB_AGENT = PROJECT / SESSION / "subagents/agent-ab12cd34ef56ab78.jsonl"

Record = dict[str, Any]


def make_record(words: str = "Hi", **envelope: Any) -> Record:
    return {"type": "user", "isSidechain": False, "message": {"role": "user", "content": words}, **envelope}


def write_records(path: Path, *records: Record) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in records), encoding="utf-8")
    return path


# Whose session it is


def test_a_main_transcript_names_its_session() -> None:
    capture = read(MAIN)
    assert (capture.session_id, capture.parent_session, capture.forked_from) == (SESSION, None, None)


def test_a_sub_agents_file_is_a_session_of_its_own_with_a_parent() -> None:
    capture = read(SUB_AGENT)
    assert [(turn.role, turn.text) for turn in capture.turns] == [
        (USER, "Scan repo"),
        (ASSISTANT, "Found 2 call sites."),
    ]
    assert (capture.session_id, capture.parent_session) == ("agent-ab12cd34ef56ab78", SESSION)
    assert (capture.forked_from, capture.skipped, capture.models) == (None, {}, ("claude-haiku-5",))


def test_a_sub_agents_file_is_known_by_its_records_too(tmp_path: Path) -> None:
    copied = shutil.copy(SUB_AGENT, tmp_path / "copied.jsonl")
    assert read(copied) == read(SUB_AGENT)


def test_a_sub_agents_file_is_known_by_its_name_too(tmp_path: Path) -> None:
    path = write_records(tmp_path / "agent-a1b2c3d.jsonl", make_record(sessionId="s-1"))
    capture = read(path)
    assert (capture.session_id, capture.parent_session, len(capture.turns)) == ("agent-a1b2c3d", "s-1", 1)


def test_a_sidechain_later_in_a_main_transcript_does_not_make_it_a_sub_agents(tmp_path: Path) -> None:
    path = write_records(
        tmp_path / "s-1.jsonl", make_record(sessionId="s-1"), make_record(sessionId="s-1", isSidechain=True)
    )
    capture = read(path)
    assert (capture.session_id, len(capture.turns), capture.skipped) == ("s-1", 1, {"sub-agent": 1})


def test_a_transcript_without_ids_has_none(tmp_path: Path) -> None:
    capture = read(write_records(tmp_path / "s-1.jsonl", make_record(session_id="root")))
    assert (capture.session_id, capture.parent_session, capture.forked_from) == (None, None, None)


def test_bookkeeping_alone_names_its_session(tmp_path: Path) -> None:
    path = write_records(tmp_path / "s-1.jsonl", {"type": "mode", "mode": "plan", "sessionId": "s-1"})
    assert read(path).session_id == "s-1"


def test_the_sample_fork_names_its_parent_and_inherits_its_ids() -> None:
    fork, parent = read(PROJECT / f"{FORKED}.jsonl"), read(MAIN)
    assert (fork.session_id, fork.forked_from) == (FORKED, SESSION)
    assert {turn.source_id for turn in fork.turns} == {turn.source_id for turn in parent.turns}


def test_a_prompt_that_a_notification_caused_is_no_prompt_in_a_fork_either() -> None:
    assert "forked question" not in [turn.text for turn in read(PROJECT / f"{FORKED}.jsonl").turns]


@pytest.mark.parametrize(
    ("records", "parent"),
    [
        ([make_record(sessionId="s-1")], None),
        ([make_record(sessionId="s-1", session_id="s-1")], None),
        ([make_record(sessionId="s-1", session_id="root")], "root"),
        ([make_record(sessionId="old"), make_record(sessionId="s-1")], "old"),
        (
            [make_record(sessionId="s-1", forkedFrom={"sessionId": "direct", "messageUuid": "u"}, session_id="root")],
            "direct",
        ),
        ([make_record(sessionId="s-1", forkedFrom="direct")], None),
        ([make_record(sessionId="s-1", forkedFrom={"sessionId": 7}, session_id=["root"])], None),
    ],
)
def test_where_a_session_was_forked_from_is_what_its_records_say(
    records: list[Record], parent: str | None, tmp_path: Path
) -> None:
    capture = read(write_records(tmp_path / "s-1.jsonl", *records))
    assert (capture.session_id, capture.forked_from) == ("s-1", parent)


def test_of_several_sessions_the_one_that_the_file_is_called_after_is_its_own(tmp_path: Path) -> None:
    records = make_record(sessionId="s-1"), make_record(sessionId="s-2")
    assert read(write_records(tmp_path / "s-1.jsonl", *records)).session_id == "s-1"
    assert read(write_records(tmp_path / "copy.jsonl", *records)).session_id == "s-2"
    assert read(write_records(tmp_path / "copy.jsonl", *records, records[0])).session_id == "s-1"


def test_a_sub_agent_of_a_fork_is_no_fork(tmp_path: Path) -> None:
    path = write_records(tmp_path / "agent-a1.jsonl", make_record(sessionId="s-1", session_id="root", isSidechain=True))
    assert (read(path).parent_session, read(path).forked_from) == ("s-1", None)


# Finding them

KEPT = [
    "-p/s-1.jsonl",
    "-p/s-1/subagents/agent-a1.jsonl",
    "-p/s-1/subagents/workflows/run-1/agent-a2.jsonl",
    "-q/s-2.jsonl",
]
PASSED_OVER = [
    "-p/memory/notes.jsonl",
    "-p/s-1.jsonl.orphaned-1790000000000",
    "-p/s-1/subagents/agent-a1.meta.json",
    "-p/s-1/subagents/agent-acompact-0011.jsonl",
    "-p/s-1/subagents/agent-aprompt_suggestion-0011.jsonl",
    "-p/s-1/subagents/workflows/run-1/journal.jsonl",
    "-p/s-1/tool-results/out.jsonl",
    "-p/s-1/tool-results/toolu_9.txt",
    "history.jsonl",
]


def test_main_and_sub_agents_transcripts_are_found_and_nothing_else(tmp_path: Path) -> None:
    for name in KEPT + PASSED_OVER:
        write_records(tmp_path / name, make_record())
    assert [item.path.relative_to(tmp_path).as_posix() for item in discover(tmp_path)] == KEPT
    assert {item.session for item in discover(tmp_path)} == {None}


@pytest.mark.parametrize("folder", ["memory", "tool-results"])
def test_only_folders_below_the_given_one_are_passed_over(folder: str, tmp_path: Path) -> None:
    path = write_records(tmp_path / folder / "s-1.jsonl", make_record())
    assert [item.path for item in discover(tmp_path / folder)] == [path]


@pytest.mark.parametrize("name", PASSED_OVER)
def test_a_file_that_is_named_itself_is_taken(name: str, tmp_path: Path) -> None:
    path = write_records(tmp_path / name, make_record())
    assert [item.path for item in discover(path)] == [path]


def test_the_configuration_folder_may_lie_elsewhere(tmp_path: Path) -> None:
    assert list_history_roots("claude-code", tmp_path, {}) == [tmp_path / ".claude/projects"]
    assert list_history_roots("claude-code", tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path / "c")}) == [
        tmp_path / "c/projects"
    ]


# Spilled tool results

MCP = "Error: result (374,984 characters) exceeds maximum allowed tokens. Output has been saved to {}.\nFormat: Text"
BIG = (
    "<persisted-output>\nOutput too large (54.3KB). Full output saved to: {}\n\n"
    "Preview (first 2KB):\nline 1\n...\n</persisted-output>"
)
FOLDER = "/home/ada/.claude/projects/-home-ada-demo/s-1/tool-results/"


@pytest.fixture
def spilled(tmp_path: Path) -> Path:
    folder = tmp_path / "s-1/tool-results"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def result_of(tmp_path: Path, spilled: Path) -> Callable[[Any], tuple[str, dict[str, int]]]:
    """The text of a tool result with the given content, and what was skipped."""

    def read_result(content: Any, name: str = "s-1.jsonl") -> tuple[str, dict[str, int]]:
        block = {"type": "tool_result", "tool_use_id": "toolu_9", "content": content}
        capture = read(
            write_records(tmp_path / name, make_record(sessionId="s-1", message={"role": "user", "content": [block]}))
        )
        assert [turn.role for turn in capture.turns] == [TOOL]
        return capture.turns[0].text, dict(capture.skipped)

    return read_result


Result = Callable[..., tuple[str, dict[str, int]]]


@pytest.mark.parametrize("preview", [BIG, MCP], ids=["persisted", "mcp"])
@pytest.mark.parametrize("as_blocks", [False, True])
@pytest.mark.parametrize(
    "path", [FOLDER + "toolu_9.txt", r"C:\Users\Ada L\.claude\projects\-p\s-1\tool-results\toolu_9.txt"]
)
def test_a_result_that_was_spilled_is_read_in(
    preview: str, as_blocks: bool, path: str, spilled: Path, result_of: Result
) -> None:
    (spilled / "toolu_9.txt").write_text("line 1\nline 2\nthe end ✓\n", encoding="utf-8")
    pointer = preview.format(path)
    content = [{"type": "text", "text": pointer}] if as_blocks else pointer
    assert result_of(content) == ("line 1\nline 2\nthe end ✓", {})


def test_a_sub_agents_spilled_results_lie_with_its_sessions(spilled: Path, result_of: Result) -> None:
    (spilled / "toolu_9.txt").write_text("whole", encoding="utf-8")
    for name in ("s-1/subagents/agent-a1.jsonl", "s-1/subagents/workflows/run/agent-a2.jsonl"):
        assert result_of(BIG.format(FOLDER + "toolu_9.txt"), name) == ("whole", {})


def test_a_spilled_list_of_blocks_is_its_texts_without_images(spilled: Path, result_of: Result) -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD" * 50}}
    (spilled / "mcp-1.txt").write_text(json.dumps([{"type": "text", "text": "one"}, image]), encoding="utf-8")
    assert result_of(MCP.format(FOLDER + "mcp-1.txt")) == ("one\n[image image/png, 150 bytes left out]", {})


@pytest.mark.parametrize("data", ['[{"id": 7}]', "[1, 2]", "[]", "[not json", "[" * 5000])
def test_other_json_stays_as_it_is(data: str, spilled: Path, result_of: Result) -> None:
    (spilled / "mcp-1.json").write_text(data, encoding="utf-8")
    assert result_of(MCP.format(FOLDER + "mcp-1.json")) == (data, {})


def test_the_preview_stays_where_the_file_is_gone(result_of: Result) -> None:
    preview = BIG.format(FOLDER + "toolu_9.txt")
    assert result_of(preview) == (preview, {"tool results not found": 1})


def remove_folder(spilled: Path, outside: Path) -> None:
    shutil.rmtree(spilled.parent)


def make_folder(spilled: Path, outside: Path) -> None:
    (spilled / "toolu_9.txt").mkdir()


def make_pipe(spilled: Path, outside: Path) -> None:
    os.mkfifo(spilled / "toolu_9.txt")


def make_link(spilled: Path, outside: Path) -> None:
    (spilled / "toolu_9.txt").symlink_to(outside / "toolu_9.txt")


def link_folder(spilled: Path, outside: Path) -> None:
    spilled.rmdir()
    spilled.symlink_to(outside)


def link_session(spilled: Path, outside: Path) -> None:
    (outside / "tool-results").mkdir()
    (outside / "tool-results/toolu_9.txt").write_text("secret", encoding="utf-8")
    shutil.rmtree(spilled.parent)
    spilled.parent.symlink_to(outside)


@pytest.mark.parametrize(
    "instead",
    [remove_folder, make_folder, make_pipe, make_link, link_folder, link_session],
    ids=lambda f: f.__name__,
)
def test_only_a_regular_file_of_the_session_is_read(
    instead: Callable[[Path, Path], None], spilled: Path, result_of: Result, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "toolu_9.txt").write_text("secret", encoding="utf-8")
    instead(spilled, outside)
    preview = BIG.format(FOLDER + "toolu_9.txt")
    assert result_of(preview) == (preview, {"tool results not found": 1})


@pytest.mark.parametrize(
    "text",
    [
        BIG.format("/home/ada/.claude/projects/-p/s-1/tool-results/../secret.txt"),
        BIG.format("/home/ada/.claude/projects/-p/s-1/tool-results/.secret.txt"),
        BIG.format("/etc/passwd"),
        BIG.format(FOLDER + "toolu_9.exe"),
        "The log says: Full output saved to: " + FOLDER + "toolu_9.txt",
        "Error: result (7) was odd",
    ],
)
def test_what_is_no_pointer_is_the_result_itself(text: str, spilled: Path, result_of: Result) -> None:
    for name in ("toolu_9.txt", "toolu_9.exe", ".secret.txt", "../secret.txt", "secret.txt"):
        (spilled / name).write_text("secret", encoding="utf-8")
    assert result_of(text) == (text, {})


def test_a_very_long_result_is_cut_between_words_and_says_so(spilled: Path, result_of: Result) -> None:
    line = "0123456789 ✓\n"
    data = (line * 120_000).encode()
    (spilled / "toolu_9.txt").write_bytes(data)
    text, skipped = result_of(BIG.format(FOLDER + "toolu_9.txt"))
    body, note = text.rsplit("\n", 1)
    kept = len(body.encode()) + 1
    assert set(body.split("\n")) == {line.rstrip()}
    assert 2**20 - len(line.encode()) <= kept <= 2**20
    assert note == f"[rest of the output, {len(data) - kept:,} bytes left out]"
    assert skipped == {}


def test_a_long_result_without_words_is_cut_between_characters(spilled: Path, result_of: Result) -> None:
    (spilled / "toolu_9.txt").write_text("✓" * 400_000, encoding="utf-8")
    text, _ = result_of(BIG.format(FOLDER + "toolu_9.txt"))
    assert set(text.split("\n")[0]) == {"✓"}


def test_what_is_read_in_is_bounded_for_a_session(spilled: Path, tmp_path: Path) -> None:
    (spilled / "toolu_9.txt").write_bytes(b"x" * 2**20)
    block = {"type": "tool_result", "tool_use_id": "t", "content": BIG.format(FOLDER + "toolu_9.txt")}
    message = {"role": "user", "content": [block]}
    path = write_records(
        tmp_path / "s-1.jsonl", *(make_record(message=message, uuid=f"u{number}") for number in range(40))
    )
    capture = read(path)
    assert len(capture.turns) == 40
    assert capture.skipped == {"tool results not found": 8}


def test_a_pointer_stands_at_the_beginning_of_a_result(spilled: Path, result_of: Result) -> None:
    (spilled / "toolu_9.txt").write_text("other", encoding="utf-8")
    text = MCP.replace("Output", "x" * 10_000).format(FOLDER + "toolu_9.txt")
    assert result_of(text) == (text, {})
