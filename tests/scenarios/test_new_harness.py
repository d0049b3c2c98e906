"""A harness that lineage doesn't know yet joins by one entry of the registry, and by its adapter's module.

Fails where anything but the registry has to be told of it: the hook path, discovery, settings, `doctor`, `resume`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lineage.harness.adapters import ADAPTERS
from lineage.harness.detect_caller import detect_caller
from lineage.harness.hook_payload import HOOK_FORMATS
from lineage.harness.programs import PROGRAMS, build_call
from lineage.harness.registry import HARNESSES
from lineage.installing import INSTALLATIONS
from tests.support import typewriter
from tests.support.concurrency import PROJECT

WORDS = "Always feed the ribbon before the page."


class Desk:
    """A machine with the harness: its home, a workspace, and lineage with the entry as processes."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root, self.desk = folder / "home", folder / "w", folder / "demo"
        self.pages = self.home / ".typewriter" / "pages"
        for path in (self.pages, self.desk):
            path.mkdir(parents=True)
        assert self("init", str(self.root)).returncode == 0

    def __call__(self, *arguments: str, stdin: Any = None) -> "subprocess.CompletedProcess[str]":
        variables = {"HOME": str(self.home), "PYTHONPATH": str(PROJECT), "LINEAGE_NO_WORKER": "1"}
        return subprocess.run(
            [sys.executable, "-m", "tests.support.typewriter", *arguments],
            input="" if stdin is None else json.dumps(stdin),
            capture_output=True,
            text=True,
            env={**os.environ, **variables, "LINEAGE_WORKSPACE": str(self.root)},
            cwd=self.desk,
            check=False,
            timeout=120,
        )

    def type_page(self, name: str, at: str = "2026-11-20T09:10:00Z") -> Path:
        lines = [{"who": "typist", "line": WORDS}, {"who": "machine", "line": "Done, the ribbon is fed."}]
        path = self.pages / f"{name}.page"
        path.write_text("".join(f"{json.dumps({**line, 'page': name, 'at': at})}\n" for line in lines))
        return path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.slow
def test_its_hook_captures_a_session_and_tells_the_next_one(desk: Desk) -> None:
    page = desk.type_page("p-1")
    payload = {"lever": "page-out", "page": "p-1", "desk": str(desk.desk), "sheet": str(page), "secret": "not kept"}
    assert desk("hook", "typewriter", stdin=payload).returncode == 0
    (event,) = (desk.root / ".lineage/spool/signals").iterdir()
    assert json.loads(event.read_text())["payload"].keys() == {"lever", "page", "desk", "sheet"}
    done = desk("work")
    assert done.returncode == 0, done.stderr
    (transcript,) = (desk.root / "memory").glob("*--transcript.md")
    assert WORDS in transcript.read_text() and 'harness: "typewriter"' in transcript.read_text()
    assert desk("remember", WORDS).returncode == desk("work").returncode == 0
    told = desk("hook", "typewriter", stdin={"lever": "page-in", "page": "p-2", "desk": str(desk.desk)})
    assert "ribbon" in json.loads(told.stdout)["hookSpecificOutput"]["additionalContext"]
    assert desk("work").returncode == 0


@pytest.mark.slow
def test_each_turn_s_end_replaces_the_one_before_it(desk: Desk) -> None:
    page = desk.type_page("p-1")
    for _ in range(3):
        desk("hook", "typewriter", stdin={"lever": "bell", "page": "p-1", "desk": str(desk.desk), "sheet": str(page)})
    (event,) = (desk.root / ".lineage/spool/signals").iterdir()
    assert event.name.startswith("turn--")
    assert desk("work").returncode == 0


@pytest.mark.slow
def test_its_history_is_imported_and_its_settings_are_written_and_left_as_they_were(desk: Desk) -> None:
    desk.type_page("p-1")
    settings = desk.home / ".typewriter" / "levers.json"
    settings.write_text('{"burnAfterDays": 3}\n')
    installed = desk("hooks", "install", "typewriter")
    assert installed.returncode == 0 and "pull the lever" in installed.stdout, installed.stderr
    hooks = json.loads(settings.read_text())["hooks"]
    assert [*hooks] == ["page-in", "key-down", "page-out"]
    assert "hook typewriter" in hooks["key-down"][0]["hooks"][0]["command"]
    assert "lineage" in json.loads((desk.home / ".typewriter/servers.json").read_text())["mcpServers"]
    found = desk("doctor", "--json")
    assert "typewriter" in {one["harness"] for one in json.loads(found.stdout)["harnesses"]}
    assert "Typewriter deletes 1 session within 4 days that no capture holds" in found.stdout
    done = desk("import", "typewriter")
    assert done.returncode == 0 and len([*(desk.root / "memory").glob("*--transcript.md")]) == 1, done.stderr
    assert desk("hooks", "uninstall", "typewriter").returncode == 0
    assert settings.read_text() == '{"burnAfterDays": 3}\n'
    assert sorted(path.name for path in (desk.home / ".typewriter").iterdir()) == ["levers.json", "pages"]


def test_everything_that_is_by_harness_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    views = (ADAPTERS, HOOK_FORMATS, PROGRAMS, INSTALLATIONS)
    before = [len(view) for view in views]
    monkeypatch.setitem(HARNESSES, "typewriter", typewriter.SPEC)
    assert [len(view) for view in views] == [count + 1 for count in before]
    assert all("typewriter" in view for view in views)
    assert build_call("typewriter", "resume", "p-1").argv == ("typewriter", "--page", "p-1")
    caller = detect_caller({"TYPEWRITER_BELL": "1"})
    assert caller and caller.harness == "typewriter"
