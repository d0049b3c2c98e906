"""Whether a newer statement amends an older one: it says so, or contradicts it on the same subject.

Words decide, without a model, in seven languages; amendments.toml holds them. The newer statement names what it
replaces, or that it replaces something, and shares the subject; or the two differ in nothing but a number, a negation
or the object of a choice. A false link hides what holds: whatever is in doubt is none.
"""

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path

from lineage.core.base.normalize import fold_text, is_unspaced
from lineage.core.search.language import PORTUGUESE, STOP_WORDS, detect_language, is_stop_word

_WORD = re.compile(
    r"[^\W_\u3040-\uffdc](?:[^\W\u3040-\uffdc]++|[./:@+#-](?=[^\W\u3040-\uffdc])|[+#])*+|[\u30a1-\u30ff]{2,}"
)
_WORD_OR_HAN = re.compile(rf"{_WORD.pattern}|[\u3041-\u3096\u3400-\u9fff\uac00-\ud7af]+|(?<=\w)[#+]+")
_CONTRACTED = re.compile(r"\b(?:do|does|did|should|must|ca|is|are|wo|would)n't\b|\b(?:instead of|rather than)\b")
_NOT = "not"
_NEGATIONS = frozenset(
    ("not", "never", "no", "dont", "nicht", "nie", "niemals", "pas", "jamais", "nunca", "nao", "statt")
)
_HAN = re.compile(r"[\u3400-\u9fff\uac00-\ud7af]+")
_NUMBER = re.compile(r"\d+(?:[.:]\d+)*")
_DIGIT = re.compile(r"\d")
# A word and the number behind it, with what stands around them.
_NUMBERED = re.compile(
    r"(?:([^\W\d_]+)[ ('’])?([^\W\d_]+)( ?\(?#| \(| n[or]?[.°º]? ?| |(?<=[\u3040-\uffdc]))"
    r"(\d+)(?![^\W\u3040-\uffdc]|%|[.:,]\d)(?: ([^\W\d_]+))?"
)
_PADDED = re.compile(r"0\d{2,}")
_HAN_NUMBER = re.compile(r"[一二三四五六七八九十百千两]+")
_POINT = r"[,.;:!?()、。，；：（）—–]"
_POINTS = re.compile(rf"{_POINT}(?=\s|$)|[。，、；：()]")
_SLOT_CHARS = 60
_ENDING = re.compile(r"(?<=\w{4})(?:ing|ed|es|en|er|em|e|s|n|a|o|as|os)$")
_IN_THE = re.compile(r"\bn[oa]s?\b(?! (?:lugar|fim))")
_OPTIONAL = re.compile(r".?[?*{]|[\\\[(+.|^$]")  # where the plain text ends that a pattern begins with
_COMMON_WEIGHT, _NAME_WEIGHT, _PAIR_WEIGHT = 0.5, 1.5, 0.6
_LEAST_SHARE = 0.3  # of an older statement's words, without a sign of what they are replaced by
_LEAST_NEAR = 0.4  # of the words of either, where one of them says that something is past
_ROUNDING = 1e-6
_STEM = 6


class StatementWords:
    """A statement, read for what it replaces. What only few comparisons need is read when it is asked for.

    `words` are its stems with weights, `weight` is their sum.
    """

    def __init__(self, text: str) -> None:
        folded = fold_text(text)
        if _IN_THE.search(folded) and detect_language(_WORD.findall(text)) == PORTUGUESE:
            folded = _IN_THE.sub("em", folded)  # there `no` denies nothing
        self._folded = folded
        self.words, self.numbers = _weigh_words(folded, self._find_names())
        self.weight = sum(self.words.values())

    @cached_property
    def old(self) -> Sequence[Mapping[str, float]]:
        """What it says holds no longer, as words."""
        slots = [_cut(self._folded[match.end() :]) for match in self._find("old_after")]
        for match in self._find("old_before"):
            slots.append(_POINTS.split(self._folded[: match.start()])[-1][-_SLOT_CHARS:])
        return _weigh_slots(slots)

    @cached_property
    def denied(self) -> Sequence[Mapping[str, float]]:
        """What it only denies, as words."""
        return _weigh_slots(_cut(self._folded[match.end() :]) for match in self._find("denied"))

    @cached_property
    def asserted(self) -> frozenset[str]:
        """The stems that it doesn't say to be past."""
        return frozenset(self.words).difference(*self.old, *self.denied)

    @cached_property
    def choice(self) -> tuple[frozenset[str], frozenset[str]] | None:
        """The object of a choice and the rest."""
        for match in self._find("choice"):
            return frozenset(_weigh_words(match[1])[0]), frozenset(_weigh_words(match[2])[0])
        return None

    @cached_property
    def is_meta(self) -> bool:
        """Whether it speaks of an earlier decision, or of a change of it."""
        return any(self._find("meta"))

    @cached_property
    def is_no_more(self) -> bool:
        """Whether it denies that something is still so."""
        return any(self._find("no_more"))

    @cached_property
    def is_negated(self) -> bool:
        """Whether it denies something."""
        return any(self._find("negation"))

    @cached_property
    def is_amending(self) -> bool:
        """Whether its words say that it replaces something. Without them it may only contradict."""
        return bool(self.old or self.denied or self.is_meta or self.is_no_more)

    def _find_names(self) -> frozenset[str]:
        """Return the numbers that name something, as in "migration 0042": another one is about another thing.

        So do those behind a word that things are numbered with, unless something is counted: "each request 3 times".
        "Node 18" is a version, and in a prohibition a machine.
        """
        if _DIGIT.search(self._folded) is None:  # most statements: spare them the slow pattern
            return frozenset()
        found = (match.groups() for match in _NUMBERED.finditer(self._folded))
        return frozenset(
            number for before, word, link, number, after in found if self._is_name(before, word, link, number, after)
        )

    def _is_name(self, before: str, word: str, link: str, number: str, after: str) -> bool:
        if link.strip() or _PADDED.fullmatch(number):  # "#17", "n° 17"
            return True
        is_unspaced_label = is_unspaced(word) and word.endswith(tuple(_load_words("numbered_in_signs")))
        is_machine = self.is_negated and word in _load_words("machines")
        is_label = is_unspaced_label or _stem(word) in _load_numbered() or is_machine
        return is_label and before not in _load_words("counting") and after not in _load_words("units")

    def _find(self, sign: str) -> Iterator[re.Match[str]]:
        """Return the matches of a list of signs. A look for their first words spares the slow pattern."""
        if not any(map(self._folded.__contains__, _list_starts(sign))) and not is_unspaced(self._folded):
            return iter(())
        return _compile_signs(sign).finditer(self._folded)


@lru_cache(maxsize=4096)
def parse_statement(text: str) -> StatementWords:
    """Return a statement read from its text."""
    return StatementWords(text)


class OlderStatements:
    """Statements, to be asked which of them a newer one amends. Few are compared: those that share enough words."""

    def __init__(self) -> None:
        self._texts = list[str]()
        self._least = list[float]()
        self._chosen = set[int]()
        self._holders = dict[str, list[int]]()

    def add(self, text: str) -> None:
        """Add a statement; they are numbered from 0."""
        parsed = parse_statement(text)
        for stem in parsed.words:
            self._holders.setdefault(stem, []).append(len(self._texts))
        if parsed.choice:
            self._chosen.add(len(self._texts))
        self._texts.append(text)
        self._least.append(max(1, _LEAST_SHARE * parsed.weight) - _ROUNDING)

    def find_amended(self, newer: str) -> Iterator[int]:
        """Yield the numbers of those that a newer statement amends."""
        new, shared = parse_statement(newer), dict[int, float]()
        for stem, weight in new.words.items():
            for number in self._holders.get(stem, ()):
                shared[number] = shared.get(number, 0.0) + weight
        named: set[int] | None = None
        for number, weight in shared.items():
            if weight < self._least[number] and weight > 1 - _ROUNDING:
                named = self._find_named(new) if named is None else named
            if (weight >= self._least[number] or number in (named or ())) and amends(newer, self._texts[number]):
                yield number

    def _find_named(self, new: StatementWords) -> set[int]:
        """Return the numbers of those that may be meant though they share little else: by what is past, or chosen."""
        found = {number for slot in new.old for stem in slot for number in self._holders.get(stem, ())}
        return found | self._chosen if self._chosen and new.choice else found


def amends(newer: str, older: str) -> bool:
    """Return whether the newer of two statements takes the place of the older one.

    >>> amends("Use pnpm for the web app, no longer npm.", "Use npm for the web app.")
    True
    >>> amends("The mobile app no longer needs CocoaPods.", "Use npm for the web app.")
    False
    """
    new, old = parse_statement(newer), parse_statement(older)
    shared = new.words.keys() & old.words.keys()
    if not shared:
        return False
    weight = _sum(new.words, shared)
    of_old = weight / old.weight  # a stem weighs the same in both
    if weight < 1 or (of_old < _LEAST_SHARE and not (new.old or (new.choice and old.choice))):
        return False  # whatever follows asks for more
    if new.words == old.words and new.numbers == old.numbers and new.is_negated == old.is_negated:
        return False
    is_told = (weight >= 2 or (weight >= 1.5 and of_old >= 0.5)) and of_old >= _LEAST_SHARE and new.is_meta
    is_near = max(of_old, weight / new.weight) >= _LEAST_NEAR  # a long one may name a word of another in passing
    return (
        is_told
        or (is_near and any(_replaces(slot, new, old, of_old) for slot in new.old))
        or (of_old >= 0.6 and any(_replaces(slot, new, old, of_old) for slot in new.denied))
        or (weight >= 2 and of_old >= 0.6 and new.is_no_more and not old.is_negated)
        or _contradicts(new, old, weight, min(of_old, weight / new.weight))
    )


def says_little(word: str) -> bool:
    """Return whether a word says little about a subject: a stop word of English, or such as `use` and `set`."""
    return is_stop_word(word, None) or fold_text(word) in _load_words("stop")


def measure_overlap(text: str, subject: str) -> tuple[float, float]:
    """Return the weight of the words of a subject that a text holds, and their share of the subject."""
    words, wanted = parse_statement(text).words, parse_statement(subject).words
    shared = _sum(wanted, wanted.keys() & words.keys())
    return shared, shared / sum(wanted.values()) if wanted else 0.0


@lru_cache(maxsize=4096)
def build_statement_key(text: str) -> str:
    """Return the form in which near-duplicates are the same: their words in order, without fillers; "" without two.

    >>> build_statement_key("Always use pnpm, never npm!") == build_statement_key("please use pnpm and not npm")
    True
    >>> build_statement_key("Use tabs, not spaces.") == build_statement_key("Use spaces, not tabs.")
    False
    """
    folded, fillers = _CONTRACTED.sub("not", fold_text(text).replace("make sure", "")), _load_words("fillers")
    words = (word for word in _WORD_OR_HAN.findall(folded) if word not in fillers)
    key = [_NOT if word in _NEGATIONS else _ENDING.sub("", word) for word in words]
    return " ".join(key) if len(key) > 1 or (key and key[0] > "\u3000" and len(key[0]) > 3) else ""


def _replaces(slot: Mapping[str, float], new: StatementWords, old: StatementWords, of_old: float) -> bool:
    """Return whether what the newer one says to be past is what the older one asserts."""
    covered = _sum(slot, slot.keys() & old.asserted) / sum(slot.values())
    rest = _sum(new.words, (new.words.keys() & old.words.keys()) - slot.keys())
    return (covered >= 0.67 and rest >= 1) or (covered >= 0.8 and sum(slot.values()) >= 1.5 and of_old >= 0.5)


def _contradicts(new: StatementWords, old: StatementWords, weight: float, alike: float) -> bool:
    if alike >= 0.8 and weight >= 1.5 and len(new.numbers) == len(old.numbers) and new.numbers != old.numbers:
        return True
    if alike >= 0.8 and weight >= 2 and new.is_negated != old.is_negated:
        return True
    if not (new.choice and old.choice):
        return False
    (new_object, new_rest), (old_object, old_rest) = new.choice, old.choice
    return (
        new_object.isdisjoint(old_object) and new_rest == old_rest and _sum(new.words, new_rest & new.words.keys()) >= 1
    )


def _sum(words: Mapping[str, float], chosen: Iterable[str]) -> float:
    return sum(map(words.__getitem__, chosen))


def _cut(rest: str) -> str:
    """Return a text up to the next point, conjunction or preposition behind its first word."""
    kept, ends = list[str](), _load_words("slot_ends")
    for word in _POINTS.split(rest[:_SLOT_CHARS], maxsplit=1)[0].split():
        if word not in ends:
            kept.append(word)
        elif kept:
            break
    return " ".join(kept)


def _weigh_slots(texts: Iterable[str]) -> Sequence[Mapping[str, float]]:
    return tuple(slot for text in texts if (slot := _weigh_words(text)[0]))


def _weigh_words(folded: str, names: Collection[str] = ()) -> tuple[dict[str, float], tuple[str, ...]]:
    """Return the stems of a text with their weights, and its numbers; those in `names` are words."""
    words, numbers = dict[str, float](), list[str]()
    for word in _find_words(folded):
        stem, weight = (word, _NAME_WEIGHT) if word in names else _weigh_word(word)
        if stem:
            words[stem] = weight
        elif weight:
            numbers.append(word)
    return words, tuple(numbers)


@lru_cache(1 << 13)
def _weigh_word(word: str) -> tuple[str, float]:
    """Return the stem of a word and its weight; "" and 1 for a number, "" and 0 for a word that says nothing."""
    if _NUMBER.fullmatch(word) or word in _load_words("numbers") or _HAN_NUMBER.fullmatch(word):
        return "", 1.0
    if word in STOP_WORDS or word in _load_words("stop") or (len(word) < 2 and word <= "\u3400"):
        return "", 0.0
    stem = _stem(word)
    is_pair, is_common = word > "\u3400", stem in _load_common()
    has_sign = not is_pair and len(word) > 2 and any(sign in word for sign in "._/@#+")
    is_name = has_sign or (word[-1].isdigit() and word[0].isalpha())
    weight = _PAIR_WEIGHT if is_pair else _NAME_WEIGHT if is_name else 1.0
    return stem, _COMMON_WEIGHT if is_common or (len(word) == 2 and not is_pair) else weight


def _find_words(folded: str) -> list[str]:
    """Return words; of a run of Chinese characters its numbers and each pair of the rest."""
    found: list[str] = _WORD.findall(folded)
    for run in _HAN.findall(folded) if not folded.isascii() else ():
        found += _HAN_NUMBER.findall(run)
        for piece in filter(None, _HAN_NUMBER.split(run)):
            found += (piece[at : at + 2] for at in range(max(1, len(piece) - 1)))
    return found


def _stem(word: str) -> str:
    return word if not word.isalpha() or word > "\u3000" else _ENDING.sub("", word)[:_STEM]


def _join_patterns(patterns: Iterable[str]) -> str:
    """Return one pattern of many, those with the same first letter in a group: few are tried at each place."""
    groups, others = dict[str, list[str]](), list[str]()
    for pattern in patterns:
        letter = pattern[2:3] if pattern.startswith("\\b") and pattern[2:3].isalpha() else ""
        is_plain = letter and pattern[3:4] not in ("?", "*", "+", "{")
        if is_plain:
            groups.setdefault(letter, []).append(pattern[3:])
        else:
            others.append(pattern)
    grouped = "|".join(f"{letter}(?:{'|'.join(ends)})" for letter, ends in groups.items())
    return "|".join(filter(None, (rf"\b(?:{grouped})" if grouped else "", *others)))


@cache
def _compile_signs(name: str) -> re.Pattern[str]:
    joined = _join_patterns(_load_table()[name])
    if name == "choice":
        verbs, links = "|".join(_load_table()[name]), "|".join(_load_table()["choice_links"])
        joined = rf"\b(?:{verbs}) ((?:\S+(?<!{_POINT}) ){{1,3}}?)(?:{links}) (.+)$"
    elif name in ("old_after", "denied"):
        joined = rf"(?:{joined})(?![a-z])"  # the beginning of another word is no sign
    return re.compile(joined)


@cache
def _list_starts(name: str) -> Sequence[str]:
    """Return what the signs of a list begin with: a text without these, and without Chinese or Japanese, has none."""
    end = " " if name == "choice" else ""
    plain = (f"{pattern}{end}".replace("(?= ", " ") for pattern in _load_table()[name] if pattern.isascii())
    return list(dict.fromkeys(_OPTIONAL.split(pattern.removeprefix("\\b").lstrip("^"))[0] for pattern in plain))


@cache
def _load_words(name: str) -> frozenset[str]:
    return frozenset(_load_table()[name])


@cache
def _load_common() -> frozenset[str]:
    return frozenset(map(_stem, _load_words("common")))


@cache
def _load_numbered() -> frozenset[str]:
    return frozenset(map(_stem, _load_words("numbered")))


@cache
def _load_table() -> Mapping[str, list[str]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
