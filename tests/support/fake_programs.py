"""Harnesses' programs for tests: small real ones that say what they were told, and keep a transcript as they would."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import LineageCommand

_PROGRAM = """#!{python}
import json, os, subprocess, sys, time
from pathlib import Path

name, arguments, told = {name!r}, sys.argv[1:], sys.stdin.read() if not sys.stdin.isatty() else ""
noted = {{"arguments": arguments, "stdin": told, "folder": os.getcwd(), "environment": dict(os.environ)}}
with open({notes!r}, "a") as file:
    file.write(json.dumps(noted) + "\\n")


def keep(path, *records):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        for record in records:
            file.write(json.dumps(record) + "\\n")


def claude(session, text, answer):
    path = Path.home() / ".claude" / "projects" / "demo" / (session + ".jsonl")
    at = {{"sessionId": session, "cwd": os.getcwd(), "timestamp": "2026-10-02T09:00:00.000Z"}}
    size = path.stat().st_size if path.exists() else 0
    said = {{"role": "user", "content": text}}, {{"role": "assistant", "content": [{{"type": "text", "text": answer}}]}}
    for number, (kind, message) in enumerate(zip(("user", "assistant"), said)):
        keep(path, {{"type": kind, "message": message, "uuid": f"{{session}}-{{size}}-{{number}}", **at}})


{body}
"""


class FakePrograms:
    """A folder, the only one on PATH; what its programs were called with, in the order of the calls."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.notes = folder, folder / "notes.jsonl"
        folder.mkdir()
        monkeypatch.setenv("PATH", str(folder))
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))

    def add(self, name: str, body: str = 'print("done")') -> None:
        """A program with a body in Python, which finds `arguments`, `told`, `keep` and `claude` there."""
        path = self.folder / name
        text = _PROGRAM.format(python=sys.executable, name=name, notes=str(self.notes), body=body)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)

    @property
    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.notes.read_text().splitlines()] if self.notes.exists() else []


CLAUDE = """
session = arguments[arguments.index("--resume" if "--resume" in arguments else "--session-id") + 1]
claude(session, told, "It is mended.")
print("\\x1b[32mIt is\\x1b[0m mended.\\x1b]0;title\\x07")
print("\\x1b[1mthinking\\x1b[0m", file=sys.stderr)
"""
"""What Claude Code does with a message: it answers, and writes both into its history."""


def capture_first_message(
    lineage: LineageCommand, folder: Path, harness: str = "claude-code", session: str = "s-1"
) -> None:
    """A captured session that ran in a folder."""
    words = ("--harness", harness, "--session-id", session, "--project", str(folder), "--transcript", "User: Mend it.")
    assert lineage("session-end", *words).code == 0
