"""Texts in which the place of a secret is known, and what a sanitizer left of it.

While a text is built, signs of Unicode's private area stand around the secret and around what may go with it: they pass
through escaping, wrapping and encoding.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage.core.sanitizer import MARKER

OPEN, CLOSE = "\ue000", "\ue001"
MAY_OPEN, MAY_CLOSE = "\ue002", "\ue003"
MARKS = frozenset((OPEN, CLOSE, MAY_OPEN, MAY_CLOSE))
WHOLE, PART, MISSED = "whole", "part", "missed"
_RUN = 4
_NOISE = re.compile("\x1b\\[[0-9;]*[A-Za-z]|[\u200b\u200c\u200d\u2060\ufeff\u00ad]")
_ANY_MARK = re.compile("[\ue000-\ue003]")

Span = tuple[int, int]


class Case(NamedTuple):
    """A text, the places of its one secret, and those of what may be masked with it."""

    text: str
    secret: tuple[Span, ...]
    may: tuple[Span, ...]
    written: int = 1
    """How many characters of the text stand for one of the secret's."""


class Verdict(NamedTuple):
    """What became of the secret: whole, part or missed; and whether text around it was masked too."""

    secret: str
    over: bool


def marked(secret: str) -> str:
    return f"{OPEN}{secret}{CLOSE}"


def may(text: str) -> str:
    return f"{MAY_OPEN}{text}{MAY_CLOSE}"


def unmarked(text: str) -> str:
    return _ANY_MARK.sub("", text)


def marked_lines(text: str) -> Iterator[str]:
    """Split at line ends; a secret that goes over several lines is marked in each."""
    inside = False
    for line in text.split("\n"):
        begins, inside = inside, line.rfind(OPEN) > line.rfind(CLOSE) or (inside and CLOSE not in line)
        yield (OPEN if begins else "") + line + (CLOSE if inside else "")


def read_case(text: str, written: int = 1) -> Case:
    """Take the marks out of a text, and keep their places."""
    plain: list[str] = []
    secret: list[Span] = []
    wide: list[Span] = []
    opened = widely = 0
    depth = 0
    for character in text:
        if character == OPEN:
            opened = len(plain)
        elif character == CLOSE:
            secret += [(opened, len(plain))] if len(plain) > opened else []
            wide += [] if depth or len(plain) == opened else [(opened, len(plain))]
        elif character == MAY_OPEN:
            widely, depth = (widely, depth + 1) if depth else (len(plain), 1)
        elif character == MAY_CLOSE:
            depth -= 1
            wide += [] if depth else [(widely, len(plain))]
        else:
            plain.append(character)
    return Case("".join(plain), tuple(secret), tuple(wide), written)


def judge(case: Case, sanitized: str) -> Verdict:
    """Compare what came out with the case. No run of four characters of the secret may be left in a whole one.

    A run that is found beside the secret too tells nothing and does not count.
    """
    beside = _without_noise("\0".join(_outside(case.text, case.may)))
    out = _without_noise(MARKER.sub("\0", sanitized))
    runs = {run for run in _runs(case) if run not in beside}
    left = sum(run in out for run in runs)
    secret = PART if 0 < left < len(runs) else MISSED if left else WHOLE
    return Verdict(secret, _is_over(_outside(case.text, case.may), out))


def _runs(case: Case) -> Iterator[str]:
    pieces = [_without_noise(case.text[start:end]) for start, end in case.secret]
    length = _RUN * case.written
    long = [piece for piece in pieces if len(piece) >= length]
    for piece in long or pieces:
        yield from (piece[start : start + length] for start in range(max(1, len(piece) - length + 1)))


def _outside(text: str, spans: Iterable[Span]) -> list[str]:
    outside, position = [], 0
    for start, end in spans:
        outside.append(text[position:start])
        position = end
    return [*outside, text[position:]]


def _is_over(outside: list[str], out: str) -> bool:
    """Whether a letter or digit beside the secret is gone."""
    first, *middle = map(_letters, outside)
    left = _letters(out)
    if not left.startswith(first):
        return True
    position = len(first)
    for piece in middle:
        found = left.find(piece, position)
        if found < 0:
            return True
        position = found + len(piece)
    return not left.endswith(middle[-1]) if middle else left != first


def _letters(text: str) -> str:
    return "".join(character for character in _without_noise(text) if character.isalnum() or character == "\0")


def _without_noise(text: str) -> str:
    return _NOISE.sub("", text)
