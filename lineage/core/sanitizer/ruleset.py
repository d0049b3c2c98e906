"""Sets of rules: which are used, what is tried on a text, and the version that all of it has."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

from lineage.core.sanitizer.allowed import ALLOWED, is_allowed
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
_ENGINE = "engine 1"  # goes up with every change of the code that changes what is redacted


class Hit(NamedTuple):
    """A secret in a text: where it is, which rule says so, and the whole match that it was found in."""

    start: int
    end: int
    rule: Rule
    first: int
    last: int


@dataclass(frozen=True)
class Ruleset:
    """Rules in the order in which they win, compiled when they are first needed. Of personal data what a rule in
    `dropped` finds is left out of the text, what another finds is masked."""

    rules: tuple[Rule, ...]
    dropped: frozenset[str] = frozenset()

    @cached_property
    def version(self) -> str:
        """The contract and the digest of everything that can change a result."""
        return f"{CONTRACT}+{digest_of(self.rules, _ENGINE, *ALLOWED, *sorted(self.dropped))}"

    def hits(self, text: str) -> list[Hit]:
        """What the rules say is secret in the text as it stands; they may overlap. Of two rules that say the same the
        first counts, or the one that does not guess."""
        data = text.encode("utf-8", "replace")
        found: dict[tuple[int, int], Hit] = {}
        for number, first, last in self._tries(data):
            for hit in _hits(self.rules[number], data, first, last, found):
                found[hit.start, hit.end] = hit
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
        found = self._keywords.Match(lowered)
        if not found or 0 not in found:
            return list(range(len(self.rules)))
        return sorted({number for position in found for number in self._rules_of[position]})

    @cached_property
    def _words(self) -> dict[str, list[int]]:
        """By keyword the numbers of its rules; the empty one, which every text holds, has those without keywords."""
        words: dict[str, list[int]] = {"": []}
        for number, rule in enumerate(self.rules):
            for word in rule.keywords or ("",):
                words.setdefault(word, []).append(number)
        return words

    @cached_property
    def _rules_of(self) -> list[list[int]]:
        return list(self._words.values())

    @cached_property
    def _keywords(self) -> Any:
        keywords = engine().Set.SearchSet(options())
        for word in self._words:
            keywords.Add(engine().escape(word.encode()))
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


def _hits(rule: Rule, data: bytes, first: int, last: int, found: Mapping[tuple[int, int], Hit]) -> Iterator[Hit]:
    """What the rule finds in a part of the data that is not known better already."""
    for match in compiled(rule.pattern).finditer(data, first, last):
        if match.end() == last < len(data):  # it goes on behind the part
            yield from _hits(rule, data, match.start(), min(len(data), last + max(_BLOCK, last - match.start())), found)
            return
        start, end = match.span(_group(rule, match))
        if data[end - 1 : end] == b"." and (end == len(data) or data[end : end + 1].isspace()):
            end -= 1  # a full stop
        known = found.get((start, end))
        if start >= end or (known and (rule.guess or not known.rule.guess)):
            continue
        secret = data[start:end].decode("utf-8", "replace")
        if rule.accepts(secret) and not is_allowed(rule, secret, data, start, end):
            hit = Hit(start, end, rule, *match.span())
            if not any(_holds(allowance, data, hit) for allowance in rule.allow):
                yield hit


def _holds(allowance: Allowance, data: bytes, hit: Hit) -> bool:
    words, patterns = allowance.words, allowance.patterns
    worded = bool(words) and any(word.encode() in data[hit.start : hit.end].lower() for word in words)
    if worded != allowance.every:
        return worded
    return bool(patterns) and _any_of(patterns).search(_target(allowance, data, hit)) is not None


@cache
def _any_of(patterns: tuple[str, ...]) -> Any:
    return compiled("|".join(f"(?:{pattern})" for pattern in patterns))


def _target(allowance: Allowance, data: bytes, hit: Hit) -> bytes:
    if allowance.over == "secret":
        return data[hit.start : hit.end]
    if allowance.over == "match":
        return data[hit.first : hit.last]
    end = data.find(b"\n", hit.last, hit.last + _LONGEST_LINE)
    start = data.rfind(b"\n", max(0, hit.first - _LONGEST_LINE), hit.first) + 1 or max(0, hit.first - _LONGEST_LINE)
    return data[start : end if end >= 0 else hit.last + _LONGEST_LINE]


def _in_characters(found: list[Hit], data: bytes) -> list[Hit]:
    """Hits with places in characters instead of bytes, in one pass over the data."""
    counts: dict[int, int] = {}
    position = count = 0
    for place in sorted({place for hit in found for place in (hit.start, hit.end, hit.first, hit.last)}):
        count += len(data[position:place].decode("utf-8", "replace"))
        position, counts[place] = place, count
    return [Hit(counts[h.start], counts[h.end], h.rule, counts[h.first], counts[h.last]) for h in found]
