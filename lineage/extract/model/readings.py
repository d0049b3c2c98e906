"""What is taken from a model's answer: nothing that does not pass, and nothing but plain text.

An answer is a stranger's text, whoever gave it: it is sanitized again, its markup, links and code are taken out, what
grants a permission is not taken. What a reading leaves out it says. (reliability: poisoned memory)
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from lineage.core.sentence import faults, without_markup
from lineage.extract.admission import is_permission
from lineage.extract.model.port import Reading
from lineage.extract.model.prompts import ASKED, SENTENCE, SUMMARY

Clean = Callable[[str], str]
"""The sanitizer's `text`."""

LONGEST_NARRATIVE = 4_000
EMPTY = "empty"
BELOW_FLOOR = "sentence below the floor"
PERMISSION = "a permission"
ECHO = "the prompt again"

_THOUGHT = re.compile(r"\A\s*<(think(?:ing)?)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_LABEL = re.compile(rf"^(?:[^\w\n]|_)*+({SENTENCE}|{SUMMARY})(?:[^\w\n:]|_)*+:[*_ ]*+", re.MULTILINE | re.IGNORECASE)
_CODE = re.compile(r"(`{3,}|~{3,}).*?(?:\1|\Z)", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*•+–]|\d{1,3}[.)])\s+")
_WIDE_STOPS = str.maketrans("。！？", ".!?")


@dataclass(frozen=True, slots=True)
class Account:
    """What a model says of a session: each part "" where it said nothing that is usable."""

    sentence: str = ""
    narrative: str = ""


def account(answer: str, anchors: Collection[str], clean: Clean) -> Reading[Account]:
    """The sentence and the summary out of an answer; the last where it gives several.

    The sentence passes `memory_sentence_v1` as it stands, or is not taken: nothing is added to it.
    """
    text = said(answer, clean)
    if ASKED in text:
        return Reading(None, ECHO)
    parts = _parts(text)
    sentence, complaint = _sentence(parts.get(SENTENCE, ""), anchors, clean)
    narrative = _narrative(parts.get(SUMMARY, ""), clean)
    if not (sentence or narrative):
        return Reading(None, complaint or EMPTY)
    return Reading(Account(sentence, narrative), complaint)


def said(answer: str, clean: Clean) -> str:
    """An answer, sanitized, without the thoughts that some models put first."""
    return _THOUGHT.sub("", clean(answer)).strip()


def _parts(text: str) -> dict[str, str]:
    """What stands behind each label; without any label the first line is the sentence."""
    labels = list(_LABEL.finditer(text))
    if not labels:
        return {SENTENCE: text.partition("\n")[0]}
    ends = [label.start() for label in labels[1:]] + [len(text)]
    return {label[1].upper(): text[label.end() : end] for label, end in zip(labels, ends, strict=True)}


def _sentence(text: str, anchors: Collection[str], clean: Clean) -> tuple[str, str]:
    """The sentence, "" where it is not taken, and why not."""
    line = clean(_plain(text.strip().partition("\n\n")[0])).strip("'‘’ ")
    line = line[:-1] + line[-1:].translate(_WIDE_STOPS)
    if not line:
        return "", ""
    if faults(line, anchors):
        return "", BELOW_FLOOR
    return ("", PERMISSION) if is_permission(line) else (line, "")


def _narrative(text: str, clean: Clean) -> str:
    """Paragraphs and plain lists; lines that grant a permission are not in it."""
    lines = [_line(line) for line in _CODE.sub("", text).strip().split("\n")]
    kept = "\n".join(line for line in lines if not is_permission(line))
    kept = clean(re.sub(r"\n{3,}", "\n\n", kept)).strip()
    return kept if len(kept) <= LONGEST_NARRATIVE else kept[:LONGEST_NARRATIVE].rpartition(" ")[0] + " …"


def _line(line: str) -> str:
    bullet = _BULLET.match(line)
    plain = _plain(line[bullet.end() :] if bullet else line)
    return f"- {plain}" if bullet and plain else plain


def _plain(text: str) -> str:
    """Text without markup, links and code; taking some out may bring others to light."""
    before, plain = text, without_markup(text)
    while plain != before:
        before, plain = plain, without_markup(plain)
    return plain
