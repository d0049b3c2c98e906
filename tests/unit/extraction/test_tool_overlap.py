"""Which statements repeat a tool: judged by single words first, and never in another way."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.turns import ASSISTANT, TOOL, Turn
from lineage.extraction.normalize import tokenize
from lineage.extraction.tool_overlap import find_repeated_tools

TEXTS = st.lists(st.sampled_from(["a", "at", "cat", "the", "CATS", "naïve…", "語", "."]), max_size=9).map(" ".join)


def runs(text: str) -> set[tuple[str, ...]]:
    words = tokenize(text)
    return {tuple(words[start : start + 3]) for start in range(len(words) - 2)}


def repeated(at: int, text: str, typed: bool, turns: list[Turn]) -> str:
    wanted = runs(text)
    for turn in turns[:at]:
        share = len(wanted & runs(turn.text)) / len(wanted) if wanted else 0
        if turn.role == TOOL and share >= (1 if typed else 0.5):
            return turn.name
    return ""


@given(st.lists(st.tuples(st.integers(0, 4), TEXTS, st.booleans()), max_size=3), st.lists(TEXTS, max_size=4))
def test_a_statement_repeats_the_first_earlier_result_that_has_enough_of_it(
    statements: list[tuple[int, str, bool]], results: list[str]
) -> None:
    turns = [Turn(TOOL, text, name=f"tool {number}") for number, text in enumerate(results)]
    assert find_repeated_tools(statements, turns) == [repeated(*statement, turns) for statement in statements]


def test_half_of_what_is_said_is_enough() -> None:
    assert find_repeated_tools([(1, "it now works everywhere", False)], [Turn(TOOL, "it now works", name="sh")]) == [
        "sh"
    ]
    assert find_repeated_tools(
        [(1, "it now works everywhere else", False)], [Turn(TOOL, "it now works", name="sh")]
    ) == [""]


def test_only_tools_are_repeated() -> None:
    said = "the cat sat on the mat"
    assert find_repeated_tools([(1, said, False)], [Turn(ASSISTANT, said)]) == [""]
    assert find_repeated_tools([(1, said, False)], [Turn(TOOL, said)]) == [TOOL]
