"""Prompts that a program made: only what a person typed in them counts.

Fails where the commands of Spec Kit and BMAD, or instructions put before a prompt, pass for a person's words.
"""

import pytest

from lineage.core.base.templates import strip_template
from lineage.core.format.synopsis import build_synopsis
from lineage.core.format.turns import ASSISTANT, USER, Turn
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


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("typed", ["", "phase 2", "Mend the quay.\n\n```sh\nmake\n```\nThen say so."])
def test_of_a_command_only_its_input_was_typed(typed: str, newline: str) -> None:
    assert strip_template(COMMAND.format(typed=typed).replace("\n", newline)) == typed


def test_a_command_of_one_line_was_not_typed() -> None:
    command = "IT IS CRITICAL THAT YOU FOLLOW THIS COMMAND: LOAD the FULL @flows/plan.md and follow its directions!"
    assert (strip_template(command), strip_template(f"{command}\n\nfor the quay")) == ("", "for the quay")


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
    ],
)
def test_what_no_program_made_stays_as_it_is(prompt: str) -> None:
    assert strip_template(prompt) == prompt


@pytest.mark.parametrize(("behind", "typed"), [("", ""), ("\nMend the quay.\n", "Mend the quay.")])
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
