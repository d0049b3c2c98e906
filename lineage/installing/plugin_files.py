"""Files that belong to lineage as a whole: plugins, extensions and skills that a harness loads from a folder."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from lineage.installing.commands import SKILL, HookEntry, is_lineage_command
from lineage.installing.config_files import FileMarks
from lineage.installing.jsonc import raise_invalid

# The only line of a template that differs between machines.
_COMMAND = re.compile(r"^const COMMAND = (\[.*\]);?[ \t]*$", re.MULTILINE)
_SKILL = re.compile(r"\A\ufeff?---\r?\nname: lineage\r?\n")


@dataclass(frozen=True, slots=True)
class PluginScript:
    """A plugin from a template. Its line `const COMMAND = […]` holds the command."""

    harness: str
    template: str
    argv: Sequence[str]

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Return the plugin as one entry if the text is lineage's."""
        argv = _parse_argv(text)
        return [HookEntry("plugin", 0, None, argv)] if is_lineage_command(argv, self.harness) else []

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """Return the plugin's text. Raise InvalidInput for somebody else's file of that name."""
        if text and not self.find_entries(text, name):
            raise_invalid(text, name, 0, "this file is not lineage's: move it away")
        line = f"const COMMAND = {json.dumps(list(self.argv), ensure_ascii=False)};"
        return _COMMAND.sub(lambda _: line, self.template), marks

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """Return no text if the file is lineage's."""
        return "" if self.find_entries(text, name) else text


@dataclass(frozen=True, slots=True)
class PluginCompanion:
    """A manifest that a plugin needs beside the file with the command."""

    content: str

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Return no entries: a companion holds none."""
        return []

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """Return the companion's text. Raise InvalidInput for somebody else's file of that name."""
        if text not in ("", self.content) and not marks.file:
            raise_invalid(text, name, 0, "this file is not lineage's: move it away")
        return self.content, marks

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """Return no text if the file is lineage's."""
        return "" if marks.file or text == self.content else text


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A skill, known as lineage's by the name at its top: a person may have edited it."""

    content: str

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Return the skill as one entry, under the name of its part, if the text is lineage's."""
        return [HookEntry(SKILL, 0, None, ())] if _SKILL.match(text) else []

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """Return the skill's text. Raise InvalidInput for somebody else's file of that name."""
        if text and not _SKILL.match(text):
            raise_invalid(text, name, 0, "this skill is not lineage's: move it away, or install with --no-skill")
        return self.content, marks

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """Return no text if the file is lineage's."""
        return "" if _SKILL.match(text) else text


def _parse_argv(text: str) -> tuple[str, ...]:
    """Return the command in a plugin's text, none without such a line."""
    match = _COMMAND.search(text)
    try:
        words = json.loads(match[1]) if match else []
    except ValueError:
        return ()
    return tuple(word for word in words if isinstance(word, str))
