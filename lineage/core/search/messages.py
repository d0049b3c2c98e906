"""Who speaks where in a passage: marks that the index keeps beside its text, and a recall reads.

Without imports, as a hook waits for them.
"""

TYPED, NARRATED, REPLIED = "t", "n", "r"
"""A message that a person typed, one by which an agent tells what it does, and its last one before a person's.

Its last one of a capture replies, too, whatever comes in the next; the prompt of a sub-agent counts as typed.
"""


def format_mark(sign: str, start: int) -> str:
    """Return the mark of a message that begins at a place of a passage, below 0 in an earlier one."""
    return f"{sign}{start}"


def parse_marks(text: str) -> list[tuple[str, int]]:
    """Return sign and beginning of each message, in order.

    >>> parse_marks("t0 n120 r340")
    [('t', 0), ('n', 120), ('r', 340)]
    """
    return [(mark[0], int(mark[1:])) for mark in text.split()]
