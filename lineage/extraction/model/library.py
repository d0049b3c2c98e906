"""The provider `llm`: the models of the `llm` library, of many vendors and of this machine.

It runs in a child process, as `command` does: its imports are heavy, and a plug-in that hangs can only be ended from
outside.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import ClassVar

from lineage.extraction.model.command import CommandProvider
from lineage.extraction.model.port import UNREADABLE, ModelAnswer, ModelError, check_answer

NOT_INSTALLED = "not installed"

_CHILD = Path(__file__).with_name("library_child.py")


@dataclass(frozen=True, slots=True)
class LibraryProvider:
    """A model by its name or alias in `llm models`, and the `command` of the child process."""

    name: str
    command: CommandProvider
    kind: ClassVar[str] = "llm"

    @staticmethod
    def for_model(name: str, environment: Mapping[str, str], seconds: float, max_bytes: int) -> "LibraryProvider":
        """Return the provider for a model, with the bounds of `CommandProvider`."""
        # -P: modules beside the child must not shadow those of the library.
        arguments = (sys.executable, "-P", str(_CHILD), name)
        return LibraryProvider(name, CommandProvider(arguments, environment, seconds, max_bytes))

    def answer(self, prompt: str) -> ModelAnswer:
        """Ask the model, see `ModelProvider.answer`."""
        if find_spec("llm") is None:
            raise ModelError(NOT_INSTALLED)
        try:
            answer = json.loads(self.command.run(prompt))
        except (ValueError, RecursionError) as error:
            raise ModelError(UNREADABLE) from error
        if not isinstance(answer, dict):
            raise ModelError(UNREADABLE)
        if "error" in answer:
            raise ModelError(str(answer["error"]))
        return check_answer(answer.get("text"), answer.get("tokens"))
