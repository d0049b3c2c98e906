"""The table: the machine has a name, fewer runs than were asked for are said, and a miss goes with its reason."""

from benchmarks import table
from benchmarks.goals import Goal, Goals
from benchmarks.pairing import Pair, Timing
from benchmarks.table import Result


def result(ratio: float, runs: int = 5, in_the_way: str = "") -> Result:
    pair = Pair(what="it", floor=lambda: None, subject=lambda: None, apart="its sanitizer")
    goals = Goals((Goal("ratio", "<=", 1.5), Goal("missed", "<=", 0)), at=10, in_the_way=in_the_way)
    return Result("it", 10, pair, Timing(1.0, ratio, 0.25, runs), 0, {"ratio": ratio, "missed": 0}, goals, 5)


def test_a_row_has_its_goals_and_what_is_reported_apart() -> None:
    first, second = table.rows(result(2.0))
    assert first == (
        "| it · 10 artifacts | 1,000 | 2,000 | 2.00 | – | ratio 2.00 ≤ 1.5: **missed**, missed 0.00 ≤ 0: met |"
    )
    assert second == "| … its sanitizer, apart | – | 250 | – | – | – |"


def test_fewer_runs_than_were_asked_for_are_said() -> None:
    assert "| it · 10 artifacts, **of 3 runs** |" in table.rows(result(2.0, runs=3))[0]


def test_a_miss_goes_with_what_is_in_the_way_and_an_unmeasured_row_is_named() -> None:
    results = [result(1.0, in_the_way="nothing"), result(2.0, in_the_way="the disk"), result(3.0)]
    assert table.missed(results, ["it", "other"]) == [
        "- it · 10 artifacts: ratio 2.00 ≤ 1.5: **missed**. In the way: the disk",
        "- it · 10 artifacts: ratio 3.00 ≤ 1.5: **missed**",
        "- other: **not measured**",
    ]
    assert table.missed(results[:1], []) == ["- no goal that was judged is missed"]


def test_the_machine_is_named() -> None:
    said = table.machine(5)
    assert all(word in said for word in (" cores, ", " GiB, ", "Python 3.", "SQLite 3.", "medians of 5 runs"))
