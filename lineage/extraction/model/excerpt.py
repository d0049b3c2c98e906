"""The turns of a session as a prompt shows them: bounded, the beginning and the end of what happened. (lessons: 40)"""

from collections.abc import Iterable, Sequence

from lineage.core.capture.budget import count_fitting
from lineage.core.format.turns import Turn

_SEPARATOR = "\n\n"
_NOTE_ROOM = 48
_SHARE = 8
"""No turn takes more than this part of the room: a single paste does not push the rest out."""


def render_excerpt(turns: Iterable[Turn], room: int) -> str:
    """What was said and done, in at most `room` characters: whole turns from the beginning and, with twice the room,
    from the end; a note says how many were left out between. Thinking is not in it."""
    shown = [_render_turn(turn, room // _SHARE) for turn in turns if not turn.thinking]
    if sum(map(_cost, shown)) <= room:
        return _SEPARATOR.join(shown)
    room -= _NOTE_ROOM
    head = count_fitting(map(_cost, shown), room // 3)
    rest = shown[head:]
    tail = count_fitting(map(_cost, reversed(rest)), room - sum(map(_cost, shown[:head])))
    note = f"[… {len(rest) - tail} turns left out …]"
    return _SEPARATOR.join([*shown[:head], note, *rest[len(rest) - tail :]])


def join_names(names: Iterable[str], max_count: int = 20, max_length: int = 60) -> str:
    """Names in one line, each once, the first `most` that are not too long.

    >>> join_names(["demo", "reader.py", "demo"])
    'demo, reader.py'
    """
    return ", ".join([name for name in dict.fromkeys(names) if len(name) <= max_length][:max_count])


def truncate_middle(text: str, limit: int) -> str:
    """The text in at most `limit` characters, cut in the middle with a note."""
    if len(text) <= limit:
        return text
    room = max(0, limit - _NOTE_ROOM)
    head, tail = _split_room(room)
    return f"{text[:head]}\n… {len(text) - room} characters left out …\n{text[len(text) - tail :]}"[:limit]


def _split_room(room: int) -> Sequence[int]:
    return room * 2 // 3, room - room * 2 // 3


def _render_turn(turn: Turn, max_length: int) -> str:
    head = " · ".join(part for part in (str(turn.number), turn.role, turn.name) if part)
    said = "\n".join(part for part in (turn.input, turn.text) if part)
    return truncate_middle(f"[{head}]\n{said}", max_length)


def _cost(text: str) -> int:
    return len(text) + len(_SEPARATOR)
