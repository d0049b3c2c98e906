"""Transcripts of format 1: what was written is read back, whatever the turns say."""

from itertools import groupby
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format import transcript_v1
from lineage.core.format.body import StreamedText
from lineage.core.format.transcript import (
    extract_links,
    extract_texts,
    extract_turn_ids,
    find_first_number,
    parse_turns,
    turn_texts,
)
from lineage.core.format.turns import ASSISTANT, ROLES, TOOL, USER, Turn, assign_ids
from lineage.core.sanitizer import Sanitizer
from tests.support.strategies import draw_named_tuples, draw_texts
from tests.support.transcript_v1 import clip_turn, render_chunks, render_turns

SIBLINGS = "[[memory/x--summary.md|summary]] [[memory/x--manifest.md|manifest]]"
FORGED = ("## 9 · user · x ^t-0000000000\n", "\n~~~\n", "\n~~~~~~\n", "**Bash** [error] x", "~~~thinking\n", "\n\n")
SECONDS = st.datetimes().map(lambda at: f"{at:%Y-%m-%dT%H:%M:%S}.000Z".rjust(24, "0"))
RAW = draw_named_tuples(
    Turn,
    role=st.sampled_from(ROLES),
    text=draw_texts(*FORGED),
    at=st.none() | SECONDS,
    name=st.just("") | draw_texts(*FORGED),
    input=draw_texts(*FORGED),
    error=st.booleans(),
)


def as_kept(turn: Turn, limit: int = 2000) -> Turn:
    """A turn as the pipeline kept it: sanitized first, then clipped."""
    clean = Sanitizer().sanitize
    turn = turn._replace(text=clean(turn.text), name=clean(turn.name), input=clean(turn.input))
    return clip_turn(turn, limit, max(limit, 1))


def identify(turns: list[Turn]) -> tuple[Turn, ...]:
    """Turns with number and id, and no call: format 1 named none."""
    return tuple(turn._replace(call=0) for turn in assign_ids(turns, "token"))


@given(st.lists(RAW, max_size=8), st.integers(0, 40))
def test_what_is_rendered_reads_back_equal(raw: list[Turn], limit: int) -> None:
    turns = identify([as_kept(turn, limit) for turn in raw])
    body = render_turns(SIBLINGS, turns)
    assert parse_turns(body) == turns
    assert extract_turn_ids(body) == [turn.id for turn in turns]
    assert extract_texts(body) == turn_texts(turns)


LINES = ("## 1 · user · 2026-11-21 10:00:00Z ^t-0123456789", "## 2 · tool · – ^t-0123456789", "~~~", "~~~~", "~~~ x",
         "~~~thinking", "**Bash** [error] x", "**", "", "text", "## no", "~~", "~~~\r", "\u2028")  # fmt: skip


@given(st.lists(st.sampled_from(LINES), max_size=12))
def test_whatever_somebody_wrote_is_read_line_by_line(lines: list[str]) -> None:
    """A heading in a fence is none, a fence before the first heading opens nothing, an open one ends with the body."""
    headings, fence = [], ""
    for line in lines:
        if fence:
            fence = "" if line == fence else fence
        elif line.startswith("## ") and line != "## no":
            headings.append(line[3])
        elif line.startswith("~~~") and headings:
            fence = "~" * (len(line) - len(line.lstrip("~")))
    body = "\n".join(lines)
    turns = parse_turns(body)
    assert [str(turn.number) for turn in turns] == headings
    assert extract_texts(body) == turn_texts(turns)


@given(st.lists(RAW, max_size=4), st.lists(st.tuples(st.integers(0, 40), st.booleans(), st.sampled_from(LINES))))
def test_what_somebody_changed_says_what_its_marks_say(raw: list[Turn], changes: list[tuple[int, bool, str]]) -> None:
    """Fails if `_extract_texts_fast` takes a body for one that lineage wrote: in chunks each mark is parsed."""
    lines = render_turns(SIBLINGS, identify([as_kept(turn) for turn in raw])).split("\n")
    for place, is_instead, line in changes:
        lines[place : place + is_instead] = [line]
    body = "\n".join(lines)
    assert extract_texts(body) == list(extract_texts(StreamedText(lambda: [body])))


def test_what_lineage_wrote_is_read_without_a_look_at_each_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = identify([Turn(USER, "~~~\n## x", "2026-03-28T22:34:06.000Z"), Turn(TOOL, "", name="Edit")])
    monkeypatch.setattr(transcript_v1, "_MARK", None)
    texts = extract_texts(render_turns(SIBLINGS, turns))
    assert [text[:3] for text in texts] == [(1, USER, "~~~\n## x"), (2, TOOL, "Edit")]


@given(st.lists(RAW, max_size=8), st.integers(1, 12), st.randoms(use_true_random=False))
def test_what_is_read_in_pieces_is_what_is_read_at_once(raw: list[Turn], lines: int, dice: Random) -> None:
    """Fails where `_turns_in` forgets the day, or takes a turn for whole whose fence isn't closed yet."""
    days = [turn._replace(at=dice.choice([None, turn.at, "2026-03-28T22:34:06.000Z"])) for turn in raw]
    turns = identify([as_kept(turn) for turn in days])
    body = render_turns(SIBLINGS, turns)
    parts = [part for part in (line + "\n" for line in body.split("\n")[:-1]) if part]
    pieces = ["".join(group) for _, group in groupby(parts, key=lambda _: dice.randrange(3))]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(transcript_v1, "_BUFFER_SIZE", lines)
        assert tuple(parse_turns(StreamedText(lambda: pieces))) == parse_turns(body) == turns
    assert "".join(render_chunks(SIBLINGS, turns)) == body
    assert (extract_turn_ids(StreamedText(lambda: pieces)), extract_links(StreamedText(lambda: pieces))) == (
        extract_turn_ids(body),
        SIBLINGS,
    )
    assert find_first_number(StreamedText(lambda: pieces)) == find_first_number(body)


def test_thinking_is_told_apart() -> None:
    turns = identify([Turn(ASSISTANT, "hm", thinking=True), Turn(ASSISTANT, "so")])
    assert parse_turns(render_turns(SIBLINGS, turns)) == turns


def test_a_fence_ends_with_its_own_line_and_an_open_one_with_the_body() -> None:
    heading = "## 1 · user · – ^t-0123456789\n\n~~~~\n"
    for rest, text in (("a\n~~~\nb\n~~~~", "a\n~~~\nb"), ("a\n~~~~\nb", "a"), ("a\n~~~ ", "a\n~~~ "), ("~~~~", "")):
        assert [turn.text for turn in parse_turns(heading + rest)] == [text]
