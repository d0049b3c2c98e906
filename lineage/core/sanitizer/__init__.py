"""`sanitize_transcript_v1`: the one way in for text that reaches a file. (spec: sanitization contract)

Order: normalize (line ends, lone surrogates, terminal control sequences) → rules → merge → `[REDACTED:rule]` →
again, until nothing changes. The same bytes on every system; the rules' digest is part of the version.
"""

import re
from collections import Counter
from functools import cache
from typing import Any

from lineage.core.body import cleaned
from lineage.core.sanitizer.rule import Rule
from lineage.core.sanitizer.rules import DIGEST, RULES
from lineage.errors import EngineMissing

VERSION = f"sanitize_transcript_v1+{DIGEST}"

_TERMINAL = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_MARK = b"[REDACTED:"
_MOST_PASSES = 8


class Sanitizer:
    """Redacts texts and counts what it redacted, by rule. Raises EngineMissing where google-re2 is not installed.

    >>> Sanitizer().text("key AKIA" + "QWERTYUIOPASDFGH")
    'key [REDACTED:aws-access-key-id]'
    """

    def __init__(self) -> None:
        self._patterns = _compiled()
        self.redactions: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text without secrets; sanitizing it again changes nothing."""
        text = normalized(text)
        data = text.encode()
        for _ in range(_MOST_PASSES):
            spans = self._spans(data)
            if not spans:
                break
            data = self._redacted(data, spans)
        return data.decode()

    def optional(self, text: str | None) -> str | None:
        return None if text is None else self.text(text)

    def _spans(self, data: bytes) -> list[tuple[int, int, str]]:
        """Where secrets are, in order and without overlap; of two that overlap the first and longest wins."""
        found = []
        for rule, pattern in zip(RULES, self._patterns, strict=True):
            for match in pattern.finditer(data):
                start, end = match.span(rule.group)
                if (
                    start < end
                    and _MARK not in data[max(0, start - len(_MARK)) : end]
                    and rule.accepts(data[start:end].decode())
                ):
                    found.append((start, end, rule.id))
        found.sort(key=lambda span: (span[0], -span[1], span[2]))
        kept: list[tuple[int, int, str]] = []
        for span in found:
            if not kept or span[0] >= kept[-1][1]:
                kept.append(span)
        return kept

    def _redacted(self, data: bytes, spans: list[tuple[int, int, str]]) -> bytes:
        parts, position = [], 0
        for start, end, rule in spans:
            parts += [data[position:start], _MARK, rule.encode(), b"]"]
            position = end
            self.redactions[rule] += 1
        return b"".join([*parts, data[position:]])


def redactions_in(text: str) -> int:
    """How many redactions a sanitized text shows.

    >>> redactions_in("key [REDACTED:jwt], key [REDACTED:jwt]")
    2
    """
    return text.count(_MARK.decode())


def normalized(text: str) -> str:
    """LF line ends, U+FFFD for lone surrogates, no terminal sequences, no control characters but tab and newline."""
    text = cleaned(text).replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL.sub("", _TERMINAL.sub("", text))


@cache
def _compiled() -> tuple[Any, ...]:
    try:
        import re2  # noqa: PLC0415  (fail closed: its absence is an error of capture, not of import)
    except ImportError as error:
        raise EngineMissing(
            "the redaction engine google-re2 is not installed: nothing is captured without it"
        ) from error
    return tuple(re2.compile(rule.pattern.encode()) for rule in RULES)


__all__ = ["RULES", "VERSION", "Rule", "Sanitizer", "normalized", "redactions_in"]
