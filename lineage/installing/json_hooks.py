"""Hooks and the MCP server in JSON files.

`hooks[EVENT]` is a list of handlers (Cursor, Copilot) or of groups of handlers (the others).
Installing appends after other people's entries (Codex trusts by position), updates an outdated entry in its place, and
never touches another's. Uninstalling removes every entry of lineage's, and its containers if they are empty then.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lineage.installing import jsonc
from lineage.installing.commands import (
    MCP,
    SERVER,
    HookEntry,
    find_entries,
    is_installed_server,
    parse_server,
    select_start,
    starts_alike,
)
from lineage.installing.config_files import FileMarks

_HOOKS = "hooks"


@dataclass(frozen=True, slots=True)
class JsonHooks:
    """The form of one file. `elements` are the values of `hooks[EVENT]`, `root_members` the members beside hooks."""

    harness: str
    elements: Mapping[str, Any]
    root_members: Mapping[str, Any] = field(default_factory=dict)

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Return lineage's entries. Raise InvalidInput for a text that is no JSON."""
        root = jsonc.parse_jsonc(text, name).root
        hooks = root.get_member(_HOOKS) if root else None
        return list(find_entries(hooks.to_python(), self.harness)) if hooks else []

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """Return the text with lineage's entries. Raise InvalidInput, with file and line, if they have no place."""
        text, marks = _ensure_root(text, marks, name)
        _check(text, name, (_HOOKS, *(f"{_HOOKS}.{event}" for event in self.elements)))
        superfluous = self._find_superfluous(text, name)
        text = _remove_entries(text, name, superfluous)
        for event in sorted({f"{_HOOKS}.{entry.event}" for entry in superfluous if entry.event not in self.elements}):
            text = _tidy_container(text, name, event, marks.containers.get(event, ""))
            marks = marks.without_containers(event)
        for key, value in self.root_members.items():
            text, marks = _add_member(text, name, marks, "", key, value)
        text, marks = _add_member(text, name, marks, "", _HOOKS, {})
        for event, element in self.elements.items():
            text, marks = self._set_element(text, name, marks, event, element)
        return text, marks

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """Return the text without lineage's entries and empty containers made for them.

        Members beside the hooks stay if other people's hooks need them.
        """
        if jsonc.parse_jsonc(text, name).root is None:
            return text
        entries = self.find_entries(text, name)
        text = _remove_entries(text, name, entries)
        # Without a record, the containers of the entries count as lineage's: if empty, they go.
        unrecorded = [f"{_HOOKS}.{entry.event}" for entry in entries] + [_HOOKS] * bool(entries)
        containers = {**dict.fromkeys(unrecorded), **marks.containers}
        for container in sorted((key for key in containers if key.startswith(_HOOKS)), key=len, reverse=True):
            text = _tidy_container(text, name, container, containers[container])
        hooks = _find_node(jsonc.parse_jsonc(text, name), _HOOKS)
        if hooks is None or not hooks.items or _HOOKS not in marks.containers:
            for key in self.root_members:
                if containers.get(key, "") is None:
                    text = _remove_member(text, name, key)
        text = _tidy_container(text, name, "", containers.get(""))
        return _remove_root(text, name, marks.before)

    def _find_superfluous(self, text: str, name: str) -> list[HookEntry]:
        """Return entries of unregistered events, entries in groups shared with others, and second ones."""
        first: dict[str, int] = {}
        return [
            entry
            for entry in self.find_entries(text, name)
            if entry.handler is not None
            or entry.event not in self.elements
            or first.setdefault(entry.event, entry.index) != entry.index
        ]

    def _set_element(self, text: str, name: str, marks: FileMarks, event: str, element: Any) -> tuple[str, FileMarks]:
        entry = next((entry for entry in self.find_entries(text, name) if entry.event == event), None)
        if entry is None:
            text, marks = _add_member(text, name, marks, _HOOKS, event, [])
            return _insert_item(text, name, marks, f"{_HOOKS}.{event}", element)
        document = jsonc.parse_jsonc(text, name)
        node = _get_node(document, f"{_HOOKS}.{event}").items[entry.index].value
        return (text if node.to_python() == element else jsonc.replace_value(document, node, element)), marks


@dataclass(frozen=True, slots=True)
class JsonServer:
    """The form of the MCP server in a file: `value` under its name in the object `container`, `mcp.servers` for one.

    A server of lineage's that somebody else registered stays as it is, and stays when lineage's own goes.
    """

    container: str
    value: Mapping[str, Any]

    def find_entries(self, text: str, name: str) -> list[HookEntry]:
        """Return lineage's servers as entries, under the name of their part."""
        servers = self._load_servers(text, name)
        found = filter(None, map(parse_server, servers.values())) if isinstance(servers, Mapping) else ()
        return [HookEntry(MCP, index, None, words) for index, words in enumerate(found)]

    def install(self, text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
        """Return the text with the server. Raise InvalidInput, with file and line, if it has no place."""
        servers = self._load_servers(text, name)
        server = servers.get(SERVER) if isinstance(servers, Mapping) else None
        if is_installed_server(server):
            return (text if starts_alike(server, self.value) else self._update(text, name)), marks
        if server is not None or self.find_entries(text, name):
            return text, marks
        text, marks = _ensure_root(text, marks, name)
        _check(text, name, self._list_containers())
        for container in self._list_containers():
            text, marks = _add_member(text, name, marks, *_split(container), {})
        return _add_member(text, name, marks, self.container, SERVER, self.value)

    def uninstall(self, text: str, marks: FileMarks, name: str) -> str:
        """Return the text without lineage's own server, and without the empty containers made for it."""
        servers = self._load_servers(text, name)
        if not (isinstance(servers, Mapping) and is_installed_server(servers.get(SERVER))):
            return text
        text = _remove_member(text, name, f"{self.container}.{SERVER}")
        # Without a record, empty containers count as lineage's, as those of hooks do.
        containers = {**dict.fromkeys(self._list_containers()), **marks.containers}
        for container in (*reversed(self._list_containers()), ""):
            text = _tidy_container(text, name, container, containers.get(container))
        return _remove_root(text, name, marks.before)

    def _update(self, text: str, name: str) -> str:
        """Return the text with a server that starts as it shall; what else its user set stays."""
        server = f"{self.container}.{SERVER}"
        for key, value in select_start(self.value).items():
            document = jsonc.parse_jsonc(text, name)
            node = _find_node(document, f"{server}.{key}")
            text = (
                jsonc.replace_value(document, node, value)
                if node
                else jsonc.insert_item(document, _get_node(document, server), value, key)[0]
            )
        return text

    def drop_marks(self, marks: FileMarks) -> FileMarks:
        """Return the marks without the server's."""
        return marks.without_containers(f"{self.container}.{SERVER}", *self._list_containers())

    def _load_servers(self, text: str, name: str) -> Any:
        """Return the value of the container, None without one."""
        try:
            value = json.loads(text)  # a hundred times as fast as with places: Claude Code's file may have megabytes
        except (ValueError, RecursionError):
            root = jsonc.parse_jsonc(text, name).root
            value = root.to_python() if root else None
        for key in self.container.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        return value

    def _list_containers(self) -> tuple[str, ...]:
        parts = self.container.split(".")
        return tuple(".".join(parts[: number + 1]) for number in range(len(parts)))


def _split(container: str) -> tuple[str, str]:
    """Return the container around one, and its key there."""
    parent, _, key = container.rpartition(".")
    return parent, key


def _ensure_root(text: str, marks: FileMarks, name: str) -> tuple[str, FileMarks]:
    """Return the text with a root: an empty file, or one of comments alone, gets one."""
    if jsonc.parse_jsonc(text, name).root is not None:
        return text, marks
    newline = "" if text in ("", "\ufeff") or text.endswith("\n") else "\n"
    return f"{text}{newline}{{}}\n", replace(marks, before=text)


def _check(text: str, name: str, containers: Sequence[str]) -> None:
    """Raise InvalidInput for a root or containers of another type: all are objects, but lists of hooks."""
    document = jsonc.parse_jsonc(text, name)
    for container in ("", *containers):
        kind = jsonc.ARRAY if container.startswith(f"{_HOOKS}.") else jsonc.OBJECT
        node = _find_node(document, container)
        if node is not None and node.kind != kind:
            jsonc.raise_invalid(text, name, node.start, f"{container or 'the whole'} is no {kind}")


def _find_node(document: jsonc.JsoncDocument, container: str) -> jsonc.JsoncNode | None:
    node = document.root
    for key in filter(None, container.split(".")):
        node = node.get_member(key) if node else None
    return node


def _get_node(document: jsonc.JsoncDocument, container: str) -> jsonc.JsoncNode:
    node = _find_node(document, container)
    if node is None:
        raise LookupError(container)
    return node


def _add_member(text: str, name: str, marks: FileMarks, container: str, key: str, value: Any) -> tuple[str, FileMarks]:
    """Return the text with a new member, unless the container has one of that key."""
    if _get_node(jsonc.parse_jsonc(text, name), container).get_member(key) is not None:
        return text, marks
    text, marks = _insert_item(text, name, marks, container, value, key)
    return text, marks.with_container(f"{container}.{key}" if container else key, None)


def _insert_item(
    text: str, name: str, marks: FileMarks, container: str, value: Any, key: str | None = None
) -> tuple[str, FileMarks]:
    document = jsonc.parse_jsonc(text, name)
    text, inside = jsonc.insert_item(document, _get_node(document, container), value, key)
    return text, marks if inside is None else marks.with_container(container, inside)


def _remove_entries(text: str, name: str, entries: list[HookEntry]) -> str:
    # The last goes first, so that the others keep their places.
    places = {(entry.event, entry.index, -1 if entry.handler is None else entry.handler) for entry in entries}
    for event, index, handler in sorted(places, reverse=True):
        document = jsonc.parse_jsonc(text, name)
        groups = _get_node(document, f"{_HOOKS}.{event}")
        shared = None if handler < 0 else groups.items[index].value.get_member(_HOOKS)
        text = jsonc.remove_item(document, shared, handler) if shared else jsonc.remove_item(document, groups, index)
    return text


def _tidy_container(text: str, name: str, container: str, inside: str | None) -> str:
    """Return the text without an empty container if it was new (`inside` is None), else with its former white space."""
    document = jsonc.parse_jsonc(text, name)
    node = _find_node(document, container)
    if node is None or node.items or _has_comment(document, node):
        return text
    if inside is None and container:
        return _remove_member(text, name, container)
    if inside is None or inside.strip():
        return text
    return jsonc.apply_edits(text, [(node.start + 1, node.end - 1, inside)])


def _remove_member(text: str, name: str, container: str) -> str:
    document = jsonc.parse_jsonc(text, name)
    parent, key = _split(container)
    node = _find_node(document, parent)
    indexes = [index for index, item in enumerate(node.items) if item.key == key] if node else []
    return jsonc.remove_item(document, node, indexes[-1]) if node and indexes else text


def _has_comment(document: jsonc.JsoncDocument, node: jsonc.JsoncNode) -> bool:
    return any(node.start < start < node.end for start, _ in document.comments)


def _remove_root(text: str, name: str, before: str | None) -> str:
    """Return the text without an empty root if the file had none."""
    document = jsonc.parse_jsonc(text, name)
    root = document.root
    if before is None or root is None or root.items or _has_comment(document, root):
        return text
    # Comments around the root may have changed since: then they stay.
    rest = text[: root.start] + text[root.end :]
    return before if rest.strip() == before.strip() else rest
