"""The table of goals: what is a bound, when a row is judged, and that a miss is said plainly."""

import pytest
from benchmarks.cases import CASES, GROWTH, LAST, ONCE
from benchmarks.goals import Goal, Goals, goals, parsed

_TABLE = """
[session-end]
ratio = "<= 1.5"

[import]
at = 90_000
in_the_way = "leases"
speedup = ">= 3.3"
peak_mb = "<= 600"
"""


def test_a_table_is_read() -> None:
    assert parsed(_TABLE) == {
        "session-end": Goals((Goal("ratio", "<=", 1.5),)),
        "import": Goals((Goal("speedup", ">=", 3.3), Goal("peak_mb", "<=", 600)), at=90_000, in_the_way="leases"),
    }


@pytest.mark.parametrize("bound", ["1.5", "< 1.5", "<= fast", "<=1.5", "<= -1"])
def test_what_is_no_bound_is_refused(bound: str) -> None:
    with pytest.raises(ValueError, match="session-end: ratio"):
        parsed(f'[session-end]\nratio = "{bound}"')


@pytest.mark.parametrize(
    ("sign", "value", "met"),
    [("<=", 1.5, True), ("<=", 1.51, False), (">=", 1.5, True), (">=", 1.49, False)],
)
def test_a_bound_is_met_at_itself(sign: str, value: float, met: bool) -> None:
    goal = Goal("ratio", sign, 1.5)
    assert goal.is_met(value) is met
    assert ("**missed**" in goal.told(value)) is not met


def test_a_row_is_judged_on_its_corpus_and_on_larger_ones() -> None:
    found = parsed(_TABLE)["import"]
    slow = {"speedup": 1.0, "peak_mb": 700.0}
    assert found.missed(slow, 10_000) == [] and found.told(slow, 10_000) == "judged at 90,000"
    assert len(found.missed(slow, 90_000)) == 2 and found.told(slow, 90_000).count("**missed**") == 2


def test_what_was_not_measured_is_a_miss() -> None:
    assert parsed(_TABLE)["import"].missed({"speedup": 4.0}, 100_000) == ["peak_mb: **not measured**"]


def test_a_row_without_goals_is_not_judged() -> None:
    assert Goals().told({"ratio": 9.0}, 100_000) == "–" and Goals().missed({"ratio": 9.0}, 100_000) == []


def test_the_table_itself_is_readable_and_its_rows_belong_to_cases() -> None:
    of_several = ("reindex-", "search-", "growth-reindex", "growth-session-end")
    assert [row for row in goals() if row not in CASES and not row.startswith(of_several)] == []
    assert set(CASES) >= ONCE | GROWTH | LAST
