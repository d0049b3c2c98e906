"""Words around numbers."""


def pluralize(count: int, noun: str) -> str:
    """Return a count with its noun.

    >>> pluralize(1, "turn"), pluralize(1200, "turn"), pluralize(2, "entry"), pluralize(2, "day")
    ('1 turn', '1200 turns', '2 entries', '2 days')
    """
    if count == 1:
        return f"{count} {noun}"
    ends_like_entry = noun[-1:] == "y" and noun[-2:-1] not in "aeiou"
    return f"{count} {noun[:-1]}ies" if ends_like_entry else f"{count} {noun}s"
