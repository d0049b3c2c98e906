"""Answers to an agent's questions: choices that a person settled. The question says what they are about."""

import re
from collections.abc import Iterator

from lineage.core.base.normalize import is_unspaced, measure_width, tokenize_folded
from lineage.extraction.forms import find_forms, list_openers, name_language
from lineage.extraction.sentences import Sentence, fold_without_emphasis

STEERING, UNDECIDED = "steering", "undecided"
_MIN_QUESTION_WIDTH = 14  # in Latin characters
# A person's turn is the question, quoted, and the answer below it.
_ANSWER = re.compile(r"^> (?P<question>[^\n]*[?？])[ \t]*\n\n(?P<answer>[^>\s][^\n]*)", re.MULTILINE)
_ASIDE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|（[^（）]*）")  # "(Recommended)"


def find_answers(text: str, max_length: int) -> Iterator[Sentence]:
    r"""Yield each answer that settles a choice, with its question, as they stand in a person's turn.

    An answer that only says yes or no, or how to go on at the moment, settles nothing for later.

    >>> [one.text for one in find_answers("> Which database should the tests use?\n\nSQLite", 400)]
    ['Which database should the tests use?\n\nSQLite']
    >>> list(find_answers("> Shall I commit this now?\n\nYes, commit it", 400))
    []
    """
    for match in _ANSWER.finditer(text):
        question, answer = match["question"], match["answer"]
        whole = text[match.start("question") : match.end()]
        if len(whole) <= max_length and settles_choice(question, answer):
            yield Sentence(whole, fold_without_emphasis(f"{question} {answer}"))


def settles_choice(question: str, answer: str) -> bool:
    """Return whether an answer says more than yes, no or "you decide", and neither it nor its question is about now."""
    if measure_width(question) < _MIN_QUESTION_WIDTH:
        return False
    folded, said = fold_without_emphasis(question), fold_without_emphasis(_ASIDE.sub(" ", answer))
    language = name_language(f"{folded} {said}")
    answered = find_forms(said, language)
    if UNDECIDED in answered or any(STEERING in forms for forms in (find_forms(folded, language), answered)):
        return False
    openers = list_openers(language)
    rest = said if is_unspaced(said) else " ".join(word for word in tokenize_folded(said) if word not in openers)
    return rest.strip() != "" and rest not in openers
