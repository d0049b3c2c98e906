"""When a watch looks, and what it does then, in a time that only the test moves.

What each guard rests on:
- every hint is answered: the wait that takes hints comes before the round, `hinted` survives a timer that is not due.
- coalescing: `_settle`, its `min` with what is left of the second, its limit.
- the timer: `due`, tested after hints too.
- the end: the test of `hints.ended` after each wait.
- what is a hint: each pattern and branch of `is_hint`.
- a round's failures: the `except` of `_round`, the comparison of messages, the `return` for a sudden loss.
- what is told: both halves of the condition in `_compare`.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base import naming
from lineage.errors import EngineMissing, LineageError, WorkspaceError
from lineage.pipeline.maintenance.reindex import ReindexReport, SuddenLoss, reindex
from lineage.pipeline.maintenance.watch import (
    HINT,
    MAX_DELAY_SECONDS,
    QUIET_SECONDS,
    TIMER,
    Watch,
    is_hint,
    iter_occasions,
)
from lineage.workspace.workspace import Workspace
from tests.support.parametrize import each
from tests.support.workspace import end_session, open_test_workspace

EVERY = 60.0
STEM = "2026-03-28T22-34-06.792Z--h7k3n4p2m2x6q3r5"
NOTHING: Callable[[], object] = lambda: None  # noqa: E731


class Script:
    """Hints at given times, the end at `until`; time passes only while somebody waits, or by `busy`."""

    def __init__(self, hints: list[float], until: float) -> None:
        self.now = 0.0
        self._hints = sorted(hints)
        self._until = until

    @property
    def ended(self) -> bool:
        return self.now >= self._until

    def wait(self, seconds: float) -> bool:
        next_hint = self._hints[0] if self._hints else self._until
        self.now = min(self._until, max(self.now, min(next_hint, self.now + seconds)))
        due = [hint for hint in self._hints if hint <= self.now]
        del self._hints[: len(due)]
        return bool(due)

    def busy(self, seconds: float) -> None:
        self.now += seconds


def rounds(script: Script, *, every: float = EVERY, each: float = 0.0) -> list[tuple[float, str]]:
    """When each round began and why, where every round takes `each` seconds."""
    found = []
    for occasion in iter_occasions(script, lambda: script.now, every=every):
        found.append((round(script.now, 3), occasion))
        script.busy(each)
    return found


def test_without_hints_only_the_timer_wakes() -> None:
    assert rounds(Script([], until=200)) == [(0, TIMER), (60, TIMER), (120, TIMER), (180, TIMER)]


def test_a_hint_is_answered_when_it_is_quiet() -> None:
    assert rounds(Script([10], until=59)) == [(0, TIMER), (10 + QUIET_SECONDS, HINT)]


def test_a_burst_is_one_round() -> None:
    assert rounds(Script([10, 10.1, 10.15, 10.3], until=59)) == [(0, TIMER), (10.5, HINT)]


def test_a_burst_that_does_not_end_is_looked_into_each_second() -> None:
    hints = [10 + 0.1 * number for number in range(30)]
    assert rounds(Script(hints, until=59))[1:] == [(11.0, HINT), (12.1, HINT), (13.1, HINT)]


def test_no_round_waits_longer_than_a_second_for_quiet() -> None:
    hints = [10 + 0.15 * number for number in range(8)]
    assert rounds(Script(hints, until=59))[1] == (10 + MAX_DELAY_SECONDS, HINT)


def test_hints_during_a_round_are_answered_by_the_next() -> None:
    assert rounds(Script([10, 12], until=59), each=5) == [(0, TIMER), (10.2, HINT), (15.4, HINT)]


def test_hints_without_end_keep_no_timer_from_its_turn() -> None:
    hints = [0.1 * number for number in range(2000)]
    timers = [when for when, why in rounds(Script(hints, until=199)) if why == TIMER]
    assert len(timers) == 4


def test_no_round_begins_when_the_end_was_asked_for() -> None:
    assert rounds(Script([10], until=10.1)) == [(0, TIMER)]
    assert rounds(Script([], until=0)) == []


times = st.lists(st.floats(0, 300, allow_nan=False).map(lambda value: round(value, 2)), max_size=40)


@given(times, st.sampled_from([0.5, 7.0, 60.0, 86400.0]), st.sampled_from([0.0, 0.3, 4.0]))
def test_every_hint_is_followed_by_a_round(hints: list[float], every: float, each: float) -> None:
    found = [when for when, _ in rounds(Script(hints, until=400), every=every, each=each)]
    for hint in hints:
        assert any(hint <= when + 0.001 and when <= hint + each + MAX_DELAY_SECONDS + 0.001 for when in found), hint


@given(times, st.sampled_from([7.0, 60.0]))
def test_there_are_no_more_rounds_than_reasons(hints: list[float], every: float) -> None:
    found = [why for _, why in rounds(Script(hints, until=400), every=every)]
    assert found.count(HINT) <= len(hints)
    assert found.count(TIMER) <= 400 / every + 1


@each(
    "key",
    [
        "",
        "memory",
        "memory/claims",
        "memory/tombstones",
        "books",
        "AGENT_MEMORY.md",
        "lineage.toml",
        f"memory/{STEM}--summary.md",
        f"memory/{STEM}--manifest.md",
        "memory/claims/h7k3n4p2m2x6q3r5.md",
        "memory/tombstones/h7k3n4p2m2x6q3r5.md",
        "books/global/decision.md",
        "books/project/my.app",
        "books/daily/2026-03-28.md",
    ],
)
def test_what_is_canonical_is_a_hint(key: str) -> None:
    assert is_hint(key)


LEFTOVERS = ("{}.sync-conflict-20260328-103000-ABCDEFG.md", "{} (conflicted copy).md", "{} 2.md", ".{}.md.icloud")
LEFTOVERS += ("{} (Ada's Conflicted Copy 2026-03-28).md", ".lineage-tmp-0123456789abcdef", "{}.md.icloud", "{} 12.md")


@each("leftover", LEFTOVERS)
@each("name", [f"memory/{STEM}--summary", "memory/claims/h7k3n4p2m2x6q3r5", "books/global/decision", "AGENT_MEMORY"])
def test_what_sync_clients_and_writers_leave_is_none(name: str, leftover: str) -> None:
    folder, _, base = name.rpartition("/")
    assert not is_hint(f"{folder}/{leftover.format(base)}".lstrip("/"))


@each(
    "key",
    [
        "MEMORY.md",
        "MEMORY.md.bak",
        "agents/ann/MEMORY.md",
        "agents",
        ".lineage",
        ".lineage/index.db-wal",
        ".lineage/spool/x.json",
        ".git/index",
        "books/.trash/x.md",
        "booksellers/x.md",
        "memory/note.md",
        "handbook/Files.md",
        f"{STEM}--summary.md",
    ],
)
def test_what_is_derived_hidden_or_not_ours_is_none(key: str) -> None:
    assert not is_hint(key)


class Heard:
    """What a watch told."""

    def __init__(self) -> None:
        self.reports: list[ReindexReport] = []
        self.errors: list[str] = []

    def watch(
        self, reconcile: Callable[[], ReindexReport], *chores: Callable[[], object], listen: object = None
    ) -> Watch:
        listening = listen if callable(listen) else NOTHING
        return Watch(listening, reconcile, chores, on_report=self.reports.append, on_error=self._error)

    def _error(self, error: LineageError) -> None:
        self.errors.append(error.message)


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_test_workspace(tmp_path) as ws:
        yield ws


def raising(*errors: LineageError | None) -> Callable[[], object]:
    """A step that fails with each of these in turn; None is a success."""
    left = iter(errors)

    def step() -> None:
        error = next(left)
        if error:
            raise error

    return step


def test_chores_are_done_on_the_timer_after_the_comparison(ws: Workspace, heard: Heard) -> None:
    done: list[str] = []

    def reconcile() -> ReindexReport:
        done.append("reconcile")
        return reindex(ws)

    chores = [lambda name=name: done.append(name) for name in ("drain", "sweep")]
    heard.watch(reconcile, *chores, listen=lambda: done.append("listen")).run([TIMER, HINT, TIMER])
    whole = ["listen", "reconcile", "drain", "sweep"]
    assert done == [*whole, *whole[:2], *whole]


def test_a_round_that_changed_nothing_is_not_told(ws: Workspace, heard: Heard) -> None:
    def changes() -> Iterator[str]:
        end_session(ws, "s-1")
        ws.index.reset()
        yield TIMER
        yield HINT
        end_session(ws, "s-2")
        yield HINT  # the flow wrote its own rows
        yield TIMER

    heard.watch(lambda: reindex(ws)).run(changes())
    assert [report.added for report in heard.reports] == [3]


@pytest.mark.leaves_findings
def test_what_is_wrong_is_told_when_it_is_new(tmp_path: Path, heard: Heard) -> None:
    stray, damaged = tmp_path / "memory" / "note.md", tmp_path / "memory" / f"{STEM}--summary.md"

    def changes() -> Iterator[str]:
        yield TIMER  # renders the empty MEMORY.md
        stray.write_text("mine")
        yield HINT
        yield HINT
        damaged.write_text("---\nkind: nothing\n---\n")
        yield HINT
        yield HINT
        damaged.unlink()
        stray.unlink()
        yield HINT

    with open_test_workspace(tmp_path) as ws:
        (tmp_path / "memory").mkdir()
        heard.watch(lambda: reindex(ws)).run(changes())
    assert [(len(r.strays), len(r.problems)) for r in heard.reports] == [(0, 0), (1, 0), (1, 1), (0, 0)]


def test_a_memory_md_that_somebody_edited_is_put_right_and_counted(ws: Workspace, heard: Heard) -> None:
    store = ws.documents.store

    def changes() -> Iterator[str]:
        end_session(ws)
        yield TIMER
        blob = store.read("MEMORY.md")
        store.replace("MEMORY.md", b"# mine", blob.version)
        yield TIMER
        yield TIMER

    heard.watch(lambda: reindex(ws)).run(changes())
    assert [[p.written for p in report.published] for report in heard.reports] == [[True]]
    assert b"session=s-1" in store.read("MEMORY.md").data


def test_a_sudden_loss_is_told_once_and_waits_for_the_files(tmp_path: Path, heard: Heard) -> None:
    memory, away = tmp_path / "memory", tmp_path / "away"
    drained: list[int] = []

    def changes() -> Iterator[str]:
        yield TIMER
        memory.rename(away)
        yield TIMER
        yield HINT
        yield TIMER
        assert ws.index.count_by_kind() == {"manifest": 1, "summary": 1, "transcript": 1}
        away.rename(memory)
        yield HINT
        yield TIMER

    with open_test_workspace(tmp_path) as ws:
        end_session(ws)
        heard.watch(lambda: reindex(ws), lambda: drained.append(1)).run(changes())
    assert heard.errors == ["3 of 3 indexed files are gone from the workspace"]
    assert heard.reports == []
    assert len(drained) == 2


def test_a_failure_of_the_world_ends_no_watch_and_is_told_once_each_time_it_is_new(ws: Workspace, heard: Heard) -> None:
    full, missing = WorkspaceError("the disk is full"), EngineMissing("no engine")
    done: list[str] = []
    watch = heard.watch(lambda: reindex(ws), raising(full, full, None, full, missing), lambda: done.append("sweep"))
    watch.run([TIMER] * 5)
    assert heard.errors == ["the disk is full", "the disk is full", "no engine"]
    assert done == ["sweep"] * 5


def test_what_fails_every_step_is_told_once(heard: Heard) -> None:
    def unreadable() -> ReindexReport:
        raise WorkspaceError("no workspace")

    heard.watch(unreadable, unreadable, unreadable).run([TIMER, HINT, TIMER])
    assert heard.errors == ["no workspace"]


def test_a_sudden_loss_that_grows_is_told_again(heard: Heard) -> None:
    losses = iter([SuddenLoss("3 of 4"), SuddenLoss("3 of 4"), SuddenLoss("4 of 4")])

    def reconcile() -> ReindexReport:
        raise next(losses)

    heard.watch(reconcile).run([HINT] * 3)
    assert heard.errors == ["3 of 4", "4 of 4"]


def test_a_programmer_s_error_is_not_swallowed(ws: Workspace, heard: Heard) -> None:
    def broken() -> None:
        raise KeyError

    with pytest.raises(KeyError):
        heard.watch(lambda: reindex(ws), broken).run([TIMER])


def test_names_of_artifacts_are_hints_whatever_their_kind() -> None:
    kinds = (*naming.ARTIFACT_KINDS, naming.MANIFEST)
    assert all(is_hint(naming.artifact_path(STEM, kind)) for kind in kinds)
