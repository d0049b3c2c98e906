"""What a person typed of a prompt that a program made: a command that it expanded, or what it put before the prompt.

The record keeps such a prompt whole; what is asked and learned is read off the typed part alone. Without `re`, whose
import costs the hook at a prompt half of what it may take.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Spec Kit's commands begin with what was typed; only that of checklists says something before it.
_INPUT, _CONSIDER = "## User Input\n\n```text\n", "\n```\n\nYou **MUST** consider the user input"
_BEGINNINGS = ("## User Input", "## Checklist Purpose")
# BMAD's commands: an agent to be, or steps to follow, between tags; a workflow to load, in one line.
_STEPS = ("steps", "agent-activation", "activation")
_ORDERS = ("NEVER break character", "IT IS CRITICAL THAT YOU FOLLOW")
_COMMAND = "IT IS CRITICAL THAT YOU FOLLOW THIS COMMAND: LOAD the FULL"
_SYSTEM = ("system_instruction", "system-instruction", "system_instructions", "system-instructions")  # apps' tags


def strip_template(prompt: str) -> str:
    r"""Return what a person typed of a prompt, all of it unless a known program made it.

    >>> strip_template("## User Input\n\n```text\nplan the quay\n```\n\nYou **MUST** consider the user input before …")
    'plan the quay'
    >>> strip_template("<system_instruction>\nYou run in an app.\n</system_instruction>\n\nMend the quay.")
    'Mend the quay.'
    >>> strip_template('NEVER break character: <steps CRITICAL="TRUE">1. Load it.</steps>')
    ''
    >>> strip_template('Why does it say CRITICAL="TRUE" there?')
    'Why does it say CRITICAL="TRUE" there?'
    """
    return split_template(prompt)[0]


def split_template(prompt: str) -> tuple[str, str]:
    """Return what a person typed of a prompt, and what a program made: nothing, unless it is a known one."""
    text = prompt.replace("\r\n", "\n")
    found = next(_find_typed(text), None)
    if found is None:
        return prompt, ""
    begin, end = found
    return text[begin:end].strip(), text[:begin] + text[end:]


def _find_typed(text: str) -> "Iterator[tuple[int, int]]":
    """Yield where what was typed stands in a text, for each known program that made it."""
    begin, end = text.find(_INPUT), text.find(_CONSIDER)
    if begin >= 0 and _skip_frontmatter(text).startswith(_BEGINNINGS):
        begin += len(_INPUT)
        if end >= begin - 1:  # what is empty shares a line break with what follows
            yield begin, max(begin, end)
    for tag in _STEPS:
        opened, closed = text.find(f'<{tag} CRITICAL="TRUE">'), text.rfind(f"</{tag}>")
        if 0 <= opened < closed and any(order in text[:opened] for order in _ORDERS):
            yield closed + len(f"</{tag}>"), len(text)
    if text.lstrip().startswith(_COMMAND):
        line = text.find("\n", text.find(_COMMAND))
        yield (len(text) if line < 0 else line), len(text)
    if begin := _skip_system(text):
        yield begin, len(text)


def _skip_frontmatter(text: str) -> str:
    text = text.lstrip()
    return text.partition("\n---\n")[2].lstrip() if text.startswith("---\n") else text


def _skip_system(text: str) -> int:
    """Return where what an app put before a prompt ends, 0 if there is none."""
    begin, is_more = 0, True
    while is_more:
        is_more = False
        for tag in _SYSTEM:
            closed = text.find(f"</{tag}>", begin)
            if closed >= 0 and text[begin:].lstrip().startswith(f"<{tag}>"):
                begin, is_more = closed + len(f"</{tag}>"), True
    return begin
