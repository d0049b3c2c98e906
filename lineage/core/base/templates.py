"""What a person typed of a prompt that a program made: a command that it expanded, or what it put before the prompt.

The record keeps such a prompt whole; what is asked and learned is read off the typed part alone. Without `re`, whose
import costs the hook at a prompt half of what it may take.
"""

_INPUT, _CONSIDER = "## User Input", "You **MUST** consider the user input"  # of Spec Kit's commands
_FENCE = "```"
_STEPS = 'CRITICAL="TRUE"'  # an attribute of the steps in BMAD's commands
_COMMAND = "IT IS CRITICAL THAT YOU FOLLOW THIS COMMAND:"  # of BMAD, in one line
_SYSTEM_TAGS = ("system_instruction", "system-instruction", "system_instructions", "system-instructions")


def strip_template(prompt: str) -> str:
    r"""Return what a person typed of a prompt, all of it unless a known program made it.

    >>> strip_template("## User Input\n\n```text\nplan the quay\n```\n\nYou **MUST** consider the user input before …")
    'plan the quay'
    >>> strip_template("<system_instruction>\nYou run in an app.\n</system_instruction>\n\nMend the quay.")
    'Mend the quay.'
    >>> strip_template('Stay in character: <steps CRITICAL="TRUE">1. Load it.</steps>')
    ''
    >>> strip_template("Mend the <quay>.")
    'Mend the <quay>.'
    """
    return split_template(prompt)[0]


def split_template(prompt: str) -> tuple[str, str]:
    """Return what a person typed of a prompt, and what a program made: nothing, unless it is a known one."""
    text = prompt.replace("\r\n", "\n")
    typed = _find_typed(text)
    return (prompt, "") if typed is None else (typed, text.replace(typed, "", 1))


def _find_typed(text: str) -> str | None:
    """Return what was typed of a text that a known program made, None for any other."""
    head, is_command, _ = text.partition(_CONSIDER)
    if is_command and _INPUT in head:
        block = head.rpartition(_INPUT)[2]
        return block.partition(_FENCE)[2].partition("\n")[2].rpartition(_FENCE)[0].strip()
    if _STEPS in text:
        return text.rpartition(">")[2].strip() if "</" in text else ""
    if text.lstrip().startswith(_COMMAND):
        return text.strip().partition("\n")[2].strip()
    for tag in _SYSTEM_TAGS:
        _, is_closed, rest = text.partition(f"</{tag}>")
        if is_closed and text.lstrip().startswith(f"<{tag}>"):
            return rest.strip()
    return None
