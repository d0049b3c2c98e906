"""What adapters share: stripping injected blocks, notes for what is left out, tool input as text."""

import json

import pytest

from lineage.core.base.hook_output import CONTEXT_CLOSING, CONTEXT_OPENING
from lineage.harness.text import format_omission, render_tool_input, strip_injections
from tests.support.parametrize import each

BLOCKS = [
    "<system-reminder>\nBe brief.\n</system-reminder>",
    f"{CONTEXT_OPENING}\nEarlier sessions: …\n\n- one\n{CONTEXT_CLOSING}",
    "&lt;lineage-context&gt;\nAs Gemini CLI puts it into a prompt.\n&lt;/lineage-context&gt;",
    "<ide_opened_file>The user opened a.py in the IDE.</ide_opened_file>",
    "<ide_selection>The user selected line 3 of a.py:\nx = 1</ide_selection>",
]
each_block = pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block[1:12])


@each_block
def test_an_injected_block_goes_from_anywhere(block: str) -> None:
    assert strip_injections(block) == ""
    assert strip_injections(f"{block}\n\nFix it") == "Fix it"
    assert strip_injections(f"Fix it\n{block}\n") == "Fix it"
    assert strip_injections(f"Fix\n\n{block}\n\nit") == "Fix\n\nit"
    assert strip_injections(f"{block}{block}\n{block} Fix it") == "Fix it"


@each_block
def test_words_around_a_block_do_not_grow_together(block: str) -> None:
    assert strip_injections(f"Fix{block}\nit") == "Fix\nit"


@each_block
def test_a_block_that_is_not_closed_stays(block: str) -> None:
    opened = block[: max(block.rfind("<"), block.rfind("&lt;/"))].rstrip()
    assert strip_injections(opened) == opened


def test_blocks_of_every_kind_go_at_once() -> None:
    assert strip_injections("\n".join(BLOCKS) + "\nFix it") == "Fix it"


@pytest.mark.parametrize("block", ["", BLOCKS[0] + "\n"])
def test_the_first_line_keeps_its_indentation(block: str) -> None:
    assert strip_injections(f"{block}\n \n     1→import os\n     2→\n") == "     1→import os\n     2→"


def test_ten_thousand_unclosed_blocks_take_no_time_that_is_noticed() -> None:
    """A pattern that tries every opening to the end would take minutes here."""
    text = "<system-reminder>" * 60_000 + "end"
    assert strip_injections(text) == text


def test_a_note_names_kind_and_size() -> None:
    assert format_omission("image image/png", 1234) == "[image image/png, 1,234 bytes left out]"


@each(
    ("arguments", "shown"),
    [
        ({"file_path": "a.py", "old_string": "x", "new_string": "y"}, "a.py"),
        ({"command": "ls -la", "description": "List files"}, "ls -la"),
        ({"pattern": "def read", "path": "src"}, "def read"),
        ({"command": "view", "path": "a.py"}, "a.py"),
        ({"description": "scan", "prompt": "Scan the repository"}, "scan"),
        ({"path": " ", "url": "https://example.invalid"}, "https://example.invalid"),
        ({"path": 3, "limit": 5}, '{"path":3,"limit":5}'),
        ({"città": "Forlì"}, '{"città":"Forlì"}'),
        ([1, "two"], '[1,"two"]'),
        ("plain", "plain"),
        ({}, ""),
        (None, ""),
    ],
)
def test_tool_input_is_the_argument_that_says_what_it_was_about(arguments: object, shown: str) -> None:
    assert render_tool_input(arguments) == shown


def test_tool_input_that_is_nested_too_deeply_is_noted() -> None:
    arguments: list[object] = []
    for _ in range(100_000):
        arguments = [arguments]
    assert render_tool_input(arguments) == "[too deeply nested]"
    assert json.dumps(render_tool_input({"path": "a", "deep": arguments})) == '"a"'
