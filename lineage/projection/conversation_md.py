"""A session's conversation as one markdown document, to be read without lineage: whole, and with nothing live in it."""

from collections.abc import Iterable, Iterator, Sequence

from lineage.core.base.fences import fence_text
from lineage.core.base.markdown import choose_language, escape_code, escape_line, escape_prose
from lineage.core.format.turns import ASSISTANT, USER, InputPart, Turn

_SEPARATOR = " · "


def render_conversation(
    title: str, facts: Sequence[tuple[str, str]], outcome: str, turns: Iterable[Turn]
) -> Iterator[str]:
    """Yield the document in chunks: title, facts by name, outcome, and every turn below a heading."""
    yield f"# {escape_line(title)}\n\n"
    yield "".join(f"- {name}: {escape_line(value)}\n" for name, value in facts if value)
    if outcome:
        yield f"\n{escape_prose(outcome)}\n"
    for turn in turns:
        yield "".join(f"\n{block}\n" for block in _render_turn(turn))


def _render_turn(turn: Turn) -> Iterator[str]:
    head = [str(turn.number), turn.role, turn.name, turn.input, f"of {turn.call}" if turn.call else ""]
    marks = ["thinking" if turn.thinking else "", "error" if turn.error else ""]
    time = f"{turn.at[:10]} {turn.at[11:16]}" if turn.at else ""
    level = "##" if turn.role == USER else "###"
    yield f"{level} {_SEPARATOR.join(escape_line(word) for word in (*head, *marks, time) if word)}"
    yield from (_render_part(part) for part in turn.parts if part.text != turn.input)
    if turn.text and turn.role in (USER, ASSISTANT) and not turn.thinking:
        yield escape_prose(turn.text)
    elif turn.text:
        yield fence_text(escape_code(turn.text))


def _render_part(part: InputPart) -> str:
    language = "diff" if part.old is not None else choose_language(part.language)
    label = f"{escape_line(part.label)}:\n\n" if part.label else ""
    return label + fence_text(escape_code(part.as_text()), language)
