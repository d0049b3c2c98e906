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
    start = _skip_system(text)
    begin, end = next(_find_typed(text, start), (start, len(text)))
    if (begin, end) == (0, len(text)):
        return prompt, ""
    return text[begin:end].strip(), text[:begin] + text[end:]


def _find_typed(text: str, start: int) -> "Iterator[tuple[int, int]]":
    """Yield where what was typed stands in a text behind a place, for each known command that it may be of."""
    head = _skip_frontmatter(text, start)
    begin, end = text.find(_INPUT, head), text.find(_CONSIDER, head)
    if begin >= 0 and text.startswith(_BEGINNINGS, head):
        begin += len(_INPUT)
        if end >= begin - 1:  # what is empty shares a line break with what follows
            yield begin, max(begin, end)
    for tag in _STEPS:
        opened, closed = text.find(f'<{tag} CRITICAL="TRUE">', head), text.rfind(f"</{tag}>")
        if 0 <= opened < closed and any(order in text[head:].partition("\n\n")[0] for order in _ORDERS):
            yield closed + len(f"</{tag}>"), len(text)
    if text.startswith(_COMMAND, head):
        line = text.find("\n", head)
        yield (len(text) if line < 0 else line), len(text)


def _skip_frontmatter(text: str, start: int) -> int:
    head = _skip_blanks(text, start)
    closed = text.find("\n---\n", head) if text.startswith("---\n", head) else -1
    return head if closed < 0 else _skip_blanks(text, closed + len("\n---\n"))


def _skip_blanks(text: str, at: int) -> int:
    while at < len(text) and (text[at].isspace() or text[at] == "\ufeff"):
        at += 1
    return at


def _skip_system(text: str) -> int:
    """Return where what an app put before a prompt ends, 0 if there is none."""
    begin, is_more = 0, True
    while is_more:
        at, is_more = _skip_blanks(text, begin), False
        for tag in _SYSTEM:
            closed = text.find(f"</{tag}>", at) if text.startswith(f"<{tag}>", at) else -1
            if closed >= 0:
                begin, is_more = closed + len(f"</{tag}>"), True
    return begin
