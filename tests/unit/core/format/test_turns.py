"""Turn ids and the watermark: captured piece by piece or at once, the same turns."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.turns import SAID, USER, Turn, Watermark, assign_ids, compute_turn_id, find_first_new
from tests.support.strategies import draw_texts

V1, V2 = "sanitize_transcript_v1+a", "sanitize_transcript_v1+b"
WITHOUT_IDS = st.lists(draw_texts().map(lambda text: Turn(USER, text)), max_size=10)
WITH_IDS = st.lists(st.integers(0, 99), unique=True, max_size=10).map(
    lambda ids: [Turn(USER, "text", source_id=f"r{number}") for number in ids]
)
SESSIONS = (WITHOUT_IDS | WITH_IDS).map(lambda turns: tuple(assign_ids(turns, "token")))


class Captures:
    """A session that is captured again and again; holds what each capture wrote."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.mark: Watermark | None = None

    def capture(self, source: Sequence[Turn], sanitizer: str = V1) -> list[Turn]:
        start = 0
        if self.mark:
            ids = [turn.id for turn in self.turns]
            is_same = self.mark.sanitizer == sanitizer
            start = find_first_new(source, self.mark, is_same_reading=is_same, captured_ids=lambda: ids)
        new = list(source[start:])
        if new:
            self.turns += new
            self.mark = Watermark(new[-1].number, new[-1].id, sanitizer)
        return new


@given(SESSIONS, st.lists(st.integers(0, 10)))
def test_prefixes_captured_in_any_order_and_then_the_whole_are_a_one_shot_capture(
    turns: Sequence[Turn], lengths: list[int]
) -> None:
    session = Captures()
    for length in lengths:
        session.capture(turns[:length])
    session.capture(turns)
    assert session.turns == list(turns)
    assert session.capture(turns) == []


@given(SESSIONS, st.integers(0, 10))
def test_a_shorter_prefix_is_nothing_new(turns: Sequence[Turn], length: int) -> None:
    session = Captures()
    session.capture(turns)
    assert session.capture(turns[:length]) == []


@given(SESSIONS.filter(bool), st.integers(0, 10), st.integers(1, 5))
def test_what_replaces_a_rolled_back_end_is_captured_and_nothing_before_it(
    turns: Sequence[Turn], kept: int, more: int
) -> None:
    session = Captures()
    session.capture(turns)
    kept = min(kept, len(turns) - 1)
    fresh = [Turn(USER, f"fresh {number}", source_id=f"fresh-{number}") for number in range(more)]
    source = tuple(assign_ids([*turns[:kept], *fresh], "token"))
    assert session.capture(source) == list(source[kept:])


@given(WITHOUT_IDS, st.integers(1, 5))
def test_a_new_sanitizer_alone_makes_nothing_new(turns: list[Turn], more: int) -> None:
    session = Captures()
    session.capture(tuple(assign_ids(turns, "token")))
    changed = tuple(assign_ids([Turn(USER, f"{turn.text}[REDACTED:x]") for turn in turns], "token"))
    if turns:
        assert session.capture(changed, V2) == []
    added = [Turn(USER, f"added {number}") for number in range(more)]
    longer = tuple(assign_ids([*changed, *added], "token"))
    assert session.capture(longer, V2) == list(longer[len(turns) :])


@given(WITH_IDS.filter(bool), WITHOUT_IDS.filter(bool), st.integers(1, 5))
def test_nor_does_it_where_only_the_last_turns_have_no_ids(first: list[Turn], last: list[Turn], more: int) -> None:
    session = Captures()
    session.capture(tuple(assign_ids([*first, *last], "token")))
    changed = [*first, *(Turn(USER, f"{turn.text}[REDACTED:x]") for turn in last)]
    assert session.capture(tuple(assign_ids(changed, "token")), V2) == []
    longer = tuple(assign_ids([*changed, *(Turn(USER, f"added {number}") for number in range(more))], "token"))
    assert session.capture(longer, V2) == list(longer[len(changed) :])


@given(SESSIONS)
def test_turns_are_numbered_from_one_and_their_ids_are_distinct(turns: Sequence[Turn]) -> None:
    assert [turn.number for turn in turns] == list(range(1, len(turns) + 1))
    assert len({turn.id for turn in turns}) == len(turns)


@given(draw_texts())
def test_an_id_made_from_the_text_never_matches_across_sessions_and_a_harnesss_own_does(text: str) -> None:
    def first_id(token: str, source_id: str | None) -> str:
        return next(assign_ids([Turn(USER, text, source_id=source_id)], token)).id

    assert first_id("one", None) != first_id("other", None)
    assert first_id("one", "record") == first_id("other", "record") == compute_turn_id("record")


@given(st.lists(st.tuples(draw_texts(), st.booleans()), max_size=8))
def test_words_that_are_newly_found_change_no_other_id(said: list[tuple[str, bool]]) -> None:
    """Fails if an id that was made from place and text counts the words that an older reader left out."""
    turns = [Turn(USER, text, source_id=f"{SAID}1" if is_new else None) for text, is_new in said]
    ids = [turn.id for turn in assign_ids(turns, "token")]
    old = [turn for turn in turns if turn.source_id is None]
    assert [each for each, (_, is_new) in zip(ids, said, strict=True) if not is_new] == [
        turn.id for turn in assign_ids(old, "token")
    ]
    assert not {each for each, (_, is_new) in zip(ids, said, strict=True) if is_new} & {
        turn.id for turn in assign_ids(turns, "another")
    }


def test_a_watermark_reads_back_equal() -> None:
    mark = Watermark(3, "t-0123456789", V1)
    assert Watermark.from_list(mark.as_list()) == mark
