"""The rest of long results and inputs in a transcript: they are cut in the middle, said and fingerprinted."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lineage.core.base.links import to_one_line
from lineage.core.base.markdown import choose_language
from lineage.core.format.fingerprints import MAX_CHARS, compute_fingerprints, decode_fingerprints, encode_fingerprints
from lineage.core.format.turns import ASSISTANT, TOOL, InputPart, Turn

_MAX_OBJECT_CHARS = 200
_MARGIN = 200  # characters beside a cut whose words are fingerprinted too: a sentence may stand across it
_NOTE = re.compile(r"^… ([0-9,]+) characters left out …$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ClipLimits:
    """The limits of a result and of a call's input, in characters. Words of people and agents are never clipped."""

    result: int = 20_000
    input: int = 200_000


def clip_turn(turn: Turn, limits: ClipLimits) -> Turn:
    """Return the turn as a transcript keeps it: long results and inputs cut in the middle, said and fingerprinted.

    The whole result stays in `unclipped`, for judgements of this run.
    """
    is_tool = turn.role in (ASSISTANT, TOOL)
    name = to_one_line(turn.name)
    name = name or ("tool" if is_tool and (turn.input.strip() or turn.error or turn.parts) else "")
    text, fingerprints = _clip_middle(turn.text, limits.result) if turn.role == TOOL else (turn.text, "")
    parts = tuple(_clip_parts(turn.parts, limits.input)) if is_tool else ()
    line = to_one_line(turn.input) if name else ""
    line = line if len(line) <= _MAX_OBJECT_CHARS else line[: _MAX_OBJECT_CHARS - 1] + "…"
    unclipped = turn.text if text != turn.text else ""
    return turn._replace(text=text, name=name, input=line, parts=parts, fingerprints=fingerprints, unclipped=unclipped)


def is_overlong(text: str) -> bool:
    """Return whether so much of a clipped result was left out that fingerprints don't cover it."""
    return any(int(number.replace(",", "")) > MAX_CHARS for number in _NOTE.findall(text))


def _clip_parts(parts: Iterable[InputPart], limit: int) -> Iterator[InputPart]:
    for part in parts:
        old, old_prints = _clip_middle(part.old, limit) if part.old is not None else (None, "")
        limit -= len(old or "")
        text, prints = _clip_middle(part.text, max(0, limit))
        limit = max(0, limit - len(text))
        label, language = to_one_line(part.label), choose_language(part.language)
        merged = decode_fingerprints(old_prints) | decode_fingerprints(prints)
        yield InputPart(text, language if old is None else "", label, old, encode_fingerprints(merged))


def _clip_middle(text: str, limit: int) -> tuple[str, str]:
    """Return a text of about `limit` characters and the fingerprints of the rest."""
    if len(text) <= limit:
        return text, ""
    head = limit * 3 // 4
    tail = limit - head
    left_out = text[head : len(text) - tail]
    note = f"\n… {len(left_out):,} characters left out …\n"
    around = text[max(0, head - _MARGIN) : len(text) - tail + _MARGIN]
    return text[:head] + note + text[len(text) - tail :], encode_fingerprints(compute_fingerprints(around))
