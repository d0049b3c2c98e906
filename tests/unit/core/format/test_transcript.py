"""The transcript's body: what is written is read back, whatever the turns say."""

from itertools import groupby
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format import transcript
from lineage.core.format.body import StreamedText
from lineage.core.format.transcript import (
    ClipLimits,
    clip_turn,
    extract_links,
    extract_texts,
    extract_turn_ids,
    find_first_number,
    parse_turns,
    render_turns,
    turn_texts,
)
from lineage.core.format.turns import ASSISTANT, ROLES, TOOL, USER, Turn, assign_ids
from lineage.core.sanitizer import Sanitizer
from tests.support.strategies import INVISIBLE, draw_named_tuples, draw_texts

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


def as_kept(turn: Turn, limits: ClipLimits) -> Turn:
    """A turn as the pipeline keeps it: sanitized first, then clipped."""
    clean = Sanitizer().sanitize
    return clip_turn(turn._replace(text=clean(turn.text), name=clean(turn.name), input=clean(turn.input)), limits)


@given(st.lists(RAW, max_size=8), st.integers(0, 40))
def test_what_is_rendered_reads_back_equal(raw: list[Turn], limit: int) -> None:
    turns = tuple(assign_ids([as_kept(turn, ClipLimits(result=limit, input=max(limit, 1))) for turn in raw], "token"))
    body = render_turns(SIBLINGS, turns)
    assert parse_turns(body) == turns
    assert extract_turn_ids(body) == [turn.id for turn in turns]
    assert (
        extract_texts(body)
        == turn_texts(turns)
        == [(turn.number, " ".join(filter(None, (turn.name, turn.input, turn.text)))) for turn in turns]
    )


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
    assert (
        [str(turn.number) for turn in parse_turns(body)]
        == [str(number) for number, _ in extract_texts(body)]
        == headings
    )


@given(st.lists(RAW, max_size=4), st.lists(st.tuples(st.integers(0, 40), st.booleans(), st.sampled_from(LINES))))
def test_what_somebody_changed_says_what_its_marks_say(raw: list[Turn], changes: list[tuple[int, bool, str]]) -> None:
    """Fails if `_extract_texts_fast` takes a body for one that lineage wrote: in chunks each mark is parsed."""
    lines = render_turns(SIBLINGS, tuple(assign_ids([as_kept(turn, ClipLimits()) for turn in raw], "token"))).split(
        "\n"
    )
    for place, is_instead, line in changes:
        lines[place : place + is_instead] = [line]
    body = "\n".join(lines)
    assert extract_texts(body) == list(extract_texts(StreamedText(lambda: [body])))


def test_what_lineage_wrote_is_read_without_a_look_at_each_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    turns = tuple(
        assign_ids([Turn(USER, "~~~\n## x", "2026-03-28T22:34:06.000Z"), Turn(TOOL, "", name="Edit")], "token")
    )
    monkeypatch.setattr(transcript, "_MARK", None)
    assert extract_texts(render_turns(SIBLINGS, turns)) == [(1, "~~~\n## x"), (2, "Edit")]


@given(st.lists(RAW, max_size=8), st.integers(1, 12), st.randoms(use_true_random=False))
def test_what_is_read_in_pieces_is_what_is_read_at_once(raw: list[Turn], lines: int, dice: Random) -> None:
    """Fails where `_turns_in` forgets the day, or takes a turn for whole whose fence isn't closed yet."""
    days = [turn._replace(at=dice.choice([None, turn.at, "2026-03-28T22:34:06.000Z"])) for turn in raw]
    turns = tuple(assign_ids([as_kept(turn, ClipLimits()) for turn in days], "token"))
    body = render_turns(SIBLINGS, turns)
    parts = [part for part in (line + "\n" for line in body.split("\n")[:-1]) if part]
    pieces = ["".join(group) for _, group in groupby(parts, key=lambda _: dice.randrange(3))]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(transcript, "_BUFFER_SIZE", lines)
        assert tuple(parse_turns(StreamedText(lambda: pieces))) == parse_turns(body) == turns
    assert "".join(transcript.render_chunks(SIBLINGS, turns)) == body
    assert (extract_turn_ids(StreamedText(lambda: pieces)), extract_links(StreamedText(lambda: pieces))) == (
        extract_turn_ids(body),
        SIBLINGS,
    )
    assert find_first_number(StreamedText(lambda: pieces)) == find_first_number(body)


@given(RAW)
def test_nothing_of_a_call_leaves_its_line_or_links(turn: Turn) -> None:
    kept = as_kept(turn._replace(text=""), ClipLimits())
    body = render_turns(SIBLINGS, tuple(assign_ids([kept], "token"))).removeprefix(SIBLINGS)
    assert not INVISIBLE.search(body.replace("\n", ""))
    assert "[[" not in body
    assert "`" not in body
    assert body.count("\n## ") == 1


@given(draw_texts(), st.booleans())
def test_input_and_error_without_a_name_are_kept_under_a_name(text: str, error: bool) -> None:
    kept = clip_turn(Turn(TOOL, "", name="*", input=text, error=error), ClipLimits())
    assert bool(kept.name) == bool(text.strip() or error)


def test_times_have_seconds_and_the_day_shows_where_it_changes() -> None:
    times = ["2026-03-28T22:31:07.999Z", "2026-03-28T23:00:00.000Z", None, "2026-03-29T00:00:01.000Z"]
    body = render_turns(SIBLINGS, tuple(assign_ids([Turn(USER, "x", at) for at in times], "token")))
    headings = [line.split(" ^")[0] for line in body.split("\n") if line.startswith("##")]
    assert headings == [
        "## 1 · user · 2026-03-28 22:31:07Z",
        "## 2 · user · 23:00:00Z",
        "## 3 · user · –",
        "## 4 · user · 2026-03-29 00:00:01Z",
    ]
    assert [turn.at for turn in parse_turns(body)] == [
        "2026-03-28T22:31:07.000Z", "2026-03-28T23:00:00.000Z", None, "2026-03-29T00:00:01.000Z",
    ]  # fmt: skip


def test_thinking_is_told_apart() -> None:
    turns = tuple(assign_ids([Turn(ASSISTANT, "hm", thinking=True), Turn(ASSISTANT, "so")], "token"))
    assert parse_turns(render_turns(SIBLINGS, turns)) == turns


def test_the_siblings_come_first() -> None:
    assert render_turns(SIBLINGS, ()) == f"{SIBLINGS}\n"
    assert parse_turns(f"{SIBLINGS}\n") == ()


@pytest.mark.parametrize("limit", [0, 1, 3, 40])
def test_a_result_is_cut_in_the_middle_with_a_note_of_what_is_missing(limit: int) -> None:
    text = "".join(chr(ord("a") + number % 26) for number in range(3000))
    head, note, tail = clip_turn(Turn(TOOL, text), ClipLimits(result=limit)).text.split("\n") if limit else (
        *clip_turn(Turn(TOOL, text), ClipLimits(result=0)).text.split("\n"), "",
    )  # fmt: skip
    assert len(head + tail) == limit
    assert text.startswith(head)
    assert text.endswith(tail)
    assert note == f"… {3000 - limit:,} characters left out …"


def test_what_people_and_the_agent_said_is_never_cut() -> None:
    for role in (USER, ASSISTANT):
        assert clip_turn(Turn(role, "x" * 9999), ClipLimits(result=10)).text == "x" * 9999


def test_a_fence_ends_with_its_own_line_and_an_open_one_with_the_body() -> None:
    heading = "## 1 · user · – ^t-0123456789\n\n~~~~\n"
    for rest, text in (("a\n~~~\nb\n~~~~", "a\n~~~\nb"), ("a\n~~~~\nb", "a"), ("a\n~~~ ", "a\n~~~ "), ("~~~~", "")):
        assert [turn.text for turn in parse_turns(heading + rest)] == [text]
