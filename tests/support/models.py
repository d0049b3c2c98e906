"""Language models for tests: programs that a test writes, and this machine's configuration that names one."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lineage.extraction.model.port import ParsedAnswer, Value

SENTENCE = "In demo, the agent found why reader.py dropped the last line, fixed the split, and the tests pass again."
NARRATIVE = "The user asked why the last line was lost. The split was at fault.\n\n- It is fixed in reader.py"
ANSWER = f"SENTENCE: {SENTENCE}\nSUMMARY: {NARRATIVE}\n"


def write_program(folder: Path, body: str, name: str = "model.py") -> list[str]:
    """The command line of a Python program that finds its prompt in `prompt`; each is noted in `folder/asked`."""
    folder.mkdir(parents=True, exist_ok=True)
    path, log = folder / name, folder / "asked"
    head = (
        "import json, os, sys, time\n"
        "prompt = sys.stdin.buffer.read().decode()\n"
        f"with open({str(log)!r}, 'a') as log:\n"
        "    print(json.dumps(prompt), file=log)\n"
    )
    path.write_text(head + body, encoding="utf-8")
    return [sys.executable, str(path)]


def write_fixed_answer(folder: Path, answer: str = ANSWER) -> list[str]:
    """The command line of a program that gives always the same answer."""
    return write_program(folder, f"sys.stdout.buffer.write({answer.encode()!r})\n")


def read_prompts(folder: Path) -> list[str]:
    """The prompts that the programs of a folder were given."""
    log = folder / "asked"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def write_workspace_settings(root: Path, **settings: bool) -> None:
    """A workspace that says what a model is used for."""
    root.mkdir(parents=True, exist_ok=True)
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in settings.items()]
    (root / "lineage.toml").write_text("[language_model]\n" + "".join(lines))


def write_machine_config(home: Path, **model: Any) -> Path:
    """This machine's configuration with these settings of its model."""
    path = home / ".config" / "lineage" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{key} = {json.dumps(value)}" for key, value in model.items()]
    path.write_text("[model]\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


class CannedModel:
    """A model that gives one answer to everything, and keeps what it was asked."""

    def __init__(self, answer: str, max_chars: int = 60_000) -> None:
        self.max_chars = max_chars
        self.prompts: list[str] = []
        self._answer = answer

    def ask(self, task: str, prompt: str, read: Callable[[str], ParsedAnswer[Value]]) -> Value | None:
        self.prompts.append(prompt)
        return read(self._answer).value
