"""Words around numbers."""


def counted(count: int, noun: str) -> str:
    """
    >>> counted(1, "turn"), counted(1200, "turn")
    ('1 turn', '1200 turns')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
