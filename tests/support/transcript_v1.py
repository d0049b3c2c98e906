"""Transcripts as lineage wrote them in format 1."""

from collections.abc import Sequence

from lineage.core.base.links import to_one_line
from lineage.core.format.transcript_v1 import render_chunks
from lineage.core.format.turns import TOOL, Turn


def clip_turn(turn: Turn, result: int = 2000, line_limit: int = 400) -> Turn:
    """The turn as format 1 keeps it: no part of the input but one line, results cut in the middle."""
    text = turn.text
    if turn.role == TOOL and len(text) > result:
        head = result * 3 // 4
        tail = result - head
        text = f"{text[:head]}\n… {len(text) - result:,} characters left out …\n{text[len(text) - tail :]}"
    name = to_one_line(turn.name.replace("*", ""))
    name = name or ("tool" if turn.input.strip() or turn.error else "")
    line = to_one_line(turn.input)
    line = line if len(line) <= line_limit else line[: line_limit - 1] + "…"
    return turn._replace(text=text.rstrip("\n"), name=name, input=line, parts=(), call=0, call_id="")


def render_turns(siblings: str, turns: Sequence[Turn]) -> str:
    """Return the body: the line of links to the siblings, then every turn."""
    return "".join(render_chunks(siblings, turns))
