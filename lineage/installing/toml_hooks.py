"""Hooks and the MCP server in Codex's `config.toml`, each one block of lines: `[[hooks.EVENT]]` groups, and a table.

It edits the text, not a parsed document: every byte outside of the block stays as it is. tomlkit, which edits lineage's
own settings, can't do it. It writes `[[hooks.Stop]]`, `[[hooks.PreToolUse]]`, `[[hooks.Stop]]` in another order, takes
the comments behind a table out with it, and removes nothing from an array that has another table in between.
"""

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import tomlkit

from lineage.installing.commands import (
    MCP,
    SERVER,
    HookEntry,
    find_entries,
    is_half_server,
    is_installed_server,
    parse_server,
    select_start,
    starts_alike,
)
from lineage.installing.config_files import FileMarks
from lineage.installing.jsonc import detect_newline, raise_invalid

_HOOKS = "hooks"
_SERVER_TABLE = f"mcp_servers.{SERVER}"
_SERVER_PATH = ("mcp_servers", SERVER)
_LINE = re.compile(r"line (\d+)")
# For the line number in errors.
_MENTION = re.compile(r"^[ \t]*\[*[ \t]*hooks\b", re.MULTILINE)
# Comments and empty lines at the end of a table stay when it goes.
_TAIL = re.compile(r"^(?:[ \t\r]*(?:#[^\n]*)?(?:\n|\Z))*\Z", re.MULTILINE)
_BEGINS_WITH_TABLE = re.compile(r"(?:[ \t\r]*(?:#[^\n]*)?\n)*[ \t]*(?:\[|(?:#[^\n]*)?\Z)")
_BRACKET = re.compile(r"^\ufeff?[ \t]*(?=\[)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class TomlHooks:
    """The form of the file. `elements` are the values of `hooks.EVENT`."""

    harness: str
    elements: Mapping[str, Any]

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Return lineage's entries. Raise InvalidInput for a text that is no TOML."""
        return list(find_entries(_load_toml(text, name).get(_HOOKS, {}), self.harness))

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """Return the text with lineage's groups: in place of an outdated block, else at the end.

        Raise InvalidInput, with file and line, if the form of the file's hooks takes no groups.
        """
        if self._is_complete(_load_toml(text, name)):
            return text, marks
        parts = _split_around(text, marks.block)
        if parts is None or self.find_entries(_join(*parts), name):
            parts = self.uninstall(text, marks, name), ""
        head, tail = parts
        lines = [line for event, group in self.elements.items() for line in _render_group(event, group)]
        block = _build_block(head, lines, detect_newline(text))
        result = head + block + tail
        if not self._is_complete(_load_toml_or_none(result) or {}):
            mention = _MENTION.search(text)
            raise_invalid(text, name, mention.start() if mention else 0, "hooks are not written as [[hooks.…]] groups")
        return result, replace(marks, block=block)

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """Return the text without lineage's groups. Raise InvalidInput if one is in an inline table or array."""
        parts = _split_around(text, marks.block)
        text = text if parts is None else _join(*parts)
        while entries := self.find_entries(text, name):
            text = _remove_entry(text, entries[-1], name)
        return text

    def _is_complete(self, data: Mapping[str, Any]) -> bool:
        """Return whether lineage's entries are exactly the expected ones."""
        hooks = data.get(_HOOKS, {})
        groups = [(entry.event, hooks[entry.event][entry.index]) for entry in find_entries(hooks, self.harness)]
        return sorted(groups, key=lambda group: group[0]) == sorted(self.elements.items())


@dataclass(frozen=True, slots=True)
class TomlServer:
    """The form of the MCP server in the file: the table `value`. For one of somebody else's, see `JsonServer`."""

    value: Mapping[str, Any]

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Return lineage's servers as entries, under the name of their part."""
        found = filter(None, map(parse_server, _get_servers(_load_toml(text, name)).values()))
        return [HookEntry(MCP, index, None, words) for index, words in enumerate(found)]

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """Return the text with the server. Raise InvalidInput, with file and line, if it has no place."""
        server = _get_servers(_load_toml(text, name)).get(SERVER)
        if isinstance(server, Mapping) and is_installed_server(server):
            if starts_alike(server, self.value):
                return text, marks
            if server.keys() - self.value.keys():
                return self._update(text, name), self.drop_marks(marks)
        elif (server is not None and not is_half_server(server)) or self.find_entries(text, name):
            return text, marks
        text = self.uninstall(text, marks, name)
        block = _build_block(text, [f"[{_SERVER_TABLE}]", *_render_values(self.value)], detect_newline(text))
        if _get_servers(_load_toml_or_none(text + block) or {}).get(SERVER) != self.value:
            raise_invalid(text, name, max(0, text.find("mcp_servers")), "MCP servers are not written as tables")
        return text + block, replace(marks, containers={**marks.containers, _SERVER_TABLE: block})

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """Return the text without lineage's own server, and without what its user or Codex set of it."""
        parts = _split_around(text, marks.containers.get(_SERVER_TABLE))
        server = _get_servers(_load_toml(text, name)).get(SERVER)
        if parts is None and not (is_installed_server(server) or is_half_server(server)):
            return text
        text = text if parts is None else _join(*parts)
        # Codex wrote the file anew, or what it may do without asking into a table within: found by their names.
        return _cut(text, [(start, end) for start, end, path in _find_sections(text) if path[:2] == _SERVER_PATH])

    def _update(self, text: str, name: str) -> str:
        """Return the text with a server that starts as it shall; what else its user set stays."""
        for start, end, path in _find_sections(text):
            if path == _SERVER_PATH:
                section = tomlkit.parse(text[start:end])
                section["mcp_servers"][SERVER].update(select_start(self.value))
                text = text[:start] + tomlkit.dumps(section) + text[end:]
                break
        if not starts_alike(_get_servers(_load_toml_or_none(text) or {}).get(SERVER), self.value):
            raise_invalid(text, name, max(0, text.find("mcp_servers")), "MCP servers are not written as tables")
        return text

    def drop_marks(self, marks: FileMarks) -> FileMarks:
        """Return the marks without the server's."""
        return marks.without_containers(_SERVER_TABLE)


def _get_servers(data: Mapping[str, Any]) -> Mapping[str, Any]:
    servers = data.get("mcp_servers")
    return servers if isinstance(servers, Mapping) else {}


def _build_block(head: str, lines: Iterable[str], newline: str) -> str:
    """Return lines to put behind a text, after an empty line."""
    breaks = newline * (2 - head.endswith("\n")) if head.removeprefix("\ufeff") else ""
    return breaks + newline.join(lines) + newline


def _render_values(values: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items())


def _render_group(event: str, group: Mapping[str, Any]) -> Iterator[str]:
    yield f"[[{_HOOKS}.{event}]]"
    yield from _render_values({key: value for key, value in group.items() if key != _HOOKS})
    for handler in group[_HOOKS]:
        yield f"[[{_HOOKS}.{event}.{_HOOKS}]]"
        yield from _render_values(handler)


def _load_toml(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        match = _LINE.search(str(error))
        lines = text.split("\n")[: int(match[1]) - 1] if match else []
        raise_invalid(text, name, sum(len(line) + 1 for line in lines), f"not TOML: {error}")


def _load_toml_or_none(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return None


def _split_around(text: str, block: str | None) -> tuple[str, str] | None:
    """Return the text before and after the block, None unless the text holds it unchanged.

    Keys behind it are its last table's: without it they would be another one's. So it isn't taken for unchanged then.
    """
    if not block or block not in text:
        return None
    head, _, tail = text.partition(block)
    return (head, tail) if _BEGINS_WITH_TABLE.match(tail) else None


def _join(head: str, tail: str) -> str:
    needs_newline = head and tail and not head.endswith("\n")
    return head + (detect_newline(head) if needs_newline else "") + tail


def _remove_entry(text: str, entry: HookEntry, name: str) -> str:
    """Return the text without an entry's tables. Comments and empty lines behind them stay."""
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
        position = mention.start() if mention else 0
        raise_invalid(text, name, position, "an entry of lineage's in an inline table: take it out")
    return _cut(text, cuts)


def _cut(text: str, cuts: list[tuple[int, int]]) -> str:
    # From the end, so that the positions before stay valid.
    for start, end in reversed(cuts):
        text = text[:start] + text[end:]
    return text


def _find_sections(text: str) -> Iterator[tuple[int, int, tuple[str | None, ...]]]:
    """Yield each table: the start of its header, the end of its last key, its name. A final None marks an array."""
    headers = list(_find_headers(text))
    ends = [start for start, _ in headers[1:]] + [len(text)]
    for (start, path), end in zip(headers, ends, strict=False):  # a text without a table has an end, too
        tail = _TAIL.search(text, text.index("\n", start) + 1 if "\n" in text[start:end] else end, end)
        yield start, tail.start() if tail else end, path


def _find_headers(text: str) -> Iterator[tuple[int, tuple[str | None, ...]]]:
    before = 0
    for match in _BRACKET.finditer(text):
        # In the middle of a value of several lines, what stands before is no TOML.
        if _load_toml_or_none(text[before : match.start()]) is not None:
            before = match.start() + match[0].startswith("\ufeff")
            yield before, _parse_name(text[before:].partition("\n")[0].rstrip())


def _parse_name(header: str) -> tuple[str | None, ...]:
    """Return the name in a header line.

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
