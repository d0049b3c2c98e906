"""Text that looks like a secret and is none: documentation keys, other tools' markers, hashes, ids, images.

And the values that a user says are none.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from lineage.core.sanitizer.re2_patterns import compile_pattern, load_re2
from lineage.core.sanitizer.rule import Allowance, Rule
from lineage.errors import InvalidInput

# Keys that Amazon and Stripe print in their documentation, and the example of jwt.io.
_DOCUMENTATION_KEYS = (
    "AKIA" + "IOSFODNN7EXAMPLE",
    "AKIA" + "I44QH8DHBEXAMPLE",
    "ASIA" + "IOSFODNN7EXAMPLE",
    "wJalrXUtnFEMI/" + "K7MDENG/bPxRfiCYEXAMPLEKEY",
    "wJalrXUtnFEMI/" + "K7MDENG+bPxRfiCYEXAMPLEKEY",
    "je7MtGbClwBF/" + "2Zp9Utk/h3yCo8nvbEXAMPLEKEY",
    "sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "sk_test_" + "BQokikJOvBiI2HlWgH4olfQ2",
    "pk_test_" + "TYooMQauvdEDq54NiTphI7jx",
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIi"
    + "wiaWF0IjoxNTE2MjM5MDIyfQ." + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
)  # fmt: skip
_DOCUMENTATION_KEY = re.compile(
    rf"\A.{{0,64}}(?:{'|'.join(map(re.escape, _DOCUMENTATION_KEYS))}).{{0,64}}\Z", re.DOTALL
)

_MASK = (
    r"(?:[*•·.xX#_-]{4,}|<[^<>\s]{1,60}>|\[[A-Za-z _-]{3,40}\]|\{\{?[^{}]{1,60}\}?\}|\$\{?[A-Za-z_][A-Za-z0-9_.:-]*\}?"
    r"|[_*-]*(?i:redacted|filtered|masked|removed|hidden|sanitized|scrubbed|censored|none|null|undefined)[_*-]*)"
)
_MASKED = re.compile(rf"[\"'(]?{_MASK}[\"',;)]?")
_REPEATED_CHARACTER = re.compile(r"(?i)^.{0,16}?(?:x{8,}|\*{4,}|•{4,}|0{16,}|\.{6,})[^A-Za-z0-9]*$")
_DIGEST = re.compile(rb"(?i)(?:[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{56}|[0-9a-f]{64}|[0-9a-f]{96}|[0-9a-f]{128})")
_TAGGED_DIGEST = re.compile(r"(?i)(?:sha(?:1|224|256|384|512)|md5|h1|blake[23][bs]?)[-:=$][A-Za-z0-9+/=]{20,}")
_DIGEST_LABEL = re.compile(
    rb"(?i)(?:sha-?\d{0,3}|md5|integrity|checksum|digest|commit|hash|etag|revision|rev|blake[23][bs]?|fingerprint"
    rb"|cache[_-]?key|tree|parent|object|oid)[\"'`]?[ \t]{0,4}(?:[:=]|is|@|#)?[ \t]{0,4}[\"'`]?\Z"
)
_IMAGE_DATA_URL = re.compile(rb"data:(?:image|font|audio|video)/[A-Za-z0-9.+-]{1,40};base64,[A-Za-z0-9+/=]*\Z")
_IMAGE_PREFIXES = ("iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "AAABAA", "PHN2Zy", "d09GM", "T1RUTw", "JVBERi")
_LOOKBEHIND_BYTES = 64
_MAX_LINE_BYTES = 1000

# All of this module that can change a result. It is hashed into the version of a ruleset.
ALLOWLIST = (*_DOCUMENTATION_KEYS, _MASKED.pattern, _REPEATED_CHARACTER.pattern,
             _DIGEST.pattern.decode(), _TAGGED_DIGEST.pattern, _DIGEST_LABEL.pattern.decode(),
             _IMAGE_DATA_URL.pattern.decode(), *_IMAGE_PREFIXES)  # fmt: skip


def is_allowed(rule: Rule, secret: str) -> bool:
    """Tell whether a match is known to be no secret, wherever it stands.

    A match with a vendor's mark is a secret unless it is masked or a documentation key. Guesses must not be hashes,
    ids or images either.
    """
    if is_example(secret):
        return True
    return rule.guess and bool(_TAGGED_DIGEST.match(secret) or secret.startswith(_IMAGE_PREFIXES))


def is_example(secret: str) -> bool:
    """Tell whether this is a documentation key, or masked."""
    return bool(_DOCUMENTATION_KEY.search(secret) or _MASKED.fullmatch(secret) or _REPEATED_CHARACTER.match(secret))


def is_allowed_in_context(line: bytes, found: bytes) -> bool:
    """Tell whether the line before a guess marks it as a hash or an image."""
    before = line[-_LOOKBEHIND_BYTES:]
    if _DIGEST.fullmatch(found) and _DIGEST_LABEL.search(before):
        return True
    return _IMAGE_DATA_URL.search(before) is not None


def applies(allowance: Allowance, secret: bytes, target: bytes) -> bool:
    """Tell whether an allowance holds for a secret, by its target: the secret, its match or its line."""
    has_word = any(word.encode() in secret.lower() for word in allowance.words)
    if has_word != allowance.every:
        return has_word  # decided: one of the two is enough, or both are needed and one is missing
    return bool(allowance.patterns) and _compile_alternatives(allowance.patterns).search(target) is not None


@cache
def _compile_alternatives(patterns: tuple[str, ...]) -> Any:
    return compile_pattern("|".join(f"(?:{pattern})" for pattern in patterns))


def slice_target(allowance: Allowance, data: bytes, match_start: int, match_end: int) -> bytes:
    """Return the whole match, or its line up to a limit on both sides."""
    if allowance.over == "match":
        return data[match_start:match_end]
    first, last = max(0, match_start - _MAX_LINE_BYTES), match_end + _MAX_LINE_BYTES
    start = data.rfind(b"\n", first, match_start) + 1 or first
    end = data.find(b"\n", match_end, last)
    return data[start : end if end >= 0 else last]


_TOKEN_BEFORE, _TOKEN_BEHIND = re.compile(r"[A-Za-z0-9_+-]"), re.compile(r"[A-Za-z0-9_+=-]")
# Made up, with nothing in common but that each is a value: a pattern for two of them is one for nearly all secrets.
_UNLIKE_VALUES = ("hunter2!", "xK9#mP2$vL5n Q8wR", "AKIA" + "QWERTYUIOPASDFGH", "0f3c9ab2" * 5, "a.b-c_d~e" * 8)


@dataclass(frozen=True, slots=True)
class AllowedValues:
    """Values that stay under every rule: literal ones, and patterns of RE2 for whole values."""

    literals: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def covers(self, text: str, start: int, end: int) -> bool:
        """Tell whether the span lies within an allowed value that is no part of a longer token."""
        if self == NOTHING_ALLOWED:
            return False
        for value in self.literals:
            at = text.find(value, max(0, end - len(value)), start + len(value))
            if at >= 0 and not _is_part(text, at, at + len(value)):
                return True
        secret = text[start:end].encode()
        return not _is_part(text, start, end) and any(compile_pattern(p).fullmatch(secret) for p in self.patterns)

    def describe(self) -> list[str]:
        """Return the allowed values, of each its length and two characters."""
        values = [f"{value[:2]}… ({len(value)} characters)" for value in self.literals]
        return [*values, *(f"pattern {pattern}" for pattern in self.patterns)]


NOTHING_ALLOWED = AllowedValues()


def check_allowed_patterns(patterns: tuple[str, ...]) -> None:
    """Raise InvalidInput for a pattern that RE2 refuses, and for one that would allow nearly everything."""
    for pattern in patterns:
        try:
            matches = sum(bool(compile_pattern(pattern).fullmatch(value.encode())) for value in _UNLIKE_VALUES)
        except load_re2().error as error:
            what, hint = f"RE2 refuses {pattern!r}", "patterns can't look around or back"
            raise InvalidInput(f"sanitizer.allow_patterns: {what}", hint=hint) from error
        if matches > 1:
            hint = "write what its values begin with, like acme_pub_"
            raise InvalidInput(f"sanitizer.allow_patterns: {pattern!r} would allow nearly everything", hint=hint)


def _is_part(text: str, start: int, end: int) -> bool:
    return bool(_TOKEN_BEFORE.match(text[max(0, start - 1) : start]) or _TOKEN_BEHIND.match(text, end))
