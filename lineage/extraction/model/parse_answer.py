"""Checks of a model's answer: only plain text passes.

An answer is untrusted: it is sanitized again, markup, links and code are removed, permissions are refused. The result
says in a complaint what was refused. (reliability: poisoned memory)
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from lineage.core.format.sentence import find_faults, strip_markup
from lineage.extraction.admission_policy import is_permission
from lineage.extraction.model.port import EMPTY, ParsedAnswer
from lineage.extraction.model.prompts import ANSWER_FORM, SENTENCE, SUMMARY

Clean = Callable[[str], str]  # the sanitizer's `sanitize`

MAX_NARRATIVE_LENGTH = 4_000
BELOW_FLOOR = "sentence below the floor"
PERMISSION = "a permission"
PROMPT_REPEATED = "the prompt again"

_THINKING = re.compile(r"\A\s*<(think(?:ing)?)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(rf"^(?:[^\w\n]|_)*+({SENTENCE}|{SUMMARY})(?:[^\w\n:]|_)*+:[*_ ]*+", re.MULTILINE | re.IGNORECASE)
_CODE = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*•+–]|\d{1,3}[.)])\s+")
_WIDE_STOPS = str.maketrans("。！？", ".!?")  # the floor of sentences knows Latin stops only


@dataclass(frozen=True, slots=True)
class ModelSummary:
    """The sentence and summary of a session by a model, each "" if unusable."""

    sentence: str = ""
    narrative: str = ""


def parse_summary(answer: str, anchors: Collection[str], clean: Clean) -> ParsedAnswer[ModelSummary]:
    """Return the sentence and the summary in an answer, the last ones if it gives several.

    The sentence passes `memory_sentence_v1` as it stands, or is refused: nothing is added to it.
    """
    text = clean_answer(answer, clean)
    if ANSWER_FORM in text:  # some programs print their prompt
        return ParsedAnswer(None, PROMPT_REPEATED)
    parts = _split_labels(text)
    sentence, complaint = _parse_sentence(parts.get(SENTENCE, ""), anchors, clean)
    narrative = _parse_narrative(parts.get(SUMMARY, ""), clean)
    if not (sentence or narrative):
        return ParsedAnswer(None, complaint or EMPTY)
    return ParsedAnswer(ModelSummary(sentence, narrative), complaint)


def clean_answer(answer: str, clean: Clean) -> str:
    """Return an answer sanitized, without the thinking that some models put first."""
    return _THINKING.sub("", clean(answer)).strip()


def _split_labels(text: str) -> dict[str, str]:
    """Return the text behind each label. Without labels the first line is the sentence."""
    labels = list(_LABEL.finditer(text))
    if not labels:
        return {SENTENCE: text.partition("\n")[0]}
    ends = [label.start() for label in labels[1:]] + [len(text)]
    return {label[1].upper(): text[label.end() : end] for label, end in zip(labels, ends, strict=True)}


def _parse_sentence(text: str, anchors: Collection[str], clean: Clean) -> tuple[str, str]:
    """Return the sentence, "" for none, and the complaint about it."""
    line = clean(_strip_markup(text.strip().partition("\n\n")[0])).strip("'‘’ ")
    line = line[:-1] + line[-1:].translate(_WIDE_STOPS)
    if not line:
        return "", ""
    if find_faults(line, anchors):
        return "", BELOW_FLOOR
    return ("", PERMISSION) if is_permission(line) else (line, "")


def _parse_narrative(text: str, clean: Clean) -> str:
    """Return paragraphs and plain lists, without lines that grant a permission."""
    lines = [_clean_line(line) for line in _CODE.sub("", text).strip().split("\n")]
    narrative = "\n".join(line for line in lines if not is_permission(line))
    narrative = clean(re.sub(r"\n{3,}", "\n\n", narrative)).strip()
    if len(narrative) <= MAX_NARRATIVE_LENGTH:
        return narrative
    return narrative[:MAX_NARRATIVE_LENGTH].rpartition(" ")[0] + " …"


def _clean_line(line: str) -> str:
    bullet = _BULLET.match(line)
    plain = _strip_markup(line[bullet.end() :] if bullet else line)
    return f"- {plain}" if bullet and plain else plain


def _strip_markup(text: str) -> str:
    """Remove markup, links and code until nothing changes: removing some may uncover others."""
    before, plain = text, strip_markup(text)
    while plain != before:
        before, plain = plain, strip_markup(plain)
    return plain
