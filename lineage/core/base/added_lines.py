"""Lines that one side of a merge added and the other lacks."""

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher


def find_added_lines(base: Sequence[str], mine: Sequence[str], yours: Sequence[str]) -> list[str]:
    """Return the lines that `yours` added to `base` and `mine` did not; one that both added is not among them.

    >>> find_added_lines(["a", "b"], ["a", "b", "c"], ["a", "x", "b", "c", "y"])
    ['x', 'y']
    """
    steps = SequenceMatcher(a=base, b=yours, autojunk=False).get_opcodes()
    added = [line for sort, _, _, start, stop in steps if sort != "equal" for line in yours[start:stop]]
    present, missing = Counter(mine) - Counter(base), []
    for line in added:
        present[line] -= 1
        missing += [line] if present[line] < 0 else []
    return missing
