"""Records of lawfully replaced artifacts (spec: immutable content artifacts, sanitization contract)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lineage.errors import FormatError

_RECORD = re.compile(r"(\S+) ([0-9a-f]{64}) ([0-9a-f]{64}) (\S+) (\S+)")


@dataclass(frozen=True, slots=True)
class Replacement:
    """The replacement of a file: its SHA-256 before and after, and the sanitizer's versions before and after."""

    path: str
    old: str
    new: str
    old_version: str
    new_version: str

    def as_text(self) -> str:
        """Return the record as a line of text."""
        return f"{self.path} {self.old} {self.new} {self.old_version} {self.new_version}"

    @staticmethod
    def from_text(text: str) -> "Replacement":
        """Parse a record. Raises FormatError for any other text.

        >>> Replacement.from_text("not a record")
        Traceback (most recent call last):
        lineage.errors.FormatError: not a record of a replacement: 'not a record'
        """
        match = _RECORD.fullmatch(text)
        if match is None:
            raise FormatError(f"not a record of a replacement: {text[:120]!r}")
        return Replacement(*match.groups())


def is_recorded_change(records: Sequence[Replacement], path: str, old: str, new: str) -> bool:
    """Return whether the records, oldest first, lead from the hash `old` of a file to `new`."""
    for record in records:
        if record.path == path and record.old == old:
            old = record.new
        if old == new:
            return True
    return False
