"""Hooks in a JSON file: `hooks[EVENT]` is a list of handlers (Cursor, Copilot) or of groups of handlers (the others).

Installing appends behind what others have (Codex trusts by position), changes an outdated entry in its place, and never
touches another's. Uninstalling takes out every entry of lineage's, and what was made for them if it is empty by then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lineage.harness.installing.commands import Entry, entries
from lineage.harness.installing.editing import added, changed, removed, replaced
from lineage.harness.installing.jsonc import ARRAY, OBJECT, Document, Node, parsed, refuse
from lineage.harness.installing.marks import Marks

_HOOKS = "hooks"


@dataclass(frozen=True, slots=True)
class JsonHooks:
    """The form of one file. `elements`: what `hooks[EVENT]` is to hold; `beside`: what the root needs beside hooks."""

    harness: str
    elements: Mapping[str, Any]
    beside: Mapping[str, Any] = field(default_factory=dict)

    def ours(self, text: str, name: str) -> list[Entry]:
        """Lineage's entries. Raises InvalidInput for a text that is no JSON."""
        root = parsed(text, name).root
        hooks = root.member(_HOOKS) if root else None
        return list(entries(hooks.plain(), self.harness)) if hooks else []

    def install(self, text: str, marks: Marks, name: str) -> tuple[str, Marks]:
        """The text with lineage's entries. Raises InvalidInput, naming file and line, where they have no place."""
        if parsed(text, name).root is None:
            marks = replace(marks, before=text)
            text += ("" if text in ("", "\ufeff") or text.endswith("\n") else "\n") + "{}\n"
        _check(text, name, self.elements)
        text = _without(text, name, self._superfluous(text, name))
        for key, value in self.beside.items():
            text, marks = _with_member(text, name, marks, "", key, value)
        text, marks = _with_member(text, name, marks, "", _HOOKS, {})
        for event, element in self.elements.items():
            text, marks = self._with_element(text, name, marks, event, element)
        return text, marks

    def uninstall(self, text: str, marks: Marks, name: str) -> str:
        """The text without lineage's entries, and without what was made for them.

        What stands beside the hooks stays where hooks that came later need it.
        """
        if parsed(text, name).root is None:
            return text
        lost = [f"{_HOOKS}.{entry.event}" for entry in self.ours(text, name)]
        text = _without(text, name, self.ours(text, name))
        made = {**dict.fromkeys([*lost, *([_HOOKS] if lost else [])]), **marks.containers}
        for container in sorted((one for one in made if one.startswith(_HOOKS)), key=len, reverse=True):
            text = _tidied(text, name, container, made[container])
        hooks = _at(parsed(text, name), _HOOKS)
        if hooks is None or not hooks.items or _HOOKS not in marks.containers:
            for key in (one for one in self.beside if made.get(one, "") is None):
                text = _without_member(text, name, key)
        text = _tidied(text, name, "", made.get(""))
        return _without_root(text, name, marks.before)

    def _superfluous(self, text: str, name: str) -> list[Entry]:
        """Entries of events that are registered no more, of groups shared with others, and second ones."""
        kept: dict[str, int] = {}
        return [
            entry
            for entry in self.ours(text, name)
            if entry.handler is not None
            or entry.event not in self.elements
            or kept.setdefault(entry.event, entry.index) != entry.index
        ]

    def _with_element(self, text: str, name: str, marks: Marks, event: str, element: Any) -> tuple[str, Marks]:
        here = next((entry for entry in self.ours(text, name) if entry.event == event), None)
        if here is None:
            text, marks = _with_member(text, name, marks, _HOOKS, event, [])
            return _filled(text, name, marks, f"{_HOOKS}.{event}", element)
        document = parsed(text, name)
        place = _found(document, f"{_HOOKS}.{event}").items[here.index].value
        return (text if place.plain() == element else replaced(document, place, element)), marks


def _check(text: str, name: str, events: Mapping[str, Any]) -> None:
    """Refuses a file whose root, hooks or lists of hooks are something else."""
    document = parsed(text, name)
    expected = {"": OBJECT, _HOOKS: OBJECT, **{f"{_HOOKS}.{event}": ARRAY for event in events}}
    for container, kind in expected.items():
        node = _at(document, container)
        if node is not None and node.kind != kind:
            refuse(text, name, node.start, f"{container or 'the whole'} is no {kind}")


def _at(document: Document, container: str) -> Node | None:
    """The node of a dotted name."""
    node = document.root
    for key in filter(None, container.split(".")):
        node = node.member(key) if node else None
    return node


def _found(document: Document, container: str) -> Node:
    node = _at(document, container)
    if node is None:
        raise LookupError(container)
    return node


def _with_member(text: str, name: str, marks: Marks, container: str, key: str, value: Any) -> tuple[str, Marks]:
    """With a member where the container has none of that key; it is noted as made."""
    if _found(parsed(text, name), container).member(key) is not None:
        return text, marks
    text, marks = _filled(text, name, marks, container, value, key)
    return text, marks.container(f"{container}.{key}" if container else key, None)


def _filled(
    text: str, name: str, marks: Marks, container: str, value: Any, key: str | None = None
) -> tuple[str, Marks]:
    document = parsed(text, name)
    text, inside = added(document, _found(document, container), value, key)
    return text, marks if inside is None else marks.container(container, inside)


def _without(text: str, name: str, gone: list[Entry]) -> str:
    """Without these entries; the last goes first, so that the others keep their places."""
    places = {(entry.event, entry.index, -1 if entry.handler is None else entry.handler) for entry in gone}
    for event, index, handler in sorted(places, reverse=True):
        document = parsed(text, name)
        groups = _found(document, f"{_HOOKS}.{event}")
        shared = None if handler < 0 else groups.items[index].value.member(_HOOKS)
        text = removed(document, shared, handler) if shared else removed(document, groups, index)
    return text


def _tidied(text: str, name: str, container: str, inside: str | None) -> str:
    """An empty container as it was before: gone where it was made (`inside` is None), else with its white space."""
    document = parsed(text, name)
    node = _at(document, container)
    if node is None or node.items or _commented(document, node):
        return text
    if inside is None and container:
        return _without_member(text, name, container)
    if inside is None or inside.strip():
        return text
    return changed(text, [(node.start + 1, node.end - 1, inside)])


def _without_member(text: str, name: str, container: str) -> str:
    document = parsed(text, name)
    parent, _, key = container.rpartition(".")
    node = _at(document, parent)
    places = [place for place, item in enumerate(node.items) if item.key == key] if node else []
    return removed(document, node, places[-1]) if node and places else text


def _commented(document: Document, node: Node) -> bool:
    return any(node.start < start < node.end for start, _ in document.comments)


def _without_root(text: str, name: str, before: str | None) -> str:
    """Without an empty root where the file had none."""
    document = parsed(text, name)
    root = document.root
    if before is None or root is None or root.items or _commented(document, root):
        return text
    rest = text[: root.start] + text[root.end :]
    return before if rest.strip() == before.strip() else rest
