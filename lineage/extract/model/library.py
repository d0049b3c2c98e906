"""The provider `llm`: a model of the `llm` library, which knows those of many vendors and of this machine.

It runs in a process of its own, as `command` does: its imports are heavy, a plug-in may hang, and nothing can end a
call that runs in this process.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

from lineage.extract.model.command import Command
from lineage.extract.model.port import Answer, NoAnswer

NOT_INSTALLED = "not installed"
UNREADABLE = "unreadable answer"

_CHILD = Path(__file__).with_name("library_child.py")


@dataclass(frozen=True, slots=True)
class Library:
    """A model by its name or alias in `llm models`; `command` runs the child that asks it."""

    name: str
    command: Command
    kind: ClassVar[str] = "llm"

    @staticmethod
    def of(name: str, environment: Mapping[str, str], seconds: float, most_bytes: int) -> "Library":
        arguments = (sys.executable, "-P", str(_CHILD), name)
        return Library(name, Command(arguments, environment, seconds, most_bytes))

    def answer(self, prompt: str) -> Answer:
        if find_spec("llm") is None:
            raise NoAnswer(NOT_INSTALLED)
        answer = _parsed(self.command.output(prompt))
        if "error" in answer:
            raise NoAnswer(str(answer["error"]))
        text, tokens = answer.get("text"), answer.get("tokens")
        if not isinstance(text, str) or not text.strip():
            raise NoAnswer("empty")
        return Answer(text, tokens if isinstance(tokens, int) else None)


def _parsed(output: str) -> dict[str, Any]:
    try:
        value = json.loads(output)
    except (ValueError, RecursionError) as error:
        raise NoAnswer(UNREADABLE) from error
    if not isinstance(value, dict):
        raise NoAnswer(UNREADABLE)
    return value
