"""What a sentence and its message look like, whatever they say: features by the names that weights.json has."""

import re
from collections.abc import Iterator, Sequence

from lineage.extraction.forms import asks_something
from lineage.extraction.sentences import Sentence

_LONG_MESSAGE, _LONG_PROMPT, _MANY_LINES = 900, 700, 8
_LENGTHS = {5: "under 5 words", 9: "5 to 8 words", 15: "9 to 14 words", 28: "15 to 27 words", 45: "28 to 44 words"}

_CODE = re.compile(r"`([^`]+)`")
# "`rows.py` — added a test": an entry of a list of changes.
_ENTRY = re.compile(
    r"\W*(?:\*\*)?`?[^\s`*—:]+(?: [^\s`*—:]+){0,4}`?(?:\*\*)?(?: ?\([^)]*\))?(?:\*\*)?:?(?:\*\*)?\s*(?:—|–|--|:| - )\s"
)
_DASH = re.compile(r"[—–:-]")
_LINE_NUMBER = re.compile(r"\blines? \d|:\d")
_EMOJI = re.compile("[\u2600-\u27bf\U0001f000-\U0001faff]")
_COUNT = re.compile(r"\b\d+ \w*(?:s|en|os|as)\b")
_FIRST_PERSON = re.compile(r"\W*i(?:'ve|'m)?\b")


def describe_sentence(sentence: Sentence, words: Sequence[str], names: frozenset[str]) -> Iterator[str]:
    """Yield what a sentence looks like, given its words and the names in it: its length, its code, its signs."""
    text = sentence.text
    signs = 0 if text.isascii() else sum(not word.isascii() and len(word) == 1 for word in words)
    count = len(words) - signs // 2 + len(_CODE.findall(text))
    yield next((name for limit, name in _LENGTHS.items() if count < limit), "45 words or more")
    codes = text.count("`") // 2
    yield from ("one code", "two codes", "much code")[: min(codes, 3)][-1:] if codes else ("a name",) if names else ()
    yield from ("code",) if codes else ()
    checks = (
        ("a question", asks_something(text)),
        ("leads into a list", text.rstrip(" *_").endswith((":", "：", "、"))),
        ("begins in bold", text.lstrip("- ").startswith("**")),
        ("a name before a dash", _DASH.search(text) is not None and _ENTRY.match(text) is not None),
        ("an arrow", "→" in text or "->" in text),
        ("a dash", " — " in text or " - " in text),
        ("an emoji", _EMOJI.search(text) is not None),
        ("a line number", _LINE_NUMBER.search(text) is not None),
        ("a count", _COUNT.search(text) is not None),
        ("begins small", text[:1].islower()),
        ("a full sentence", text[:1].isupper() and text.rstrip()[-1:] in ".:"),
        ("trails off", "..." in text or "—" in text),
        ("of the speaker", _FIRST_PERSON.match(sentence.folded) is not None),
        ("an open box", sentence.is_open_task),
        ("an item", sentence.is_item),
    )
    yield from (name for name, holds in checks if holds)


def describe_place(number: int, count: int) -> Iterator[str]:
    """Yield where a sentence stands among those of its message."""
    checks = (("first sentence", number == 0), ("last sentence", number == count - 1))
    yield from (name for name, holds in checks if holds)


def describe_message(text: str, count: int) -> Iterator[str]:
    """Yield what a message of so many sentences looks like."""
    checks = (
        ("only sentence", count == 1),
        ("of many sentences", count > 6),
        ("short message", len(text) < 160),
        ("long message", len(text) > _LONG_MESSAGE),
        ("like a paste", len(text) > _LONG_PROMPT or text.count("\n") > _MANY_LINES),
        ("rather long", len(text) > _LONG_PROMPT // 2),
    )
    yield from (name for name, holds in checks if holds)
