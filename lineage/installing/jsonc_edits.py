"""Edits to the text of a JSON document that keep every other byte, in the document's own style.

`remove_item` reverses `insert_item` to the byte. Only the white space of an empty container on one line is replaced;
`insert_item` returns it for the record.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from lineage.installing.jsonc import JsoncDocument, JsoncNode, detect_newline

_DEFAULT_INDENT = "  "
_BLANK = " \t\r\n"
_LINE_START = re.compile(r"(?:\A\ufeff|\A|(?<=\n))[ \t]*")
_REST_OF_LINE = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")

TextEdit = tuple[int, int, str]


def insert_item(
    document: JsoncDocument, container: JsoncNode, value: Any, key: str | None = None
) -> tuple[str, str | None]:
    """Return the text with a value as the container's last item, under `key` in an object.

    The second value is the text between the brackets of a container that was empty, else None.
    """
    text = document.text
    label = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if container.items:
        return _append_item(document, container, label, value), None
    inside = (container.start + 1, container.end - 1)
    indent = _indent(text, container.start) + detect_indent(document)
    item = label + render_value(document, value, indent)
    comment = max((end for start, end in document.comments if inside[0] <= start < inside[1]), default=None)
    if comment is not None or "\n" in text[slice(*inside)]:
        place = inside[0] if comment is None else comment
        return apply_edits(text, [(place, place, detect_newline(text) + indent + item)]), text[slice(*inside)]
    root = document.root
    if root and root.items and "\n" not in text[root.start : root.end]:
        return apply_edits(text, [(*inside, label + render_value(document, value, None))]), text[slice(*inside)]
    lines = detect_newline(text) + indent + item + detect_newline(text) + _indent(text, container.start)
    return apply_edits(text, [(*inside, lines)]), text[slice(*inside)]


def remove_item(document: JsoncDocument, container: JsoncNode, index: int) -> str:
    """Return the text without one item, the white space before it, and a superfluous comma."""
    text, item = document.text, container.items[index]
    start = next((start for start, end in document.spaces if end == item.start), item.start)
    cuts = [(start, item.value.end, "")]
    after = item.value.end
    if item.comma is not None:
        cuts.append((item.comma, item.comma + 1, ""))
        after = item.comma + 1
    elif index > 0 and (comma := container.items[index - 1].comma) is not None:
        cuts.append((comma, comma + 1, ""))
    # After a line comment its line break must stay, or the rest would become a comment.
    follows_comment = any(end == start and text.startswith("//", begin) for begin, end in document.comments)
    if follows_comment and text[after : after + 1] not in ("\r", "\n"):
        cuts[0] = (item.start, item.value.end, "")
    return apply_edits(text, cuts)


def replace_value(document: JsoncDocument, node: JsoncNode, value: Any) -> str:
    """Return the text with another value in place of a node's."""
    indent = _indent(document.text, node.start) if "\n" in document.text[node.start : node.end] else None
    return apply_edits(document.text, [(node.start, node.end, render_value(document, value, indent))])


def apply_edits(text: str, edits: Sequence[TextEdit]) -> str:
    """Return the text with the span of each edit replaced.

    >>> apply_edits("one two", [(0, 3, "1"), (4, 7, "2")])
    '1 2'
    """
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def render_value(document: JsoncDocument, value: Any, indent: str | None) -> str:
    """Return a value as JSON over several lines that begin with `indent`, or on one line if that is None."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, ensure_ascii=False, indent=detect_indent(document))
    return lines.replace("\n", detect_newline(document.text) + indent)


def detect_indent(document: JsoncDocument) -> str:
    """Return one step of the document's indentation."""
    first = document.root.items[0] if document.root and document.root.items else None
    if first is None or not _begins_line(document.text, first.start):
        return _DEFAULT_INDENT
    return _indent(document.text, first.start) or _DEFAULT_INDENT


def _append_item(document: JsoncDocument, container: JsoncNode, label: str, value: Any) -> str:
    text, last = document.text, container.items[-1]
    end = last.value.end if last.comma is None else last.comma + 1
    before, behind = (",", "") if last.comma is None else ("", ",")
    if not _begins_line(text, last.start):
        return apply_edits(text, [(end, end, f"{before} {label}{render_value(document, value, None)}{behind}")])
    indent = _indent(text, last.start)
    item = detect_newline(text) + indent + label + render_value(document, value, indent) + behind
    rest = _REST_OF_LINE.match(text, end)
    place = rest.end() if rest else end
    if place == end:
        return apply_edits(text, [(end, end, before + item)])
    return apply_edits(text, [(end, end, before), (place, place, item)])


def _begins_line(text: str, position: int) -> bool:
    return not text[text.rfind("\n", 0, position) + 1 : position].strip(_BLANK)


def _indent(text: str, position: int) -> str:
    match = _LINE_START.match(text, text.rfind("\n", 0, position) + 1)
    return match[0].removeprefix("\ufeff") if match else ""
