"""`lineage hook` as a harness runs it: a process, a payload on stdin, no patience. (law 5; harnesses.md 0.1)"""

import json
import math
import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.cli import hook_entry, hook_files
from lineage.core.base.context_blocks import ContextFile
from lineage.documents import ContextCache
from lineage.harness.hook_payload import HOOK_FORMATS
from lineage.harness.registry import PLAIN_FORMAT, classify_event, find_event, list_id_fields, list_payload_fields
from lineage.harness.spec import ACTION, PROMPT, TURN_END, HookFormat
from lineage.store import LocalStore
from tests.support.hook_process import (
    NO_WORKER,
    build_environment,
    hook_command,
    list_spooled_paths,
    make_payload,
    read_hook_log,
    read_spooled_events,
    run_hook,
)

pytestmark = pytest.mark.slow

SECRET = "what-nobody-may-read"
BLOCK = "Earlier sessions in this project:\n- “Mended the reader.”\n"
POSIX = pytest.mark.skipif(os.name == "nt", reason="pipes, links and descriptors as POSIX has them")


@contextmanager
def ringing(root: Path, *more: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A hook process whose stdin the test holds open."""
    process = subprocess.Popen(
        hook_command(root, *more), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=build_environment(**NO_WORKER)
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def send(process: "subprocess.Popen[bytes]", data: bytes) -> None:
    assert process.stdin
    process.stdin.write(data)
    process.stdin.flush()


def prepare(root: Path, folder: Path | str, text: str = BLOCK, agent: str = "default") -> None:
    state = root / ".lineage"
    ContextCache(LocalStore(state, locks=state / "locks", private=True)).put(agent, str(folder), ContextFile(text=text))


def repository(folder: Path) -> Path:
    for part in ("objects", "refs"):
        (folder / ".git" / part).mkdir(parents=True)
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")
    return folder


# --- stdin -----------------------------------------------------------------------------------------------------------


@POSIX
def test_it_ends_with_the_payload_and_not_with_stdin(tmp_path: Path) -> None:
    with ringing(tmp_path) as process:
        send(process, json.dumps(make_payload()).encode() + b"\n")
        assert process.wait(60) == 0
    assert [job["payload"]["session_id"] for job in read_spooled_events(tmp_path)] == ["s-1"]


@POSIX
def test_silence_is_waited_out(tmp_path: Path) -> None:
    with ringing(tmp_path) as process:
        send(process, b'{"hook_event_name": "SessionEnd", "session_id": "' + SECRET.encode())
        assert process.wait(60) == 0
    assert read_spooled_events(tmp_path) == []
    assert "no JSON object on stdin" in read_hook_log(tmp_path)


@POSIX
def test_a_payload_that_a_busy_harness_writes_late_is_read(tmp_path: Path) -> None:
    with ringing(tmp_path) as process:
        time.sleep(0.5)
        send(process, json.dumps(make_payload()).encode())
        assert process.wait(60) == 0
    assert [job["payload"]["session_id"] for job in read_spooled_events(tmp_path)] == ["s-1"]


@POSIX
def test_a_payload_in_pieces_is_put_together(tmp_path: Path) -> None:
    data = json.dumps(make_payload(compactionEntry={"summary": "} in the middle}"})).encode()
    with ringing(tmp_path) as process:
        for place in range(0, len(data), 7):
            send(process, data[place : place + 7])
        assert process.wait(60) == 0
    assert read_spooled_events(tmp_path)[0]["payload"]["compactionEntry"] == {"summary": "} in the middle}"}


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" \n",
        b"no JSON",
        b"[1, 2]",
        b'"text"',
        b"null",
        b"{",
        b'{"a": }',
        b"\xff\xfe",
        b"[" * 5000,
        b'{"a":' * 5000,
    ],
    ids=lambda data: repr(data[:8]),
)
def test_what_is_no_object_is_logged_and_nothing_else(tmp_path: Path, data: bytes) -> None:
    done = run_hook(tmp_path, data)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list_spooled_paths(tmp_path) == []
    assert read_hook_log(tmp_path).count("no JSON object on stdin") == 1


def test_of_two_objects_the_first_counts(tmp_path: Path) -> None:
    both = json.dumps(make_payload(session="s-1")) + json.dumps(make_payload(session="s-2"))
    assert run_hook(tmp_path, both.encode()).returncode == 0
    assert [job["payload"]["session_id"] for job in read_spooled_events(tmp_path)] == ["s-1"]


def test_a_byte_order_mark_is_no_hindrance(tmp_path: Path) -> None:
    run_hook(tmp_path, b"\xef\xbb\xbf" + json.dumps(make_payload()).encode())
    assert len(list_spooled_paths(tmp_path)) == 1


def test_five_megabytes_are_taken(tmp_path: Path) -> None:
    run_hook(tmp_path, make_payload(last_assistant_message="x" * 5_000_000))
    assert len(read_spooled_events(tmp_path)[0]["payload"]["last_assistant_message"]) == 5_000_000


def test_too_much_is_refused(tmp_path: Path) -> None:
    with subprocess.Popen(hook_command(tmp_path), stdin=subprocess.PIPE, env=build_environment(**NO_WORKER)) as process:
        assert process.stdin
        with suppress(BrokenPipeError):
            process.stdin.write(b'{"session_id": "' + b"x" * (hook_entry.MAX_BYTES + 70_000) + b'"}')
        with suppress(BrokenPipeError):  # what is in its buffer goes nowhere
            process.stdin.close()
        assert process.wait(60) == 0
    assert list_spooled_paths(tmp_path) == []
    assert "too large" in read_hook_log(tmp_path) or "no JSON object" in read_hook_log(tmp_path)


def test_any_text_is_kept_as_it_came(tmp_path: Path) -> None:
    text = "\ud800 \udfff é \u2028 \x00 \x1b 👩‍👩‍👧 \u202e שלום"
    run_hook(tmp_path, make_payload(reason=text, cwd=text))
    assert read_spooled_events(tmp_path)[0]["payload"]["reason"] == text


# --- What it leaves --------------------------------------------------------------------------------------------------


def test_a_job_holds_what_is_kept_and_who_rang(tmp_path: Path) -> None:
    sent = make_payload(reason="exit", user_email="ada@example.org", env={"TOKEN": SECRET}, prompt=SECRET)
    run_hook(tmp_path, sent, "claude-code", "--agent", "ada", SOME_TOKEN=SECRET)
    (job,) = read_spooled_events(tmp_path)
    assert job.pop("at").endswith("Z")
    assert job == {
        "version": 1,
        "harness": "claude-code",
        "agent": "ada",
        "payload": {key: sent[key] for key in ("hook_event_name", "session_id", "cwd", "reason")},
        "process": None,
    }
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert SECRET.encode() not in everything
    assert b"ada@example.org" not in everything


@POSIX
def test_a_job_is_for_its_owner_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        run_hook(tmp_path, make_payload())
    finally:
        os.umask(old)
    (job,) = list_spooled_paths(tmp_path)
    assert stat.S_IMODE(job.stat().st_mode) == 0o600
    for folder in list(job.parents)[:3]:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700, folder
    assert job.parents[2].name == ".lineage"


def test_turn_ends_of_a_session_are_one_file_and_others_one_each(tmp_path: Path) -> None:
    for event in ("Stop", "StopFailure", "Stop"):
        run_hook(tmp_path, make_payload(event, reason=event))
    run_hook(tmp_path, make_payload("Stop", "s-2"))
    assert sorted(job["payload"]["session_id"] for job in read_spooled_events(tmp_path)) == ["s-1", "s-2"]
    for _ in range(2):
        run_hook(tmp_path, make_payload("SessionEnd"))
    assert len(list_spooled_paths(tmp_path)) == 4


@POSIX
def test_the_transcript_is_not_opened(tmp_path: Path) -> None:
    """A pipe that nobody writes to: who opens it, waits for ever."""
    os.mkfifo(tmp_path / "transcript.jsonl")
    done = run_hook(tmp_path / "w", make_payload(transcript_path=str(tmp_path / "transcript.jsonl")))
    assert done.returncode == 0
    assert len(list_spooled_paths(tmp_path / "w")) == 1


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_no_call_names_the_transcript(tmp_path: Path) -> None:
    path = tmp_path / "its-transcript.jsonl"
    path.write_text("{}\n")
    subprocess.run(
        ["strace", "-f", "-e", "trace=file", "-o", str(tmp_path / "trace"), *hook_command(tmp_path / "w")],
        input=json.dumps(make_payload(transcript_path=str(path))).encode(),
        env=build_environment(**NO_WORKER),
        check=True,
    )
    trace = (tmp_path / "trace").read_text()
    if "spool/signals" not in trace:
        pytest.skip("NO TRACE: strace cannot attach to a process here")
    assert path.name not in trace


def test_suppressed_it_does_nothing(tmp_path: Path) -> None:
    done = run_hook(tmp_path / "w", make_payload("SessionStart"), LINEAGE_SUPPRESS="1")
    assert (done.returncode, done.stdout) == (0, b"")
    assert not (tmp_path / "w").exists()


def test_without_a_worker_it_spools_only(tmp_path: Path) -> None:
    run_hook(tmp_path, make_payload(), LINEAGE_NO_WORKER="1")
    assert not (tmp_path / ".lineage/locks").exists()


# --- What it prints --------------------------------------------------------------------------------------------------


def shaped(harness: str, text: str) -> dict[str, Any]:
    context = f"<lineage-context>\n{text.strip()}\n</lineage-context>"
    if harness == "cursor":
        return {"additional_context": context}
    return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}}


@pytest.mark.parametrize("harness", ["claude-code", "cursor", "gemini"])
def test_a_session_start_is_answered_in_the_harnesss_shape(tmp_path: Path, harness: str) -> None:
    prepare(tmp_path / "w", tmp_path)
    event = "sessionStart" if harness == "cursor" else "SessionStart"
    done = run_hook(tmp_path / "w", make_payload(event, cwd=str(tmp_path)), harness)
    assert json.loads(done.stdout) == shaped(harness, BLOCK)
    assert done.stdout.endswith(b"}\n")


def test_the_start_of_a_session_that_names_no_event_is_answered(tmp_path: Path) -> None:
    prepare(tmp_path / "w", tmp_path)
    sent = {"sessionId": "s-1", "timestamp": 1_700_000_000_000, "cwd": str(tmp_path), "source": "new"}
    done = run_hook(tmp_path / "w", sent, "copilot")
    assert "Mended the reader" in json.loads(done.stdout)["additionalContext"]


def test_cursor_names_its_folder_in_a_list(tmp_path: Path) -> None:
    prepare(tmp_path / "w", tmp_path)
    sent = {"hook_event_name": "sessionStart", "conversation_id": "c", "workspace_roots": [str(tmp_path)]}
    assert json.loads(run_hook(tmp_path / "w", sent, "cursor").stdout) == shaped("cursor", BLOCK)


def test_a_harness_that_takes_nothing_is_told_nothing(tmp_path: Path) -> None:
    prepare(tmp_path / "w", tmp_path)
    assert run_hook(tmp_path / "w", make_payload("SessionStart", cwd=str(tmp_path)), "goose").stdout == b""


@pytest.mark.parametrize("event", ["SessionEnd", "Stop", "PostCompact", "PreCompact", "UserPromptSubmit", "Other"])
def test_other_events_print_nothing(tmp_path: Path, event: str) -> None:
    prepare(tmp_path / "w", tmp_path)
    assert run_hook(tmp_path / "w", make_payload(event, cwd=str(tmp_path))).stdout == b""


def test_a_folder_below_has_its_repositorys_block(tmp_path: Path) -> None:
    demo = repository(tmp_path / "demo")
    (demo / "src/deep").mkdir(parents=True)
    prepare(tmp_path / "w", demo)
    done = run_hook(tmp_path / "w", make_payload("SessionStart", cwd=str(demo / "src/deep")))
    assert json.loads(done.stdout) == shaped("claude-code", BLOCK)


def test_no_block_is_another_projects(tmp_path: Path) -> None:
    demo = repository(tmp_path / "demo")
    inner = repository(demo / "vendor/other")
    for folder in (tmp_path, demo, "/", str(demo) + "-2"):
        prepare(tmp_path / "w", folder)
    for cwd in (inner, inner / "src", tmp_path / "elsewhere", tmp_path / "demo-3", "relative", "", 7, None, ["/"]):
        done = run_hook(tmp_path / "w", make_payload("SessionStart", cwd=str(cwd) if isinstance(cwd, Path) else cwd))
        assert (done.returncode, done.stdout) == (0, b""), cwd


def test_no_block_is_another_agents(tmp_path: Path) -> None:
    prepare(tmp_path / "w", tmp_path, agent="ada")
    sent = make_payload("SessionStart", cwd=str(tmp_path))
    assert run_hook(tmp_path / "w", sent).stdout == b""
    assert run_hook(tmp_path / "w", sent, "claude-code", "--agent=ada").stdout != b""


def test_a_checksum_that_is_shared_shows_nothing(tmp_path: Path) -> None:
    """The file of this folder's name holds another's block."""
    prepare(tmp_path / "w", tmp_path)
    (path,) = (tmp_path / "w/.lineage/context").iterdir()
    path.write_text(path.read_text().replace(f"default {tmp_path}", "default /home/eve"))
    assert run_hook(tmp_path / "w", make_payload("SessionStart", cwd=str(tmp_path))).stdout == b""


# --- What it costs ---------------------------------------------------------------------------------------------------

LIGHT = {
    "lineage", "lineage.__main__", "lineage.cli", "lineage.cli.hook_entry", "lineage.cli.hook_files", "lineage.core",
    "lineage.core.base", "lineage.core.base.hook_protocol", "lineage.core.base.scan_json", "lineage.harness",
    "lineage.harness.registry", "lineage.harness.spec", "lineage.processes",
    "_json", "fcntl", "select", "zlib",
}  # fmt: skip


PROJECTS = {
    "lineage.cli.hook_context", "lineage.core.base.context_blocks", "lineage.core.base.project", "lineage.projects",
}  # fmt: skip
"""What a start needs whose folder has no block: to find its project's."""


@pytest.mark.parametrize("event", ["SessionEnd", "Stop", "PreCompact", "SessionStart"])
def test_next_to_nothing_is_imported(tmp_path: Path, event: str) -> None:
    """What a bare Python has loaded, and a handful."""
    code = "import sys; bare = set(sys.modules); from lineage.cli.hook_entry import run; run(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}; print(*sorted(set(sys.modules) - bare))", "claude-code", "-w", str(tmp_path)],
        input=json.dumps(make_payload(event)).encode(),
        capture_output=True,
        env=build_environment(**NO_WORKER),
        check=True,
    )
    assert set(done.stdout.decode().split()) <= (LIGHT | PROJECTS if event == "SessionStart" else LIGHT)
    assert len(list_spooled_paths(tmp_path)) == 1


# --- What it knows of the harnesses ----------------------------------------------------------------------------------

EVERY = {"": PLAIN_FORMAT, **HOOK_FORMATS}


def fields(dialect: HookFormat) -> set[str]:
    names = {name for names in dialect.fields.values() for name in names} | set(dialect.event_fields)
    names |= {mark for mark, _ in dialect.event_markers} | {dialect.sub_agent_field or "event"}
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("harness", EVERY)
def test_every_field_that_is_read_is_kept(harness: str) -> None:
    """But what a person typed or a tool said: those marks tell only of events that are answered and not queued."""
    assert fields(EVERY[harness]) - {"prompt", "toolResult", "toolArgs"} <= list_payload_fields()


def test_what_tells_who_rang_is_kept() -> None:
    assert {
        "cursor_version",
        "generation_id",
        "turn_id",
        "model",
        "timestamp",
        "transcriptPath",
    } <= list_payload_fields()


@pytest.mark.parametrize("harness", EVERY)
def test_the_hook_takes_events_for_what_they_are(harness: str) -> None:
    """Whatever harness's entry names an event first: they mean the same by it."""
    hook_format = EVERY[harness]
    for name, event in hook_format.events.items():
        assert classify_event(name) == event, name
    assert {classify_event(name) for name in hook_format.prompts} <= {PROMPT}
    assert {classify_event(name) for name in hook_format.actions} <= {ACTION}
    assert TURN_END not in {classify_event(name) for name in hook_format.ignored_events}


def test_a_payload_s_event_is_the_one_it_names_else_the_one_that_its_fields_show() -> None:
    assert find_event({"hook_event_name": "Stop", "type": "x", "reason": "exit"}) == "Stop"
    assert find_event({"type": "agent-turn-complete"}) == "agent-turn-complete"
    assert find_event({"event": " ", "reason": "exit", "source": "x"}) == "sessionEnd"
    assert find_event({"session_id": "s-1"}) == ""
    assert {*list_id_fields()} >= {"session_id", "conversation_id", "sessionId", "thread-id", "lane", "agent_id"}


# --- Its JSON --------------------------------------------------------------------------------------------------------

TEXTS = st.text(st.characters(exclude_categories=())) | st.text()
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_what_it_writes_is_what_it_read(value: Any) -> None:
    assert json.loads(hook_files.encode_json(value)) == value
    assert hook_files.encode_json(value).isascii()


@given(st.dictionaries(TEXTS, VALUES, max_size=4), st.booleans())
def test_it_reads_what_json_reads(value: dict[str, Any], ascii_only: bool) -> None:
    data = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "replace")
    assert hook_files.decode_object(bytearray(data)) == json.loads(data)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_in_json_is_null(number: float) -> None:
    decoded = hook_files.decode_object(bytearray(json.dumps({"a": number}).encode()))
    assert decoded is not None
    assert hook_files.encode_json(decoded) == '{"a":null}'
