"""Lessons, 23: "Clock, nonce or reordering inside the injected block breaks the model's prefix cache: 26.9 s against
0.44 s per turn. Injected bytes must be stable."

Fails where the block says when it was made, where anything in it is in the order of a set, and where what is added to a
later section changes an earlier one.
"""

from pathlib import Path

import pytest

from lineage.pipeline.house import House
from lineage.pipeline.incoming.preparing import prepare
from lineage.pipeline.knowledge.context import Asked, context
from lineage.pipeline.publishing import publish_all
from lineage.telemetry import Seen
from tests.support.books import put
from tests.support.commands import Lineage, process
from tests.support.houses import at, end, house_at

pytestmark = pytest.mark.slow

DEMO = "/home/ada/demo"


def furnish(house: House) -> None:
    for number in range(6):
        end(house, f"s-{number}")
        for scope in ("global", "project/demo", "agent/default"):
            for kind in ("preference", "decision", "lesson", "task", "note"):
                put(house, scope, kind, f"This {kind} of {scope} has the number {number}.")
    publish_all(house)


def test_another_process_another_minute_the_same_bytes(lineage: Lineage) -> None:
    with house_at(lineage.root) as house:
        furnish(house)
    texts = {
        process(lineage.root, "context", "--project", DEMO, PYTHONHASHSEED=str(seed), TZ=zone).out
        for seed, zone in enumerate(("UTC", "Asia/Tokyo", "America/Lima"))
    }
    assert len(texts) == 1
    assert "This preference of global" in texts.pop()


@pytest.mark.parametrize("time", ["12:00:00.001", "17:31:08.250", "23:59:59.999"])
def test_all_day_long_the_same_bytes(tmp_path: Path, time: str) -> None:
    with house_at(tmp_path, now="2026-11-21T12:00:00.000Z") as house:
        furnish(house)
        asked = Asked(project=DEMO)
        assert context(at(house, f"2026-11-21T{time}Z"), asked) == context(house, asked)


def test_what_is_added_later_leaves_what_stands_before_it_alone(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        end(house, "s-1")
        put(house, "global", "preference", "Prefers tabs.")
        put(house, "agent/default", "task", "Mend the reader.")
        before = context(house, Asked(project=DEMO)).body
        put(house, "agent/default", "task", "Feed the wombat.", at="2026-11-20T11:00:00Z")
        publish_all(house)
        after = context(house, Asked(project=DEMO)).body
        assert after != before
        assert after.partition("Feed the wombat.")[0] == before.partition("Mend the reader.")[0]


def test_a_prepared_block_that_would_stay_the_same_is_not_written_again(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        furnish(house)
        house.telemetry.saw(Seen("generic", "default", "s-1", "t", None, DEMO, "turn-end", house.now, None))
        assert prepare(house) == 1
        assert prepare(at(house, "2026-11-21T23:00:00.000Z")) == 0
