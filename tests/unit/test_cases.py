"""Many cases in one test. (tests/support/parametrize.py)

Fails when a case is left out after one that fails, when a failure doesn't name its case, or when a fixture goes astray.
"""

from pathlib import Path

import pytest

from tests.support.parametrize import each

TRIED: list[tuple[int, int]] = []


@each("first", [1, 2])
@each("second, third", [(1, 2), (3, 4)], ids=["low", "high"])
def test_every_case_is_tried_with_the_fixtures_of_the_test(first: int, second: int, third: int, tmp_path: Path) -> None:
    TRIED.append((first, second))
    assert second < third
    assert tmp_path.is_dir()


def test_all_were_tried_in_their_order() -> None:
    TRIED.clear()
    test_every_case_is_tried_with_the_fixtures_of_the_test(tmp_path=Path.cwd())
    assert TRIED == [(1, 1), (1, 3), (2, 1), (2, 3)]


def test_those_that_fail_are_named_and_the_others_tried() -> None:
    tried = []

    @each("number", range(4), ids=lambda number: f"number {number}")
    def fails(number: int) -> None:
        tried.append(number)
        assert number != 1
        if number == 2:
            with pytest.raises(ValueError, match="never"):
                pass

    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases") as caught:
        fails()
    assert tried == [0, 1, 2, 3]
    assert [failure.__notes__ for failure in caught.value.exceptions] == [
        ["The case: number 1"],
        ["The case: number 2"],
    ]
