"""`lineage hooks` as its own process: what a harness reads afterwards, and that nothing of it stays."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import click
import pytest

from lineage.cli.hooks import command as group
from lineage.installing import INSTALLATIONS
from tests.support.commands import CommandResult, run_process

pytestmark = pytest.mark.slow

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/hooks/lineage.json",
    "cursor": ".cursor/hooks.json",
    "opencode": ".config/opencode/plugins/lineage.js",
    "pi": ".pi/agent/extensions/lineage.ts",
    "openclaw": ".openclaw/extensions/lineage/index.mjs",
    "goose": ".agents/plugins/lineage/hooks/hooks.json",
}
FOLDERS = (".claude", ".codex", ".gemini", ".qwen", ".copilot", ".cursor", ".config/opencode", ".pi/agent", ".openclaw")
OLD = {
    ".claude/settings.json": b'\xef\xbb\xbf{\r\n\t// mine\r\n\t"hooks": {"Stop": [ ]},\r\n\t"model": "x",\r\n}',
    ".codex/hooks.json": b"",
    ".gemini/settings.json": b"{}",
    ".qwen/settings.json": b'{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"echo"}]}]},"a":1}',
    ".cursor/hooks.json": b'{\n  "version": 1,\n  "hooks": {\n  }\n}\n',
}


@pytest.fixture
def full(home: Path) -> Path:
    """A home in which every harness has its folder, and some have settings."""
    for name in (*FOLDERS, ".config/goose"):
        (home / name).mkdir(parents=True)
    for name, data in OLD.items():
        (home / name).write_bytes(data)
    return home


def run(home: Path, *arguments: str) -> CommandResult:
    return run_process(home / "memory", "hooks", *arguments)


def state(home: Path) -> dict[str, bytes | None]:
    paths = sorted(home.rglob("*"))
    return {str(path.relative_to(home)): None if path.is_dir() else path.read_bytes() for path in paths}


def settings(home: Path, harness: str) -> Any:
    return json.loads((home / FILES[harness]).read_text(encoding="utf-8"))


def test_installing_twice_and_uninstalling_leaves_every_byte(full: Path) -> None:
    before = state(full)
    assert run(full, "install").code == 0
    between = state(full)
    assert {name for name in FILES.values() if name not in between} == set()
    again = run(full, "install")
    assert (again.code, again.out) == (0, "nothing to change\n")
    assert state(full) == between
    assert run(full, "uninstall").code == 0
    assert state(full) == before


@pytest.mark.parametrize("harness", FILES)
def test_a_harness_that_is_named_gets_its_folders_made_and_taken_away(home: Path, harness: str) -> None:
    assert run(home, "install", harness).code == 0
    assert (home / FILES[harness]).is_file()
    assert run(home, "uninstall", harness).code == 0
    assert state(home) == {}


def test_only_what_is_on_the_machine_is_installed(home: Path) -> None:
    (home / ".gemini").mkdir()
    done = run(home, "install", "--json")
    assert [one["harness"] for one in done.json["harnesses"]] == ["gemini"]
    assert not (home / ".claude").exists()


def test_nothing_is_there_to_install(home: Path) -> None:
    done = run(home, "install")
    assert (done.code, "name one" in done.out) == (0, True)
    assert state(home) == {}


def test_claude_code_reads_its_exec_form(home: Path) -> None:
    run(home, "install", "claude-code")
    hooks = settings(home, "claude-code")["hooks"]
    assert list(hooks) == [
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUseFailure", "PreCompact", "PostCompact", "Stop",
        "SessionEnd",
    ]  # fmt: skip
    for groups in hooks.values():
        ((handler,),) = (group["hooks"] for group in groups)
        assert (handler["type"], Path(handler["command"]).name) == ("command", "lineage")
        assert handler["args"] == ["hook", "claude-code", "--workspace", str(home / "memory"), "--agent", "default"]
    assert hooks["Stop"][0]["hooks"][0]["async"] is True
    assert [group[0]["hooks"][0]["timeout"] for group in hooks.values()] == [10, 5, 5, 5, 10, 10, 30, 5]


@pytest.mark.parametrize(
    ("harness", "events"),
    [
        (
            "codex",
            [
                "SessionStart",
                "Stop",
                "PreCompact",
                "PostCompact",
                "SessionEnd",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
            ],
        ),
        ("gemini", ["SessionStart", "BeforeAgent", "AfterTool", "AfterAgent", "SessionEnd"]),
        (
            "qwen",
            [
                "SessionStart",
                "Stop",
                "PreCompact",
                "PostCompact",
                "SessionEnd",
                "UserPromptSubmit",
                "PostToolUse",
                "PostToolUseFailure",
            ],
        ),
        ("goose", ["SessionStart", "Stop", "SessionEnd"]),
        ("cursor", ["sessionStart", "stop", "preCompact", "sessionEnd"]),
        (
            "copilot",
            [
                "sessionStart",
                "agentStop",
                "preCompact",
                "sessionEnd",
                "userPromptSubmitted",
                "preToolUse",
                "postToolUse",
            ],
        ),
    ],
)
def test_the_others_read_a_line_for_a_shell(home: Path, harness: str, events: list[str]) -> None:
    run(home, "install", harness, "--agent", "ann")
    hooks = settings(home, harness)["hooks"]
    assert list(hooks) == events
    for (element,) in hooks.values():
        handler = element["hooks"][0] if "hooks" in element else element
        words = shlex.split(handler.get("bash") or handler["command"])
        assert words[1:] == ["hook", harness, "--workspace", str(home / "memory"), "--agent", "ann"]
        assert subprocess.run([words[0], "--version"], capture_output=True, check=True).stdout.startswith(b"lineage")


def test_codex_accepts_no_other_keys_and_says_what_is_to_do(home: Path) -> None:
    done = run(home, "install", "codex")
    assert settings(home, "codex").keys() <= {"description", "hooks"}
    assert "/hooks" in done.out
    (status,) = run(home, "status", "codex", "--json").json["harnesses"]
    assert [finding["kind"] for finding in status["findings"]] == ["untrusted"]


def test_a_dry_run_shows_the_change_and_makes_none(full: Path) -> None:
    before = state(full)
    done = run(full, "install", "qwen", "codex", "--dry-run")
    assert done.code == 0
    assert f"--- {full}/.qwen/settings.json" in done.out
    assert re.search(r'^\+ +"command": ".*lineage hook codex ', done.out, re.MULTILINE)
    assert state(full) == before
    diffs = run(full, "install", "pi", "--dry-run", "--json").json["harnesses"][0]["changes"]
    assert [diff["diff"].startswith("--- /dev/null\n") for diff in diffs] == [True, True]
    assert state(full) == before


def test_one_broken_file_keeps_no_other_back(full: Path) -> None:
    broken = full / ".gemini" / "settings.json"
    broken.write_bytes(b'{\n  "a" 1\n}\n')
    done = run(full, "install", "gemini", "cursor")
    assert done.code == 2
    assert f"lineage: gemini: {broken}:2: " in done.err
    assert broken.read_bytes() == b'{\n  "a" 1\n}\n'
    assert "stop" in settings(full, "cursor")["hooks"]
    outcome = run(full, "install", "gemini", "--json")
    assert (outcome.code, outcome.json["harnesses"][0]["changes"]) == (2, [])
    assert "settings.json:2" in outcome.json["harnesses"][0]["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["install", "aider"], "aider has no hooks"),
        (["install", "typewriter"], "unknown harness"),
        (["uninstall", "generic"], "generic has no hooks"),
        (["status", "x"], "unknown harness"),
        (["install", "pi", "--agent", "all"], "one agent"),
        (["install", "pi", "--agent", "a:b"], "not an agent id"),
    ],
)
def test_what_cannot_be_is_said_and_changes_nothing(home: Path, arguments: list[str], what: str) -> None:
    done = run(home, *arguments)
    assert (done.code, what in done.err) == (2, True)
    assert state(home) == {}


def test_the_status_is_one_documented_object(full: Path) -> None:
    run(full, "install", "cursor")
    found = {one["harness"]: one for one in run(full, "status", "--json").json["harnesses"]}
    assert list(found) == list(INSTALLATIONS)
    assert found["cursor"] | {"command": [], "findings": []} == {
        "harness": "cursor",
        "present": True,
        "state": "installed",
        "files": [str(full / FILES["cursor"])],
        "events": ["sessionStart", "stop", "preCompact", "sessionEnd"],
        "command": [],
        "workspace": str(full / "memory"),
        "agent": "default",
        "parts": ["mcp", "skill"],
        "left_out": [],
        "findings": [],
    }
    assert found["pi"]["state"] == "not installed"
    told = run(full, "status").out
    assert re.search(r"^cursor +installed$", told, re.MULTILINE)
    assert f"workspace {full}/memory, agent default" in told


def test_a_harness_is_known_as_absent(home: Path) -> None:
    assert "no harness with hooks" in run(home, "status").out
    assert "not installed (not on this machine)" in run(home, "status", "pi").out


@pytest.mark.parametrize("name", ["install", "uninstall", "status"])
def test_the_examples_of_each_part_run(full: Path, name: str) -> None:
    assert isinstance(group, click.Group)
    text = group.commands[name].help or ""
    lines = [line.strip() for line in text.partition("Example:")[2].split("\n") if line.strip()]
    assert lines
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["lineage", "hooks"]
        assert run(full, *words[2:]).code == 0, line


@pytest.mark.parametrize("harness", ["claude-code", "codex", "gemini", "qwen", "goose", "cursor", "copilot"])
def test_what_is_installed_rings(home: Path, harness: str) -> None:
    """Every command in the harness's own file, run as the harness runs it, leaves its payload in the workspace."""
    run(home, "install", harness, "--agent", "ann")
    signals = home / "memory" / ".lineage" / "spool" / "signals"
    for number, (element,) in enumerate(settings(home, harness)["hooks"].values()):
        handler = element["hooks"][0] if "hooks" in element else element
        shell = ["sh", "-c", handler.get("bash") or handler["command"]]
        done = subprocess.run(
            [handler["command"], *handler["args"]] if "args" in handler else shell,
            input=json.dumps({"hook_event_name": "SessionEnd", "session_id": f"s-{number}"}).encode(),
            capture_output=True,
            env={**os.environ, "LINEAGE_NO_WORKER": "1"},
            check=True,
        )
        assert (done.stdout, done.stderr) == (b"", b"")
        left = [json.loads(path.read_text()) for path in signals.iterdir()]
        assert len(left) == number + 1
        assert {(one["harness"], one["agent"]) for one in left} == {(harness, "ann")}


@pytest.mark.parametrize(
    ("harness", "event"),
    [("claude-code", "UserPromptSubmit"), ("gemini", "BeforeAgent"), ("copilot", "userPromptSubmitted")],
)
def test_installing_again_adds_what_an_older_version_did_not_register(home: Path, harness: str, event: str) -> None:
    run(home, "install", harness)
    path, whole = home / FILES[harness], settings(home, harness)
    older = {**whole, "hooks": {name: groups for name, groups in whole["hooks"].items() if name != event}}
    path.write_text(json.dumps(older), encoding="utf-8")
    (before,) = run(home, "status", harness, "--json").json["harnesses"]
    assert (before["state"], event in before["events"]) == ("outdated", False)
    run(home, "install", harness)
    assert settings(home, harness) == whole
