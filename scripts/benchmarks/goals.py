"""The goals of `goals.toml`, and whether a row's figures reach them."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

GOALS = Path(__file__).with_name("goals.toml")

_BOUND = re.compile(r"(<=|>=) (\d+(?:\.\d+)?)")
_SIGNS = {"<=": "≤", ">=": "≥"}
_AT, _IN_THE_WAY = "at", "in_the_way"


@dataclass(frozen=True, slots=True)
class Goal:
    """A figure's bound, the bound itself included."""

    figure: str
    sign: str
    bound: float

    def is_met(self, value: float) -> bool:
        return value <= self.bound if self.sign == "<=" else value >= self.bound

    def told(self, value: float) -> str:
        """The value beside its bound, and plainly whether it is met.

        >>> Goal("ratio", "<=", 1.5).told(7.4)
        'ratio 7.40 ≤ 1.5: **missed**'
        """
        verdict = "met" if self.is_met(value) else "**missed**"
        return f"{self.figure} {value:.2f} {_SIGNS[self.sign]} {self.bound:g}: {verdict}"


@dataclass(frozen=True, slots=True)
class Goals:
    """What a row is to reach on a corpus of `at` artifacts or more; `in_the_way` is what profiles say where it does not
    and what was tried."""

    goals: tuple[Goal, ...] = ()
    at: int = 0
    in_the_way: str = ""

    def told(self, figures: Mapping[str, float], artifacts: int) -> str:
        """Every goal with what was measured; those of larger corpora are named and not judged."""
        if not self.goals:
            return "–"
        if artifacts < self.at:
            return f"judged at {self.at:,}"
        return ", ".join(_told(goal, figures) for goal in self.goals)

    def missed(self, figures: Mapping[str, float], artifacts: int) -> list[str]:
        """The goals that were judged and are not met, an unmeasured one among them."""
        judged = self.goals if artifacts >= self.at else ()
        return [
            _told(goal, figures)
            for goal in judged
            if goal.figure not in figures or not goal.is_met(figures[goal.figure])
        ]


def _told(goal: Goal, figures: Mapping[str, float]) -> str:
    value = figures.get(goal.figure)
    return f"{goal.figure}: **not measured**" if value is None else goal.told(value)


def parsed(text: str) -> dict[str, Goals]:
    """The goals by row. Raises ValueError for what is no bound."""
    return {row: _goals(row, said) for row, said in tomllib.loads(text).items()}


def _goals(row: str, said: Mapping[str, object]) -> Goals:
    bounds = {figure: bound for figure, bound in said.items() if figure not in (_AT, _IN_THE_WAY)}
    found = tuple(_goal(row, figure, bound) for figure, bound in bounds.items())
    return Goals(found, int(str(said.get(_AT, 0))), str(said.get(_IN_THE_WAY, "")))


def goals() -> dict[str, Goals]:
    return parsed(GOALS.read_text(encoding="utf-8"))


def _goal(row: str, figure: str, bound: object) -> Goal:
    found = _BOUND.fullmatch(str(bound))
    if not found:
        raise ValueError(f"{row}: {figure} = {bound!r} is no bound such as '<= 1.5'")
    return Goal(figure, found[1], float(found[2]))
