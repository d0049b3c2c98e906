"""The type of a redaction rule. The rules themselves are data: `rules.py`, and the files that users name."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, fields
from math import log2
from typing import Literal

# As a rule's `group`: the first group of the match that is not empty, the whole match if there is none.
FIRST_GROUP = -1

# Ids have this shape, and no credential does: a marker around a credential would keep it from redaction.
MARKER_WORD = r"(?:[a-z]{1,16}[0-9]{0,3}[a-z]{0,16}|[0-9]{1,3}[a-z]{0,16})"
MARKER = re.compile(rf"\[REDACTED:{MARKER_WORD}(?:-{MARKER_WORD}){{0,9}}\]")

_PLACEHOLDER = re.compile(
    r"example|placeholder|changeme|your[_-]|dummy|xxxx|\*\*\*|<.*>|\$\{|\{\{|redacted|not[_-]a[_-]real"
)  # in lower-cased text
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[A-Za-z]")


# The repr of both classes is hashed into the ruleset's version: a new name of a class or field, or another order of
# fields, would make every workspace sanitize its artifacts again.
@dataclass(frozen=True, slots=True)
class Allowance:
    """Text that a rule matches but that is no secret.

    It holds if one of the RE2 `patterns` is found in the secret, in the whole match or in its line, as `over` says, or
    if one of the lower-case `words` is in the secret. With `every`, both must hold.
    """

    patterns: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    over: Literal["secret", "match", "line"] = "secret"
    every: bool = False


@dataclass(frozen=True, slots=True)
class Rule:
    """One family of credentials or personal data.

    `pattern` is RE2 syntax over UTF-8 text; its group `group` is redacted, 0 for the whole match. `keywords` are in
    lower case, beyond ASCII in every case to look for. The rule is tried only if the lower-cased text holds one of
    them; a rule without keywords is always tried. `entropy` is the minimum Shannon entropy of the secret, in bits per
    character. `guess` marks rules that go by the name beside the value, so that the value is checked too. `personal`
    rules run only on request. Nothing that one of `allow` holds for is a secret. A rule that claims a "value", or one
    in "prose", matches a name up to the value, the quote that opens it included, and `values` finds its end and
    judges it. One that claims the "rest" matches a part of a secret and goes up to its end.
    """

    id: str
    pattern: str
    keywords: tuple[str, ...] = ()
    group: int = 0
    entropy: float = 0.0
    guess: bool = False
    personal: bool = False
    allow: tuple[Allowance, ...] = ()
    claim: Literal["", "value", "prose", "rest"] = ""

    def accepts(self, secret: str) -> bool:
        """Tell whether a match can be a secret. A guess needs a digit and a letter, and no placeholder."""
        if self.entropy and compute_entropy(secret) < self.entropy:
            return False
        if not self.guess:
            return True
        return bool(_DIGIT.search(secret) and _LETTER.search(secret)) and not _PLACEHOLDER.search(secret.lower())

    def explain(self, before: str, value: str) -> str:
        """Say why the rule found a value: the name before it, or its form. Only words of the rule are cited."""
        named, formed = before.lower(), value.lower()
        # a rule of the user's may have a whole value as a keyword
        words = [word for word in self.keywords if 2 * len(word) <= len(value) or word not in formed]
        if word := max((word for word in words if word in named), key=len, default=""):
            return f'a name with "{word}" before it'
        if word := max((word for word in words if word in formed), key=len, default=""):
            return f'its form, which has "{word}"'
        return "a name or form that shows when it is decoded or joined" if words else "its form"


def compute_entropy(text: str) -> float:
    """Return the Shannon entropy in bits per character, 0.0 for an empty text.

    >>> compute_entropy("abab")
    1.0
    """
    if not text:
        return 0.0
    spent = sum(count * log2(count) for count in Counter(text).values() if count > 1)
    return round(log2(len(text)) - spent / len(text), 6)  # rounded: the same on every platform


def compute_rules_digest(rules: Iterable[Rule], *more: str) -> str:
    """Return 8 hex digits of a hash over all that decides a result, the order of the rules included."""
    names = [field.name for field in fields(Rule)]
    lines = ["\t".join(repr(getattr(rule, name)) for name in names) for rule in rules]
    return hashlib.sha256("\n".join([*lines, *more]).encode()).hexdigest()[:8]
