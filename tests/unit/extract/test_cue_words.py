"""Words without which there is no cue: who looks for them first loses nothing."""

import re
from importlib import import_module
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineage.core.turns import USER, Turn
from lineage.extract import cues, extract
from lineage.extract.candidates import LONGEST
from lineage.extract.cue_words import LABEL, cues_in, words_of_cues
from lineage.extract.prose import bared, sentences

PATTERNS = [
    (kind, language, pattern)
    for language, kinds in cues.CUES.items()
    for kind, patterns in kinds.items()
    for pattern in patterns
]
PIECES = [
    "decided",
    "We ",
    "use",
    " ",
    ". ",
    "\n",
    "**",
    "_",
    "__",
    "~~",
    "`x`",
    '"',
    "'",
    "’",
    "…",
    "- [ ] ",
    "é",
    "。",
    "決めた",
]


def phrases(pattern: Any) -> list[str]:
    """Every text that a parsed pattern matches; of what it repeats without end, and of any character, one."""
    found = [""]
    for operation, operand in pattern:
        match str(operation):
            case "LITERAL":
                more = [chr(operand)]
            case "IN" if all(str(kind) == "LITERAL" for kind, _ in operand):
                more = [chr(character) for _, character in operand]
            case "IN" | "NOT_LITERAL" | "ANY":
                more = ["x"]
            case "BRANCH":
                more = [text for branch in operand[1] for text in phrases(branch)]
            case "SUBPATTERN":
                more = phrases(operand[3])
            case "MAX_REPEAT" | "MIN_REPEAT":
                more = ["", *phrases(operand[2])] if operand[0] == 0 else phrases(operand[2])
            case _:
                more = [""]
        found = [before + after for before in found for after in more]
    return found


@pytest.mark.parametrize(("kind", "language", "pattern"), PATTERNS)
def test_every_match_of_a_cue_has_one_of_its_words(kind: str, language: str, pattern: str) -> None:
    said = phrases(import_module("re._parser").parse(pattern))
    assert all(re.fullmatch(pattern, text) for text in said)
    assert [text for text in said if (kind, language) not in cues_in(f"well, {text}, it says")] == []


@pytest.mark.parametrize("label", [label for labels in cues.LABELS.values() for label in labels])
def test_every_label_has_its_word(label: str) -> None:
    assert LABEL in cues_in(f"{label}: it stays")


@given(st.lists(st.sampled_from(PIECES)).map("".join))
@example("de**cid**ed")
@example('"decided" _use_')
def test_what_a_sentence_may_hold_its_turn_may_hold(text: str) -> None:
    possible, words = cues_in(bared(text)), words_of_cues(bared(text))
    for sentence in sentences(text, LONGEST):
        assert cues_in(sentence.bare) <= possible
        assert not cues_in(sentence.bare) or any(word in sentence.bare for word in words)


@pytest.mark.parametrize("text", ["**De**cided", "de__cid__ed", "~~decided~~", "decided*"])
def test_emphasis_hides_no_word(text: str) -> None:
    assert bared(text) == "decided"


def test_an_empty_box_needs_no_words() -> None:
    assert [found.text for found in extract([Turn(USER, "- [ ] paint the garden fence")])] == ["paint the garden fence"]
