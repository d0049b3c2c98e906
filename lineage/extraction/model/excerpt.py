"""Excerpts of a session for prompts: bounded, with its beginning and its end (lessons: 40)."""

from collections.abc import Iterable

from lineage.core.capture.budget import count_fitting
from lineage.core.format.turns import Turn

_SEPARATOR = "\n\n"
_NOTE_ROOM = 48
_MAX_TURN_SHARE = 8  # an eighth of the room for one turn: a single paste must not push the rest out


def render_excerpt(turns: Iterable[Turn], room: int) -> str:
    """Return the turns without thinking, in at most `room` characters.

    If they don't fit, whole turns from the beginning take a third and turns from the end the rest, with a note of the
    number of turns left out between them.
    """
    texts = [_render_turn(turn, room // _MAX_TURN_SHARE) for turn in turns if not turn.thinking]
    if sum(map(_cost, texts)) <= room:
        return _SEPARATOR.join(texts)
    room -= _NOTE_ROOM
    head = count_fitting(map(_cost, texts), room // 3)
    rest = texts[head:]
    tail = count_fitting(map(_cost, reversed(rest)), room - sum(map(_cost, texts[:head])))
    note = f"[… {len(rest) - tail} turns left out …]"
    return _SEPARATOR.join([*texts[:head], note, *rest[len(rest) - tail :]])


def join_names(names: Iterable[str], max_count: int = 20, max_length: int = 60) -> str:
    """Return names on one line, each once, the first `max_count` within `max_length`.

    >>> join_names(["demo", "reader.py", "demo"])
    'demo, reader.py'
    """
    return ", ".join([name for name in dict.fromkeys(names) if len(name) <= max_length][:max_count])


def truncate_middle(text: str, limit: int) -> str:
    """Return the text in at most `limit` characters, cut in the middle with a note."""
    if len(text) <= limit:
        return text
    room = max(0, limit - _NOTE_ROOM)
    head = room * 2 // 3
    tail = room - head
    return f"{text[:head]}\n… {len(text) - room} characters left out …\n{text[len(text) - tail :]}"[:limit]


def _render_turn(turn: Turn, max_length: int) -> str:
    head = " · ".join(part for part in (str(turn.number), turn.role, turn.name) if part)
    text = "\n".join(part for part in (turn.input, turn.said) if part)
    return truncate_middle(f"[{head}]\n{text}", max_length)


def _cost(text: str) -> int:
    return len(text) + len(_SEPARATOR)
