"""Budgets: what fits is kept whole and in order, and no byte more; every part has its share."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.capture.budget import (
    BudgetRequest,
    allocate_budget,
    clip_text,
    cost_to_tokens,
    count_fitting,
    estimate_cost,
)
from tests.support.parametrize import each
from tests.support.strategies import draw_texts, draw_well_formed

CLAIMS = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 20), st.integers(0, 20), st.integers(0, 100)).map(
        lambda drawn: BudgetRequest(drawn[0], min(drawn[:2]), drawn[2], max(drawn[2:]))
    ),
    max_size=5,
)


@given(st.lists(st.integers(0, 50)), st.integers(-10, 500))
def test_the_first_items_that_fit_are_kept_and_not_one_less(costs: list[int], budget: int) -> None:
    kept = count_fitting(costs, budget)
    assert kept == 0 or sum(costs[:kept]) <= budget
    assert kept == len(costs) or sum(costs[: kept + 1]) > budget


@given(st.lists(draw_well_formed(), min_size=4).map("\n".join), st.integers(8, 60))
def test_a_clipped_text_stays_within_the_budget_and_is_a_prefix_by_lines(text: str, budget: int) -> None:
    short = clip_text(text, budget, "…")
    assert len(short.encode()) <= budget
    if short != text:
        lines = short.split("\n")
        assert lines[-1] == "…"
        assert text.split("\n")[: len(lines) - 1] == lines[:-1]


@given(draw_well_formed())
def test_a_text_that_fits_is_left_alone(text: str) -> None:
    assert clip_text(text, len(text.encode()), "…") == text


# --- Tokens ----------------------------------------------------------------------------------------------------------


@given(draw_texts("語", "🧵", "é", "жук"))
def test_a_text_never_costs_less_than_a_token_for_four_characters_or_bytes(text: str) -> None:
    assert cost_to_tokens(estimate_cost(text)) >= -(-len(text) // 4)
    assert estimate_cost(text) >= len(text.encode("utf-8", "replace"))
    assert estimate_cost(text + text) == 2 * estimate_cost(text)


@each(("text", "count"), [("", 0), ("a", 1), ("four", 1), ("fours", 2), ("é", 1), ("жук", 3), ("日本", 3), ("🧵", 2)])
def test_tokens_are_rounded_up_and_other_scripts_cost_more(text: str, count: int) -> None:
    assert cost_to_tokens(estimate_cost(text)) == count


# --- Rooms -----------------------------------------------------------------------------------------------------------


def budget_of(claims: list[BudgetRequest], more: int) -> int:
    return sum(claim.min_cost for claim in claims) + more


@given(CLAIMS, st.integers(0, 1000))
def test_rooms_fit_into_the_budget_and_are_neither_below_the_least_nor_above_the_cap(
    claims: list[BudgetRequest], more: int
) -> None:
    budget = budget_of(claims, more)
    given_rooms = allocate_budget(claims, budget)
    assert sum(given_rooms) <= budget
    for room, claim in zip(given_rooms, claims, strict=True):
        assert claim.min_cost <= room <= min(claim.need, claim.limit_for(budget))


@given(CLAIMS, st.integers(0, 1000))
def test_nobody_takes_the_floor_of_another(claims: list[BudgetRequest], more: int) -> None:
    budget = budget_of(claims, more)
    for room, claim in zip(allocate_budget(claims, budget), claims, strict=True):
        assert room >= min(claim.need, claim.limit_for(budget), more * claim.min_percent // 100)


@given(CLAIMS, st.integers(0, 1000))
def test_no_room_stays_empty_that_somebody_may_have(claims: list[BudgetRequest], more: int) -> None:
    budget = budget_of(claims, more)
    given_rooms = allocate_budget(claims, budget)
    wanted = [min(claim.need, claim.limit_for(budget)) for claim in claims]
    assert sum(given_rooms) == min(budget, sum(wanted))


@given(CLAIMS, st.integers(0, 1000), st.integers(0, 1000))
def test_with_a_larger_budget_nobody_has_less(claims: list[BudgetRequest], one: int, other: int) -> None:
    small, large = (allocate_budget(claims, budget_of(claims, more)) for more in sorted((one, other)))
    assert [min(pair) for pair in zip(small, large, strict=True)] == small


def test_a_part_takes_its_cap_at_most_however_empty_the_others_are() -> None:
    assert allocate_budget([BudgetRequest(100, 10, 20, 30), BudgetRequest(15, 10, 20, 90)], 100) == [30, 15]
