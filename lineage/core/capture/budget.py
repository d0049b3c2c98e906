"""Budgets in bytes and in tokens: what fits is kept whole, in order, and no part takes the room of the others."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

QUARTERS_PER_TOKEN = 4
"""Of a token: the unit of `cost`."""


def estimate_cost(text: str) -> int:
    """What a text costs a model, in quarters of a token, estimated conservatively: an ASCII character is one quarter,
    of any other each byte of its UTF-8 is two. It is never less than the characters or the bytes.

    >>> estimate_cost("word"), estimate_cost("é"), estimate_cost("語"), estimate_cost("🧵")
    (4, 4, 6, 8)
    """
    if text.isascii():
        return len(text)
    plain = len(text.encode("ascii", "ignore"))
    return plain + 2 * (len(text.encode("utf-8", "surrogatepass")) - plain)


def cost_to_tokens(quarters: int) -> int:
    """A cost in tokens, rounded up. For ASCII a token is four characters. (format: Commands)"""
    return -(-quarters // QUARTERS_PER_TOKEN)


class BudgetRequest(NamedTuple):
    """What one part of a text asks for: all that it `need`s, the `least` of it that is worth showing, and its shares of
    the budget in percent: nobody takes the `floor` from it, and it never takes more than the `cap`."""

    need: int
    min_cost: int
    min_percent: int
    max_percent: int

    def limit_for(self, budget: int) -> int:
        """What it may take of a budget, whatever it needs."""
        return max(self.min_cost, budget * self.max_percent // 100)


def allocate_budget(requests: Sequence[BudgetRequest], budget: int) -> list[int]:
    """The room of each part, never more than it needs. What some leave is given to the others in order. The floors are
    100 percent at most, and the `least` of all parts fit into the budget together.

    >>> (allocate_budget([BudgetRequest(900, 10, 50, 60), BudgetRequest(30, 10, 30, 30), BudgetRequest(400, 10, 20,
    ... 40)], 200))
    [120, 30, 50]
    """
    spare = budget - sum(claim.min_cost for claim in requests)
    wanted = [min(claim.need, claim.limit_for(budget)) for claim in requests]
    given = [min(want, c.min_cost + spare * c.min_percent // 100) for want, c in zip(wanted, requests, strict=True)]
    left = budget - sum(given)
    for index, want in enumerate(wanted):
        more = min(want - given[index], left)
        given[index] += more
        left -= more
    return given


def count_fitting(costs: Iterable[int], budget: int) -> int:
    """How many of the first items fit into `budget` bytes together.

    >>> count_fitting([10, 10, 10], 25)
    2
    """
    kept = spent = 0
    for cost in costs:
        spent += cost
        if spent > budget:
            break
        kept += 1
    return kept


def clip_text(text: str, budget: int, marker: str) -> str:
    """The text cut at a line end so that it and the marker line stay within `budget` bytes of UTF-8."""
    if len(text.encode()) <= budget:
        return text
    room = budget - len(marker.encode()) - 1
    lines = text.split("\n")
    kept = count_fitting((len(line.encode()) + 1 for line in lines), room)
    return "\n".join([*lines[:kept], marker])
