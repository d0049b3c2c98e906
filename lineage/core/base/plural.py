"""Words around numbers."""


def pluralize(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> pluralize(1, "turn"), pluralize(1200, "turn")
    ('1 turn', '1200 turns')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
