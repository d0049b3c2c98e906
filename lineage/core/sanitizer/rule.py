"""What a redaction rule is. The rules themselves are data: `rules.py`, and the files that users name."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from math import log2
from typing import Literal, NamedTuple

FIRST_GROUP = -1
"""As a rule's `group`: the first group of the match that holds anything, the whole match where there is none."""

MARKER_WORD = r"(?:[a-z]{1,16}[0-9]{0,3}[a-z]{0,16}|[0-9]{1,3}[a-z]{0,16})"
MARKER = re.compile(rf"\[REDACTED:{MARKER_WORD}(?:-{MARKER_WORD}){{0,9}}\]")
"""What stands for a secret. Ids are of this shape, which no credential has: a marker around one would keep it."""

_DESCRIPTIVE_FIELDS = frozenset({"description", "example", "source"})
_PLACEHOLDER = re.compile(
    r"example|placeholder|changeme|your[_-]|dummy|xxxx|\*\*\*|<.*>|\$\{|\{\{|redacted|not[_-]a[_-]real"
)  # in lower-cased text
_DIGIT = re.compile(r"[0-9]")
_LETTER = re.compile(r"[A-Za-z]")


class Allowance(NamedTuple):
    """What a rule's secrets are not: one of the RE2 `patterns` is found in the secret, in the whole match or in its
    line, as `over` says, or one of the lower-case `words` is in the secret; with `every`, both."""

    patterns: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    over: Literal["secret", "match", "line"] = "secret"
    every: bool = False


class Rule(NamedTuple):
    """One family of credentials or personal data.

    `pattern` is RE2 syntax over UTF-8 text; what is redacted is its group `group`, 0 for the whole match. `keywords`
    are in lower case, beyond ASCII in each case that is looked for: unless one of them is in the lower-cased text the
    rule cannot match and is not tried; a rule without any is always tried. `entropy` is the least Shannon entropy of
    the secret, in bits a character. `guess` marks rules that go by the name beside the value, and look at the value
    too. `personal` rules are used only where they are chosen. `example` is made up for the purpose and matches;
    `source` is the vendor's page that the format follows. What one of `allow` holds for is no secret.
    """

    id: str
    pattern: str
    description: str = ""
    keywords: tuple[str, ...] = ()
    group: int = 0
    entropy: float = 0.0
    guess: bool = False
    personal: bool = False
    example: str = ""
    source: str = ""
    allow: tuple[Allowance, ...] = ()

    def accepts(self, secret: str) -> bool:
        """Whether a match is a secret at all. Guesses need letters and digits, and nothing of a placeholder."""
        if self.entropy and compute_entropy(secret) < self.entropy:
            return False
        if not self.guess:
            return True
        return bool(_DIGIT.search(secret) and _LETTER.search(secret)) and not _PLACEHOLDER.search(secret.lower())


def compute_entropy(text: str) -> float:
    """Shannon entropy in bits a character, to six places so that it is the same everywhere; 0.0 for an empty text.

    >>> compute_entropy("abab")
    1.0
    """
    if not text:
        return 0.0
    spent = sum(count * log2(count) for count in Counter(text).values() if count > 1)
    return round(log2(len(text)) - spent / len(text), 6)


def compute_rules_digest(rules: Iterable[Rule], *more: str) -> str:
    """8 hex digits of a hash over everything of the rules that can change a result, their order included."""
    names = [name for name in Rule._fields if name not in _DESCRIPTIVE_FIELDS]
    lines = ["\t".join(repr(getattr(rule, name)) for name in names) for rule in rules]
    return hashlib.sha256("\n".join([*lines, *more]).encode()).hexdigest()[:8]
