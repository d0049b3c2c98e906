"""Who speaks where in a passage: the index keeps it beside the text, and a recall reads it.

Without imports, as a hook waits for them.
"""

TYPED, NARRATED, REPLIED = "t", "n", "r"
"""A message that a person typed, one by which an agent tells what it does, and its last one before a person's.

Its last one of a capture replies, too, whatever comes in the next.
"""


def format_speaker(sign: str, start: int) -> str:
    """Return who speaks from a place of a passage on, below 0 from a place in an earlier one."""
    return f"{sign}{start}"


def parse_speakers(text: str) -> list[tuple[str, int]]:
    """Return sign and beginning of each message, in order.

    >>> parse_speakers("t0 n120 r340")
    [('t', 0), ('n', 120), ('r', 340)]
    """
    return [(one[0], int(one[1:])) for one in text.split()]
