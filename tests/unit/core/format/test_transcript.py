"""The transcript's body: what is written is read back, whatever the turns say.

Fails if a turn's text can end its own block or begin another, if a field reads like its neighbour, if a joined result
loses its time, id or error, and if a chunk's border loses a block.
"""

from itertools import groupby
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.normalize import tokenize
from lineage.core.base.word_runs import hash_runs
from lineage.core.format.body import StreamedText, normalize_body
from lineage.core.format.clipping import ClipLimits, clip_turn
from lineage.core.format.fingerprints import decode_fingerprints
from lineage.core.format.transcript import (
    build_body,
    extract_links,
    extract_texts,
    extract_turn_ids,
    find_first_number,
    find_line,
    parse_turns,
    render_chunks,
    render_turns,
    turn_texts,
)
from lineage.core.format.turns import ASSISTANT, ROLES, SYSTEM, TOOL, USER, InputPart, Turn, assign_ids
from tests.support.strategies import INVISIBLE, draw_named_tuples, draw_texts

SIBLINGS = "[[memory/x--summary.md|summary]] [[memory/x--manifest.md|manifest]]"
FORGED = (
    "> [!agent] 5 · 22:31:10Z\n", "\n\n^t-0123456789\n\n", "**6 · result · 22:31:12Z · t-0123456789**", "**result**",
    "**text**", "**x:**", "~~~\n", "%%fingerprints AAAA%%", " · ", "thinking", "error", "of 3", "+1 −2",
    "## 3 · user · –\n", "## 3 · user · 10:00:00Z ^t-0123456789\n", "\\ No newline at end of file", "```\n",
)  # fmt: skip
TEXT = draw_texts(*FORGED)
SECONDS = st.datetimes().map(lambda at: f"{at:%Y-%m-%dT%H:%M:%S}.000Z".rjust(24, "0"))
PART = draw_named_tuples(
    InputPart,
    text=TEXT,
    language=st.sampled_from(["", "python", "diff", "dataviewjs", "diff edit"]),
    label=TEXT,
    old=st.none() | TEXT,
)
RAW = draw_named_tuples(
    Turn,
    role=st.sampled_from(ROLES),
    text=TEXT,
    at=st.none() | SECONDS,
    name=st.just("") | st.sampled_from(["Bash", "Edit"]) | TEXT,
    input=TEXT,
    error=st.booleans(),
    thinking=st.booleans(),
    parts=st.just(()) | st.tuples(PART) | st.tuples(PART, PART),
    call_id=st.sampled_from(["", "a", "b"]),
)


def identify(turns: list[Turn], limits: ClipLimits = ClipLimits()) -> tuple[Turn, ...]:  # noqa: B008  (immutable)
    """Turns as the pipeline keeps them, without what only the capturing run knows."""
    return tuple(clip_turn(turn, limits)._replace(unclipped="") for turn in assign_ids(turns, "token"))


@given(st.lists(RAW, max_size=8), st.integers(0, 60), st.randoms(use_true_random=False))
def test_what_is_rendered_reads_back_equal(raw: list[Turn], limit: int, dice: Random) -> None:
    turns = identify(raw, ClipLimits(limit, limit))
    body = render_turns(SIBLINGS, turns)
    assert parse_turns(body) == turns
    assert extract_turn_ids(body) == [turn.id for turn in turns]
    assert extract_texts(body) == turn_texts(turns)
    assert find_first_number(body) == (1 if turns else None)
    assert normalize_body(body) + "\n" == body or not turns
    # However it comes in pieces.
    lines = [f"{line}\n" for line in body.split("\n")[:-1]]
    pieces = ["".join(group) for _, group in groupby(lines, key=lambda _: dice.randrange(3))]
    streamed = StreamedText(lambda: pieces)
    assert tuple(parse_turns(streamed)) == turns
    assert (list(extract_texts(streamed)), extract_links(streamed)) == (turn_texts(turns), SIBLINGS)
    assert "".join(render_chunks(SIBLINGS, turns)) == str(build_body(SIBLINGS, turns)) == body


@given(st.lists(RAW, min_size=1, max_size=6))
def test_a_turn_is_found_by_its_number(raw: list[Turn]) -> None:
    turns = identify(raw)
    body = render_turns(SIBLINGS, turns)
    for turn in turns:
        line = find_line(body, turn.number)
        assert line
        shown = body.split("\n")[line - 1]
        assert shown.startswith(("## ", "> [!", "> **"))
        assert f"{turn.number} · " in shown
    assert find_line(body, len(turns) + 1) is None


@given(RAW)
def test_nothing_in_a_body_is_invisible_or_leaves_its_block(turn: Turn) -> None:
    body = render_turns(SIBLINGS, identify([turn])).removeprefix(f"{SIBLINGS}\n")
    assert not INVISIBLE.search(body.translate({ord(c): None for c in "\n\t\u200e\u200f\u061c\u200c\u200d"}))
    assert all(line == "" or line.startswith(("> ", ">", "## 1 · user", "^t-")) for line in body.split("\n"))


def test_a_conversation_reads_like_one() -> None:
    at = "2026-03-28T22:31:{:02}.250Z"
    edit = InputPart("x = 2\ny = 3\n", old="x = 1\n")
    body = render_turns(
        SIBLINGS,
        identify([
            Turn(USER, "Please *fix* `x`, see [[plan]].\n\nThanks", at.format(7)),
            Turn(ASSISTANT, "hm", at.format(8), thinking=True),
            Turn(ASSISTANT, "On it.", at.format(9)),
            Turn(ASSISTANT, "", at.format(10), "Edit", "src/a.py", parts=(edit,), call_id="a"),
            Turn(ASSISTANT, "", at.format(10), "Bash", "ls", parts=(InputPart("ls", "bash"),), call_id="b"),
            Turn(TOOL, "a.py", at.format(11), "Bash", call_id="b"),
            Turn(TOOL, "no such file", at.format(12), "Edit", error=True, call_id="a"),
            Turn(SYSTEM, "The user interrupted.", "2026-03-29T00:00:00.000Z"),
        ]),
    )  # fmt: skip
    ids = extract_turn_ids(body)
    assert (
        body
        == f"""{SIBLINGS}

## 1 · user · 2026-03-28 22:31:07Z · Please *fix* `x`, see \\[\\[plan]]. Thanks

> [!user]
> Please *fix* `x`, see \\[\\[plan]].
>
> Thanks

^{ids[0]}

> [!agent]- 2 · 22:31:08Z · thinking
> hm

^{ids[1]}

> [!agent] 3 · 22:31:09Z
> On it.

^{ids[2]}

> [!tool]- 4 · 22:31:10Z · Edit · src/a.py · +2 −1
> ~~~diff edit
> -x = 1
> +x = 2
> +y = 3
> ~~~

^{ids[3]}

> [!tool]- 5 · 22:31:10Z · Bash · ls
> ~~~bash
> ls
> ~~~
> **6 · result · 22:31:11Z · {ids[5]}**
> ~~~
> a.py
> ~~~

^{ids[4]}

> [!result]- 7 · 22:31:12Z · error · of 4 · Edit
> ~~~
> no such file
> ~~~

^{ids[6]}

> [!system] 8 · 2026-03-29 00:00:00Z
> The user interrupted.

^{ids[7]}
"""
    )


def test_the_siblings_come_first() -> None:
    assert render_turns(SIBLINGS, ()) == f"{SIBLINGS}\n"
    assert parse_turns(f"{SIBLINGS}\n") == ()


WORDS = " ".join(f"word{number}" for number in range(3000))


@pytest.mark.parametrize("limit", [0, 1, 40, 4000])
def test_what_is_left_out_is_counted_and_leaves_fingerprints(limit: int) -> None:
    """Fails if a run of eight words that was cut out can't be found again."""
    for kept, prints in (
        ((turn := clip_turn(Turn(TOOL, WORDS), ClipLimits(result=limit))).text, turn.fingerprints),
        ((part := clip_turn(Turn(ASSISTANT, "", name="Write", parts=(InputPart(WORDS),)), ClipLimits(input=limit))
          .parts[0]).text, part.fingerprints),
    ):  # fmt: skip
        head, note, tail = kept.split("\n")
        assert len(head + tail) == limit
        assert WORDS.startswith(head)
        assert WORDS.endswith(tail)
        assert note == f"… {len(WORDS) - limit:,} characters left out …"
        found = decode_fingerprints(prints)
        missing = WORDS[len(head) : len(WORDS) - len(tail)].split()[1:-1]
        assert all(
            found.intersection(hash_runs(tokenize(" ".join(missing[start : start + 8]))))
            for start in range(len(missing) - 7)
        )
        assert len(found) < 0.45 * len(missing)


def test_the_input_of_a_call_shares_one_limit() -> None:
    parts = (InputPart("b" * 60, old="a" * 60), InputPart("c" * 60))
    first, second = clip_turn(Turn(ASSISTANT, "", name="Edit", parts=parts), ClipLimits(input=100)).parts
    assert first.old == "a" * 60
    assert first.text.count("b") == 40
    assert second.text == "\n… 60 characters left out …\n"


def test_what_people_and_the_agent_said_is_never_cut() -> None:
    for role in (USER, ASSISTANT, SYSTEM):
        assert clip_turn(Turn(role, "x" * 9999), ClipLimits(result=10, input=10)).text == "x" * 9999


@given(draw_texts(), st.booleans())
def test_input_and_error_without_a_name_are_kept_under_a_name(text: str, error: bool) -> None:
    kept = clip_turn(Turn(TOOL, "", name=" ", input=text, error=error), ClipLimits())
    assert bool(kept.name) == bool(text.strip() or error)
