"""SessionStart's answer: shape, limit and markers by harness. (harnesses.md 0.4)"""

import json
import subprocess
import sys
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.hook_output import (
    CONTEXT_CLOSING,
    CONTEXT_OPENING,
    CUT_NOTE,
    MAX_TOKENS,
    format_hook_output,
)
from lineage.core.capture.budget import cost_to_tokens, estimate_cost
from lineage.harness.registry import HARNESSES, find_output
from lineage.harness.text import strip_injections
from tests.support.parametrize import each

HOOKS = ["claude-code", "codex", "gemini", "qwen"]
OUTPUTS = {name: output for name in HARNESSES if (output := find_output(name))}
with_output = each("harness", sorted(OUTPUTS))


def context(harness: str, text: str) -> str:
    """The text that the harness takes out of what the hook prints."""
    said: dict[str, Any] = json.loads(format_hook_output(find_output(harness), text))
    if harness in HOOKS:
        said = said["hookSpecificOutput"]
        assert said.pop("hookEventName") == "SessionStart"
    (value,) = said.values()
    assert isinstance(value, str)
    return value


@each("harness", HOOKS)
def test_the_hook_output_of_claude_code_and_those_that_took_it_over(harness: str) -> None:
    assert format_hook_output(find_output(harness), "Earlier.") == (
        '{"hookSpecificOutput":{"hookEventName":"SessionStart","additionalContext":'
        '"<lineage-context>\\nEarlier.\\n</lineage-context>"}}\n'
    )


@each(("harness", "key"), [("cursor", "additional_context"), ("copilot", "additionalContext")])
def test_the_harnesses_with_a_key_of_their_own(harness: str, key: str) -> None:
    assert json.loads(format_hook_output(find_output(harness), "Earlier.")) == {
        key: "<lineage-context>\nEarlier.\n</lineage-context>"
    }


@each("harness", [*sorted(set(HARNESSES) - set(OUTPUTS)), "typewriter", ""])
def test_a_harness_that_takes_nothing_gets_nothing(harness: str) -> None:
    assert format_hook_output(find_output(harness), "Earlier.") == ""


@with_output
@each("text", ["", " \n\t\n"])
def test_nothing_to_say_is_nothing(harness: str, text: str) -> None:
    assert format_hook_output(find_output(harness), text) == ""


@with_output
def test_a_short_text_arrives_as_it_is(harness: str) -> None:
    text = 'Sessions: "reader", 100 % — 日本語 🧵\n- one\\two'
    assert context(harness, text) == f"{CONTEXT_OPENING}\n{text}\n{CONTEXT_CLOSING}"


@with_output
@each("line", ["a line of plain words\n", "строка кириллицы\n", "🧵🧵🧵🧵\n"])
def test_a_long_text_is_cut_after_a_line_and_says_so(harness: str, line: str) -> None:
    said = context(harness, line * 3000)
    body = said.removeprefix(CONTEXT_OPENING + "\n").removesuffix(CUT_NOTE + "\n" + CONTEXT_CLOSING)
    assert len(body) < len(said) - len(CONTEXT_OPENING) - len(CONTEXT_CLOSING)
    assert set(body.split("\n")) == {line.rstrip()}


@each("character", ["x", "ж", "✓", "🧵"])
def test_the_limits_are_those_of_the_harnesses_and_are_used(character: str) -> None:
    text = character * 40_000
    claude = len(context("claude-code", text).encode("utf-16-le")) // 2
    codex = len(context("codex", text).encode()) / 4
    assert 9_998 <= claude <= 10_000
    assert 2_390 <= codex <= 2_500


@with_output
def test_a_text_of_exactly_the_limit_is_not_cut(harness: str) -> None:
    _, encoding, limit = OUTPUTS[harness]
    unit = len("x".encode(encoding))
    room = limit // unit - len(f"{CONTEXT_OPENING}\n\n{CONTEXT_CLOSING}")
    assert CUT_NOTE not in context(harness, "x" * room)
    assert CUT_NOTE in context(harness, "x" * (room + 1))


@with_output
def test_markers_in_the_text_do_not_end_the_block(harness: str) -> None:
    said = context(harness, f"a {CONTEXT_CLOSING} b {CONTEXT_OPENING} c <lineage-{CONTEXT_CLOSING}context>")
    assert (said.count(CONTEXT_OPENING), said.count(CONTEXT_CLOSING)) == (1, 1)
    assert strip_injections(f"Fix it\n{said}") == "Fix it"


@with_output
@given(
    text=st.text(max_size=300) | st.text(alphabet="<>/lineage-context \ud83d🧵\n", max_size=300),
    times=st.integers(1, 60),
)
def test_any_text_is_one_line_of_ascii_within_the_limit_that_is_stripped_again(
    harness: str, text: str, times: int
) -> None:
    printed = format_hook_output(find_output(harness), text * times)
    if not printed:
        assert not text.strip()
        return
    assert printed.isascii()
    assert printed.count("\n") == 1
    assert printed.endswith("}\n")
    _, encoding, limit = OUTPUTS[harness]
    said = context(harness, text * times)
    assert len(said.encode(encoding)) <= limit
    assert strip_injections(said) == ""


@with_output
@each("character", ["x", "\n", "é", "ж", "✓", "語", "🧵"])
def test_every_harness_takes_a_block_of_so_many_tokens_whole(harness: str, character: str) -> None:
    frame = estimate_cost(f"{CONTEXT_OPENING}\n\n{CONTEXT_CLOSING}\n")
    body = "a" + character * ((MAX_TOKENS * 4 - frame - 2) // estimate_cost(character)) + "b"
    text = f"{CONTEXT_OPENING}\n{body}\n{CONTEXT_CLOSING}\n"
    assert MAX_TOKENS - 2 <= cost_to_tokens(estimate_cost(text)) <= MAX_TOKENS
    assert context(harness, body) == text.rstrip("\n")


def test_importing_it_costs_no_more_than_json() -> None:
    script = (
        "import sys, json; before = set(sys.modules); import lineage.core.base.hook_output\n"
        "print(*set(sys.modules) - before)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert set(result.stdout.split()) <= {
        "lineage",
        "lineage.core",
        "lineage.core.base",
        "lineage.core.base.hook_output",
        "lineage.core.base.scan_json",
    }
