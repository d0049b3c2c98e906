"""Sets of rules: which are used, what is tried on a text, and the version that all of it has."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

from lineage.core.sanitizer.allowed import ALLOWED, is_allowed, is_allowed_there
from lineage.core.sanitizer.patterns import compiled, engine, options
from lineage.core.sanitizer.rule import FIRST_GROUP, Allowance, Rule, digest_of
from lineage.core.sanitizer.rules import RULES
from lineage.errors import InvalidInput

CONTRACT = "sanitize_transcript_v1"
MASK: Literal["mask"] = "mask"
DROP: Literal["drop"] = "drop"

_LONGEST_LINE = 1000
_LONGEST_KEYWORD = 100
_BLOCK = 1 << 14
_FEW, _SHORT = 8, 1 << 12  # in so many texts of so many bytes keywords are looked for one by one
_DIGIT = re.compile(rb"[0-9]")
_ENGINE = "engine 1"  # goes up with every change of the code that changes what is redacted


class Span(NamedTuple):
    """A secret in a text and which rule says so; `first` to `last` is what had to be read to know it."""

    start: int
    end: int
    rule: Rule
    first: int
    last: int


Judged = dict[tuple[int, bytes], bool]
"""By the identity of a rule and what it found: whether that is a secret, as far as can be told wherever it stands."""


class Ruleset:
    """Rules in the order in which they win, compiled when they are first needed. Of personal data what a rule in
    `dropped` finds is left out of the text, what another finds is masked."""

    def __init__(self, rules: tuple[Rule, ...], dropped: frozenset[str] = frozenset()) -> None:
        self.rules = rules
        self.dropped = dropped
        self._looks = 0

    @cached_property
    def version(self) -> str:
        """The contract and the digest of everything that can change a result."""
        return f"{CONTRACT}+{digest_of(self.rules, _ENGINE, *ALLOWED, *sorted(self.dropped))}"

    def hits(self, text: str, judged: Judged | None = None) -> list[Span]:
        """What the rules say is secret in the text as it stands; they may overlap. Of two rules that say the same the
        first counts, or the one that does not guess. `judged` is for those who ask about several readings of a text:
        what is judged in one of them is not judged again in the next."""
        data = text.encode("utf-8", "replace")
        tries = self._tries(data)
        if tries and not _DIGIT.search(data):
            tries = [part for part in tries if not self.rules[part[0]].guess]
        found: dict[tuple[int, int], Span] = {}
        judged = {} if judged is None else judged
        for number, first, last in tries:
            _find(self.rules[number], data, first, last, found, judged)
        hits = list(found.values())
        return hits if len(data) == len(text) else _in_characters(hits, data)

    def _tries(self, data: bytes) -> list[tuple[int, int, int]]:
        """Which rules are tried on what part of the data: a short text is one part, in a long one it is the blocks in
        which a keyword of the rule is, with one on either side."""
        lowered = data.lower()
        if len(data) <= 3 * _BLOCK:
            return [(number, 0, len(data)) for number in self._candidates(lowered)]
        parts: dict[int, list[tuple[int, int]]] = {}
        for start in range(0, len(data), _BLOCK):
            for number in self._candidates(lowered[start : start + _BLOCK + _LONGEST_KEYWORD]):
                first, last = max(0, start - _BLOCK), min(len(data), start + 2 * _BLOCK)
                known = parts.setdefault(number, [])
                if known and first <= known[-1][1]:
                    first = known.pop()[0]
                known.append((first, last))
        return [(number, first, last) for number in sorted(parts) for first, last in parts[number]]

    def _candidates(self, lowered: bytes) -> list[int]:
        """The rules of which a keyword is in the text, by number. Where the search gives up, all rules are tried."""
        self._looks += 1
        if self._looks <= _FEW and len(lowered) <= _SHORT:  # to make the search for all of them takes longer
            return sorted({number for word, of in self._words.items() if word in lowered for number in of})
        found = self._keywords.Match(lowered)
        if not found or 0 not in found:
            return list(range(len(self.rules)))
        return sorted({number for position in found for number in self._rules_of[position]})

    @cached_property
    def _words(self) -> dict[bytes, list[int]]:
        """By keyword the numbers of its rules; the empty one, which every text holds, has those without keywords."""
        words: dict[bytes, list[int]] = {b"": []}
        for number, rule in enumerate(self.rules):
            for word in rule.keywords or ("",):
                words.setdefault(word.encode(), []).append(number)
        return words

    @cached_property
    def _rules_of(self) -> list[list[int]]:
        return list(self._words.values())

    @cached_property
    def _keywords(self) -> Any:
        keywords = engine().Set.SearchSet(options())
        for word in self._words:
            keywords.Add(engine().escape(word))
        keywords.Compile()
        return keywords


def ruleset(
    extra: Sequence[Rule] = (),
    personal: Mapping[str, Literal["mask", "drop"]] | None = None,
    without: Collection[str] = (),
) -> Ruleset:
    """The project's own rules and `extra` ones, less those whose id is in `without`. Of the rules for personal data
    those that `personal` names are used: "mask" puts the rule's marker, the same for everyone, "drop" leaves it out.

    Raises InvalidInput for a personal rule that there is not.
    """
    personal = personal or {}
    known = [rule for rule in (*RULES, *extra) if rule.id not in without]
    there = {rule.id for rule in known if rule.personal}
    if unknown := sorted(set(personal) - there):
        raise InvalidInput(
            f"there is no rule for personal data called {', '.join(unknown)}",
            hint=f"choose of {', '.join(sorted(there))}",
        )
    return Ruleset(
        tuple(rule for rule in known if not rule.personal or rule.id in personal),
        frozenset(name for name, mode in personal.items() if mode == DROP),
    )


BUILTIN = ruleset()


def _group(rule: Rule, match: Any) -> int:
    if rule.group != FIRST_GROUP:
        return rule.group
    return next((number for number, held in enumerate(match.groups(), 1) if held), 0)


def _find(rule: Rule, data: bytes, first: int, last: int, found: dict[tuple[int, int], Span], judged: Judged) -> None:
    """Adds what the rule finds in a part of the data and is not known better already."""
    for match in compiled(rule.pattern).finditer(data, first, last):
        begin, until = match.span()
        if until == last < len(data):  # it goes on behind the part
            _find(rule, data, begin, min(len(data), last + max(_BLOCK, last - begin)), found, judged)
            return
        start, end = match.span(_group(rule, match)) if rule.group else (begin, until)
        if data[end - 1 : end] == b"." and (end == len(data) or data[end : end + 1].isspace()):
            end -= 1  # a full stop
        known = found.get((start, end))
        if start < end and (not known or (known.rule.guess and not rule.guess)):
            span = Span(start, end, rule, begin, until)
            if _is_secret(data, span, judged):
                found[start, end] = span


def _is_secret(data: bytes, span: Span, judged: Judged) -> bool:
    rule, secret = span.rule, data[span.start : span.end]
    key = id(rule), secret
    if key not in judged:
        judged[key] = _may_be_secret(rule, secret)
    if not judged[key] or (rule.guess and is_allowed_there(data, span.start, span.end)):
        return False
    for allowance in rule.allow:
        if allowance.over != "secret" and _holds(allowance, secret, _around(allowance, data, span)):
            return False
    return True


def _may_be_secret(rule: Rule, secret: bytes) -> bool:
    """Whether what the rule found is a secret, as far as that can be told wherever it stands."""
    text = secret.decode("utf-8", "replace")
    return (
        rule.accepts(text)
        and not is_allowed(rule, text)
        and not any(_holds(allowance, secret, secret) for allowance in rule.allow if allowance.over == "secret")
    )


def _holds(allowance: Allowance, secret: bytes, target: bytes) -> bool:
    words, patterns = allowance.words, allowance.patterns
    worded = bool(words) and any(word.encode() in secret.lower() for word in words)
    if worded != allowance.every:
        return worded
    return bool(patterns) and _any_of(patterns).search(target) is not None


@cache
def _any_of(patterns: tuple[str, ...]) -> Any:
    return compiled("|".join(f"(?:{pattern})" for pattern in patterns))


def _around(allowance: Allowance, data: bytes, span: Span) -> bytes:
    """The whole match, or its line, of which no more than so many characters before and behind it are read."""
    if allowance.over == "match":
        return data[span.first : span.last]
    end = data.find(b"\n", span.last, span.last + _LONGEST_LINE)
    start = data.rfind(b"\n", max(0, span.first - _LONGEST_LINE), span.first) + 1 or max(0, span.first - _LONGEST_LINE)
    return data[start : end if end >= 0 else span.last + _LONGEST_LINE]


def _in_characters(found: list[Span], data: bytes) -> list[Span]:
    """Hits with places in characters instead of bytes, in one pass over the data."""
    counts: dict[int, int] = {}
    position = count = 0
    for place in sorted({place for hit in found for place in (hit.start, hit.end, hit.first, hit.last)}):
        count += len(data[position:place].decode("utf-8", "replace"))
        position, counts[place] = place, count
    return [Span(counts[h.start], counts[h.end], h.rule, counts[h.first], counts[h.last]) for h in found]
