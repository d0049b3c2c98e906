"""Texts merged by line: the laws that a mirror of notes rests on."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.pipeline.transfer.mirror.text_merge import merge_texts

lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=8)


@given(lines, lines)
def test_a_side_that_did_not_change_takes_the_other_s_text(base: list[str], changed: list[str]) -> None:
    old, new = "".join(base), "".join(changed)
    assert merge_texts(old, new, old) == new
    assert merge_texts(old, old, new) == new
    assert merge_texts(old, new, new) == new


@given(lines, lines, lines)
def test_both_ways_around_it_is_the_same(base: list[str], one: list[str], other: list[str]) -> None:
    texts = ["".join(each) for each in (base, one, other)]
    assert merge_texts(*texts) == merge_texts(texts[0], texts[2], texts[1])


@given(lines, st.lists(st.tuples(st.booleans(), st.integers(0, 8)), max_size=6))
def test_no_new_line_of_either_is_lost(base: list[str], places: list[tuple[bool, int]]) -> None:
    sides = {True: list(base), False: list(base)}
    for number, (side, place) in enumerate(places):
        sides[side].insert(place, f"new {number}\n")
    merged = merge_texts("".join(base), "".join(sides[True]), "".join(sides[False]))
    if merged is not None:
        assert all(f"new {number}\n" in merged for number in range(len(places)))
