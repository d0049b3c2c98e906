"""`lineage doctor`: what keeps sessions from becoming memory on this machine, each with what mends it.

Fails without any of `_engine`, `_hooks` and `_workspace` in app/doctor.py.
"""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from lineage.core.base import hook_protocol
from tests.support.commands import LineageCommand
from tests.support.hook_process import append_transcript
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
        assert lineage("session-end", "--harness", "generic", "--project", project, *talk).code == 0
    line = "2 sessions in a temporary folder, or a test: kept, not shown in search and memory → lineage sessions"
    done = lineage("doctor")
    assert (done.code, done.out.splitlines()[-2:]) == (0, [line, "no problems found"])
    assert f"not shown  {line}" in lineage("status").out
    assert folder in lineage("sessions").out
    assert line in lineage("search", "quokka").out.splitlines()


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


@pytest.mark.leaves_findings
def test_what_waits_what_was_given_up_and_what_failed_are_findings(lineage: LineageCommand) -> None:
    state = lineage.root / ".lineage"
    record = {"version": 1, "harness": "codex", "agent": "default", "at": "2026-11-21T12:00:00.000Z", "payload": {}}
    for key, more in ((hook_protocol.EVENT_QUEUE, {}), (hook_protocol.DEAD_LETTERS, {"why": "the transcript is gone"})):
        (state / key).mkdir(parents=True, mode=0o700)
        (state / key / "one.json").write_text(json.dumps(record | more))
    (state / "log").mkdir()
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
    for number, days in enumerate((1, 20, 27, 29)):
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
    assert lineage("import", "claude-code").code == 0
    assert lineage("doctor").code == 0
