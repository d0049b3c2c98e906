"""The record of an artifact's replacement under new redaction rules: the one lawful change of an immutable file.

The manifest keeps one for each: which file, what it held before and holds now, under which rules. `verify` accepts
exactly these. (spec: immutable content artifacts, sanitization contract)
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from lineage.errors import FormatError

_RECORD = re.compile(r"(\S+) ([0-9a-f]{64}) ([0-9a-f]{64}) (\S+) (\S+)")


class Replacement(NamedTuple):
    """`old` and `new` are SHA-256 of the whole file, the versions those of the sanitizer."""

    path: str
    old: str
    new: str
    old_version: str
    new_version: str

    def as_text(self) -> str:
        return f"{self.path} {self.old} {self.new} {self.old_version} {self.new_version}"

    @staticmethod
    def from_text(text: str) -> "Replacement":
        """
        >>> Replacement.from_text("not a record")
        Traceback (most recent call last):
        lineage.errors.FormatError: not a record of a replacement: 'not a record'
        """
        match = _RECORD.fullmatch(text)
        if match is None:
            raise FormatError(f"not a record of a replacement: {text[:120]!r}")
        return Replacement(*match.groups())


def is_recorded_change(records: Sequence[Replacement], path: str, old: str, new: str) -> bool:
    """Whether the records lead from one content of a file to another."""
    for record in records:
        if record.path == path and record.old == old:
            old = record.new
        if old == new:
            return True
    return False
