"""Shares of the work on many sessions, for job arrays: stable, equal in size, and a session is in one of them."""

import hashlib
import re
from typing import NamedTuple

from lineage.errors import InvalidInput

_TEXT = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})")


class Share(NamedTuple):
    """The `number`-th of `of` shares, counted from 1."""

    number: int
    of: int

    def holds(self, token: str) -> bool:
        """Whether a session is in this share: the same on every machine and in every version.

        >>> [Share(number, 2).holds("h7k3n4p2m2x6q3r5") for number in (1, 2)]
        [True, False]
        """
        digest = hashlib.sha256(token.encode()).digest()
        return int.from_bytes(digest[:8]) % self.of == self.number - 1


def share(text: str) -> Share:
    """The share that `2/8` names. Raises InvalidInput for any other text.

    >>> share("2/8")
    Share(number=2, of=8)
    """
    match = _TEXT.fullmatch(text)
    if match is None or int(match[1]) > int(match[2]):
        raise InvalidInput(f"not a share: {text[:20]!r}", hint="the first of eight is `1/8`, the last `8/8`")
    return Share(int(match[1]), int(match[2]))
