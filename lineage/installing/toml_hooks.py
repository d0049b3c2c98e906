"""Hooks in Codex's `config.toml`: `[[hooks.EVENT]]` groups, appended as one block of lines behind everything else.

The text is edited, not a parsed document: every byte outside of the block stays as it is.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from lineage.installing.commands import HookEntry, find_entries
from lineage.installing.install_record import FileMarks
from lineage.installing.jsonc import raise_invalid

_HOOKS = "hooks"
_LINE = re.compile(r"line (\d+)")
_MENTION = re.compile(r"^[ \t]*\[*[ \t]*hooks\b", re.MULTILINE)
_TAIL = re.compile(r"^(?:[ \t\r]*(?:#[^\n]*)?(?:\n|\Z))*\Z", re.MULTILINE)
_TOKEN = re.compile(
    r"""(?P<text>"{3}(?:\\.|[^\\])*?"{3,5}|'{3}.*?'{3,5}|"(?:\\.|[^"\\\n])*"|'[^'\n]*')
    |   (?P<comment>\#[^\n]*)
    |   (?P<open>[\[{])
    |   (?P<close>[\]}])
    |   (?P<other>[^"'\#\[\]{}\n]+|.)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class TomlHooks:
    """The form of the file. `elements`: what `hooks.EVENT` is to hold."""

    harness: str
    elements: Mapping[str, Any]

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Lineage's entries. Raises InvalidInput for a text that is no TOML."""
        return list(find_entries(_load_toml(text, name).get(_HOOKS, {}), self.harness))

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """The text with lineage's groups: in the place of the block that is outdated, else at the end.

        Raises InvalidInput, naming file and line, where the file's hooks have a form that takes no groups.
        """
        if self._is_complete(_load_toml(text, name)):
            return text, marks
        here = _split_around(text, marks.block)
        if here is None or self.find_entries(_join(*here), name):
            here = self.uninstall(text, marks, name), ""
        head, tail = here
        block = _separator(head, _newline(text)) + self._render_groups(_newline(text))
        result = head + block + tail
        if not self._is_complete(_load_toml_or_empty(result)):
            mention = _MENTION.search(text)
            raise_invalid(text, name, mention.start() if mention else 0, "hooks are not written as [[hooks.…]] groups")
        return result, replace(marks, block=block)

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """The text without lineage's groups. Raises InvalidInput where one stands in an inline table or array."""
        here = _split_around(text, marks.block)
        text = text if here is None else _join(*here)
        while found := self.find_entries(text, name):
            text = _remove_entry(text, found[-1], name)
        return text

    def _is_complete(self, data: Mapping[str, Any]) -> bool:
        """Whether lineage's entries are exactly those that belong there."""
        hooks = data.get(_HOOKS, {})
        found = [(entry.event, hooks[entry.event][entry.index]) for entry in find_entries(hooks, self.harness)]
        return sorted(found, key=lambda one: one[0]) == sorted(self.elements.items())

    def _render_groups(self, newline: str) -> str:
        lines = [line for event, group in self.elements.items() for line in _render_group(event, group)]
        return newline.join(lines) + newline


def _render_group(event: str, group: Mapping[str, Any]) -> Iterator[str]:
    yield f"[[{_HOOKS}.{event}]]"
    yield from (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in group.items() if key != _HOOKS)
    for handler in group[_HOOKS]:
        yield f"[[{_HOOKS}.{event}.{_HOOKS}]]"
        yield from (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in handler.items())


def _load_toml(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        found = _LINE.search(str(error))
        lines = text.split("\n")[: int(found[1]) - 1] if found else []
        raise_invalid(text, name, sum(len(line) + 1 for line in lines), f"not TOML: {error}")


def _load_toml_or_empty(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return {}


def _split_around(text: str, block: str | None) -> tuple[str, str] | None:
    """What stands before and behind the block, where the text holds it as it was written."""
    if not block or block not in text:
        return None
    head, _, tail = text.partition(block)
    return head, tail


def _join(head: str, tail: str) -> str:
    apart = head and tail and not head.endswith("\n")
    return head + (_newline(head) if apart else "") + tail


def _separator(head: str, newline: str) -> str:
    """What sets the block off from the lines before it."""
    if not head.removeprefix("\ufeff"):
        return ""
    return newline if head.endswith("\n") else newline * 2


def _remove_entry(text: str, entry: HookEntry, name: str) -> str:
    """The text without an entry's tables; comments and empty lines behind them stay."""
    group = handler = -1
    cuts = []
    for start, end, path in _find_sections(text):
        if path == (_HOOKS, entry.event, None):
            group, handler = group + 1, -1
        elif path == (_HOOKS, entry.event, _HOOKS, None):
            handler += 1
        elif path[:2] != (_HOOKS, entry.event):
            continue
        if group == entry.index and entry.handler in (None, handler):
            cuts.append((start, end))
    if not cuts:
        mention = _MENTION.search(text)
        raise_invalid(
            text, name, mention.start() if mention else 0, "an entry of lineage's in an inline table: take it out"
        )
    for start, end in reversed(cuts):
        text = text[:start] + text[end:]
    return text


def _find_sections(text: str) -> Iterator[tuple[int, int, tuple[str | None, ...]]]:
    """Each table: where its header begins, where its last key ends, and its name; a None behind marks an array's."""
    headers = list(_find_headers(text))
    ends = [start for start, _ in headers[1:]] + [len(text)]
    for (start, path), end in zip(headers, ends, strict=True):
        tail = _TAIL.search(text, text.index("\n", start) + 1 if "\n" in text[start:end] else end, end)
        yield start, tail.start() if tail else end, path


def _find_headers(text: str) -> Iterator[tuple[int, tuple[str | None, ...]]]:
    depth = position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        position = token.end() if token else len(text)
        kind = token.lastgroup if token else None
        if token and kind == "open" and depth == 0:
            start = text.rfind("\n", 0, token.start()) + 1
            if not text[start : token.start()].strip(" \t\ufeff"):
                position = (text.find("\n", start) + 1 or len(text) + 1) - 1
                start += text.startswith("\ufeff", start)
                yield start, _parse_name(text[start:position].rstrip())
                continue
        depth += {"open": 1, "close": -1}.get(kind or "", 0)


def _parse_name(header: str) -> tuple[str | None, ...]:
    """The name in a header line.

    >>> _parse_name("[[hooks.Stop]]"), _parse_name('[hooks.state."a.b"]  # note')
    (('hooks', 'Stop', None), ('hooks', 'state', 'a.b'))
    """
    node: Any = tomllib.loads(header)
    path: list[str | None] = []
    while node:
        key, node = next(iter(node.items()))
        path.append(key)
        if isinstance(node, list):
            return (*path, None)
    return tuple(path)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
