"""Files that are lineage's as a whole: plugins and extensions that a harness loads from a folder."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lineage.harness.installing.commands import Entry, is_ours
from lineage.harness.installing.jsonc import refuse
from lineage.harness.installing.marks import Marks

_COMMAND = re.compile(r"^const COMMAND = (\[.*\]);?[ \t]*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Script:
    """A plugin made of the template's text, whose line `const COMMAND = […]` holds the command."""

    harness: str
    template: str
    words: Sequence[str]

    def ours(self, text: str, name: str) -> list[Entry]:
        words = _words(text)
        return [Entry("plugin", 0, None, words)] if is_ours(words, self.harness) else []

    def install(self, text: str, marks: Marks, name: str) -> tuple[str, Marks]:
        """Raises InvalidInput for a file of that name that is somebody else's."""
        if text and not self.ours(text, name):
            refuse(text, name, 0, "this file is not lineage's: move it away")
        line = f"const COMMAND = {json.dumps(list(self.words), ensure_ascii=False)};"
        return _COMMAND.sub(lambda _: line, self.template), marks

    def uninstall(self, text: str, marks: Marks, name: str) -> str:
        return "" if self.ours(text, name) else text


@dataclass(frozen=True, slots=True)
class Companion:
    """A file that a plugin needs beside the one that holds the command: a manifest."""

    content: str

    def ours(self, text: str, name: str) -> list[Entry]:
        return []

    def install(self, text: str, marks: Marks, name: str) -> tuple[str, Marks]:
        """Raises InvalidInput for a file of that name that is somebody else's."""
        if text not in ("", self.content) and not marks.file:
            refuse(text, name, 0, "this file is not lineage's: move it away")
        return self.content, marks

    def uninstall(self, text: str, marks: Marks, name: str) -> str:
        return "" if marks.file or text == self.content else text


def _words(text: str) -> tuple[str, ...]:
    """The command in a plugin's text; none where it has no such line."""
    match = _COMMAND.search(text)
    try:
        words = json.loads(match[1]) if match else []
    except ValueError:
        return ()
    return tuple(word for word in words if isinstance(word, str))
