"""JSON with comments and trailing commas as positions in its text, and edits to it that keep every other byte.

The settings of a harness that reads JSON5 may be that: names without quotes, strings in single ones, more numbers.

A byte order mark, any line ends and any indentation are kept as they are. `remove_item` reverses `insert_item` to the
byte: that replaces only the white space of an empty container on one line, and returns it for the record.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from lineage.errors import InvalidInput

OBJECT, ARRAY, SCALAR = "object", "array", "scalar"

_MAX_DEPTH = 100  # below the limit of Python's recursion
JSON5_FILES = ("openclaw.json",)


def _compile_tokens(space: str, scalar: str) -> re.Pattern[str]:
    comment, mark = r"//[^\r\n]*|/\*.*?\*/", r"[{}\[\]:,]"
    tokens = {"space": space, "comment": comment, "mark": mark, "scalar": scalar}
    return re.compile("|".join(f"(?P<{name}>{pattern})" for name, pattern in tokens.items()), re.DOTALL)


# The byte order mark counts as white space at the start only.
_TOKEN = _compile_tokens(r"[ \t\r\n]+|\A\ufeff", r"""\"(?:[^"\\\x00-\x1f]|\\.)*"|[^\s{}\[\]:,"/]+""")
_JSON5_TOKEN = _compile_tokens(
    r"[\s\ufeff]+",
    r"""\"(?:[^"\\\x00-\x1f]|\\(?:\r\n|.))*"|'(?:[^'\\\x00-\x1f]|\\(?:\r\n|.))*'|[^\s{}\[\]:,"'/]+""",
)
_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$]*")
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|(\r\n|[\n\r\u2028\u2029])|(.))|(\")", re.DOTALL)  # of JSON5, and a quote
_NUMBER = re.compile(r"[+-]?(?:0[xX][0-9A-Fa-f]+|Infinity|NaN|(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)")
_DEFAULT_INDENT = "  "
_BLANK = " \t\r\n"
_LINE_START = re.compile(r"(?:\A\ufeff|\A|(?<=\n))[ \t]*")
_REST_OF_LINE = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))*")

TextEdit = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class JsoncNode:
    """A value at `text[start:end]`. Containers have `items`, scalars their Python value as `data`."""

    kind: str
    start: int
    end: int
    items: tuple["JsoncItem", ...] = ()
    data: Any = None

    def get_member(self, key: str) -> "JsoncNode | None":
        """Return the value of a key of an object; for a repeated key the last one, like every JSON reader."""
        return next((item.value for item in reversed(self.items) if item.key == key), None)

    def to_python(self) -> Any:
        """Return the value as Python's own."""
        if self.kind == OBJECT:
            return {item.key: item.value.to_python() for item in self.items}
        return [item.value.to_python() for item in self.items] if self.kind == ARRAY else self.data


@dataclass(frozen=True, slots=True)
class JsoncItem:
    """A member of an object (`start` is its key's) or an element of an array, and the comma after it."""

    start: int
    key: str | None
    value: JsoncNode
    comma: int | None


@dataclass(frozen=True, slots=True)
class JsoncDocument:
    """A text, its root (None without any value), and the spans of white space and comments."""

    text: str
    root: JsoncNode | None
    spaces: tuple[tuple[int, int], ...]
    comments: tuple[tuple[int, int], ...]


@lru_cache(maxsize=4)  # each small edit of a file asks again for what the one before it has read
def parse_jsonc(text: str, name: str) -> JsoncDocument:
    """Return the document. Raise InvalidInput, with file (`name`) and line, if the text is no JSON with comments.

    A file of `JSON5_FILES` may be JSON5.
    """
    tokens = list(_tokenize(text, name))
    reader = _Parser(text, name, [token for token in tokens if token.lastgroup not in ("space", "comment")])
    root = reader.parse_value(0) if reader.current else None
    if reader.current:
        reader.raise_invalid("more text after the end of the value")
    return JsoncDocument(text, root, _list_spans(tokens, "space"), _list_spans(tokens, "comment"))


def raise_invalid(text: str, name: str, position: int, message: str) -> NoReturn:
    """Raise InvalidInput with file and line."""
    line = text.count("\n", 0, position) + 1
    hint = "nothing was changed; mend the file, then run the command again"
    raise InvalidInput(f"{name}:{line}: {message}", hint=hint)


def detect_newline(text: str) -> str:
    """Return the line end of a text."""
    return "\r\n" if "\r\n" in text else "\n"


def _list_spans(tokens: list[re.Match[str]], kind: str) -> tuple[tuple[int, int], ...]:
    return tuple(token.span() for token in tokens if token.lastgroup == kind)


def _tokenize(text: str, name: str) -> Iterator[re.Match[str]]:
    position, pattern = 0, _JSON5_TOKEN if name.endswith(JSON5_FILES) else _TOKEN
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            raise_invalid(text, name, position, f"not JSON: {text[position : position + 20]!r}")
        yield match
        position = match.end()


class _Parser:
    """A parser of values from a list of tokens."""

    def __init__(self, text: str, name: str, tokens: list[re.Match[str]]) -> None:
        self._text, self._name, self._tokens, self._position = text, name, tokens, 0
        self._is_json5 = name.endswith(JSON5_FILES)

    @property
    def current(self) -> re.Match[str] | None:
        return self._tokens[self._position] if self._position < len(self._tokens) else None

    @property
    def position(self) -> int:
        return self.current.start() if self.current else len(self._text)

    def raise_invalid(self, message: str) -> NoReturn:
        raise_invalid(self._text, self._name, self.position, message)

    def parse_value(self, depth: int) -> JsoncNode:
        token = self._next_token("a value")
        if token[0] in ("{", "["):
            if depth == _MAX_DEPTH:
                raise_invalid(self._text, self._name, token.start(), f"nested more than {_MAX_DEPTH} deep")
            return self._parse_container(token, depth)
        return JsoncNode(SCALAR, *token.span(), data=self._parse_scalar(token))

    def _next_token(self, expected: str) -> re.Match[str]:
        token = self.current
        if token is None:
            self.raise_invalid(f"the file ends where {expected} should stand")
        self._position += 1
        return token

    def _parse_scalar(self, token: re.Match[str]) -> Any:
        text = token[0]
        try:
            if not self._is_json5:
                return json.loads(text)
            if _NUMBER.fullmatch(text):
                return _read_number(text)
            return json.loads(_ESCAPE.sub(_rewrite, f'"{text[1:-1]}"') if text[0] in "'\"" else text)
        except ValueError:
            raise_invalid(self._text, self._name, token.start(), f"not a JSON value: {text[:40]!r}")

    def _parse_container(self, opening: re.Match[str], depth: int) -> JsoncNode:
        kind, closing = (OBJECT, "}") if opening[0] == "{" else (ARRAY, "]")
        items: list[JsoncItem] = []
        while True:
            if self.current and self.current[0] == closing:
                return JsoncNode(kind, opening.start(), self._next_token(closing).end(), tuple(items))
            if items and items[-1].comma is None:
                self.raise_invalid(f"expected a comma or {closing}")
            items.append(self._parse_item(kind, depth))

    def _parse_item(self, kind: str, depth: int) -> JsoncItem:
        start, key = self.position, None
        if kind == OBJECT:
            token = self._next_token("a key")
            key = token[0] if self._is_json5 and _NAME.fullmatch(token[0]) else self._parse_scalar(token)
            if not isinstance(key, str) or self._next_token("a colon")[0] != ":":
                raise_invalid(self._text, self._name, token.start(), "expected a key in double quotes and a colon")
        value = self.parse_value(depth + 1)
        comma = self.position if self.current and self.current[0] == "," else None
        if comma is not None:
            self._position += 1
        return JsoncItem(start, key, value, comma)


def _read_number(text: str) -> int | float:
    if "x" in text.lower():
        return int(text, 16)
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _rewrite(escape: re.Match[str]) -> str:
    """Return what JSON takes for an escape of JSON5; the quotes around the whole stay."""
    code, line_end, sign, quote = escape.groups()
    if quote:
        is_edge = escape.start() == 0 or escape.end() == len(escape.string)
        return quote if is_edge else '\\"'
    if code:
        return f"\\u00{code}"
    if line_end:
        return ""
    named = {"'": "'", "v": "\\u000b", "0": "\\u0000"}
    return named.get(sign, escape[0] if sign in '"\\/bfnrtux123456789' else sign)


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
    rest = text[item.value.end :]
    if item.comma is not None:
        cuts.append((item.comma, item.comma + 1, ""))
        rest = text[item.value.end : item.comma] + text[item.comma + 1 :]
    elif index > 0 and (comma := container.items[index - 1].comma) is not None:
        cuts.append((comma, comma + 1, ""))
    # After a line comment its line break must stay, or the rest would become a comment.
    follows_comment = any(end == start and text.startswith("//", begin) for begin, end in document.comments)
    if follows_comment and not rest.lstrip(" \t").startswith(("\r", "\n")):
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
