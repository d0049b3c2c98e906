"""Budgets in bytes and in tokens, shared between the parts of a text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile

QUARTERS_PER_TOKEN = 4
"""A cost is counted in quarters of a token."""


def estimate_cost(text: str) -> int:
    """Return a conservative estimate of a text's cost in quarters of a token.

    An ASCII character costs one quarter, any other character two for each byte of its UTF-8. The cost is at least the
    number of bytes.

    >>> estimate_cost("word"), estimate_cost("é"), estimate_cost("語"), estimate_cost("🧵")
    (4, 4, 6, 8)
    """
    if text.isascii():
        return len(text)
    plain = len(text.encode("ascii", "ignore"))
    return plain + 2 * (len(text.encode("utf-8", "surrogatepass")) - plain)


def cost_to_tokens(quarters: int) -> int:
    """Return a cost in tokens, rounded up. For ASCII a token is four characters (format: Commands)."""
    return -(-quarters // QUARTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class BudgetRequest:
    """A part's full and smallest useful cost; percents of the budget it gets if needed, and at most."""

    need: int
    min_cost: int
    min_percent: int
    max_percent: int

    def limit_for(self, budget: int) -> int:
        """Return the most that the part may take of a budget."""
        return max(self.min_cost, budget * self.max_percent // 100)


def allocate_budget(requests: Sequence[BudgetRequest], budget: int) -> list[int]:
    """Return the share of each part, at most its need. The parts share in order the rest that others leave.

    The `min_percent` of all parts are at most 100 together, and their `min_cost` fit into the budget.

    >>> (allocate_budget([BudgetRequest(900, 10, 50, 60), BudgetRequest(30, 10, 30, 30), BudgetRequest(400, 10, 20,
    ... 40)], 200))
    [120, 30, 50]
    """
    spare = budget - sum(request.min_cost for request in requests)
    limits = [min(request.need, request.limit_for(budget)) for request in requests]
    shares = [min(limit, r.min_cost + spare * r.min_percent // 100) for limit, r in zip(limits, requests, strict=True)]
    rest = budget - sum(shares)
    for index, limit in enumerate(limits):
        more = min(limit - shares[index], rest)
        shares[index] += more
        rest -= more
    return shares


def count_fitting(costs: Iterable[int], budget: int) -> int:
    """Return how many of the first items fit into `budget` together.

    >>> count_fitting([10, 10, 10], 25)
    2
    """
    return sum(1 for _ in takewhile(lambda total: total <= budget, accumulate(costs)))


def clip_text(text: str, budget: int, marker: str) -> str:
    """Return the text, cut at a line end so that it and the marker line stay within `budget` bytes of UTF-8."""
    if len(text.encode()) <= budget:
        return text
    room = budget - len(marker.encode()) - 1
    lines = text.split("\n")
    count = count_fitting((len(line.encode()) + 1 for line in lines), room)
    return "\n".join([*lines[:count], marker])
