"""Budgets: what fits is kept whole and in order, and no byte more."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.budget import clipped, fitting
from tests.support.materials import well_formed


@given(st.lists(st.integers(0, 50)), st.integers(-10, 500))
def test_the_first_items_that_fit_are_kept_and_not_one_less(costs: list[int], budget: int) -> None:
    kept = fitting(costs, budget)
    assert kept == 0 or sum(costs[:kept]) <= budget
    assert kept == len(costs) or sum(costs[: kept + 1]) > budget


@given(st.lists(well_formed(), min_size=4).map("\n".join), st.integers(8, 60))
def test_a_clipped_text_stays_within_the_budget_and_is_a_prefix_by_lines(text: str, budget: int) -> None:
    short = clipped(text, budget, "…")
    assert len(short.encode()) <= budget
    if short != text:
        lines = short.split("\n")
        assert lines[-1] == "…"
        assert text.split("\n")[: len(lines) - 1] == lines[:-1]


@given(well_formed())
def test_a_text_that_fits_is_left_alone(text: str) -> None:
    assert clipped(text, len(text.encode()), "…") == text
