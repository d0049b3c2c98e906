"""How long an import would take: what a sample took, carried over to the rest by size and number.

Fails without the remainder in `_capturing`, without the evenness of `_sample`, and where a dry run writes.
"""

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from lineage.app import open_house
from lineage.harness import claude_code
from lineage.pipeline.incoming.estimating import Estimate, Trial, estimate
from lineage.pipeline.incoming.history import Wanted
from lineage.pipeline.incoming.importing import import_history
from lineage.pipeline.incoming.locating import Machine
from tests.support.houses import house_at

SAMPLE = 16


def sessions(folder: Path, count: int, *, words: int = 10) -> Path:
    """Transcripts of one size."""
    folder.mkdir()
    for number in range(count):
        name = f"{number:08d}-0000-4000-8000-000000000000"
        record = {
            "type": "user",
            "uuid": f"{number:08d}-1111-4000-8000-000000000000",
            "sessionId": name,
            "timestamp": "2026-11-20T10:00:00.000Z",
            "cwd": "/home/ada/demo",
            "message": {"role": "user", "content": f"Mend reader {number:08d}. " + "word " * words},
        }
        (folder / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
    return folder


def wanted(folder: Path) -> Wanted:
    machine = Machine(folder, os.environ)
    return Wanted(harnesses=("claude-code",), agent_id="default", machine=machine, paths=(folder,))


def ticking() -> Callable[[], float]:
    """A clock that goes on by a second each time it is looked at."""
    times = iter(range(1000))
    return lambda: float(next(times))


def estimated(folder: Path, trial: Path) -> Estimate:
    opened = partial(open_house, trial, create=True, asks_model=False)
    return estimate(None, wanted(folder), lambda stage, done, total: None, Trial(opened, ticking()))


@pytest.mark.slow
@pytest.mark.parametrize(("count", "seconds"), [(SAMPLE, 3), (2 * SAMPLE, 3 + 2), (6 * SAMPLE, 3 + 10)])
def test_the_rest_takes_as_long_as_the_second_half_of_the_sample(tmp_path: Path, count: int, seconds: int) -> None:
    """A second for reading, one for each half of the sample; its second half holds eight of the sessions."""
    found = estimated(sessions(tmp_path / "kept", count), tmp_path / "trial")
    assert found.seconds == pytest.approx(seconds)


def test_no_more_than_the_sample_is_captured(tmp_path: Path) -> None:
    estimated(sessions(tmp_path / "kept", 3 * SAMPLE), tmp_path / "trial")
    assert len(list((tmp_path / "trial" / "memory" / "claims").iterdir())) == SAMPLE


def test_nothing_to_do_takes_no_time(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    assert estimated(tmp_path / "kept", tmp_path / "trial").seconds == 0
    assert not (tmp_path / "trial").exists()


def test_a_single_session_is_judged_by_its_size(tmp_path: Path) -> None:
    assert estimated(sessions(tmp_path / "kept", 1), tmp_path / "trial").seconds > 0


def test_an_import_reads_each_source_once_to_tell_its_session_and_once_to_capture_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    whole = claude_code.read

    def counted(path: Path, session: str | None = None) -> object:
        read.append(path.name)
        return whole(path, session)

    monkeypatch.setattr(claude_code, "read", counted)
    asked = wanted(sessions(tmp_path / "kept", 5))
    root = tmp_path / "w"
    with house_at(root) as house:
        opened = partial(open_house, root, create=True, asks_model=False)
        (done,) = import_history(house, opened, asked, lambda stage, done, total: None)
        assert done.captured == 5
        assert sorted(read) == sorted(path.name for path in (tmp_path / "kept").iterdir() for _ in range(2))
        read.clear()
        import_history(house, opened, asked, lambda stage, done, total: None)
        assert read == []
