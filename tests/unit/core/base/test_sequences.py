"""A sequence that is not held is one like any other."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.sequences import Replayable

ITEMS = st.lists(st.integers(), max_size=9)
PLACES = st.none() | st.integers(-12, 12)
STEPS = st.none() | st.sampled_from((1, 2, 3, -1, -2))


@given(ITEMS, PLACES, PLACES, STEPS, PLACES, PLACES)
def test_a_slice_and_a_slice_of_it_hold_what_those_of_a_tuple_do(
    items: list[int], start: int | None, stop: int | None, step: int | None, first: int | None, last: int | None
) -> None:
    told, held = Replayable(lambda: iter(items))[start:stop:step], tuple(items)[start:stop:step]
    assert (len(told), tuple(told)) == (len(held), held)
    assert tuple(told[first:last]) == held[first:last]


@given(ITEMS, st.integers(-12, 12))
def test_a_place_holds_what_that_of_a_tuple_does(items: list[int], place: int) -> None:
    def at(sequence: Sequence[int]) -> int | None:
        try:
            return sequence[place]
        except IndexError:
            return None

    assert at(Replayable(lambda: iter(items))) == at(tuple(items))
