"""Prompts that a program made: only what a person typed in them counts.

Fails where the commands of Spec Kit and BMAD, or instructions put before a prompt, pass for a person's words.
"""

import pytest

from lineage.core.base.templates import split_template, strip_template
from lineage.core.format.checkpoint import select_last_messages
from lineage.core.format.synopsis import build_synopsis
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.core.search.passages import split_turns
from lineage.extraction.candidates import extract_candidates
from lineage.extraction.digests import iter_texts

COMMAND = """## User Input

```text
{typed}
```

You **MUST** consider the user input before proceeding (if not empty).

## Outline

1. Run the script from the root. All paths must be absolute. Never ask twice.
"""
STEPS = """You must stay in the role until told otherwise. NEVER break character until given an exit command.

<activation CRITICAL="TRUE">
1. LOAD the whole file
</activation>
"""


INNER = "Build a form.\n\n## User Input\n\nThe form takes a name. Never store it."


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("typed", ["", "phase 2", "Mend the quay.\n\n```sh\nmake\n```\nThen say so.", INNER])
def test_of_a_command_only_its_input_was_typed(typed: str, newline: str) -> None:
    command = COMMAND.format(typed=typed)
    made = command.replace(typed, "", 1) if typed else command
    assert split_template(command.replace("\n", newline)) == (typed, made)
    assert strip_template(f"---\nname: plan\n---\n\n{command}") == typed


def test_a_command_of_one_line_was_not_typed() -> None:
    command = "IT IS CRITICAL THAT YOU FOLLOW THIS COMMAND: LOAD the FULL @flows/plan.md and follow its directions!"
    assert (strip_template(command), strip_template(f"{command}\n\nfor the quay")) == ("", "for the quay")
    assert strip_template(f"---\nname: plan\n---\n\n{command}") == ""


def test_what_an_app_puts_before_a_command_hides_none() -> None:
    command = COMMAND.format(typed="plan the quay")
    told = "<system_instruction>a</system_instruction>\n<system-instruction>b</system-instruction>"
    assert strip_template(f"\ufeff{told}\n\n{command}") == "plan the quay"
    assert strip_template("<system_instruction></system_instruction>" * 9_000 + "Mend it.") == "Mend it."


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "Why does it say `## User Input` there?",
        "## User Input\n\nThe form takes a name.",
        "You **MUST** consider the user input",
        "<task>Mend it.</task>",
        "Explain <system_instruction> to me.",
        "<system_instruction>never closed",
        'We never write to the ledger. The step has CRITICAL="TRUE" in it, why?',
        'Mend it: <alert CRITICAL="TRUE">disk full</alert>, and show it.',
        'Why "NEVER break character"? <note CRITICAL="TRUE">x</note>',
        f"Shorten this command, and never drop its fence:\n\n{COMMAND.format(typed='$ARGUMENTS')}",
        "IT IS CRITICAL THAT YOU FOLLOW THIS COMMAND in the order that I gave.",
        f"Shorten this command, and never drop its tags:\n\n{STEPS}",
    ],
)
def test_what_no_program_made_stays_as_it_is(prompt: str) -> None:
    assert strip_template(prompt) == prompt


@pytest.mark.parametrize(
    ("behind", "typed"), [("", ""), ("\nMap Result<T> -> T, never panic.\n", "Map Result<T> -> T, never panic.")]
)
def test_what_stands_behind_the_steps_of_a_command_was_typed(behind: str, typed: str) -> None:
    assert strip_template(STEPS + behind) == typed


def test_nothing_that_a_command_says_is_learned_or_asked() -> None:
    typed = "Add a tide table to the page of each berth."
    turns = [
        Turn(USER, STEPS), Turn(ASSISTANT, "I am ready."),
        Turn(USER, COMMAND.format(typed=typed)), Turn(ASSISTANT, "Added a tide table to `berth.html`."),
    ]  # fmt: skip
    assert build_synopsis(iter_texts(turns)).asks == (typed,)
    said = " ".join(candidate.text for candidate in extract_candidates(turns))
    assert "NEVER" not in said and "absolute" not in said
    assert [turn.text for turn in select_last_messages(turns)] == ["I am ready.", typed, turns[-1].text]
    spoken, made = (" ".join(one.text for one in split_turns(tuple(iter_texts(turns))) if one.of_tools is of_tools)
                    for of_tools in (False, True))  # fmt: skip
    assert typed in spoken and "NEVER" not in spoken and "NEVER" in made and typed not in made
