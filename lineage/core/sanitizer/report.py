"""What would be redacted, as rule and place; never what it is."""

from collections.abc import Iterator
from typing import NamedTuple

from lineage.core.sanitizer.stream import Block


class Finding(NamedTuple):
    """A redaction in a text: from character `start` to `end` of it, which is at this line and column, both from 1."""

    rule: str
    start: int
    end: int
    line: int
    column: int


class Places:
    """Counts lines and columns over the blocks of a text."""

    def __init__(self) -> None:
        self._line = self._column = 1

    def of(self, block: Block) -> Iterator[Finding]:
        """The findings of the next block."""
        text, position = block.layer.text, 0
        for span in block.spans:
            self._pass(text[position : span.start])
            position = span.start
            start, end = block.layer.origin(span.start, span.end)
            yield Finding(span.rule.id, start + block.offset, end + block.offset, self._line, self._column)
        self._pass(text[position : block.end])

    def _pass(self, text: str) -> None:
        lines = text.count("\n")
        self._line += lines
        self._column = len(text) - text.rfind("\n") if lines else self._column + len(text)
