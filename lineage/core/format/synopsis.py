"""Ask, outcome and title of a session, from what was said in it (design: what a session achieved).

They are derived whenever a transcript is indexed, so that sessions captured long ago have today's. All three are one
line of plain text: whole words, without markup, control and bidi characters.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from lineage.core.base.links import to_one_line
from lineage.core.format.sentence import count_words, is_abbreviation
from lineage.core.format.turns import ASSISTANT, USER, TurnText

MAX_TITLE_CHARS = 70
MAX_CHARS = 300
_READ_CHARS = 2000  # of a turn: what it asks for stands at its beginning or its end

_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,}).*?(?:^[ \t>]*\1|\Z)", re.MULTILINE | re.DOTALL)
_TAGGED = re.compile(r"<([A-Za-z][\w-]*)(?:\s[^<>]*)?>.*?</\1>|</?[A-Za-z][^<>\n]*>", re.DOTALL)
_LINK = re.compile(r"!?\[([^\[\]\n]*)\]\([^()\s]*\)|!?\[\[(?:[^\[\]\n|]*\|)?([^\[\]\n]*)\]\]")
_LINE_START = re.compile(r"^[ \t]*(?:(?:#{1,6}|>|[-*+•]|\d{1,3}[.)]|\[[ xX]\])[ \t]+)+", re.MULTILINE)
_RULE = re.compile(r"^[ \t]*(?:[-=*_]{3,}|\|.*\|?)[ \t]*$", re.MULTILINE)
_EMPHASIS = re.compile(r"(\*\*|~~|(?<![\w*])\*)(?=\S)([^*\n]+?)(?<=\S)\1(?![\w*])")
_PARAGRAPH = re.compile(r"\n[ \t]*\n\s*")
_WORD = re.compile(r"[^\W_]+")
_STOP = re.compile(r"[.!?…][\"'”’»)\]]*\s+(?=\S)|[。！？]|\n")
_NO_REQUEST = re.compile(
    r"Caveat: The messages below|This session is being continued|\[Request interrupted|Operation stopped by|"
    # a command alone, and what sets up a harness, whatever it is given
    r"[/!][\w-]+$|/(?:add-dir|agents|color|config|effort|export|fast|login|mcp|memory|model|output-style|permissions|plugin|"
    r"rename|resume|statusline|theme|vim)\b[^\n]*$"
)
_CHATTER = frozenset((
    "a", "again", "ahead", "agent", "and", "are", "at", "bye", "can", "claude", "codex", "continue", "could",
    "danke", "day", "do", "done", "exactly", "exit", "fine", "for", "gemini", "go", "good", "got", "great", "hello",
    "help", "hey", "hi", "how", "i", "it", "ja", "just", "k", "keep", "know", "let", "lgtm", "me", "merci",
    "morning", "nein", "next", "nice", "no", "nope", "now", "of", "oh", "ok", "okay", "on", "oui", "perfect",
    "ping", "please", "proceed", "quit", "ready", "resume", "retry", "right", "s", "see", "si", "so", "sounds",
    "start", "stop", "sure", "thank", "thanks", "that", "the", "then", "there", "this", "to", "try", "wait",
    "weiter", "well", "what", "whoami", "who", "with", "work", "would", "y", "yeah", "yep", "yes", "you",
))  # fmt: skip
_RESULTS = frozenset((
    "added", "addressed", "built", "closed", "committed", "complete", "completed", "configured", "converted", "created",
    "deleted", "deployed", "disabled", "done", "enabled", "extracted", "finished", "fixed", "found", "green",
    "implemented", "improved", "installed", "landed", "merged", "migrated", "moved", "pass", "passed", "passes",
    "passing", "pushed", "ready", "reduced", "refactored", "released", "removed", "renamed", "replaced", "reported",
    "resolved", "reverted", "root", "shipped", "succeeded", "updated", "verified", "work", "works", "wrote", "written",
))  # fmt: skip
_NO_RESULT = re.compile(
    r"\b(?:can you|could|going to|if you|let me|let's|let’s|i['’]ll|need to|once|shall|should|tell me|to be|want|will|"
    r"would|you can)\b|[?:]$|\b(?:not|isn't|wasn't|never) (?:yet )?(?:done|fixed|finished|ready|work)",
    re.IGNORECASE,
)


class Synopsis(NamedTuple):
    """What a person asked for, and what came of it in the agent's words; "" where nothing says so."""

    ask: str = ""
    outcome: str = ""


def build_synopsis(
    turn_texts: Iterable[TurnText], find_faults: Callable[[Sequence[str], int], Sequence[object]] | None = None
) -> Synopsis:
    """Return ask and outcome of turns. `find_faults` names what keeps sentences of a turn, by number, from memory."""
    ask = last_message = ""
    last_number = 0
    for number, role, text, *_ in turn_texts:
        if role == USER and not ask:
            ask = find_ask(text)
        elif role == ASSISTANT and text.strip():
            last_number, last_message = number, text
    sentences = _list_sentences(last_message)
    if find_faults:
        faults = find_faults(sentences, last_number)
        sentences = [sentence for sentence, fault in zip(sentences, faults, strict=True) if not fault]
    return Synopsis(ask, _choose_outcome(sentences))


def build_title(ask: str, outcome: str, fallback: str = "") -> str:
    """Return the title of a session: its ask, else its outcome, else `fallback`, cut at a word.

    >>> build_title("", "Fixed the importer: it kept the last row of every file that ends without a newline.")
    'Fixed the importer: it kept the last row of every file that ends…'
    """
    return cut_at_word(ask or outcome or to_one_line(fallback), MAX_TITLE_CHARS)


def cut_at_word(line: str, max_chars: int) -> str:
    """Return a line of at most so many characters, the last one an ellipsis if words are left out."""
    if len(line) <= max_chars:
        return line
    head = line[: max_chars - 1]
    # Text without spaces is cut anywhere.
    whole = head if line[max_chars - 1] == " " else head.rpartition(" ")[0]
    return f"{(whole or head).rstrip(' ,;:–-(')}…"


def find_ask(text: str) -> str:
    """Return what a turn of a person asks for: the first paragraph, else the last one, that is a request.

    A word of consent, a greeting, a command of the harness and pasted text are none.

    >>> find_ask("yes, go ahead"), find_ask("/clear"), find_ask("Please **drop** the `--all` flag.")
    ('', '', 'Please drop the --all flag.')
    """
    tail = text[_READ_CHARS:][-_READ_CHARS:].partition("\n\n")[2]
    paragraphs = [*_split_paragraphs(text[:_READ_CHARS]), *_split_paragraphs(tail)]
    return next((line for part in (*paragraphs[:2], *paragraphs[-1:]) if (line := _to_request(part))), "")


def find_outcome(text: str) -> str:
    """Return the first sentence of a message that states a result, else its first sentence.

    >>> find_outcome("I looked at it. Fixed the parser. I will test it now.")
    'Fixed the parser.'
    """
    return _choose_outcome(_list_sentences(text))


def _list_sentences(text: str) -> list[str]:
    lines = [line for part in _split_paragraphs(text[:_READ_CHARS]) for line in _split_sentences(part)]
    return [line for line in lines if " " in line] or lines


def _choose_outcome(sentences: Sequence[str]) -> str:
    results = (line for line in sentences if _states_result(line))
    return cut_at_word(next(results, sentences[0] if sentences else ""), MAX_CHARS)


def _states_result(sentence: str) -> bool:
    return not _RESULTS.isdisjoint(_WORD.findall(sentence.lower())) and not _NO_RESULT.search(sentence)


def _split_paragraphs(text: str) -> list[str]:
    plain = _TAGGED.sub("", _RULE.sub("", _FENCE.sub("\n", text)))
    plain = _EMPHASIS.sub(r"\2", _LINE_START.sub("", _LINK.sub(r"\1\2", plain.replace("`", ""))))
    return [part for part in _PARAGRAPH.split(plain) if part.strip()]


def _to_request(paragraph: str) -> str:
    line = to_one_line(paragraph)
    words = _WORD.findall(line.lower())
    says_something = sum(word not in _CHATTER for word in words) > 1 or (not line.isascii() and count_words(line) > 2)
    if not says_something or _NO_REQUEST.match(line) or _is_pasted(paragraph, line):
        return ""
    return cut_at_word(line, MAX_CHARS)


def _is_pasted(paragraph: str, line: str) -> bool:
    """Return whether a paragraph reads like a log, code or a document rather than what somebody typed."""
    letters = sum(map(str.isalpha, line)) + line.count(" ")
    return letters < 0.6 * len(line) or paragraph.strip().count("\n") > 8


def _split_sentences(paragraph: str) -> list[str]:
    sentences, start = list[str](), 0
    for stop in _STOP.finditer(paragraph):
        if not is_abbreviation(paragraph[start : stop.start() + 1]):
            sentences.append(paragraph[start : stop.end()])
            start = stop.end()
    return [line for part in (*sentences, paragraph[start:]) if (line := to_one_line(part))]
