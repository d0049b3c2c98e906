"""A filter for escape sequences in a program's output (format: Commands, ANSI; inputs to try, 14)."""

import re
from dataclasses import dataclass

_MAX_PENDING = 4096  # characters: a longer unfinished sequence is text, else one escape could hide all output
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
    """A filter for escape sequences in chunks of text; `colour` keeps colours, and nothing else that acts."""

    colour: bool = False
    _pending: str = ""

    def clean(self, chunk: str) -> str:
        """Return the printable part of the chunks so far. An incomplete sequence waits for its end."""
        text = self._pending + chunk
        unfinished = _UNFINISHED_SEQUENCE.search(text[-_MAX_PENDING:])
        end = len(text) - len(unfinished[0]) if unfinished else len(text)
        self._pending = text[end:]
        return self._strip(text[:end])

    def flush(self) -> str:
        """Return the rest, after the last chunk."""
        text, self._pending = self._pending, ""
        return self._strip(text)

    def _strip(self, text: str) -> str:
        parts = []
        position = 0
        for sequence in _SEQUENCE.finditer(text):
            parts.append(_CONTROL.sub("", text[position : sequence.start()]))
            parts.append(sequence[0] if self.colour and _COLOUR.fullmatch(sequence[0]) else "")
            position = sequence.end()
        return "".join(parts) + _CONTROL.sub("", text[position:])
