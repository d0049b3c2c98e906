"""Short ids: the beginning of a session's id, or of its token, that means this session alone."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from itertools import takewhile
from typing import NamedTuple

_LENGTHS = (8, 13, 18)
"""A UUID's first group, and what ids that begin with a time need."""
_PLAIN = re.compile(r"[A-Za-z0-9][\w.:@/-]*", re.ASCII)
_MAX_EXACT = 50
"""A reference finds a whole id among so many longer ones."""


class SessionName(NamedTuple):
    """What a session can be called by: a prefix of any of these."""

    token: str
    session_id: str
    session_key: str | None


def shorten_names(names: Iterable[SessionName], wanted: Iterable[str]) -> dict[str, str]:
    """Return a short id for each token in `wanted`, given the names of all sessions.

    It is a prefix of the session's id, or of its token where the id is no plain word or others begin alike.

    >>> shorten_names([SessionName("kxuytz5xu4anz5zg", "2489c83d-1f2e", None)], ["kxuytz5xu4anz5zg"])
    {'kxuytz5xu4anz5zg': '2489c83d'}
    """
    by_token = {name.token: name for name in names}
    called = sorted(
        {(text.lower(), name.token) for name in by_token.values() for text in name if text}
    )  # a reference is looked for in any case
    return {token: _shorten(by_token[token], called) if token in by_token else token for token in wanted}


def _shorten(name: SessionName, called: list[tuple[str, str]]) -> str:
    session_id = name.session_id if _PLAIN.fullmatch(name.session_id) else ""
    candidates = [text[:length] for length in _LENGTHS for text in (session_id, name.token) if text]
    return next((one for one in candidates if _means(one, name, called)), name.token)


def _means(text: str, name: SessionName, called: list[tuple[str, str]]) -> bool:
    low = text.lower()
    found = list(takewhile(lambda one: one[0].startswith(low), called[bisect_left(called, (low,)) :]))
    if {token for _, token in found} == {name.token}:
        return True
    exact = {token for other, token in found if other == low}
    return exact == {name.token} and text in (name.session_id, name.token) and len(found) <= _MAX_EXACT
