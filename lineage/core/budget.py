"""Budgets in bytes and in tokens: what fits is kept whole, in order, and no part takes the room of the others."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

QUARTERS = 4
"""Of a token: the unit of `cost`."""


def cost(text: str) -> int:
    """What a text costs a model, in quarters of a token, estimated conservatively: an ASCII character is one quarter,
    of any other each byte of its UTF-8 is two. It is never less than the characters or the bytes.

    >>> cost("word"), cost("é"), cost("語"), cost("🧵")
    (4, 4, 6, 8)
    """
    if text.isascii():
        return len(text)
    plain = len(text.encode("ascii", "ignore"))
    return plain + 2 * (len(text.encode("utf-8", "surrogatepass")) - plain)


def tokens(quarters: int) -> int:
    """A cost in tokens, rounded up. For ASCII a token is four characters. (format: Commands)"""
    return -(-quarters // QUARTERS)


class Claim(NamedTuple):
    """What one part of a text asks for: all that it `need`s, the `least` of it that is worth showing, and its shares of
    the budget in percent: nobody takes the `floor` from it, and it never takes more than the `cap`."""

    need: int
    least: int
    floor: int
    cap: int

    def most(self, budget: int) -> int:
        """What it may take of a budget, whatever it needs."""
        return max(self.least, budget * self.cap // 100)


def rooms(claims: Sequence[Claim], budget: int) -> list[int]:
    """The room of each part, never more than it needs. What some leave is given to the others in order. The floors are
    100 percent at most, and the `least` of all parts fit into the budget together.

    >>> rooms([Claim(900, 10, 50, 60), Claim(30, 10, 30, 30), Claim(400, 10, 20, 40)], 200)
    [120, 30, 50]
    """
    spare = budget - sum(claim.least for claim in claims)
    wanted = [min(claim.need, claim.most(budget)) for claim in claims]
    given = [min(want, c.least + spare * c.floor // 100) for want, c in zip(wanted, claims, strict=True)]
    left = budget - sum(given)
    for index, want in enumerate(wanted):
        more = min(want - given[index], left)
        given[index] += more
        left -= more
    return given


def fitting(costs: Iterable[int], budget: int) -> int:
    """How many of the first items fit into `budget` bytes together.

    >>> fitting([10, 10, 10], 25)
    2
    """
    kept = spent = 0
    for cost in costs:
        spent += cost
        if spent > budget:
            break
        kept += 1
    return kept


def clipped(text: str, budget: int, marker: str) -> str:
    """The text cut at a line end so that it and the marker line stay within `budget` bytes of UTF-8."""
    if len(text.encode()) <= budget:
        return text
    room = budget - len(marker.encode()) - 1
    lines = text.split("\n")
    kept = fitting((len(line.encode()) + 1 for line in lines), room)
    return "\n".join([*lines[:kept], marker])
