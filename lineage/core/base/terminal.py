"""Escape sequences in a program's output, taken out as it comes. (format: Commands, ANSI; inputs to try, 14)"""

import re
from dataclasses import dataclass

_MAX_PENDING = 4096
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-Z\\^-~]"
)
_UNFINISHED_SEQUENCE = re.compile(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*\x1b?|\x1b[ -/]*)\Z"
)
_COLOUR = re.compile(r"\x1b\[[0-9;:]*m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(slots=True)
class EscapeFilter:
    """Takes sequences and control characters out of text that comes in pieces. `colour` leaves colours and nothing else
    that moves, titles or writes anything: what a program passes on may be somebody's content."""

    colour: bool = False
    _pending: str = ""

    def clean(self, piece: str) -> str:
        """What can be shown of the pieces so far; a sequence that is not complete waits, 4,096 characters at most."""
        text = self._pending + piece
        begun = _UNFINISHED_SEQUENCE.search(text[-_MAX_PENDING:])
        end = len(text) - len(begun[0]) if begun else len(text)
        self._pending = text[end:]
        return self._strip(text[:end])

    def flush(self) -> str:
        """What was held back, when no more comes."""
        held, self._pending = self._pending, ""
        return self._strip(held)

    def _strip(self, text: str) -> str:
        kept = []
        position = 0
        for found in _SEQUENCE.finditer(text):
            kept.append(_CONTROL.sub("", text[position : found.start()]))
            kept.append(found[0] if self.colour and _COLOUR.fullmatch(found[0]) else "")
            position = found.end()
        return "".join(kept) + _CONTROL.sub("", text[position:])
