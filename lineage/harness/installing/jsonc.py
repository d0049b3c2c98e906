"""JSON with comments and trailing commas as positions in its text: what an editor needs that must leave every other
byte alone. A byte order mark, any line ends and any indentation are taken as they are."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from lineage.errors import InvalidInput

OBJECT, ARRAY, SCALAR = "object", "array", "scalar"

_DEEPEST = 100
_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+|\A\ufeff)
    |   (?P<comment>//[^\r\n]*|/\*.*?\*/)
    |   (?P<mark>[{}\[\]:,])
    |   (?P<scalar>"(?:[^"\\\x00-\x1f]|\\.)*"|[^\s{}\[\]:,"/]+)""",
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Node:
    """A value and where it stands: `text[start:end]`. Containers have `items`, scalars their Python value as `data`."""

    kind: str
    start: int
    end: int
    items: tuple["Item", ...] = ()
    data: Any = None

    def member(self, key: str) -> "Node | None":
        """The value of a key of an object; of a repeated key the last one, as every JSON reader has it."""
        return next((item.value for item in reversed(self.items) if item.key == key), None)

    def plain(self) -> Any:
        """The value as Python's own."""
        if self.kind == OBJECT:
            return {item.key: item.value.plain() for item in self.items}
        return [item.value.plain() for item in self.items] if self.kind == ARRAY else self.data


@dataclass(frozen=True, slots=True)
class Item:
    """A member of an object (`start` is its key's) or an element of an array, and the comma behind it."""

    start: int
    key: str | None
    value: Node
    comma: int | None


@dataclass(frozen=True, slots=True)
class Document:
    """A text, its root (None where it holds no value at all), and where white space and comments stand."""

    text: str
    root: Node | None
    spaces: tuple[tuple[int, int], ...]
    comments: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def parsed(text: str, name: str) -> Document:
    """The document. Raises InvalidInput that names file (`name`) and line where the text is no JSON with comments."""
    tokens = list(_tokens(text, name))
    reader = _Reader(text, name, [token for token in tokens if token.kind not in ("space", "comment")])
    root = reader.value(0) if reader.here else None
    if reader.here:
        reader.refuse("more text after the end of the value")
    return Document(text, root, _of(tokens, "space"), _of(tokens, "comment"))


def refuse(text: str, name: str, position: int, what: str) -> NoReturn:
    """Raises the error that names file and line."""
    line = text.count("\n", 0, position) + 1
    raise InvalidInput(f"{name}:{line}: {what}", hint="nothing was changed; mend the file, then run the command again")


def _of(tokens: list[_Token], kind: str) -> tuple[tuple[int, int], ...]:
    return tuple((token.start, token.end) for token in tokens if token.kind == kind)


def _tokens(text: str, name: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            refuse(text, name, position, f"not JSON: {text[position : position + 20]!r}")
        yield _Token(match.lastgroup or "", match[0], match.start(), match.end())
        position = match.end()


class _Reader:
    """Reads values off a list of tokens; errors name the line."""

    def __init__(self, text: str, name: str, tokens: list[_Token]) -> None:
        self._text, self._name, self._tokens, self._next = text, name, tokens, 0

    @property
    def here(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def refuse(self, what: str) -> NoReturn:
        refuse(self._text, self._name, self.here.start if self.here else len(self._text), what)

    def value(self, depth: int) -> Node:
        token = self._take("a value")
        if token.text in ("{", "["):
            if depth == _DEEPEST:
                refuse(self._text, self._name, token.start, f"nested more than {_DEEPEST} deep")
            return self._container(token, depth)
        return Node(SCALAR, token.start, token.end, data=self._scalar(token))

    def _take(self, wanted: str) -> _Token:
        token = self.here
        if token is None:
            self.refuse(f"the file ends where {wanted} should stand")
        self._next += 1
        return token

    def _scalar(self, token: _Token) -> Any:
        try:
            return json.loads(token.text)
        except ValueError:
            refuse(self._text, self._name, token.start, f"not a JSON value: {token.text[:40]!r}")

    def _container(self, opening: _Token, depth: int) -> Node:
        kind, closing = (OBJECT, "}") if opening.text == "{" else (ARRAY, "]")
        items: list[Item] = []
        while True:
            if self.here and self.here.text == closing:
                return Node(kind, opening.start, self._take(closing).end, tuple(items))
            if items and items[-1].comma is None:
                self.refuse(f"expected a comma or {closing}")
            items.append(self._item(kind, depth))

    def _item(self, kind: str, depth: int) -> Item:
        start, key = self.here.start if self.here else len(self._text), None
        if kind == OBJECT:
            token = self._take("a key")
            key = self._scalar(token)
            if not isinstance(key, str) or self._take("a colon").text != ":":
                refuse(self._text, self._name, token.start, "expected a key in double quotes and a colon")
        value = self.value(depth + 1)
        comma = self.here.start if self.here and self.here.text == "," else None
        if comma is not None:
            self._next += 1
        return Item(start, key, value, comma)
