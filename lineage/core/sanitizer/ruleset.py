"""Sets of rules: which are used, what is tried on a text, and the version that all of it has."""

import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

from lineage.core.sanitizer.allowlist import ALLOWLIST, is_allowed, is_allowed_in_context
from lineage.core.sanitizer.re2_patterns import build_options, compile_pattern, load_re2
from lineage.core.sanitizer.rule import FIRST_GROUP, Allowance, Rule, compute_rules_digest
from lineage.core.sanitizer.rules import RULES
from lineage.errors import InvalidInput

CONTRACT = "sanitize_transcript_v1"
MASK: Literal["mask"] = "mask"
DROP: Literal["drop"] = "drop"

_MAX_LINE_BYTES = 1000
_MAX_KEYWORD_BYTES = 100
_BLOCK_BYTES = 1 << 14
_SIMPLE_SEARCHES, _SIMPLE_SEARCH_BYTES = (
    8,
    1 << 12,
)  # in so many texts of so many bytes keywords are looked for one by one
_DIGIT = re.compile(rb"[0-9]")
_ENGINE_VERSION = "engine 1"  # goes up with every change of the code that changes what is redacted


class Span(NamedTuple):
    """A secret in a text and which rule says so; `first` to `last` is what had to be read to know it."""

    start: int
    end: int
    rule: Rule
    first: int
    last: int


Verdicts = dict[tuple[int, bytes], bool]
"""By the identity of a rule and what it found: whether that is a secret, as far as can be told wherever it stands."""


class Ruleset:
    """Rules in the order in which they win, compiled when they are first needed. Of personal data what a rule in
    `dropped` finds is left out of the text, what another finds is masked."""

    def __init__(self, rules: tuple[Rule, ...], dropped: frozenset[str] = frozenset()) -> None:
        self.rules = rules
        self.dropped = dropped
        self._search_count = 0

    @cached_property
    def version(self) -> str:
        """The contract and the digest of everything that can change a result."""
        return f"{CONTRACT}+{compute_rules_digest(self.rules, _ENGINE_VERSION, *ALLOWLIST, *sorted(self.dropped))}"

    def find_matches(self, text: str, verdicts: Verdicts | None = None) -> list[Span]:
        """What the rules say is secret in the text as it stands; they may overlap. Of two rules that say the same the
        first counts, or the one that does not guess. `judged` is for those who ask about several readings of a text:
        what is judged in one of them is not judged again in the next."""
        data = text.encode("utf-8", "replace")
        tries = self._find_candidate_ranges(data)
        if tries and not _DIGIT.search(data):
            tries = [part for part in tries if not self.rules[part[0]].guess]
        found: dict[tuple[int, int], Span] = {}
        verdicts = {} if verdicts is None else verdicts
        for number, first, last in tries:
            _add_matches(self.rules[number], data, first, last, found, verdicts)
        hits = list(found.values())
        return hits if len(data) == len(text) else _to_character_offsets(hits, data)

    def _find_candidate_ranges(self, data: bytes) -> list[tuple[int, int, int]]:
        """Which rules are tried on what part of the data: a short text is one part, in a long one it is the blocks in
        which a keyword of the rule is, with one on either side."""
        lowered = data.lower()
        if len(data) <= 3 * _BLOCK_BYTES:
            return [(number, 0, len(data)) for number in self._find_candidate_rules(lowered)]
        parts: dict[int, list[tuple[int, int]]] = {}
        for start in range(0, len(data), _BLOCK_BYTES):
            for number in self._find_candidate_rules(lowered[start : start + _BLOCK_BYTES + _MAX_KEYWORD_BYTES]):
                first, last = max(0, start - _BLOCK_BYTES), min(len(data), start + 2 * _BLOCK_BYTES)
                known = parts.setdefault(number, [])
                if known and first <= known[-1][1]:
                    first = known.pop()[0]
                known.append((first, last))
        return [(number, first, last) for number in sorted(parts) for first, last in parts[number]]

    def _find_candidate_rules(self, lowered: bytes) -> list[int]:
        """The rules of which a keyword is in the text, by number. Where the search gives up, all rules are tried."""
        self._search_count += 1
        if (
            self._search_count <= _SIMPLE_SEARCHES and len(lowered) <= _SIMPLE_SEARCH_BYTES
        ):  # to make the search for all of them takes longer
            return sorted({number for word, of in self._rules_by_keyword.items() if word in lowered for number in of})
        found = self._keyword_set.Match(lowered)
        if not found or 0 not in found:
            return list(range(len(self.rules)))
        return sorted({number for position in found for number in self._rule_groups[position]})

    @cached_property
    def _rules_by_keyword(self) -> dict[bytes, list[int]]:
        """By keyword the numbers of its rules; the empty one, which every text holds, has those without keywords."""
        words: dict[bytes, list[int]] = {b"": []}
        for number, rule in enumerate(self.rules):
            for word in rule.keywords or ("",):
                words.setdefault(word.encode(), []).append(number)
        return words

    @cached_property
    def _rule_groups(self) -> list[list[int]]:
        return list(self._rules_by_keyword.values())

    @cached_property
    def _keyword_set(self) -> Any:
        keywords = load_re2().Set.SearchSet(build_options())
        for word in self._rules_by_keyword:
            keywords.Add(load_re2().escape(word))
        keywords.Compile()
        return keywords


def build_ruleset(
    extra_rules: Sequence[Rule] = (),
    personal: Mapping[str, Literal["mask", "drop"]] | None = None,
    excluded_ids: Collection[str] = (),
) -> Ruleset:
    """The project's own rules and `extra` ones, less those whose id is in `without`. Of the rules for personal data
    those that `personal` names are used: "mask" puts the rule's marker, the same for everyone, "drop" leaves it out.

    Raises InvalidInput for a personal rule that there is not.
    """
    personal = personal or {}
    known = [rule for rule in (*RULES, *extra_rules) if rule.id not in excluded_ids]
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


BUILTIN = build_ruleset()


def _find_group(rule: Rule, match: Any) -> int:
    if rule.group != FIRST_GROUP:
        return rule.group
    return next((number for number, held in enumerate(match.groups(), 1) if held), 0)


def _add_matches(
    rule: Rule, data: bytes, first: int, last: int, spans: dict[tuple[int, int], Span], verdicts: Verdicts
) -> None:
    """Adds what the rule finds in a part of the data and is not known better already."""
    for match in compile_pattern(rule.pattern).finditer(data, first, last):
        begin, until = match.span()
        if until == last < len(data):  # it goes on behind the part
            _add_matches(rule, data, begin, min(len(data), last + max(_BLOCK_BYTES, last - begin)), spans, verdicts)
            return
        start, end = match.span(_find_group(rule, match)) if rule.group else (begin, until)
        if data[end - 1 : end] == b"." and (end == len(data) or data[end : end + 1].isspace()):
            end -= 1  # a full stop
        known = spans.get((start, end))
        if start < end and (not known or (known.rule.guess and not rule.guess)):
            span = Span(start, end, rule, begin, until)
            if _is_secret(data, span, verdicts):
                spans[start, end] = span


def _is_secret(data: bytes, span: Span, verdicts: Verdicts) -> bool:
    rule, secret = span.rule, data[span.start : span.end]
    key = id(rule), secret
    if key not in verdicts:
        verdicts[key] = _is_candidate(rule, secret)
    if not verdicts[key] or (rule.guess and is_allowed_in_context(data, span.start, span.end)):
        return False
    for allowance in rule.allow:
        if allowance.over != "secret" and _applies(allowance, secret, _slice_target(allowance, data, span)):
            return False
    return True


def _is_candidate(rule: Rule, secret: bytes) -> bool:
    """Whether what the rule found is a secret, as far as that can be told wherever it stands."""
    text = secret.decode("utf-8", "replace")
    return (
        rule.accepts(text)
        and not is_allowed(rule, text)
        and not any(_applies(allowance, secret, secret) for allowance in rule.allow if allowance.over == "secret")
    )


def _applies(allowance: Allowance, secret: bytes, target: bytes) -> bool:
    words, patterns = allowance.words, allowance.patterns
    worded = bool(words) and any(word.encode() in secret.lower() for word in words)
    if worded != allowance.every:
        return worded
    return bool(patterns) and _compile_alternatives(patterns).search(target) is not None


@cache
def _compile_alternatives(patterns: tuple[str, ...]) -> Any:
    return compile_pattern("|".join(f"(?:{pattern})" for pattern in patterns))


def _slice_target(allowance: Allowance, data: bytes, span: Span) -> bytes:
    """The whole match, or its line, of which no more than so many characters before and behind it are read."""
    if allowance.over == "match":
        return data[span.first : span.last]
    end = data.find(b"\n", span.last, span.last + _MAX_LINE_BYTES)
    start = data.rfind(b"\n", max(0, span.first - _MAX_LINE_BYTES), span.first) + 1 or max(
        0, span.first - _MAX_LINE_BYTES
    )
    return data[start : end if end >= 0 else span.last + _MAX_LINE_BYTES]


def _to_character_offsets(spans: list[Span], data: bytes) -> list[Span]:
    """Hits with places in characters instead of bytes, in one pass over the data."""
    counts: dict[int, int] = {}
    position = count = 0
    for place in sorted({place for hit in spans for place in (hit.start, hit.end, hit.first, hit.last)}):
        count += len(data[position:place].decode("utf-8", "replace"))
        position, counts[place] = place, count
    return [Span(counts[h.start], counts[h.end], h.rule, counts[h.first], counts[h.last]) for h in spans]
