"""What a result's passages hold: the words that were asked for, within their bound, and nothing twice."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from lineage.pipeline.search.found_passages import MAX_CHARACTERS, MAX_PASSAGES, clip_around, load_passages
from lineage.pipeline.search.search import search
from tests.support.workspace import end_session, make_turns, open_test_workspace

FILLER = "Nothing of interest stands in this line of the long answer.\n"
WORDS = st.lists(st.text(alphabet="abcxyz äß解", min_size=1, max_size=8), max_size=4)


@given(st.text(alphabet="abcxyz \n.äß解", max_size=400), WORDS, st.integers(20, 80))
def test_a_clipped_text_is_a_part_of_it_and_not_longer(text: str, words: list[str], most: int) -> None:
    clipped = clip_around(text, words, most)
    assert len(clipped) <= max(most, 0)
    assert clipped.removeprefix("… ").removesuffix(" …").strip() in text


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_word_stands_in_the_part_that_is_kept(before: int, after: int) -> None:
    clipped = clip_around(FILLER * before + "The semaphore leaked.\n" + FILLER * after, ["semaphores"])
    assert "semaphore" in clipped
    assert not re.search(r"^… \w+ng ", clipped) or clipped.startswith("… Nothing"), "it begins with a whole word"


def test_the_part_with_most_of_the_words_is_kept() -> None:
    text = "A lock.\n" + FILLER * 30 + "The lock of the ledger was held by the importer.\n" + FILLER * 30
    assert "ledger was held by the importer" in clip_around(text, ["lock", "ledger", "importer"])


def test_a_session_gives_its_best_passages_each_once(tmp_path: Path) -> None:
    answers = [f"{FILLER * 12}The wombat number {number} digs.\n{FILLER * 12}" for number in range(6)]
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, transcript=make_turns("Where do wombats dig?", *answers))
        (passages,) = load_passages(ws, search(ws, "wombats dig", None, 5).hits, "wombats dig")
    assert len(passages) == MAX_PASSAGES == len({one.text for one in passages})
    for one in passages:
        assert "wombat" in one.text.lower()
        assert len(one.text) <= MAX_CHARACTERS
        assert bool(one.turns) == (one.kind == "transcript")
        assert one.path.endswith(".md")
