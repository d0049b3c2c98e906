"""Sets of rules: their matches in one text, and their version."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple

from lineage.core.sanitizer import allowlist, values
from lineage.core.sanitizer.allowlist import NOTHING_ALLOWED, AllowedValues, is_allowed
from lineage.core.sanitizer.re2_patterns import build_options, compile_pattern, load_re2
from lineage.core.sanitizer.rule import FIRST_GROUP, Rule, compute_rules_digest
from lineage.core.sanitizer.rules import RULES
from lineage.core.sanitizer.value_ends import MAX_VALUE_CHARS, find_value_end
from lineage.errors import InvalidInput

CONTRACT = "sanitize_transcript_v1"
MASK: Literal["mask"] = "mask"
DROP: Literal["drop"] = "drop"

_MAX_LEAD_BYTES = 300
_MAX_KEYWORD_BYTES = 100
_MAX_INNER_NAMES = 3
_SPACE = re.compile(rb"\s")
_MOST_VALUE_CHARS = 120
_SETTING = re.compile(r"(?!this\.|self\.)(?:export )?[A-Za-z][\w.-]*=")  # no spaces, as in .env and .properties
_OPENED = re.compile(r"(?:^|[\s=])(\\*[\"'])[\w.@-]{1,60}:\Z")  # 'user:password'
_NEXT_LINE = re.compile(rb"=[ \t]*\n\s*\Z")
_CUT_OFF = (b"...", "…".encode())
_OPENER = re.compile(rb"\\{0,7}(?:\"\"\"|'''|[\"'`])\Z")
_BLOCK_BYTES = 1 << 14
_DIGIT = re.compile(rb"[0-9]")
_Judged = tuple[int, str]

# A process that sanitizes few short texts is faster without the set of all keywords, which takes long to build.
_SIMPLE_SEARCHES = 8
_SIMPLE_SEARCH_BYTES = 1 << 12

# What a text may cost before its last reading: so many times its characters. In 83 MB of real text no masked
# character depends on it. A piece of a layer costs as much as 20 characters, and a name whose value is judged as 40.
MAX_PASSES, MAX_WORK, SMALL_TEXT_WORK, LONG_TEXT_WORK, EDIT_WORK, NAME_WORK = 8, 4, 1 << 14, 1 << 16, 20, 40
_MANY_NAMES, _MIN_NAME_DISTANCE = 1000, 24
# Of a value that goes on, eight times more is read each time: so many characters, and for each that stands before.
_LONG_VALUE_STEP, _LONG_VALUES, _LONG_VALUE_SHARE = 8, 1 << 18, 2
_LIMITS = (MAX_PASSES, MAX_WORK, SMALL_TEXT_WORK, LONG_TEXT_WORK, EDIT_WORK, NAME_WORK, _MANY_NAMES, _MIN_NAME_DISTANCE,
           _LONG_VALUE_STEP, _LONG_VALUES, _LONG_VALUE_SHARE, _SETTING.pattern)  # fmt: skip

# Raise it with every change of the code that changes what is redacted: files name the rules that they were under.
_ENGINE_VERSION = "engine 14"


# A tuple: texts make thousands of spans, and the hot loops unpack them.
class Span(NamedTuple):
    """A secret in a text and the rule that found it; `first` to `last` is the context that the rule read."""

    start: int
    end: int
    rule: Rule
    first: int
    last: int

    def shift(self, offset: int) -> "Span":
        """Return the span of the same secret in a text with `offset` more characters before it."""
        return Span(self.start + offset, self.end + offset, self.rule, self.first + offset, self.last + offset)


class Verdicts(dict[tuple[int, bytes], bool]):
    """Whether a match is a secret, as far as its context doesn't matter, by the rule's id() and the match."""

    names = 0  # whose values were judged


class Ruleset:
    """Rules in their order of precedence, compiled on first use.

    Matches of rules in `dropped` (ids) are left out of the text, those of the others are masked; `allowed` stay.
    """

    def __init__(
        self, rules: tuple[Rule, ...], dropped: frozenset[str] = frozenset(), allowed: AllowedValues = NOTHING_ALLOWED
    ) -> None:
        self.rules = rules
        self.dropped = dropped
        self.allowed = allowed
        self._search_count = 0

    @cached_property
    def version(self) -> str:
        """Return the contract's name and the digest of all that can change a result."""
        allowed = sorted(f"allowed {value!r}" for value in (*self.allowed.literals, *self.allowed.patterns))
        more = (_ENGINE_VERSION, str(_LIMITS), *allowlist.ALLOWLIST, *values.PATTERNS, *sorted(self.dropped), *allowed)
        return f"{CONTRACT}+{compute_rules_digest(self.rules, *more)}"

    def find_matches(self, text: str, verdicts: Verdicts | None = None) -> list[Span]:
        """Return the secrets in the text as it stands; they may overlap.

        Of two rules with the same span the first wins, or the one that does not guess. Pass the same `verdicts` for all
        readings of one text: then no match is judged twice.
        """
        data = text.encode("utf-8", "replace")
        candidates = self._find_candidate_ranges(data)
        if candidates and not _DIGIT.search(data):
            # Every guess needs a digit: prose without one is done here.
            candidates = [candidate for candidate in candidates if not self.rules[candidate[0]].guess]
        spans: dict[tuple[int, int], Span] = {}
        verdicts = Verdicts() if verdicts is None else verdicts
        for number, first, last in candidates:
            _add_matches(self.rules[number], data, first, last, spans, verdicts)
        matches = list(spans.values())
        return matches if len(data) == len(text) else _to_character_offsets(matches, data)

    def _find_candidate_ranges(self, data: bytes) -> list[tuple[int, int, int]]:
        """Return the rules to try, by number, each with a range of the data.

        A short text is one range. In a long one a range is the blocks with a keyword of the rule and their neighbours.
        """
        lowered = data.lower()
        if len(data) <= 3 * _BLOCK_BYTES:
            return [(number, 0, len(data)) for number in self._find_candidate_rules(lowered)]
        ranges: dict[int, list[tuple[int, int]]] = {}
        for start in range(0, len(data), _BLOCK_BYTES):
            for number in self._find_candidate_rules(lowered[start : start + _BLOCK_BYTES + _MAX_KEYWORD_BYTES]):
                first, last = max(0, start - _BLOCK_BYTES), min(len(data), start + 2 * _BLOCK_BYTES)
                of_rule = ranges.setdefault(number, [])
                if of_rule and first <= of_rule[-1][1]:
                    first = of_rule.pop()[0]
                of_rule.append((first, last))
        return [(number, first, last) for number in sorted(ranges) for first, last in ranges[number]]

    def _find_candidate_rules(self, lowered: bytes) -> list[int]:
        """Return the numbers of the rules with a keyword in the text."""
        self._search_count += 1
        if self._search_count <= _SIMPLE_SEARCHES and len(lowered) <= _SIMPLE_SEARCH_BYTES:
            groups = [numbers for word, numbers in self._rules_by_keyword.items() if word in lowered]
        else:
            positions = self._keyword_set.Match(lowered)
            if not positions or 0 not in positions:
                # The empty keyword is in every text: without it RE2 ran out of memory. Try every rule.
                return list(range(len(self.rules)))
            groups = [self._rule_groups[position] for position in positions]
        return sorted({number for numbers in groups for number in numbers})

    @cached_property
    def _rules_by_keyword(self) -> dict[bytes, list[int]]:
        """The numbers of the rules by keyword; the empty keyword has the rules without any."""
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
    allowed: AllowedValues = NOTHING_ALLOWED,
) -> Ruleset:
    """Return the built-in rules and the extra ones: they leave the allowed values.

    `personal` turns on rules for personal data: "mask" writes the rule's marker, the same for everyone, "drop" leaves
    the match out. Raises InvalidInput if one of these rules does not exist.
    """
    personal = personal or {}
    rules = [*RULES, *extra_rules]
    personal_ids = {rule.id for rule in rules if rule.personal}
    if unknown := sorted(set(personal) - personal_ids):
        hint = f"choose of {', '.join(sorted(personal_ids))}"
        raise InvalidInput(f"there is no rule for personal data called {', '.join(unknown)}", hint=hint)
    return Ruleset(
        tuple(rule for rule in rules if not rule.personal or rule.id in personal),
        frozenset(name for name, mode in personal.items() if mode == DROP),
        allowed,
    )


BUILTIN = build_ruleset()


def _add_matches(
    rule: Rule, data: bytes, first: int, last: int, spans: dict[tuple[int, int], Span], verdicts: Verdicts
) -> None:
    """Add the rule's matches in a range of the data, unless a better rule has the same span."""
    if rule.claim in ("value", "prose"):
        verdicts.names += _add_claimed_values(rule, data, first, last, spans)
        return
    pattern = compile_pattern(rule.pattern)
    for match in pattern.finditer(data, first, last):
        match_start, match_end = match.span()
        if match_end == last < len(data):
            # The match may continue behind the range: search on from here in a range of twice the size.
            last = min(len(data), last + max(_BLOCK_BYTES, last - match_start))
            _add_matches(rule, data, match_start, last, spans, verdicts)
            return
        start, end = match.span(rule.group) if rule.group > 0 else (match_start, match_end)
        if rule.group == FIRST_GROUP:
            for group in range(1, pattern.groups + 1):
                if match.start(group) < match.end(group):
                    start, end = match.span(group)
                    break
        if data[end - 1 : end] == b"." and (end == len(data) or data[end : end + 1].isspace()):
            end -= 1  # a full stop
        known = spans.get((start, end))
        if start >= end or (known and (not known.rule.guess or rule.guess)):
            continue
        if not _is_secret(rule, data, match, start, end, verdicts):
            continue
        if rule.guess or rule.claim:
            verdicts.names += 1
            if (size := _find_guess_size(rule, data, match_start, start, end)) is None:
                continue
            end = start + size
        spans[start, end] = Span(start, end, rule, match_start, max(match_end, end))


def _add_claimed_values(rule: Rule, data: bytes, first: int, last: int, spans: dict[tuple[int, int], Span]) -> int:
    claims, pattern = _ClaimedValues(rule, data, first), compile_pattern(rule.pattern)
    matches = pattern.finditer(data, first, last)
    while match := next(matches, None):
        place, end = match.span()
        if end == last < len(data):
            last = min(len(data), last + max(_BLOCK_BYTES, last - place))
        else:
            if claimed := claims.find(place, end):
                spans.setdefault((claimed.start, claimed.end), claimed)
            place = claims.next_place(end)
        if place != end:
            matches = pattern.finditer(data, place, last)
    return claims.count


def _find_guess_size(rule: Rule, data: bytes, first: int, start: int, end: int) -> int | None:
    """Return the bytes of the whole value around a guess; None if its name or its carrier says no."""
    judge = _judge_guess if end - start < MAX_VALUE_CHARS else _judge_guess.__wrapped__  # few and long
    before, behind = data[_find_line(data, first) : first], data[end : end + _MOST_VALUE_CHARS]
    return judge(rule.guess, before, data[first:start], data[start:end], behind)


@lru_cache(maxsize=1 << 12)  # as `_judge`
def _judge_guess(is_guess: bool, before: bytes, name: bytes, value: bytes, behind: bytes) -> int | None:
    if (b"\n" in name and _NEXT_LINE.search(name)) or (is_guess and behind.startswith(_CUT_OFF)):
        return None
    if is_guess and allowlist.is_allowed_in_context(before + name, value):
        return None
    words, found = values.get_full_name(_decode(before), _decode(name)), _decode(value)
    if values.is_placeholder(found) or (is_guess and values.is_public(words, found)):
        return None
    if behind.startswith(b"@"):  # in an address
        return len(value)
    lead = _decode((before + name)[-_MAX_LEAD_BYTES:].rpartition(b"\n")[2])
    unquoted = lead.rstrip("\"'`")
    unquoted = unquoted.rstrip("\\") if len(unquoted) < len(lead) else unquoted
    opened = _OPENED.search(lead) if lead.endswith(":") else None
    text, is_cut = _decode(value + behind), len(behind) == _MOST_VALUE_CHARS
    length = find_value_end(unquoted, "", opened[1] if opened else lead[len(unquoted) :], text, is_cut=is_cut)
    if length >= len(text) and behind:
        return len(value)
    whole = max(value, text[:length].encode(), key=len)
    return None if is_guess and whole != value and values.is_public(words, _decode(whole)) else len(whole)


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "ignore")


def _find_line(data: bytes, place: int) -> int:
    limit = place - _MAX_LEAD_BYTES if place > _MAX_LEAD_BYTES else 0
    return data.rfind(b"\n", limit, place) + 1 or limit


@lru_cache(maxsize=1 << 14)  # what stands around a name comes again in every reading of a text
def _judge(lead: bytes, name: bytes, quote: bytes, text: bytes, in_prose: bool, is_cut: bool) -> _Judged | None:
    """Return the bytes of the value that begins a text, and the value if it is a secret; None if more is cut off."""
    before, words, rest = _decode(lead), _decode(name), _decode(text)
    value = rest[: find_value_end(before, words, _decode(quote), rest, is_cut=is_cut)]
    if is_cut and len(value) == len(rest):
        return None
    full_name = values.get_full_name(before, words)
    is_ending = words[:1].isalpha() and before[-1:] in values.NAME_CHARACTERS
    shown = before[-1:] + words if is_ending else words  # of `dbpass`, which is no bare `pass`
    in_prose = in_prose or bool(values.BARE_PASS.match(shown))
    judge = values.is_claimed_secret if len(value) < MAX_VALUE_CHARS else values.is_claimed_secret.__wrapped__
    behind = rest[len(value) :].partition("\n")[0]
    is_word = value.isalnum() and bool(_SETTING.fullmatch(before + words)) and not behind.strip()
    is_secret = judge(shown, full_name, value, is_quoted=bool(quote) or is_word, in_prose=in_prose)
    return len(value.encode()), value if is_secret else ""


class _ClaimedValues:
    """Finds the values behind the names that a rule matches, in order.

    A value without a secret may hold further names with values of their own, but no more than a few: else a text of
    nothing but names would be read again and again. Behind one of too many too close, all is masked unjudged.
    """

    def __init__(self, rule: Rule, data: bytes, first: int) -> None:
        self._first = first
        self.count = 0
        self._rule = rule
        self._data = data
        self._in_prose = rule.claim == "prose"
        self._end = 0
        self._inner_names = 0
        self._long_chars = 0

    def find(self, first: int, start: int) -> Span | None:
        """Return the span of the value behind a match, if it can be a secret."""
        self.count += 1
        if self.count > _MANY_NAMES + (start - self._first) // _MIN_NAME_DISTANCE:
            return self._claim_unjudged(first, start)
        self._inner_names = self._inner_names + 1 if start < self._end else 0
        data = self._data
        opening = _OPENER.search(data, max(first, start - 10), start) if data[start - 1] in b"\"'`" else None
        quote = opening.start() if opening else start
        opener, context = data[quote:start], (data[_find_line(data, first) : first], data[first:quote])
        if opener and len(opener.lstrip(b"\\")) == 3 and data.find(opener, start, start + MAX_VALUE_CHARS) < 0:
            opener, start = opener[:-2], start - 2  # one quote, and a value that begins with a doubled one
        judged = self._judge_value(start, *context, opener)
        if judged is None:
            return self._claim_unjudged(first, start)
        end, is_secret = start + judged[0], judged[1]
        # names in a long text or a line of code have values too
        self._end = max(self._end, end if is_secret else min(end, start + MAX_VALUE_CHARS))
        return Span(start, end, self._rule, first, end) if is_secret else None

    def _judge_value(self, start: int, *context: bytes) -> _Judged | None:
        """Judge the value that starts there, however long it is; None if too much of such values has been read."""
        length = _MOST_VALUE_CHARS  # most are short
        while True:
            text, is_cut = self._data[start : start + length], start + length < len(self._data)
            judge = _judge if length <= MAX_VALUE_CHARS else _judge.__wrapped__
            judged = judge(*context, text, self._in_prose, is_cut)
            if length > MAX_VALUE_CHARS:
                self._long_chars += judged[0] if judged else length
            if judged:
                return judged
            if self._long_chars > _LONG_VALUES + _LONG_VALUE_SHARE * (start - self._first):
                return None
            length = MAX_VALUE_CHARS if length < MAX_VALUE_CHARS else length * _LONG_VALUE_STEP

    def _claim_unjudged(self, first: int, start: int) -> Span | None:
        """Return the span of all behind a name up to white space, a name's own length at least."""
        space = _SPACE.search(self._data, start + MAX_VALUE_CHARS)
        end = space.start() if space else len(self._data)
        self._end, self._inner_names = end, _MAX_INNER_NAMES
        self._first += (end - start) * 9 // 10  # else names as close would be judged again behind it
        return Span(start, end, self._rule, first, end) if start < end else None

    def next_place(self, end: int) -> int:
        """Return the place of the next look for a name behind the end of a match."""
        return max(end, self._end) if self._inner_names >= _MAX_INNER_NAMES else end


def _is_secret(rule: Rule, data: bytes, match: Any, start: int, end: int, verdicts: Verdicts) -> bool:
    secret = data[start:end]
    key = id(rule), secret
    if (verdict := verdicts.get(key)) is None:
        verdict = verdicts[key] = _is_candidate(rule, secret)
    for allowance in rule.allow if verdict else ():
        if allowance.over != "secret" and allowlist.applies(
            allowance, secret, allowlist.slice_target(allowance, data, *match.span())
        ):
            return False
    return verdict


def _is_candidate(rule: Rule, secret: bytes) -> bool:
    """Tell whether a match is a secret as far as its context doesn't matter."""
    text = secret.decode("utf-8", "replace")
    return (
        rule.accepts(text)
        and not is_allowed(rule, text)
        and not any(
            allowlist.applies(allowance, secret, secret) for allowance in rule.allow if allowance.over == "secret"
        )
    )


def _to_character_offsets(spans: list[Span], data: bytes) -> list[Span]:
    """Return spans in characters instead of bytes, in one pass over the data."""
    counts: dict[int, int] = {}
    position = count = 0
    for offset in sorted({offset for span in spans for offset in (span.start, span.end, span.first, span.last)}):
        count += len(data[position:offset].decode("utf-8", "replace"))
        position, counts[offset] = offset, count
    return [Span(counts[s.start], counts[s.end], s.rule, counts[s.first], counts[s.last]) for s in spans]
