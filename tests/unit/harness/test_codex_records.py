"""Codex's rollouts: tools, their results, and the turn items of paginated files. (harnesses.md 2.5)"""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lineage.core.format.turns import ASSISTANT, TOOL
from lineage.harness.codex_records import parse_call, parse_native_call
from tests.support.codex import (
    NOTE,
    PNG,
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
    read_capture,
)

PATCH = "*** Begin Patch\n*** Update File: a.py"


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return partial(read_capture, tmp_path / "rollout-test.jsonl")


# Paginated files


def make_paginated_meta() -> Record:
    return make_meta(history_mode="paginated")


@pytest.mark.parametrize("event_first", [True, False])
@pytest.mark.parametrize("item_id", ["m1", None])
def test_a_completed_message_and_its_item_are_one_turn(event_first: bool, item_id: str | None, reader: Reader) -> None:
    twins = [
        make_part("AgentMessage", id="m1", content=[{"type": "Text", "text": "Done."}]),
        make_message("assistant", "Done.\n", id=item_id),
    ]
    capture = reader(make_paginated_meta(), *(twins if event_first else reversed(twins)))
    assert list_messages(capture) == [(ASSISTANT, "Done.")]
    assert capture.skipped == {"bookkeeping": 1, "repeated": 1}


def test_twins_of_one_id_may_differ_and_the_plan_that_was_cut_out_is_kept(reader: Reader) -> None:
    capture = reader(
        make_paginated_meta(),
        make_part("AgentMessage", id="m1", content=[{"type": "Text", "text": "My plan:"}]),
        make_part("Plan", id="p1", text="1. Read"),
        make_message("assistant", "My plan:\n<proposed_plan>\n1. Read\n</proposed_plan>", id="m1"),
    )
    assert list_messages(capture) == [(ASSISTANT, "My plan:"), (ASSISTANT, "1. Read")]


def test_a_legacy_plan_repeats_the_message(reader: Reader) -> None:
    capture = reader(
        make_message("assistant", "<proposed_plan>1. Read</proposed_plan>"), make_part("Plan", text="1. Read")
    )
    assert list_messages(capture) == [(ASSISTANT, "<proposed_plan>1. Read</proposed_plan>")]


def test_the_same_reply_twice_is_two_turns(reader: Reader) -> None:
    twins = [make_part("AgentMessage", content=[{"type": "Text", "text": "Done."}]), make_message("assistant", "Done.")]
    assert list_messages(reader(make_paginated_meta(), *twins, *twins)) == [(ASSISTANT, "Done.")] * 2
    assert list_messages(reader(make_paginated_meta(), *sorted(twins * 2, key=str))) == [(ASSISTANT, "Done.")] * 2
    assert list_messages(reader(make_paginated_meta(), *twins, twins[1])) == [(ASSISTANT, "Done.")] * 2


def test_a_tool_that_ran_inside_a_call_is_told_by_its_completed_item(reader: Reader) -> None:
    capture = reader(
        make_paginated_meta(),
        make_item("custom_tool_call", name="exec", input="await tools.run()", call_id="c1"),
        make_part("CommandExecution", id="n1", command=["/bin/sh", "-c", "ls a"], aggregated_output="no a",
        exit_code=2),
        make_part("McpToolCall", id="n2", server="docs", tool="get", arguments={"url": "x"},
             result={"content": [{"type": "text", "text": "X"}]}, status="completed"),
        make_part("FileChange", id="n3", changes={"b.py": {}, "a.py": {}}, status="declined", stdout=""),
        make_item("custom_tool_call_output", call_id="c1", output="ran"),
        make_part("CommandExecution", id="c1", command=["ls"], aggregated_output="ran"),
    )  # fmt: skip
    assert [(turn.role, turn.name, turn.input or turn.text, turn.error) for turn in capture.turns] == [
        (ASSISTANT, "exec", "await tools.run()", False),
        (ASSISTANT, "exec_command", "ls a", False),
        (TOOL, "exec_command", "no a", True),
        (ASSISTANT, "docs.get", "x", False),
        (TOOL, "docs.get", "X", False),
        (ASSISTANT, "apply_patch", "a.py, b.py", False),
        (TOOL, "apply_patch", "", True),
        (TOOL, "exec", "ran", False),
    ]
    assert capture.skipped == {"bookkeeping": 1, "repeated": 1}


def test_a_command_that_the_user_ran_is_a_note(reader: Reader) -> None:
    capture = reader(
        make_part("CommandExecution", id="n1", command=["ls"], source="user_shell"), make_part("HookPrompt")
    )
    assert capture.skipped == {"bookkeeping": 1, "harness notes": 2}


# Tools


@pytest.mark.parametrize(
    ("record", "name", "argument"),
    [
        (make_call("exec_command", cmd="ls", workdir="/x"), "exec_command", "ls"),
        (make_call("shell", command=["bash", "-lc", "ls | wc"]), "shell", "ls | wc"),
        (make_call("shell", command=["git", "commit", "-m", "a b"]), "shell", "git commit -m 'a b'"),
        (make_call("shell", command=["apply_patch", "*** Begin Patch\n*** Delete File: a b.py\n"]), "apply_patch",
        "a b.py"),
        (make_call("write_stdin", session_id=3, chars="y"), "write_stdin", '{"session_id":3,"chars":"y"}'),
        (make_call("shell", command=[1, 2]), "shell", '{"command":[1,2]}'),
        (make_call("mcp__docs__get", url="u"), "mcp__docs__get", "u"),
        (make_item("function_call", namespace="docs", name="get", arguments="not JSON"), "docs.get", "not JSON"),
        (make_item("function_call"), "tool", ""),
        (make_item("custom_tool_call", name="apply_patch", input="*** Begin Patch\n*** Move"), "apply_patch",
         "*** Begin Patch\n*** Move"),
        (make_item("local_shell_call", action={"type": "exec", "command": ["sh", "-c", "ls"]}), "local_shell", "ls"),
        (make_item("web_search_call", action={"type": "search", "query": "q"}), "web_search", "q"),
        (make_item("web_search_call", action={"type": "open_page", "url": "u"}), "web_search", "u"),
        (make_item("web_search_call", status="completed"), "web_search", ""),
        (make_item("tool_search_call", arguments={"query": "q"}), "tool_search", "q"),
        (make_item("image_generation_call", revised_prompt="a cat", result=PNG), "image_generation", "a cat"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_a_call_shows_what_it_was_about(record: Record, name: str, argument: str, reader: Reader) -> None:
    (turn,) = reader(record).turns
    assert (turn.role, turn.name, turn.input) == (ASSISTANT, name, argument)
    assert turn.text == (NOTE if "result" in record["payload"] else "")


@pytest.mark.parametrize(
    ("output", "text", "error"),
    [
        ("plain", "plain", False),
        ("Chunk ID: 1\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\nok\n", "ok", False),
        ("Chunk ID: 1\nProcess exited with code 2\nOriginal token count: 8\nOutput:\nno", "no", True),
        ("Exit code: 1\nWall time: 0.1 seconds\nOutput:\nno", "no", True),
        ("Exit code: 127\nOutput:", "", True),
        ("Process running with session ID 7\nOutput:\n...", "...", False),
        ("The output:\nExit code: 1", "The output:\nExit code: 1", False),
        ('{"output":"ok","metadata":{"exit_code":0,"duration_seconds":0.1}}', "ok", False),
        ('{"output":"no","metadata":{"exit_code":1}}', "no", True),
        ({"content": "no", "success": False}, "no", True),
        ({"content": "ok", "success": True}, "ok", False),
        ({"body": [{"type": "input_text", "text": "ok"}]}, "ok", False),
        ('{"rows": 3}', '{"rows": 3}', False),
        ("[1, 2]", "[1, 2]", False),
        ('Wall time: 0.5 seconds\nOutput:\n[{"type":"text","text":"ok"}]', "ok", False),
        ([{"type": "input_text", "text": "Exit code: 1\nOutput:\nno"}], "no", True),
        (None, "", False),
    ],
)
@pytest.mark.parametrize("kind", ["function_call_output", "custom_tool_call_output", "local_shell_call_output"])
def test_a_result_is_its_text_and_failed_where_it_says_so(
    kind: str, output: Any, text: str, error: bool, reader: Reader
) -> None:
    capture = reader(make_call("exec_command"), make_item(kind, call_id="c1", output=output))
    assert (capture.turns[1].role, capture.turns[1].name) == (TOOL, "exec_command")
    assert (capture.turns[1].text, capture.turns[1].error) == (text, error)


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        (make_event("exec_command_end", call_id="c1", exit_code=1), True),
        (make_event("exec_command_end", call_id="c1", exit_code=0), False),
        (make_event("mcp_tool_call_end", call_id="c1", result={"Err": "no"}), True),
        (make_event("mcp_tool_call_end", call_id="c1", result={"Ok": {"content": [], "isError": True}}), True),
        (make_event("mcp_tool_call_end", call_id="c1", result={"Ok": {"content": [], "isError": False}}), False),
        (make_event("patch_apply_end", call_id="c1", success=False), True),
        (make_part("CommandExecution", id="c1", status="failed"), True),
        (make_part("McpToolCall", id="c1", status="completed"), False),
        (make_event("exec_command_end", call_id="c2", exit_code=1), False),
    ],
)
def test_the_end_of_a_tools_work_may_tell_of_a_failure(ending: Record, error: bool, reader: Reader) -> None:
    capture = reader(make_call("tool"), make_call("tool", "c2"), ending, make_result("plain"))
    assert (capture.turns[-1].role, capture.turns[-1].error) == (TOOL, error)
    assert capture.skipped == {"bookkeeping": 1, "repeated": 1}


def test_results_are_named_after_their_calls_and_kept_without(reader: Reader) -> None:
    capture = reader(
        make_call("a", "c1"),
        make_call("b", "c2"),
        make_result("of b", "c2"),
        make_result("of a", "c1"),
        make_result("lost", "c9"),
    )
    assert [(turn.name, turn.text) for turn in capture.turns[2:]] == [("b", "of b"), ("a", "of a"), ("tool", "lost")]


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["bash", "-lc", "ls | wc"], [("ls | wc", "bash -lc")]),
        (["/bin/zsh", "-c", "ls"], [("ls", "/bin/zsh -c")]),
        (["apply_patch", f"{PATCH}\n+it's"], [(f"{PATCH}\n+it's", "apply_patch")]),
        (["ls", "-l"], [("ls -l", "")]),
        (["echo", "it's"], [("echo 'it'\"'\"'s'", ""), ('[\n  "echo",\n  "it\'s"\n]', "words")]),
    ],
)
def test_no_word_of_a_command_is_lost(words: list[str], parts: list[tuple[str, str]]) -> None:
    call = parse_call("function_call", {"name": "shell", "arguments": json.dumps({"command": words})})
    assert [(part.text, part.label) for part in call.parts] == parts
    native, _ = parse_native_call("CommandExecution", {"command": words})
    assert [(part.text, part.label) for part in native.parts] == parts
