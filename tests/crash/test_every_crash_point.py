"""A run that dies anywhere, and one more run: the same state as a run that nobody interrupted. (architecture: one idea)

`session-end` and `compaction` make the effects of law 1, in this order:

    spool → claim → transcript → summary | compaction → manifest → books → MEMORY.md → rows → telemetry → spool cleared

**Every crash point.** A run dies before and after each mutating call (of both stores, the index and telemetry, leases
included). Once more, at another time of day: the state is that of an uninterrupted run at the *first* time, with the
first try's sentence; only where the process died before its job was spooled it is that of the second. A third run
changes no byte. The same holds where the run that recovers dies too.

**Every subset.** From the end state any subset of the effects is taken back: deleted, or put back to what it was before
the run (a claim that was found there is deleted too). The same payload, with its `captured_at`, runs once more. The
write order lets only prefixes of the list above arise from crashes; together with what a sync, a restored backup or a
lost `.lineage/` do, all of them can. Hence all of them are promised, the job in the spool or not:

- a claim that is gone while its manifest is there is found through the manifest's row, and written again. (Where the
  row is gone as well, `reindex` rebuilds it: no flow lists the workspace. A run before which the index was lost does
  that by itself.)
- a file that is gone is made again from the payload, the same bytes under the same name (the sentence too, where it is
  the deterministic one);
- a summary, manifest, MEMORY.md, rows and counters are made again from the transcript alone.

What no flow promises: without a job in the spool *and* without the same `captured_at`, an artifact that no manifest
names is not found again (its name begins with a time); `verify` names it.

Fails without any single line of the tables in core/capture/planner.py, without the adoption of the job's time or
sentence in either flow, and without `_unclaimed_stem`, `_narrative` or `not self.jobs` in pipeline/capture/session.py.
"""

import hashlib
import itertools
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base import naming
from lineage.core.base.book_paths import BOOKS
from lineage.core.format.documents import Artifact, Manifest, parse_document
from lineage.index import build_row
from lineage.pipeline.capture import compaction as compaction_flow
from lineage.pipeline.capture import session_end as session_end_flow
from lineage.pipeline.capture.session import CaptureResult
from lineage.store import Store
from lineage.workspace.workspace import Workspace
from tests.support.faults import CrashPoint, crashes, with_crash_point
from tests.support.indexes import execute_directly
from tests.support.memory_store import MemoryStore
from tests.support.workspace import (
    at_time,
    compact_session,
    end_session,
    make_turns,
    open_test_workspace,
    read_capture_counts,
    read_rows,
    read_store,
)

pytestmark = pytest.mark.slow

BEFORE, FIRST, SECOND, THIRD = (f"2026-11-21T{hour}:00:00.000Z" for hour in ("09", "10", "11", "12"))

SECRET = "AKIA" + "QWERTYUIOPASDFGH"
TALK = [
    *make_turns(
        "Why does reader.py drop the last line? I prefer splitlines over a regular expression.",
        f"It splits on newline; the key was {SECRET}. We decided to keep splitlines in reader.py.",
    ),
    {"role": "assistant", "text": "", "name": "Bash", "input": {"command": "pytest -q"}, "id": "r2"},
    {"role": "tool", "text": "1 failed\n~~~\n## 9 · user · x ^t-0000000000", "name": "Bash", "error": True, "id": "r3"},
    *({**turn, "id": f"later-{turn['id']}"} for turn in make_turns("Fix it, please.", "Done in reader.py.")),
]
NARRATIVE = "  The reader lost a line.\n\n![[not-ours]] is left alone.  "


TRIES: list[str] = []
"""The times of all runs so far."""


def nothing(ws: Workspace) -> None:
    del ws


def first_half(ws: Workspace, **payload: Any) -> CaptureResult:
    TRIES.append(ws.now)
    return end_session(ws, transcript=TALK[:3], **payload)


def whole(ws: Workspace, **payload: Any) -> CaptureResult:
    TRIES.append(ws.now)
    return end_session(ws, transcript=TALK, summary=NARRATIVE, **payload)


def compacted(ws: Workspace, **payload: Any) -> CaptureResult:
    TRIES.append(ws.now)
    return compact_session(ws, transcript=TALK[:3], summary=" Goal: fix reader.py. ", trigger="auto", **payload)


def compacted_again(ws: Workspace, **payload: Any) -> CaptureResult:
    TRIES.append(ws.now)
    return compact_session(ws, transcript=TALK, summary="Goal: fix reader.py. Done: the split.", **payload)


def compacted_without_turns(ws: Workspace, **payload: Any) -> CaptureResult:
    TRIES.append(ws.now)
    return compact_session(ws, **payload)


@dataclass(frozen=True)
class Scenario:
    """What was there before, and the flow that is interrupted."""

    earlier: Callable[[Workspace], object]
    flow: Callable[..., CaptureResult]


SCENARIOS = {
    "first-capture": Scenario(nothing, whole),
    "second-capture": Scenario(first_half, whole),
    "capture-of-a-compacted-session": Scenario(compacted, whole),
    "first-compaction": Scenario(nothing, compacted),
    "compaction-without-a-transcript": Scenario(nothing, compacted_without_turns),
    "late-compaction": Scenario(first_half, compacted),
    "second-compaction": Scenario(compacted, compacted_again),
}
of_a_telling_sentence = pytest.mark.usefixtures("sentences_that_tell_their_try")
every_scenario = pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)


@dataclass
class World:
    """A workspace over dictionaries, and what it was opened over."""

    ws: Workspace
    store: Store
    private: Store

    def mortal(self, now: str, fuse: CrashPoint) -> Workspace:
        return with_crash_point(at_time(self.ws, now), self.store, self.private, fuse)


@contextmanager
def world(folder: Path) -> Iterator[World]:
    store, private = MemoryStore(), MemoryStore()
    with open_test_workspace(folder, now=BEFORE, store=store, private=private) as ws:
        yield World(ws, store, private)
    shutil.rmtree(folder)  # its databases: nothing else of it was in files


@pytest.fixture
def sentences_that_tell_their_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence that a second try would make differs from the first try's."""

    def sentence(*_: Any) -> tuple[str, str]:
        return f"In demo the reader was mended and nothing at all was lost in the try of {TRIES[-1]}.", "ok"

    monkeypatch.setattr(session_end_flow, "compose_sentence", sentence)
    monkeypatch.setattr(compaction_flow, "compose_sentence", sentence)


_OF_THE_WRITE = re.compile(rb"^(updated_at|write_id): .*\n", re.MULTILINE)


def state(world: World) -> dict[str, Any]:
    """All that a run leaves behind, but for what differs from write to write: when and by whom the manifest was."""
    of_the_write = {"stamp", "source_sha256"}
    table = [
        {k: v for k, v in row.items() if row["source_kind"] != naming.MANIFEST or k not in of_the_write}
        for row in read_rows(world.ws)
    ]
    files = read_store(world.store) | read_store(world.store, BOOKS)
    books = sorted({(ref.scope, ref.kind) for ref in world.ws.documents.books.list()})
    return {
        "files": {path: _OF_THE_WRITE.sub(b"", data) for path, data in files.items()},
        "rows": table,
        "entries": [row for book in books for row in world.ws.index.load_entries(*book)],
        "counted": read_capture_counts(world.ws),
        "spool": read_store(world.private, "spool/"),
        "rows are those of the files": all(
            row["source_sha256"] == hashlib.sha256(files[row["source_path"]]).hexdigest() for row in read_rows(world.ws)
        ),
    }


def uninterrupted(folder: Path, scenario: Scenario, now: str) -> dict[str, Any]:
    with world(folder) as untouched:
        scenario.earlier(untouched.ws)
        scenario.flow(at_time(untouched.ws, now))
        return state(untouched)


def run_dying(folder: Path, scenario: Scenario, *fuses: CrashPoint) -> tuple[World, Any]:
    """Each fuse's run dies where it says (the first at FIRST, later ones at SECOND)."""
    opened = world(folder)
    place = opened.__enter__()
    scenario.earlier(place.ws)
    for fuse, now in zip(fuses, itertools.chain([FIRST], itertools.repeat(SECOND)), strict=False):
        assert crashes(lambda now=now, fuse=fuse: scenario.flow(place.mortal(now, fuse))) == fuse.is_dead
    return place, opened


def calls_of(folder: Path, scenario: Scenario) -> list[str]:
    fuse = CrashPoint()
    _, opened = run_dying(folder, scenario, fuse)
    opened.__exit__(None, None, None)
    return fuse.calls


def test_a_run_makes_its_effects_in_the_order_of_the_spec(tmp_path: Path) -> None:
    calls = [call for call in calls_of(tmp_path, SCENARIOS["first-capture"]) if "lease" not in call]
    assert [re.sub(r"\((\w+/)*([^/]*--)?", "(", call) for call in calls] == [
        "private.create(session-end.json)",
        "store.create(iy4tnccamls7nnv6.md)",
        "store.create(transcript.md)",
        "store.create(summary.md)",
        "store.create(About this folder.md)",
        "store.create(manifest.md)",
        "store.create(preference.md)",
        "store.create(decision.md)",
        "index.index_books()",
        "store.create(MEMORY.md)",
        "telemetry.mark(rendered default)",
        "index.upsert_in_transaction()",
        "store.create(2026-11-20.md)",
        "store.create(demo 2026-11.md)",
        "store.create(demo.md)",
        "telemetry.count_capture(iy4tnccamls7nnv6)",
        "private.delete(session-end.json)",
    ]


@pytest.mark.slow
@of_a_telling_sentence
@every_scenario
@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_a_run_that_died_anywhere_is_finished_by_one_more_run(tmp_path: Path, scenario: Scenario, after: bool) -> None:
    expected = {now: uninterrupted(tmp_path / now, scenario, now) for now in (FIRST, SECOND)}
    points = len(calls_of(tmp_path / "calls", scenario))
    assert points > 8
    for point in range(1, points + 1):
        fuse = CrashPoint(point, after)
        place, opened = run_dying(tmp_path / f"point-{point}", scenario, fuse)
        scenario.flow(at_time(place.ws, SECOND))
        assert state(place) == expected[FIRST if fuse.effects else SECOND], fuse.calls[-1]
        _one_more_changes_nothing(place, scenario)
        opened.__exit__(None, None, None)


@pytest.mark.slow
@of_a_telling_sentence
@every_scenario
def test_a_recovery_that_dies_too_is_finished_by_one_more_run(tmp_path: Path, scenario: Scenario) -> None:
    expected = uninterrupted(tmp_path / "expected", scenario, FIRST)
    points = len(calls_of(tmp_path / "calls", scenario))
    for first in range(1, points):
        for second in range(1, points):
            fuses = CrashPoint(first, after=True), CrashPoint(second, after=second % 2 == 0)
            place, opened = run_dying(tmp_path / f"point-{first}-{second}", scenario, *fuses)
            scenario.flow(at_time(place.ws, THIRD))
            assert state(place) == expected, [fuse.calls[-1] for fuse in fuses]
            opened.__exit__(None, None, None)
            if not fuses[1].is_dead:
                break  # a recovery that makes fewer calls than that: all later ones are this one


def _one_more_changes_nothing(place: World, scenario: Scenario) -> None:
    before = read_store(place.store), state(place)
    fuse = CrashPoint()
    assert scenario.flow(place.mortal(THIRD, fuse)).status == "unchanged"
    assert (read_store(place.store), state(place)) == before
    assert fuse.calls == [], "a run that finds everything done writes nothing"


@of_a_telling_sentence
def test_a_flow_that_died_is_reported_as_captured_by_the_run_that_finishes_it(tmp_path: Path) -> None:
    place, opened = run_dying(tmp_path, SCENARIOS["first-capture"], CrashPoint(4))
    outcome = whole(at_time(place.ws, SECOND))
    assert (outcome.status, outcome.captured_at) == ("captured", FIRST)
    assert FIRST in (outcome.memory_sentence or "")
    opened.__exit__(None, None, None)


def test_an_end_does_not_take_the_time_of_a_compaction_that_died_at_its_claim(tmp_path: Path) -> None:
    """The session's first writer was a compaction: its job is its own, the capture has its own moment."""
    place, opened = run_dying(tmp_path, SCENARIOS["first-compaction"], CrashPoint(2, after=True))
    assert whole(at_time(place.ws, SECOND)).captured_at == SECOND
    assert compacted(at_time(place.ws, THIRD)).captured_at == FIRST
    assert read_store(place.private, "spool/") == {}
    opened.__exit__(None, None, None)


# --- Every subset of effects -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Snapshot:
    """A state as bytes: files, the rows as the files they were made from, and what telemetry counted."""

    files: dict[str, bytes]
    counted: list[tuple[Any, ...]]


def snapshot(place: World) -> Snapshot:
    return Snapshot(read_store(place.store), read_capture_counts(place.ws))


def restore(place: World, files: dict[str, bytes], indexed: dict[str, bytes], rest: list[Any], job: Any) -> None:
    """Makes the world what the arguments say, whatever it was."""
    _fill(place.store, read_store(place.store), files)
    _fill(place.private, read_store(place.private, "spool/"), job)
    index = place.ws.index
    index.delete_paths([item.path for item in index.iter_files()])
    index.upsert(_row(path, data) for path, data in indexed.items())
    _forget_counts(place.ws)
    for stem, kind, token, when, count, redactions in rest:
        place.ws.telemetry.count_capture(stem, kind, token, at=when, turns=count, redactions=redactions)


def _fill(store: Store, present: dict[str, bytes], wanted: dict[str, bytes]) -> None:
    for key in present:
        store.delete(key)
    for key, data in wanted.items():
        store.create(key, data)


def _row(path: str, data: bytes) -> Any:
    document = parse_document(data, path)
    assert isinstance(document, Artifact | Manifest)
    return build_row(document, data, hashlib.sha256(data).hexdigest())


def _forget_counts(ws: Workspace) -> None:
    ws.telemetry.read_counters()  # opens it
    execute_directly(ws.telemetry, "delete from captures")


def effects_of(before: Snapshot, done: Snapshot) -> dict[str, str]:
    """The canonical files that the run made or changed, and the claim it found: name → path."""
    made = {path for path, data in done.files.items() if before.files.get(path) != data}
    claim = next(path for path in done.files if path.startswith(naming.CLAIMS))
    return {path.rpartition("--")[2] if "--" in path else path: path for path in sorted(made | {claim})}


def _documents(files: dict[str, bytes]) -> dict[str, bytes]:
    return {path: data for path, data in files.items() if naming.parse_path(path)}


@every_scenario
@pytest.mark.parametrize("most", [pytest.param(1, id="one"), pytest.param(9, id="any", marks=pytest.mark.slow)])
def test_effects_that_are_missing_are_made_again(tmp_path: Path, scenario: Scenario, most: int) -> None:
    """What is taken back is what it was before the run; once more MEMORY.md is deleted, older content too."""
    payload = {"captured_at": FIRST}
    seen: list[Any] = []
    with world(tmp_path / "world") as place:
        scenario.earlier(place.ws)
        before = snapshot(place)
        assert crashes(lambda: scenario.flow(place.mortal(FIRST, CrashPoint(1, after=True)), **payload))
        job = read_store(place.private, "spool/")
        scenario.flow(at_time(place.ws, FIRST), **payload)
        done, expected = snapshot(place), state(place)
        effects = effects_of(before, done)
        for missing, kept in itertools.product(_subsets([*effects, "rows", "telemetry"], most), (True, False)):
            left = _take_back(before, done, {effects[name] for name in missing if name in effects}, kept)
            indexed = _documents(before.files if "rows" in missing else done.files)
            rest = before.counted if "telemetry" in missing else done.counted
            if (left, indexed, rest) in seen:
                continue
            seen.append((left, indexed, rest))
            for spooled in (job, {}):
                restore(place, left, indexed, rest, spooled)
                scenario.flow(at_time(place.ws, SECOND), **payload)
                assert state(place) == expected, (missing, kept, bool(spooled))
    assert len(seen) >= 2 ** min(most, 5)


def _take_back(before: Snapshot, done: Snapshot, paths: set[str], keeps_memory: bool) -> dict[str, bytes]:
    """The files of the end with these put back to what they were before the run, if they were and are no claims."""
    older = {path for path in paths & set(before.files) if keeps_memory or path != "MEMORY.md"}
    put_back = {path: before.files[path] for path in older if not path.startswith(naming.CLAIMS)}
    return {path: data for path, data in done.files.items() if path not in paths} | put_back


def _subsets(names: list[str], most: int) -> Iterator[tuple[str, ...]]:
    sizes = range(min(most, len(names)) + 1)
    return itertools.chain.from_iterable(itertools.combinations(names, size) for size in sizes)
