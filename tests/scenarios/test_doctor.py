"""`lineage status`: what keeps sessions from becoming memory on this machine, each with what mends it.

Fails without any of `_check_hooks`, `_check_sessions` (and in it `is_wanted`, `is_known`, `_has_new_words`),
`_check_workspace` and the engine's check in app/doctor.py.
"""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from lineage.app import clock
from lineage.core.base import hook_protocol
from lineage.core.base.times import shift_time
from lineage.errors import format_extra_hint
from lineage.pipeline.ingest import uncaptured
from tests.support.codex import make_meta, make_user_input
from tests.support.commands import LineageCommand
from tests.support.hook_process import append_transcript, drain_spool, enqueue_in_process, make_payload, run_harness
from tests.support.openclaw import add_session, create_database
from tests.support.terminals import run_on_terminal
from tests.support.workspace import open_test_workspace


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    made = LineageCommand(tmp_path / "vault", capsys)
    assert made("init").code == 0
    return made


def test_where_nothing_is_wrong_it_says_so(lineage: LineageCommand) -> None:
    done = lineage("doctor")
    assert done.code == 0
    assert "no problems found" in done.out


def test_sessions_that_lineage_cannot_read_are_named_and_no_finding(lineage: LineageCommand, home: Path) -> None:
    chat = home / ".cursor/chats/a/1/store.db"
    chat.parent.mkdir(parents=True)
    chat.write_bytes(b"")
    line = f"Cursor: 1 chat in {home}/.cursor/chats, which lineage doesn't read"
    done = lineage("doctor")
    assert (done.code, done.out.splitlines()[-2:]) == (0, [line, "no problems found"])
    for words in (("sweep",), ("import", "cursor"), ("import", "all"), ("import", "all", "--dry-run")):
        assert line in lineage(*words).out
        assert lineage(*words, "--json").json["unread"] == [
            {"agent": "Cursor", "path": f"{home}/.cursor/chats", "count": 1, "noun": "chat"}
        ]
    assert "Cursor" not in lineage("import", "codex").out
    assert "Cursor" not in lineage("import", "cursor", str(home)).out


@pytest.mark.parametrize("folder", ["/tmp/demo", "/var/folders/x/demo"])
def test_sessions_in_temporary_folders_are_counted_and_no_finding(lineage: LineageCommand, folder: str) -> None:
    for number, project in enumerate((folder, folder, "/home/ada/demo")):
        talk = ("--session-id", f"s-{number}", "--transcript", "User: moor the boat\nAgent: It is moored.")
        done = lineage("session-end", "--harness", "generic", "--project", project, *talk)
        hidden = "in a temporary folder, or a test: kept, not shown in search and memory → lineage show "
        assert (done.code, hidden in done.out) == (0, project == folder)
    line = "of all sessions 2 are in temporary folders, or tests: kept, not shown in search and memory → lineage list"
    done = lineage("doctor")
    assert (done.code, done.out.splitlines()[-2:]) == (0, [line, "no problems found"])
    assert f"not shown  {line}" in lineage("status").out
    assert folder in lineage("sessions").out
    assert run_on_terminal(lineage.root, "list").text.count("a trial, not shown in search and memory") == 2
    for words in (("search", "quokka"), ("search", "boat"), ("sweep",), ("import", "codex")):
        assert line in lineage(*words).out.splitlines(), words
    assert line in lineage("context").err.splitlines()


def test_installed_hooks_and_their_last_event_are_shown(lineage: LineageCommand, home: Path) -> None:
    (home / ".claude").mkdir()
    assert lineage("hooks", "install", "claude-code").code == 0
    assert "claude-code  installed, no event yet" in lineage("doctor").out
    with open_test_workspace(lineage.root) as ws:
        ws.telemetry.mark("event claude-code", "2026-11-21T12:00:00.000Z session-end")
    shown = lineage("doctor", "--json").json
    assert shown["events"] == {"claude-code": "2026-11-21T12:00:00.000Z session-end"}
    assert [one["harness"] for one in shown["harnesses"]] == ["claude-code"]


def test_hooks_that_are_switched_off_are_a_finding(lineage: LineageCommand, home: Path) -> None:
    (home / ".claude").mkdir()
    lineage("hooks", "install", "claude-code")
    settings = home / ".claude" / "settings.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"disableAllHooks": True}))
    done = lineage("doctor")
    assert done.code == 4
    assert "claude-code: " in done.out


def test_hooks_of_another_workspace_are_a_finding(
    lineage: LineageCommand, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / ".claude").mkdir()
    other = LineageCommand(tmp_path / "other", capsys)
    other("init")
    other("hooks", "install", "claude-code")
    done = lineage("doctor")
    assert done.code == 4
    assert str(other.root) in done.out


def test_fix_leaves_hooks_that_capture_into_another_workspace_to_a_person(
    lineage: LineageCommand, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = home / ".claude" / "settings.json"
    settings.parent.mkdir()
    other = LineageCommand(tmp_path / "other", capsys)
    other("init")
    other("hooks", "install", "claude-code")
    before = settings.read_bytes()
    fixed = lineage("status", "--fix", "--yes")
    assert (fixed.code, "if not meant: lineage hooks install claude-code" in fixed.out) == (4, True), fixed.out
    assert settings.read_bytes() == before


@pytest.mark.leaves_findings
def test_what_a_hook_told_just_now_is_no_problem(lineage: LineageCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    enqueue_in_process(lineage.root, make_payload("SessionEnd", "s-1"))
    done = lineage("status")
    assert done.out.startswith("no problems found\n")
    assert "note: spool: a hook told of something within the last minute" in done.out
    assert "waiting    a signal of claude-code" in done.out
    later = shift_time(clock.now(), milliseconds=61_000)
    monkeypatch.setattr(clock, "now", lambda: later)
    assert "1 problem found" in lineage("status").out
    done = lineage("doctor")
    assert (done.code, "spool: 1 signal waiting → lineage work" in done.out) == (4, True)


@pytest.mark.leaves_findings
def test_what_waits_what_was_given_up_and_what_failed_are_findings(lineage: LineageCommand) -> None:
    state = lineage.root / ".lineage"
    record = {"version": 1, "harness": "codex", "agent": "default", "at": "2026-11-21T12:00:00.000Z", "payload": {}}
    for key, more in ((hook_protocol.EVENT_QUEUE, {}), (hook_protocol.DEAD_LETTERS, {"why": "the transcript is gone"})):
        (state / key).mkdir(parents=True, mode=0o700)
        (state / key / "one.json").write_text(json.dumps(record | more))
    (state / "log").mkdir(exist_ok=True)
    (state / hook_protocol.HOOK_LOG).write_text("2026-11-21T12:00:00Z ValueError: no JSON object on stdin, 3 bytes\n")
    done = lineage("doctor")
    assert done.code == 4
    for what in ("1 signal wait", "the transcript is gone", "no JSON object on stdin"):
        assert what in done.out
    status = lineage("status").out
    assert "given up   a signal of codex" in status
    assert "hooks      1 failed" in status


def test_a_missing_engine_is_a_finding(lineage: LineageCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "re2", None)
        done = lineage("doctor")
    assert done.code == 4
    assert "google-re2" in done.out


@pytest.mark.leaves_findings
def test_a_damaged_book_is_a_finding(lineage: LineageCommand) -> None:
    lineage("remember", "--project", "demo", "The parser keeps the last line.")
    (book,) = (lineage.root / "books" / "project" / "demo").glob("note.md")
    book.write_text(book.read_text().replace("lineage:end", "lineage:en"))
    done = lineage("doctor")
    assert (done.code, "1 book of books/ is damaged" in done.out, "lineage verify" in done.out) == (4, True, True)


def test_an_unknown_setting_warns_and_is_a_finding(lineage: LineageCommand) -> None:
    settings = lineage.root / "lineage.toml"
    settings.write_text("[ledger]\nmax_bites = 5000\n")
    done = lineage("status")
    assert done.code == 0
    assert "warning: lineage.toml: unknown setting 'ledger.max_bites': did you mean 'ledger.max_bytes'?" in done.err
    done = lineage("doctor")
    assert done.code == 4
    assert "ledger.max_bites" in done.out


def test_sessions_that_claude_code_deletes_soon_are_a_finding_until_they_are_captured(
    lineage: LineageCommand, home: Path
) -> None:
    folder = home / ".claude/projects/-home-ada-demo"
    folder.mkdir(parents=True)
    for number, days in enumerate((16, 20, 27, 29)):
        path = append_transcript(folder / f"s-{number}.jsonl", "Moor the boat.")
        os.utime(path, (then := time.time() - days * 86_400, then))
    wordless = folder / "s-9.jsonl"
    wordless.write_text('{"type":"mode","mode":"normal","sessionId":"s-9"}\n')
    os.utime(wordless, (then, then))
    done = lineage("doctor")
    assert done.code == 4
    assert "deletes 2 sessions within 4 days" in done.out and "lineage import claude-code" in done.out
    (home / ".claude/settings.json").write_text('{"cleanupPeriodDays": 90}')
    assert lineage("doctor").code == 0
    (home / ".claude/settings.json").write_text('{"cleanupPeriodDays": 21}')
    assert "deletes 3 sessions" in lineage("doctor").out
    assert lineage("import", "claude-code", "--jobs", "1").code == 0
    assert lineage("doctor").code == 0


def keep_session(home: Path, session: str = "s-1", *, hours: float = 1) -> Path:
    """A session in Claude Code's own folder, last written to some hours ago."""
    folder = home / ".claude/projects/-home-ada-demo"
    folder.mkdir(parents=True, exist_ok=True)
    path = append_transcript(folder / f"{session}.jsonl", "Moor the boat.")
    set_age(path, hours)
    return path


def set_age(path: Path, hours: float) -> None:
    os.utime(path, (then := time.time() - hours * 3600, then))


def keep_openclaw_session(home: Path, session: str = "s-1", *, hours: float = 1) -> Path:
    """A session in OpenClaw's database, whose file was written to just now."""
    path = home / ".openclaw/agents/main/agent/openclaw-agent.sqlite"
    path = path if path.exists() else create_database(path)
    at = shift_time(clock.now(), milliseconds=-int(hours * 3_600_000))
    message = {"role": "user", "content": "Moor the boat."}
    add_session(path, session, [{"type": "message", "id": f"e-{session}", "timestamp": at, "message": message}])
    return path


def test_a_harness_without_hooks_is_a_finding_where_it_has_sessions_that_nobody_captured(
    lineage: LineageCommand, home: Path
) -> None:
    (home / ".claude").mkdir()
    done = lineage("doctor")
    assert done.code == 0
    assert "note: claude-code: hooks are not installed → lineage hooks install claude-code" in done.out
    keep_session(home, "just-now", hours=0)
    keep_session(home, "old", hours=15 * 24)
    (home / ".claude/projects/-home-ada-demo/wordless.jsonl").write_text('{"type":"mode","sessionId":"wordless"}\n')
    set_age(home / ".claude/projects/-home-ada-demo/wordless.jsonl", 1)
    assert lineage("doctor").code == 0
    keep_session(home)
    keep_session(home, "s-2")
    done = lineage("doctor")
    assert done.code == 4
    assert done.out.splitlines()[-2] == (
        "claude-code: hooks are not installed, and no capture holds 2 sessions of the last 14 days"
        " → lineage hooks install claude-code && lineage import claude-code"
    )
    assert lineage("import", "claude-code", "--jobs", "1").code == 0
    assert lineage("remove", "s-2", "--yes").code == 0
    assert lineage("doctor").code == 0


def test_sessions_of_a_database_are_judged_by_their_own_times(lineage: LineageCommand, home: Path) -> None:
    keep_openclaw_session(home, "old", hours=15 * 24)
    keep_openclaw_session(home, "just-now", hours=0)
    assert lineage("doctor").code == 0
    keep_openclaw_session(home)
    done = lineage("doctor")
    assert done.code == 4
    assert "no capture holds 1 session of the last 14 days → lineage hooks install openclaw" in done.out
    lineage("import", "openclaw", "--jobs", "1")
    assert lineage("doctor").code == 0


@pytest.mark.slow
def test_hooks_that_were_never_run_are_a_finding(lineage: LineageCommand, home: Path) -> None:
    (home / ".openclaw").mkdir()
    keep_openclaw_session(home, "before", hours=30)
    assert lineage("hooks", "install", "openclaw").code == 0
    for path in (home / ".openclaw/extensions/lineage").iterdir():
        set_age(path, 24)
    done = lineage("doctor")
    assert done.code == 4
    assert "openclaw: no capture holds 1 session of the last 14 days → lineage admin sweep" in done.out
    keep_openclaw_session(home, "since")
    done = lineage("doctor")
    assert done.code == 4
    assert "hooks are installed, and none was run in 1 session since → start the gateway again; then" in done.out
    with open_test_workspace(lineage.root) as ws:
        ws.telemetry.mark("event openclaw", f"{clock.now()} turn-end")
    assert "no capture holds 2 sessions of the last 14 days → lineage admin sweep" in lineage("doctor").out
    assert lineage("sweep").code == 0
    assert lineage("doctor").code == 0


def test_hooks_that_nobody_approved_are_a_finding_unless_they_are_run(lineage: LineageCommand, home: Path) -> None:
    """Codex's command line can run hooks without their approval."""
    (home / ".codex").mkdir()
    lineage("hooks", "install", "codex")
    done = lineage("doctor")
    assert done.code == 4
    assert "codex: not approved yet, and so never run" in done.out
    set_age(home / ".codex/hooks.json", 1)
    with open_test_workspace(lineage.root) as ws:
        ws.telemetry.mark("event codex", f"{clock.now()} turn-end")
    assert lineage("doctor").code == 0
    hook = f"{home}/.codex/hooks.json:stop:0:0"
    (home / ".codex/config.toml").write_text(f'[hooks.state."{hook}"]\n' + 'trusted_hash = "sha256:1"\n')
    done = lineage("doctor")
    assert done.code == 4  # some were approved, so the others are not run
    assert "Stop" not in done.out.partition("never run")[2]


def test_status_names_the_hooks_and_a_program_that_is_not_on_path_has_its_line(
    lineage: LineageCommand, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "\nhooks " not in lineage("status").out
    for name in (".codex", ".gemini"):
        (home / name).mkdir()
    lineage("hooks", "install", "codex")
    done = lineage("status")
    assert "hooks      codex installed, untrusted; gemini not installed" in done.out.splitlines()
    assert lineage("status", "--json").json["hooks"] == {"codex": "installed, untrusted", "gemini": "not installed"}
    monkeypatch.setenv("PATH", "/nowhere")
    assert "` is not on PATH: " in lineage("doctor").out
    assert f'→ export PATH="$PATH":{Path(sys.executable).parent}\n' in lineage("doctor").out


def test_a_harness_of_a_version_that_cannot_be_read_is_a_finding(lineage: LineageCommand, home: Path) -> None:
    path = keep_openclaw_session(home)
    path.write_bytes(b"another format")
    set_age(path, 1)
    done = lineage("doctor")
    assert done.code == 4
    assert "openclaw: 1 recent session can't be read: " in done.out


def test_a_long_history_is_not_read_to_its_end(
    lineage: LineageCommand, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uncaptured, "MAX_READ", 2)
    for number, hours in enumerate((0, 1, 2, 3)):  # the first may go on, and is not read
        keep_session(home, f"s-{number}", hours=hours)
    assert "no capture holds 2 sessions or more of the last" in lineage("doctor").out


def test_sessions_of_hooks_of_another_workspace_are_its_own(
    lineage: LineageCommand, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = LineageCommand(tmp_path / "other", capsys)
    keep_session(home)
    other("init")
    other("hooks", "install", "claude-code")
    assert "no capture holds" not in lineage("doctor").out
    assert "no capture holds 1 session" in other("doctor").out


def tell_of_codex_session(root: Path, home: Path) -> Path:
    """A turn of Codex's, told of by its hook and captured by nobody."""
    folder = home / ".codex/sessions/2026/10/02"
    folder.mkdir(parents=True)
    path = folder / "rollout-2026-10-02T09-00-00-019f9000-0000-7000-8000-000000000001.jsonl"
    records = (make_meta("s-1"), make_user_input("Moor the boat."))
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)), "codex")
    drain_spool(root, home, clock.now())
    return path


def test_what_waits_is_named_until_when_and_a_finding_once_nobody_came(
    lineage: LineageCommand, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with run_harness() as daemon:
        monkeypatch.setenv("LINEAGE_HARNESS_PID", str(daemon.pid))
        path = tell_of_codex_session(lineage.root, home)
        done = lineage("doctor")
        assert done.code == 0
        assert "waiting: codex s-1, until 20" in done.out
        assert "open       codex s-1, until 20" in lineage("status").out
        assert [one["session_id"] for one in lineage("status", "--json").json["open"]] == ["s-1"]
        set_age(path, 1)
        done = lineage("doctor")
    assert done.code == 4
    assert "spool: 1 session ended and nobody captured what is new in them → lineage admin sweep" in done.out
    assert "no capture holds" not in done.out
    lineage("sweep")
    done = lineage("doctor")
    assert (done.code, "waiting: " in done.out) == (0, False)
    # a harness writes more than words behind the end
    path.write_text(path.read_text() + json.dumps(make_meta("s-1")) + "\n")
    set_age(path, 1)
    assert lineage("doctor").code == 0


def test_a_server_that_cannot_run_is_a_note_with_what_it_takes(
    lineage: LineageCommand, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / ".claude").mkdir()
    with monkeypatch.context() as without:
        without.setattr("lineage.app.locations.find_spec", lambda name: None)
        lineage("hooks", "install", "claude-code")
        done = lineage("doctor")
    assert done.code == 0
    assert f"claude-code: can't look into its memory: mcp is not installed → {format_extra_hint('mcp')}" in done.out
    assert "then `lineage hooks install claude-code`" in done.out
    assert not (home / ".claude.json").exists()
    lineage("hooks", "install", "claude-code")
    assert "mcpServers" in json.loads((home / ".claude.json").read_text())
    assert "can't look into" not in lineage("doctor").out


def test_it_says_what_sessions_get_and_how_each_part_is_turned_off(lineage: LineageCommand, home: Path) -> None:
    (home / ".claude").mkdir()
    assert "each session gets" not in lineage("doctor").out
    said = lineage("hooks", "install", "claude-code").out
    assert f"sessions are saved in {lineage.root}" in said.splitlines()
    for text in (said, lineage("doctor").out):
        for words in (
            "block: when it starts",
            "`lineage config set context.budget 0`",
            "recall: at a prompt",
            "--no-recall",
            "--no-mcp",
            "--no-skill",
        ):
            assert words in text
    assert len(lineage("doctor", "--json").json["told"]) == 4
    lineage("hooks", "install", "claude-code", "--no-mcp", "--no-skill", "--no-recall")
    done = lineage("doctor")
    assert (done.code, "block: when it starts" in done.out, "--no-" in done.out) == (0, True, False)
    status = lineage("hooks", "status", "claude-code").out
    assert "also: no mcp, no skill, no recall" in status
    (lineage.root / "lineage.toml").write_text("[context]\nbudget = 0\n")
    assert lineage("doctor", "--json").json["told"] == []
