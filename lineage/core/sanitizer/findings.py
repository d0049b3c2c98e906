"""What would be redacted, as rule and place; never what it is."""

from collections.abc import Iterator
from typing import NamedTuple

from lineage.core.sanitizer.stream import StreamBlock


class RedactionFinding(NamedTuple):
    """A redaction in a text: from character `start` to `end` of it, which is at this line and column, both from 1."""

    rule: str
    start: int
    end: int
    line: int
    column: int


class FindingLocator:
    """Counts lines and columns over the blocks of a text."""

    def __init__(self) -> None:
        self._line = self._column = 1

    def locate(self, block: StreamBlock) -> Iterator[RedactionFinding]:
        """The findings of the next block."""
        text, position = block.layer.text, 0
        for span in block.spans:
            self._advance(text[position : span.start])
            position = span.start
            start, end = block.layer.map_to_original(span.start, span.end)
            yield RedactionFinding(span.rule.id, start + block.offset, end + block.offset, self._line, self._column)
        self._advance(text[position : block.end])

    def _advance(self, text: str) -> None:
        lines = text.count("\n")
        self._line += lines
        self._column = len(text) - text.rfind("\n") if lines else self._column + len(text)
