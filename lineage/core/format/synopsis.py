"""Ask, outcome and title of a session, from what was said in it (design: what a session achieved).

They are derived whenever a transcript is indexed, so that sessions captured long ago have today's. All are lines of
plain text: whole sentences, without markup, control and bidi characters.

Sentences of the first requests and of the messages before the next request are ranked by the odds that a reader would
choose them: the weights of their features are those of a logistic regression on labelled sessions of many authors
(`scripts/eval --fit`), in `synopsis.json`.
"""

import json
import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from itertools import takewhile
from typing import NamedTuple

from lineage.core.base.links import to_one_line
from lineage.core.base.normalize import tokenize_folded
from lineage.core.base.templates import strip_template
from lineage.core.format.prose import is_pasted, split_paragraphs, split_sentences
from lineage.core.format.sentence import count_words, shorten_urls
from lineage.core.format.synopsis_forms import (
    BACKWARD,
    BEGINS_WITH_RESULT,
    CAUSE,
    CHATTER,
    CHECKED,
    FUTURE,
    IMPERATIVE,
    INIT,
    NO_OUTCOME,
    NO_REQUEST,
    PASSIVE,
    PATH_ALONE,
    PROBLEM,
    REQUEST,
    RESULT,
    TAKES_BACK,
)
from lineage.core.format.tool_overlap import Statement
from lineage.core.format.turns import ASSISTANT, SYSTEM, USER, TurnText

MAX_TITLE_CHARS = 70
MAX_CHARS = 300
MAX_SENTENCES = 3  # of ask and outcome each
_READ_CHARS = 2000  # of either end of a turn: what it asks for stands at its beginning or its end
_MAX_REQUESTS = 8
_MAX_BUSY_REQUESTS = 4  # behind them
_MAX_REPLIES = 40
_MAX_ITEMS = 6  # of a list, looked at for what leads into it

_MIN_OUTCOME_ODDS, _MIN_MORE_ODDS = 0.05, 0.08  # of the best one, and of others
_MUCH_WORK = 20  # turns between a request and the message that ends the work on it
_SHORT_WORDS, _LONG_WORDS, _FEW_WORDS = 6, 24, 6  # of a sentence, the last of its content
_BACKWARD_WORDS = 5  # of content, of a sentence that says little without the one before
_LEAD_WORDS = 3  # of content, of a line that says nothing but that a list follows
WEIGHTS = "synopsis.json"

_QUOTED = re.compile(r"^[ \t]*>.*$", re.MULTILINE)  # by a person: a question of the agent's, or a paste
_CONSOLE = re.compile(  # a command behind a shell's prompt, and what it printed
    r"^[ \t]*(?:[❯➜$»]|>>>|PS [A-Z]:\S*>|\w+@[\w.-]+:\S*[$#])[ \t]+\S.*(?:\n[^\n]*\S[^\n]*)*", re.MULTILINE
)
_PRINTED = re.compile(
    r"\W*(?:FAIL(?:ED)?|ERR(?:OR)?|PASS(?:ED)?|WARN(?:ING)?|FATAL|INFO|DEBUG)\b|(?:\w+\.)*\w*(?:Error|Exception|Warning):|"
    r"RUN +v\d|Test Files\b|Tests? +\d+ (?:passed|failed)|Traceback|File \"[^\"\n]+\", line \d|panic:|npm ERR|"
    r"\s*at \S+ ?\(|\[?\d{4}-\d\d-\d\d[T ]|.*\(\d+\.\d+ ?m?s\)"
)
_PASTE = re.compile(r"\s*(?:-{3,}|={3,}|~{3,}) *(?=[A-Z])|\n")  # what was printed begins behind it, or on the next line
_WORD = re.compile(r"[^\W_]+")
# Of Katakana, Han and Hangul: Hiragana writes endings and particles.
_PAIR = re.compile(r"(?=([\u30a0-\u30ff\u3400-\u9fff\uac00-\ud7af]{2}))")
_PLAN = re.compile(r"Implement the following plan:\s+")


class Synopsis(NamedTuple):
    """What a person asked for, and what came of it in the agent's words: sentences with their odds, the best first."""

    asks: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    ask_odds: tuple[float, ...] = ()
    outcome_odds: tuple[float, ...] = ()

    @property
    def ask(self) -> str:
        """Return the best sentence of what was asked, "" without one."""
        return self.asks[0] if self.asks else ""

    @property
    def outcome(self) -> str:
        """Return the best sentence of what was achieved, "" without one."""
        return self.outcomes[0] if self.outcomes else ""


class Said(NamedTuple):
    """A sentence of the turn with this number, its content words, its features and the odds that they give it."""

    number: int
    text: str
    words: frozenset[str]
    features: Mapping[str, float]
    odds: float


def build_synopsis(
    turn_texts: Iterable[TurnText],
    find_faults: Callable[[Sequence[Statement]], Sequence[object]] | None = None,
    weights: Mapping[str, Mapping[str, float]] | None = None,
) -> Synopsis:
    """Return ask and outcome of turns. `find_faults` says what keeps statements of the agent from memory."""
    requested, stated = list_said(turn_texts, weights or read_weights())
    # That the tests pass is better than nothing.
    said = (one for one in stated if one.odds > _MIN_OUTCOME_ODDS or one.features["a check"])
    found = _select_different(said, 2 * MAX_SENTENCES)
    if find_faults:
        faults = find_faults([Statement(one.number, one.text) for one in found])
        found = [one for one, fault in zip(found, faults, strict=True) if not fault]
    found = [*found[:1], *(one for one in found[1:MAX_SENTENCES] if one.odds > _MIN_MORE_ODDS)]
    asked = _select_different([one for one in requested if not _is_no_request(one)] or requested, MAX_SENTENCES)
    asks, outcomes = tuple(one.text for one in asked), tuple(one.text.rstrip(" :：") for one in found)
    ask_odds, outcome_odds = (tuple(one.odds for one in part) for part in (asked, found))
    return Synopsis(asks, outcomes, ask_odds, outcome_odds)


def list_said(
    turn_texts: Iterable[TurnText], weights: Mapping[str, Mapping[str, float]]
) -> tuple[list[Said], list[Said]]:
    """Return the sentences of turns that may be the ask, and those that may be the outcome."""
    requests, replies = _collect(turn_texts)
    asks = list(_iter_asks(requests, weights["ask"]))
    asked_words = frozenset[str]().union(*(ask.words for ask in asks[:12]))
    return asks, list(_iter_outcomes(replies, asked_words, weights["outcome"]))


def build_title(ask: str, outcome: str, fallback: str = "") -> str:
    """Return the title of a session: its ask, else its outcome, else `fallback`, without long URLs, cut at a word.

    >>> build_title("", "Fixed the importer: it kept the last row of every file that ends without a newline.")
    'Fixed the importer: it kept the last row of every file that ends…'
    """
    return cut_at_word(shorten_urls(ask or outcome or to_one_line(fallback)).strip(), MAX_TITLE_CHARS)


def cut_at_word(line: str, max_chars: int) -> str:
    """Return a line of at most so many characters, the last one an ellipsis if words are left out."""
    if len(line) <= max_chars:
        return line
    head = line[: max_chars - 1]
    # Text without spaces is cut anywhere.
    whole = head if line[max_chars - 1] == " " else head.rpartition(" ")[0]
    return f"{(whole or head).rstrip(' ,;:–-(')}…"


class _Reply(NamedTuple):
    """A message of the agent that a request or the end follows, and how many turns of work it ends."""

    number: int = 0
    text: str = ""
    work: int = 0


class _Request(NamedTuple):
    """What a person typed, and how many turns of work it led to. `place` counts the requests from 1."""

    number: int
    text: str
    place: int
    work: int


def _collect(turn_texts: Iterable[TurnText]) -> tuple[Sequence[_Request], Sequence[_Reply]]:
    """Return the first requests and those that led to most work, and the messages that a request or the end follows."""
    requests, replies = dict[str, _Request](), deque[_Reply](maxlen=_MAX_REPLIES)
    reply, request = _Reply(), _Request(0, "", 0, 0)
    for number, role, text, *_ in turn_texts:
        # A plan was written by an agent, but its goal is that of the person who had it carried out.
        plan = _PLAN.match(text) if role == SYSTEM else None
        if role == USER or plan:
            replies += [reply] if reply.text else []
            _keep(requests, request)
            typed = text[plan.end() :] if plan else strip_template(text)
            reply, request = _Reply(), _Request(number, typed, request.place + bool(typed), 0)
        else:
            request = request._replace(work=number - request.number)
            if role == ASSISTANT and text.strip():
                reply = _Reply(number, text, request.work)
    replies += [reply] if reply.text else []
    _keep(requests, request)
    asked = [one for one in requests.values() if not (INIT.match(one.text) or _only_answers(one.text))]
    return asked or list(requests.values()), replies


def _only_answers(text: str) -> bool:
    """Return whether a text is nothing but an agent's questions, quoted, each with a line that a person chose."""
    lines = [line for line in text.splitlines() if line.strip()] if text.startswith(">") else []
    pairs = zip(lines[::2], lines[1::2], strict=False)
    is_asked = (ask.startswith(">") and ask.rstrip().endswith(("?", "？")) and said[0] != ">" for ask, said in pairs)
    return bool(lines) and len(lines) % 2 == 0 and all(is_asked)


def _keep(requests: dict[str, _Request], one: _Request) -> None:
    """Keep a request that is one of the first, and of the later ones the busiest, for texts may be long."""
    if one.text:
        known = requests.get(one.text, one)
        requests[one.text] = known._replace(work=max(known.work, one.work))
    later = [one for one in requests.values() if one.place > _MAX_REQUESTS]
    if len(later) > _MAX_BUSY_REQUESTS:
        del requests[min(later, key=lambda one: one.work).text]


def _iter_asks(requests: Sequence[_Request], weights: Mapping[str, float]) -> Iterator[Said]:
    place, most = 0, max((one.work for one in requests), default=0)
    for number, whole, _, work in requests:
        depth, text, before = 0, _CONSOLE.sub("", _QUOTED.sub("", whole)), ""
        tail = text[_READ_CHARS:][-_READ_CHARS:].partition("\n\n")[2]
        for paragraph in (*split_paragraphs(text[:_READ_CHARS]), *split_paragraphs(tail)):
            for line in split_sentences(_read_typed(paragraph)):
                if not _says_something(line):
                    continue
                words = find_content_words(line)
                features = {
                    "first request": place == 0,
                    "late request": place > 3,
                    "depth": min(depth, 10) / 10,
                    "words": min(len(words), 14) / 14,
                    "request": REQUEST.search(line),
                    "imperative": IMPERATIVE.match(line),
                    "first sentence": depth == 0,
                    "problem": PROBLEM.search(line),
                    "printed": _PRINTED.match(line),
                    "work": _measure_work(work, most),
                }
                depth += 1
                needs_more = len(words) <= _BACKWARD_WORDS and BACKWARD.search(line)
                told = f"{before} {line}" if needs_more and before.endswith((".", "!", "?")) else line
                one = _weigh(number, line, words, features, weights)
                is_more = told != line and len(told) <= MAX_CHARS
                yield one._replace(text=told, words=find_content_words(told)) if is_more else one
                before = line
        place += depth > 0


def _is_no_request(one: Said) -> bool:
    """Return whether a sentence was printed, or says nothing but that a list follows."""
    return bool(one.features["printed"]) or (one.text.endswith(":") and len(one.words) <= _LEAD_WORDS)


def _iter_outcomes(
    replies: Sequence[_Reply], asked_words: frozenset[str], weights: Mapping[str, float]
) -> Iterator[Said]:
    frequency = Counter(word for one in replies for word in find_content_words(one.text[: 2 * _READ_CHARS]))
    longest = max((len(one.text) for one in replies), default=0)
    most = max((one.work for one in replies), default=0)
    for place, (number, text, work) in enumerate(replies):
        depth, stated = 0, list[Said]()
        for paragraph in split_paragraphs(text[: 2 * _READ_CHARS]):
            for line in split_sentences(paragraph):
                if stated and TAKES_BACK.match(line):
                    stated.pop()
                if NO_OUTCOME.match(line) or (line.isascii() and line.count(" ") < 2):
                    continue
                words, length = find_content_words(line), count_words(line)
                common = sum(math.log1p(frequency[word]) for word in words) / math.log1p(len(replies))
                features = {
                    "begins with a result": BEGINS_WITH_RESULT.match(line),
                    "result": RESULT.search(line),
                    "common": common / max(4, len(words)),
                    "depth": min(depth, 12) / 12,
                    "early reply": place < len(replies) - 6,
                    "cause": CAUSE.search(line),
                    "first sentence": depth == 0,
                    "longest reply": len(text) == longest,
                    "about the ask": len(words & asked_words) / max(4, len(words)),
                    "future": FUTURE.search(line),
                    "short": length < _SHORT_WORDS,
                    "a check": CHECKED.match(line),
                    "work": _measure_work(work, most),
                    "last reply": place == len(replies) - 1,
                    "passive": PASSIVE.search(line),
                    "long": length > _LONG_WORDS,
                    "few words": len(words) < _FEW_WORDS,
                }
                depth += 1
                stated.append(_weigh(number, line, words, features, weights))
        yield from _put_leads_first(stated)


def _measure_work(turns: int, most: int) -> float:
    """Return how much of a session's work so many turns are, 1 for those of the part with `most` of a long one."""
    return math.log1p(turns) / math.log1p(max(most, _MUCH_WORK))


def _put_leads_first(stated: Sequence[Said]) -> Iterator[Said]:
    """Yield the sentences of a message; one that states a result and ends with a colon is worth its best item."""
    for place, one in enumerate(stated):
        items = takewhile(lambda item: not item.text.endswith(":"), stated[place + 1 : place + 1 + _MAX_ITEMS])
        best = max((item.odds for item in items), default=0.0)
        is_lead = one.text.endswith(":") and BEGINS_WITH_RESULT.match(one.text) and not FUTURE.search(one.text[:-1])
        # Those of few words ("Fixed in 2 commits:") say less than their items.
        is_lead = is_lead and not one.features["few words"]
        yield one._replace(odds=max(one.odds, best)) if is_lead else one


def _weigh(
    number: int, line: str, words: frozenset[str], seen: Mapping[str, object], weights: Mapping[str, float]
) -> Said:
    features = {name: value if isinstance(value, float) else float(bool(value)) for name, value in seen.items()}
    score = weights.get("bias", 0.0) + sum(weights.get(name, 0.0) * value for name, value in features.items())
    return Said(number, line, words, features, round(1 / (1 + math.exp(-score)), 4))


@cache
def read_weights() -> Mapping[str, Mapping[str, float]]:
    """Return the weights of the features and the bias, of asks and of outcomes."""
    weights: Mapping[str, Mapping[str, float]] = json.loads(
        resources.files(__package__).joinpath(WEIGHTS).read_text("utf-8")
    )
    return weights


def _select_different(sentences: Iterable[Said], max_count: int) -> list[Said]:
    """Return the best sentences, none that says what a better one does."""
    selected = list[Said]()
    for one in sorted(sentences, key=lambda one: -one.odds):
        if len(selected) == max_count:
            break
        if all(len(one.words & other.words) * 2 < max(1, min(len(one.words), len(other.words))) for other in selected):
            selected.append(one._replace(text=cut_at_word(one.text, MAX_CHARS)))
    return selected


def find_content_words(text: str) -> frozenset[str]:
    """Return the words of a text that say what it is about, in lower case; of scripts without spaces pairs of signs."""
    lowered = text.lower()
    words = (word for word in tokenize_folded(lowered) if len(word) > 2 and word not in CHATTER)
    return frozenset(words).union(_PAIR.findall(lowered))


def _says_something(line: str) -> bool:
    words = _WORD.findall(line.lower())
    is_said = sum(word not in CHATTER for word in words) > 1 or (not line.isascii() and count_words(line) > 2)
    return is_said and not (NO_REQUEST.match(line) or PATH_ALONE.fullmatch(line))


def _read_typed(paragraph: str) -> str:
    """Return a paragraph, or what asks for something above a paste in it, "" if nothing does."""
    if not is_pasted(paragraph):
        return paragraph
    head = _PASTE.split(paragraph.strip(), maxsplit=1)[0]
    asks = not _PRINTED.match(head) and (REQUEST.search(head) or IMPERATIVE.match(head))
    return head if asks and not is_pasted(head) else ""
