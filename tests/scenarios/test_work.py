"""The worker on real files and with real processes: what it captures, and from where. (harnesses.md 0.1, 15.10)"""

import json
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Timer
from typing import Any
from unittest.mock import patch

import pytest

from lineage.app import worker as working_process
from lineage.app.worker import run_worker
from lineage.core.base import hook_protocol
from lineage.pipeline.ingest import worker
from lineage.pipeline.ingest.locate_transcript import HarnessHistories, locate_transcript
from lineage.pipeline.ingest.worker import DrainResult, drain
from lineage.store import LocalStore
from tests.support.hook_process import (
    append_transcript,
    build_environment,
    enqueue_in_process,
    list_captured,
    list_spooled_paths,
    list_worker_pids,
    make_end_payload,
    make_machine,
    make_payload,
    read_seen_sessions,
    read_spooled_events,
    run_hook,
    wait_until,
)
from tests.support.workspace import open_test_workspace

pytestmark = pytest.mark.slow
DATA = Path(__file__).parents[1] / "data"
PROJECT = DATA / "claude-code/projects/-home-ada-demo"
MAIN = "aa765e29-162b-5be6-8e53-f03014531e0e"
COMPACTED = "2489c83d-fca2-5674-a85a-9f9be83b8d4e"
POSIX = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are counted in /proc")


def test_the_bound_of_memory_ends_with_the_work(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before, during = resource.getrlimit(resource.RLIMIT_AS), []
    enqueue_in_process(tmp_path / "w", make_end_payload(append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")))

    def drained(*given: Any, **options: Any) -> DrainResult:
        during.append(resource.getrlimit(resource.RLIMIT_AS))
        return drain(*given, **options)

    with patch.object(working_process, "drain", drained):
        run_worker(tmp_path / "w")
    assert before not in during
    assert resource.getrlimit(resource.RLIMIT_AS) == before


# --- Captures --------------------------------------------------------------------------------------------------------


def test_an_end_is_captured_at_the_time_of_the_ring(tmp_path: Path) -> None:
    root = tmp_path / "w"
    enqueue_in_process(root, make_end_payload(append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")))
    (job,) = read_spooled_events(root)
    (done,) = run_worker(root)
    assert done.outcomes == {"captured": 1}
    assert [artifact.captured_at for artifact in list_captured(root)] == [job["at"]]
    assert list_spooled_paths(root) == []
    assert read_seen_sessions(root)[0].captured_size == (tmp_path / "s-1.jsonl").stat().st_size


def test_the_same_end_twice_is_one_capture(tmp_path: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    enqueue_in_process(root, make_end_payload(path))
    enqueue_in_process(root, make_end_payload(path))
    (done,) = run_worker(root)
    assert done.outcomes == {"captured": 1, "unchanged": 1}
    assert len(list_captured(root)) == 1


@POSIX
def test_many_hooks_at_once_start_one_worker_and_lose_nothing(tmp_path: Path) -> None:
    root = tmp_path / "w"
    paths = [append_transcript(tmp_path / f"s-{number}.jsonl", f"Task {number}.") for number in range(15)]
    most = 0
    with ThreadPoolExecutor(30) as pool:
        rings = [pool.submit(run_hook, root, make_end_payload(path), LINEAGE_NO_WORKER="") for path in paths * 2]
        while not all(done.done() for done in rings):
            most = max(most, len(list_worker_pids(root)))
    assert {done.result().returncode for done in rings} == {0}

    def is_over() -> bool:
        nonlocal most
        running = len(list_worker_pids(root))
        most = max(most, running)
        return not list_spooled_paths(root) and not running

    wait_until(is_over, "the spool is worked off and nobody is at it")
    assert most == 1
    assert sorted(artifact.session_id for artifact in list_captured(root)) == sorted(path.stem for path in paths)


@POSIX
def test_a_signal_that_comes_as_the_worker_ends_is_not_lost(tmp_path: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    for number in range(25):
        assert run_hook(root, make_payload("SessionStart", f"s-{number}"), LINEAGE_NO_WORKER="").returncode == 0
    run_hook(root, make_end_payload(path), LINEAGE_NO_WORKER="")
    wait_until(lambda: not list_spooled_paths(root) and not list_worker_pids(root), "the last signal is worked off")
    assert len(list_captured(root)) == 1


def test_a_signal_that_comes_after_the_last_look_is_worked_off(tmp_path: Path) -> None:
    """The hook that left the event saw this worker's lock and started none."""
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    (root / ".lineage").mkdir(parents=True)
    rounds = working_process._run_rounds

    def looked(*arguments: Any, **named: Any) -> list[DrainResult]:
        done = rounds(*arguments, **named)
        if len(list_captured(root)) == 0:
            enqueue_in_process(root, make_end_payload(path))
        return done

    with patch.object(working_process, "_run_rounds", looked):
        run_worker(root)
    assert (len(list_captured(root)), list_spooled_paths(root)) == (1, [])


@POSIX
def test_a_worker_that_is_killed_leaves_the_rest_to_the_next(tmp_path: Path) -> None:
    root = tmp_path / "w"
    for number in range(12):
        enqueue_in_process(
            root, make_end_payload(append_transcript(tmp_path / f"s-{number}.jsonl", f"Task {number}.", "It is done."))
        )
    for delay in (0.2, 0.35, 0.5, 0.65, 0.8):
        process = subprocess.Popen(
            [sys.executable, "-m", "lineage", "work", "--workspace", str(root)],
            env=build_environment(),
            stdout=subprocess.DEVNULL,
        )
        timer = Timer(delay, process.send_signal, (signal.SIGKILL,))
        timer.start()
        process.wait()
        timer.cancel()
    run_worker(root)
    assert list_spooled_paths(root) == []
    assert sorted(artifact.session_id for artifact in list_captured(root)) == sorted(f"s-{n}" for n in range(12))


@POSIX
def test_a_worker_holds_the_lock_that_the_hook_took_for_it(tmp_path: Path) -> None:
    """While one is at it, no other can be started, and the command says so."""
    root = tmp_path / "w"
    enqueue_in_process(root, make_payload("SessionStart"))
    state = root / ".lineage"
    with LocalStore(state, locks=state / "locks", private=True).lock(hook_protocol.WORKER_LOCK):
        run_hook(root, make_payload("SessionStart", "s-2"), LINEAGE_NO_WORKER="")
        assert list_worker_pids(root) == []
        assert run_worker(root) == []
    run_worker(root)
    assert list_spooled_paths(root) == []


def test_a_turn_end_is_noted_and_makes_no_artifact(tmp_path: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)))
    (done,) = run_worker(root)
    assert done.outcomes == {}
    assert list_captured(root) == []
    (row,) = read_seen_sessions(root)
    assert (row.session_id, row.transcript_path, row.event, row.captured_size) == ("s-1", str(path), "turn-end", None)


def test_a_transcript_that_still_grows_is_captured_whole(tmp_path: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "First.")
    enqueue_in_process(root, make_end_payload(path))
    with path.open("a") as file:
        timers = [Timer(0.15 * number, _add, (file, number)) for number in range(1, 5)]
        for timer in timers:
            timer.start()
        run_worker(root)
        for timer in timers:
            timer.join()
    assert "Later 4." in list_captured(root)[0].body


def _add(file: Any, number: int) -> None:
    message = {"role": "user", "content": f"Later {number}."}
    file.write(json.dumps({"type": "user", "message": message, "uuid": f"l-{number}", "sessionId": "s-1"}) + "\n")
    file.flush()


def test_sub_agents_are_sessions_of_their_own(tmp_path: Path) -> None:
    root, history = tmp_path / "w", shutil.copytree(PROJECT, tmp_path / "history")
    enqueue_in_process(root, make_end_payload(history / f"{MAIN}.jsonl"))
    run_worker(root)
    parents = {artifact.session_id: artifact.parent_session for artifact in list_captured(root)}
    assert parents.pop(MAIN) is None
    assert parents
    assert set(parents.values()) == {MAIN}


def test_a_compaction_keeps_the_summary_of_its_signal(tmp_path: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    enqueue_in_process(
        root, make_payload("PostCompact", "s-1", transcript_path=str(path), compact_summary="Goal: the reader.")
    )
    run_worker(root)
    assert "Goal: the reader." in list_captured(root, "compaction")[0].body
    assert list_captured(root) == []


def test_a_compaction_without_one_has_that_of_the_transcript(tmp_path: Path) -> None:
    root, history = tmp_path / "w", shutil.copytree(PROJECT, tmp_path / "history")
    path = next(p for p in sorted(history.glob("*.jsonl")) if worker.ADAPTERS["claude-code"].read(p).compactions)
    newest = worker.ADAPTERS["claude-code"].read(path).compactions[-1]
    enqueue_in_process(root, make_payload("PostCompact", path.stem, transcript_path=str(path)))
    run_worker(root)
    (artifact,) = list_captured(root, "compaction")
    assert newest.summary
    assert newest.summary.strip()[:40] in artifact.body


def test_a_compaction_of_which_nobody_kept_one_says_so(tmp_path: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader.")
    enqueue_in_process(root, make_payload("PostCompact", "s-1", transcript_path=str(path)))
    run_worker(root)
    (artifact,) = list_captured(root, "compaction")
    assert "lineage made this one from the records" in artifact.body
    assert "Mend the reader." in artifact.body


def test_a_compaction_that_no_hook_told_of_is_kept_at_the_end_and_one_that_was_told_of_once(tmp_path: Path) -> None:
    root, history = tmp_path / "w", shutil.copytree(PROJECT, tmp_path / "history")
    read = worker.ADAPTERS["claude-code"].read
    path = next(p for p in sorted(history.glob("*.jsonl")) if read(p).compactions and not read(p).forked_from)
    enqueue_in_process(root, make_end_payload(path))
    run_worker(root)
    (artifact,) = list_captured(root, "compaction")
    assert artifact.watermark[0] == read(path).compactions[-1].turns_before
    told, whole = tmp_path / "told", path.read_bytes()
    path.write_bytes(whole[: whole.rfind(b"\n", 0, whole.find(b"compact_boundary")) + 1])
    enqueue_in_process(
        told, make_payload("PostCompact", path.stem, transcript_path=str(path), compact_summary="Worded otherwise.")
    )
    run_worker(told)
    path.write_bytes(whole)
    enqueue_in_process(told, make_end_payload(path))
    run_worker(told)
    assert ["Worded otherwise." in artifact.body for artifact in list_captured(told, "compaction")] == [True]


SUMMARY = "1. Goal: the berths.\n\n2. Done: berth nine is booked."
RECORD = f"""\
This session is being continued from a previous conversation that ran out of context. The summary below covers it.

<system-reminder>
<tools-used-before-summary>Bash</tools-used-before-summary>
</system-reminder>
Summary:
{SUMMARY}

If you need specific details from before compaction (like exact code), read the full transcript at: /h/s-1.jsonl
Continue the conversation from where it left off without asking the user any further questions. Resume directly.

The messages after this summary are the most recent messages from before compaction, kept verbatim."""
HOOK = f"<analysis>\nThe user wants a berth.\n</analysis>\n\n\n<summary>\n{SUMMARY}\n</summary>"


@pytest.mark.parametrize("first", ["hook", "record", "neither"])
def test_a_compaction_of_hook_and_transcript_is_one(tmp_path: Path, first: str) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Book a berth.")

    def signal() -> None:
        enqueue_in_process(
            root, make_payload("PostCompact", "s-1", transcript_path=str(path), compact_summary=HOOK, trigger="manual")
        )
        run_worker(root)

    if first == "hook":
        signal()
    append_transcript(path, "A late word before the summary.")
    with path.open("a", encoding="utf-8") as file:
        message = {"role": "user", "content": RECORD}
        file.write(json.dumps({"type": "user", "uuid": "c-1", "isCompactSummary": True, "message": message}) + "\n")
    append_transcript(path, "Pay for it, too.")
    if first == "record":
        signal()
    for words in ("", "And the crane."):  # an end, and another one behind a resumption
        if words:
            append_transcript(path, words)
        enqueue_in_process(root, make_end_payload(path))
        run_worker(root)
    program = [sys.executable, "-m", "lineage", "--workspace", str(root), "import", "claude-code", str(path)]
    assert subprocess.run(program, env=build_environment(), check=False, capture_output=True).returncode == 0
    (artifact,) = list_captured(root, "compaction")
    assert artifact.body.endswith(f"# {artifact.title}\n\n{SUMMARY}\n")
    assert len(list_captured(root)) == 2


def test_two_compactions_of_the_same_words_are_two(tmp_path: Path) -> None:
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Book a berth.")
    for number, words in enumerate(("Pay for it, too.", "And the crane.")):
        with path.open("a", encoding="utf-8") as file:
            message = {"role": "user", "content": RECORD}
            record = {"type": "user", "uuid": f"c-{number}", "isCompactSummary": True, "message": message}
            file.write(json.dumps(record) + "\n")
        enqueue_in_process(root, make_payload("PostCompact", "s-1", transcript_path=str(path), compact_summary=HOOK))
        run_worker(root)
        append_transcript(path, words)
    enqueue_in_process(root, make_end_payload(path))
    run_worker(root)
    assert len(list_captured(root, "compaction")) == 2


def test_what_no_time_is_left_for_is_the_next_worker_s(tmp_path: Path) -> None:
    root = tmp_path / "w"
    for number in range(3):
        enqueue_in_process(
            root, make_end_payload(append_transcript(tmp_path / f"s-{number}.jsonl", "Mend the reader."))
        )
    times = iter([True, False, False])
    with open_test_workspace(root) as ws:
        done = drain(ws, HarnessHistories(tmp_path, {}), should_continue=lambda: next(times))
    assert (done.left, len(list_captured(root))) == (2, 1)
    run_worker(root)
    assert len(list_captured(root)) == 3


# --- Where transcripts are -------------------------------------------------------------------------------------------


def test_a_transcript_that_moved_is_found(tmp_path: Path, home: Path) -> None:
    moved = home / ".claude/projects/-home-ada-other"
    moved.mkdir(parents=True)
    append_transcript(moved / "s-1.jsonl", "Mend the reader.")
    append_transcript(moved / "as-1.jsonl", "Somebody else's.")
    enqueue_in_process(tmp_path / "w", make_end_payload(tmp_path / "gone" / "s-1.jsonl"))
    run_worker(tmp_path / "w")
    assert [artifact.session_id for artifact in list_captured(tmp_path / "w")] == ["s-1"]
    assert "Somebody" not in list_captured(tmp_path / "w")[0].body


@pytest.mark.parametrize(
    ("harness", "sample", "place", "session"),
    [
        ("opencode", "opencode/opencode-v1.db", ".local/share/opencode/opencode.db", "ses_main01"),
        ("goose", "goose/export.json", ".local/share/goose/sessions/20261002_1.json", "20261002_1"),
        ("gemini", "gemini/tmp", ".gemini/tmp", "071ea8f7"),
        ("copilot", "copilot/session-state", ".copilot/session-state", "ee99248c-46ed-55c0-a61a-8a778fbf68fe"),
    ],
)
def test_a_hook_may_name_no_transcript(
    tmp_path: Path, home: Path, harness: str, sample: str, place: str, session: str
) -> None:
    source, target = DATA / sample, home / place
    target.parent.mkdir(parents=True)
    shutil.copytree(source, target) if source.is_dir() else shutil.copyfile(source, target)
    if harness == "gemini":  # its files are named by the beginning of the id
        (path,) = target.rglob(f"*{session}.jsonl")
        session = json.loads(path.read_bytes().splitlines()[0])["sessionId"]
    enqueue_in_process(tmp_path / "w", {"event": "session-end", "session_id": session}, harness)
    (done,) = run_worker(tmp_path / "w")
    assert done.outcomes == {"captured": 1}
    assert list_captured(tmp_path / "w")[0].session_id == session


@pytest.mark.parametrize("given", ["~nobody-of-that-name/t.jsonl", "x" * 5000, "a\0b", "\ud800", "/", "", None])
def test_what_names_no_file_is_not_there(home: Path, given: str | None) -> None:
    assert locate_transcript(make_machine(home), "claude-code", "s-1", given) is None
