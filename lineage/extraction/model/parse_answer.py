"""What is taken from a model's answer: nothing that does not pass, and nothing but plain text.

An answer is a stranger's text, whoever gave it: it is sanitized again, its markup, links and code are taken out, what
grants a permission is not taken. What a reading leaves out it says. (reliability: poisoned memory)
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from lineage.core.format.sentence import find_faults, strip_markup
from lineage.extraction.admission_policy import is_permission
from lineage.extraction.model.port import ParsedAnswer
from lineage.extraction.model.prompts import ANSWER_FORM, SENTENCE, SUMMARY

Clean = Callable[[str], str]
"""The sanitizer's `text`."""

MAX_NARRATIVE_LENGTH = 4_000
EMPTY = "empty"
BELOW_FLOOR = "sentence below the floor"
PERMISSION = "a permission"
PROMPT_REPEATED = "the prompt again"

_THINKING = re.compile(r"\A\s*<(think(?:ing)?)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(rf"^(?:[^\w\n]|_)*+({SENTENCE}|{SUMMARY})(?:[^\w\n:]|_)*+:[*_ ]*+", re.MULTILINE | re.IGNORECASE)
_CODE = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*•+–]|\d{1,3}[.)])\s+")
_WIDE_STOPS = str.maketrans("。！？", ".!?")


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """What a model says of a session: each part "" where it said nothing that is usable."""

    sentence: str = ""
    narrative: str = ""


def parse_summary(answer: str, anchors: Collection[str], clean: Clean) -> ParsedAnswer[ModelSummary]:
    """The sentence and the summary out of an answer; the last where it gives several.

    The sentence passes `memory_sentence_v1` as it stands, or is not taken: nothing is added to it.
    """
    text = clean_answer(answer, clean)
    if ANSWER_FORM in text:
        return ParsedAnswer(None, PROMPT_REPEATED)
    parts = _split_labels(text)
    sentence, complaint = _parse_sentence(parts.get(SENTENCE, ""), anchors, clean)
    narrative = _parse_narrative(parts.get(SUMMARY, ""), clean)
    if not (sentence or narrative):
        return ParsedAnswer(None, complaint or EMPTY)
    return ParsedAnswer(ModelSummary(sentence, narrative), complaint)


def clean_answer(answer: str, clean: Clean) -> str:
    """An answer, sanitized, without the thoughts that some models put first."""
    return _THINKING.sub("", clean(answer)).strip()


def _split_labels(text: str) -> dict[str, str]:
    """What stands behind each label; without any label the first line is the sentence."""
    labels = list(_LABEL.finditer(text))
    if not labels:
        return {SENTENCE: text.partition("\n")[0]}
    ends = [label.start() for label in labels[1:]] + [len(text)]
    return {label[1].upper(): text[label.end() : end] for label, end in zip(labels, ends, strict=True)}


def _parse_sentence(text: str, anchors: Collection[str], clean: Clean) -> tuple[str, str]:
    """The sentence, "" where it is not taken, and why not."""
    line = clean(_strip_markup(text.strip().partition("\n\n")[0])).strip("'‘’ ")
    line = line[:-1] + line[-1:].translate(_WIDE_STOPS)
    if not line:
        return "", ""
    if find_faults(line, anchors):
        return "", BELOW_FLOOR
    return ("", PERMISSION) if is_permission(line) else (line, "")


def _parse_narrative(text: str, clean: Clean) -> str:
    """Paragraphs and plain lists; lines that grant a permission are not in it."""
    lines = [_clean_line(line) for line in _CODE.sub("", text).strip().split("\n")]
    kept = "\n".join(line for line in lines if not is_permission(line))
    kept = clean(re.sub(r"\n{3,}", "\n\n", kept)).strip()
    return kept if len(kept) <= MAX_NARRATIVE_LENGTH else kept[:MAX_NARRATIVE_LENGTH].rpartition(" ")[0] + " …"


def _clean_line(line: str) -> str:
    bullet = _BULLET.match(line)
    plain = _strip_markup(line[bullet.end() :] if bullet else line)
    return f"- {plain}" if bullet and plain else plain


def _strip_markup(text: str) -> str:
    """Text without markup, links and code; taking some out may bring others to light."""
    before, plain = text, strip_markup(text)
    while plain != before:
        before, plain = plain, strip_markup(plain)
    return plain
