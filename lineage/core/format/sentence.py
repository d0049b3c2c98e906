"""`memory_sentence_v1`: the quality floor, and a deterministic fallback that always passes it.

The fallback quotes sentences of the synopsis and the subject of a pull request or a commit, none of which repeats a
tool, whole, without what stands in brackets or up to the end of a clause, and names files by pattern-checked base names
only. (spec: per-session sentence quality floor; format: Sentence)
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lineage.core.base.links import to_one_line
from lineage.core.base.plural import pluralize
from lineage.core.format.digest import Digest

MIN_WORDS = 12
MAX_WORDS = 48

_LOW_SIGNAL = frozenset(
    {
        "investigated issue", "worked on task", "reviewed code", "fixed bug", "fixed issue", "made changes",
        "updated code", "updated files", "answered question", "continued work", "helped user", "did some work",
    }
)  # fmt: skip
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_ABBREVIATION = re.compile(r"(?:^|[\s(“\"'])(?:e\.g|i\.e|vs|etc|cf|approx|no|dr|mr|ms|st|fig|[a-z])\.$", re.IGNORECASE)
_BOUNDARY = re.compile(r"[.!?]+[\"'”’»)\]]*\s+(?=[\"'“‘«(\[]*[A-ZÀ-ÖØ-Þ\u0400-\u042f])|[。！？](?!$)")
_TERMINAL = re.compile(r"[.!?]$")

_URL = re.compile(
    r"(?:[a-z0-9+.-]{0,32}://|\bwww\.)(?:www\.)*(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)*(?::\d+)?)?"
    r"(?:(?:/[\w.~-]{1,64}){0,8}?/(?P<repository>[\w.-]{1,48})(?:/-)?/(?:issues|pulls?|pull-requests|merge_requests|"
    r"discussions)/(?P<number>\d{1,7})\b)?\S*",
    re.IGNORECASE,
)
_BACKSLASHES = re.compile(r"(?<=[\w.:@])\\+(?=[\w.])")  # of Windows
_LONG_PATH = re.compile(r"(?<!\S)[\w.:@~-]*(?:/[\w.@+-]+){3,64}/([\w.@+-]+)")
_CODE = re.compile(r"`{3,}.*?(?:`{3,}|$)", re.DOTALL)
_MARKUP = re.compile(r"[`*~<>|{}\[\]\\“”\"^$=]+|(?<![^\W_])_+|_+(?![^\W_])|#(?!\d)|:(?=:+\s)")
_INNER_STOP = re.compile(r"[.!?…]+(?=['’)»]*(?:\s|$))|[。！？]+")
_SAFE_NAME = re.compile(r"[\w@+-][\w.@+-]{0,47}")

# A clause ends before these words, and before a dash or bracket.
_CONJUNCTIONS = frozenset((
    "and", "because", "but", "if", "instead", "so", "then", "until", "using", "when", "where", "which", "while", "aber",
    "und", "weil", "wenn", "car", "et", "mais", "parce", "pero", "porque", "y", "e", "ma", "mas", "и", "но", "—", "–",
    "-", "→",
))  # fmt: skip
# What begins like this isn't said before its comma, and what ends like that isn't said yet.
_SUBORDINATE = re.compile(
    r"(?:and )?(?:after|although|as|because|before|for|given|if|in|once|on|since|when|while|with|wenn|si|quand)\b",
    re.IGNORECASE,
)
_OPEN_END = re.compile(
    r"\b(?:a|an|the|to|of|in|on|at|by|for|from|into|and|or|but|is|are|was|were|be|been|that|than|as|if|so|not|just|only|"
    r"with|including|covering|also|even|both|its|my|our|your|their|this|these|those|i|we|can|could|will|would|should|have|has|had|want|need|"
    r"like|make|sure|please|now)$",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(  # what a quotation can do without
    r"(?:(?:alright|also|and|claude|cool|done|excellent|good|great|hello|hey|hi|nice|now|ok|okay|perfect|so|thanks|then|"
    r"well|yes)\s?(?:,|:|!|-|–|—)+\s+|(?:also|ok|okay|please)\s+(?!that\b)|(?:can|could|would|will) you\s+|"
    r"(?:i|we)(?:['’]d| would)? (?:want|need|like)(?: you)? to\s+|"
    r"(?:i|we)(?:['’]ve| have)(?: already| also| just| now| successfully)* (?=[a-z]+(?:ed|en|nt|lt|ut|de|un|et|und)\b)|"
    r"successfully\s+)+",
    re.IGNORECASE,
)
_COMMITTED = re.compile(  # says that something was committed, not what
    r"\W*(?:(?:and )?(?:committed|pushed)"
    r"(?:\s+(?:and (?:committed|pushed)|as|to|in|successfully|`?[0-9a-f]{7,40})\b|\s*(?:[:.,!—–]|$))|"
    r"(?:\w+ ){0,2}commits? (?:`?[0-9a-f]{7,40}\b|(?:were |are |is )?(?:created|pushed|made|done)\b)|"
    r"(?:the )?branch (?:is )?(?:rebased|pushed)\b)",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"(?<=\w) \([^()]+\)(?= )")
_CLAUSE_SIGN = re.compile(r"[，、；：]")  # in scripts without spaces
_MIN_CUT_WORDS, _MIN_CLAUSE_WORDS, _MAX_QUOTED_WORDS = 5, 3, 30
_MIN_MORE_WORDS = 3  # of a sentence beside the best one
_MAX_TORN_WORDS = 14  # of a sentence without a clause that fits
_MAX_QUOTED_CHARS = 200
# What a cut sentence is worth beside a whole one: so much, and this for each part of its words.
_CUT_WORTH, _MORE_WORTH, _TORN_WORTH = 0.45, 0.4, -1.0
_BARE_WORTH = 0.9  # of a sentence without what stands in brackets
_OUTCOME_WORTH, _NEXT_WORTH = 1.5, 0.7
_MAX_FILES = 3


@dataclass(frozen=True, slots=True)
class SentenceContext:
    """The anchors of a session that do not come from its turns."""

    harness: str
    session_id: str
    project: str | None = None


class _Choice(NamedTuple):
    """Sentences or parts of them, and what they are worth."""

    worth: float
    parts: tuple[str, ...]


def find_faults(sentence: str, anchors: Iterable[str]) -> list[str]:
    """Return the reasons against a sentence; an empty list means that it passes.

    >>> find_faults("Worked on task.", {"demo"})
    ['3 words, not 12 to 48', 'no concrete anchor of this session', 'a low-signal template']
    """
    faults = []
    count = count_words(sentence)
    if not MIN_WORDS <= count <= MAX_WORDS:
        faults.append(f"{count} words, not {MIN_WORDS} to {MAX_WORDS}")
    if not _TERMINAL.search(sentence):
        faults.append("no terminal punctuation")
    if not is_one_sentence(sentence):
        faults.append("not exactly one sentence")
    if not any(_contains(sentence, anchor) for anchor in anchors):
        faults.append("no concrete anchor of this session")
    if " ".join(re.findall(r"\w+", sentence.lower())) in _LOW_SIGNAL:
        faults.append("a low-signal template")
    return faults


def count_words(text: str) -> int:
    """Count words by white space; two CJK characters in a run count as one word."""
    count = 0
    for word in text.split():
        # Without the quotes around it nearly every word is ASCII, and saves the search.
        bare = word if word.isascii() else word.strip("“”‘’…–")
        runs = [] if bare.isascii() else _CJK.findall(bare)
        count += max(1, sum(math.ceil(len(run) / 2) for run in runs))
    return count


def is_one_sentence(text: str) -> bool:
    """Return whether nothing inside a text ends a sentence; abbreviations ("e.g.") and file names do not."""
    if "\n" in text or not text.strip():
        return False
    return all(is_abbreviation(text[: match.start() + 1]) for match in _BOUNDARY.finditer(text))


def is_abbreviation(text: str) -> bool:
    """Return whether the full stop that ends a text ends no sentence ("e.g.")."""
    return _ABBREVIATION.search(text) is not None


def extract_anchors(context: SentenceContext, digest: Digest) -> frozenset[str]:
    """Return the concrete tokens of a session: project, files, names, harness and session id."""
    anchors = {context.harness, context.session_id, _shorten_id(context.session_id)}
    if context.project:
        anchors.add(base_name(context.project))
    for path in (*digest.edited_files, *digest.read_files):
        anchors.update((path, base_name(path)))
    anchors.update(digest.names)
    return frozenset(anchor for anchor in anchors if len(anchor) > 1)


def build_fallback(digest: Digest, context: SentenceContext, ending: str = "ended") -> str:
    """Return the deterministic sentence. `ending` is the end of the session: `ended` or `was compacted`.

    >>> (build_fallback(Digest(turns=2, requests=("Why is CI red?",), replies=1), SentenceContext("codex", "s-1",
    ... "/home/ada/demo")))
    'In demo, “Why is CI red?” → the agent answered, and the codex session ended after 2 turns.'
    """
    project = base_name(context.project) if context.project else ""
    name = " ".join(to_plain_text(project).split()[:3])[:48].strip()
    name = name if count_words(name) <= 3 else name[:12]
    place = f"In {name}" if name else f"In session {_shorten_id(context.session_id)}"
    tail = f", and the {context.harness} session {ending} after {pluralize(digest.turns, 'turn')}"
    asks = [_to_quotable(one) for one in digest.asks or [find_first_request(digest.requests)[:1000]]]
    # A pull request has the commits of the session behind it.
    committed = _quote_subject("opened", digest.opened) or _quote_subject("committed", digest.committed)
    outcomes = ["" if committed and _COMMITTED.match(one) else _to_quotable(one) for one in digest.outcomes]
    whole = ["" if _is_open(told, said) else said for told, said in zip(digest.outcomes, outcomes, strict=True)]
    outcomes = whole if any(whole) else outcomes
    actions = "" if committed or any(outcomes) else _format_actions(digest)
    # A shortened name or a single letter is no anchor, and few words fill much space where words aren't set apart.
    needs_tail = (
        bool(actions) or len(name) < 2 or name != project or any(map(_is_unspaced, (*asks, *outcomes, committed)))
    )
    left = MAX_WORDS - count_words(f"{place} → {committed} {actions}{tail * needs_tail}")
    said, unquoted = _list_choices(asks, digest.ask_odds, left), "a request" if digest.requests else "no request"
    left = left if len(said) > 1 else max(0, left - count_words(unquoted))
    told = _list_choices(outcomes, digest.outcome_odds, left)
    asked, outcome = _choose_quotes(said, told, left, needs_outcome=any(outcomes) and not committed)
    outcome = ", ".join(filter(None, (committed, outcome)))
    asked = asked or unquoted
    text = f"{place}, {asked} → {outcome or actions}"
    # A message at the end of a long session tells of its last step: what was edited most says what the work was on.
    edited = "" if committed or actions else _format_edits(digest, text)
    with_edited = f"{text}, {edited}"
    if edited and count_words(with_edited) <= MAX_WORDS and len(with_edited.split()) >= MIN_WORDS:
        return f"{with_edited}."
    return f"{text}{tail}." if needs_tail or len(text.split()) < MIN_WORDS else f"{text}."


def find_first_request(requests: Iterable[str]) -> str:
    """Return the first request that has a word, "" for none: a number alone chooses from a menu."""
    # It may be megabytes long.
    return next((request for request in requests if any(map(str.isalpha, request[:1000]))), "")


def base_name(path: str) -> str:
    """Return the last part of a POSIX or Windows path."""
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def to_plain_text(text: str) -> str:
    """Return a text on one line without links, code, markup and inner ends of sentences."""
    return to_one_line(_INNER_STOP.sub(_replace_stop, strip_markup(text))).strip(" ,.!?:;-–")


def _replace_stop(stop: re.Match[str]) -> str:
    """Return a dash for what ends a sentence; the stop of an abbreviation ends none, but would look like an end."""
    return "" if is_abbreviation(stop.string[: stop.end()]) else " – "


def shorten_urls(text: str) -> str:
    """Return a text with the host in place of each URL; of an issue or a pull request its repository and number.

    >>> shorten_urls("Review https://github.com/ada/demo/pull/12#files by https://docs.example.org/rules/3.")
    'Review demo#12 by docs.example.org'
    """
    return _URL.sub(lambda url: f"{url['repository']}#{url['number']}" if url["number"] else url["host"] or " ", text)


def strip_markup(text: str) -> str:
    """Return a text on one line without links, code and markup."""
    return to_one_line(_MARKUP.sub(" ", _URL.sub(" ", _CODE.sub(" ", text))))


def _shorten_id(session_id: str) -> str:
    return re.sub(r"[^\w-]+", "-", session_id)[:12].strip("-_") or "unnamed"


def _is_unspaced(text: str) -> bool:
    return count_words(text) > len(text.split())


def _to_quotable(text: str) -> str:
    """Return a text as plain text of one sentence without what leads into it, a whole question with its mark."""
    linkless = _BACKSLASHES.sub("/", shorten_urls(_CODE.sub(" ", text)))
    plain = to_plain_text(_LONG_PATH.sub(r"…/\1", linkless))
    lead = _LEAD_IN.match(plain)
    shown = plain[lead.end() :] if lead else plain
    return f"{shown}?" if shown == plain != "" and text.rstrip(" *_`”\"')").endswith("?") else shown


def _is_open(told: str, quotable: str) -> bool:
    """Return whether a text says nothing without the list that it leads into: "It frames this as a protocol with:"."""
    return told.rstrip(" *_`").endswith(":") and _OPEN_END.search(quotable) is not None


def _quote_subject(verb: str, subject: str) -> str:
    """Return what was done by the beginning of its subject; "" for no subject."""
    plain = _to_quotable(subject)
    cuts = _list_cuts(plain, _MAX_TORN_WORDS) if plain else ()
    quoted, _ = max(cuts, key=lambda cut: cut[1], default=("", 0.0))
    return f"{verb} “{quoted}”" if quoted else ""


def _choose_quotes(
    asks: Mapping[int, _Choice], outcomes: Mapping[int, _Choice], max_words: int, *, needs_outcome: bool
) -> tuple[str, str]:
    """Return the quotations of asks and outcomes that are worth most in so many words, of each one that it needs."""
    pairs = [
        (ask.worth + _OUTCOME_WORTH * outcome.worth, -said, -told, ask.parts, outcome.parts)
        for said, ask in asks.items()
        for told, outcome in outcomes.items()
        if said + told <= max_words
        and bool(ask.parts) >= (len(asks) > 1)
        and bool(outcome.parts) >= (len(outcomes) > 1 and needs_outcome)
    ]
    *_, said_parts, told_parts = max(pairs)
    said, told = (", ".join(f"“{part}”" for part in parts) for parts in (said_parts, told_parts))
    return said, told


def _list_choices(sentences: Sequence[str], odds: Sequence[float], max_words: int) -> Mapping[int, _Choice]:
    """Return what to quote of sentences in each number of words, none included."""
    choices = {0: _Choice(0.0, ())}
    for at, plain in enumerate(sentences):
        chance = (odds[at] if at < len(odds) else 0.5) * _NEXT_WORTH**at
        before = dict(choices)
        for part, share in _list_cuts(plain, min(max_words, _MAX_QUOTED_WORDS)) if plain else ():
            count, worth = count_words(part), chance * share
            if at and count < _MIN_MORE_WORDS:
                continue
            for words, (rest, parts) in before.items():
                best = choices.get(words + count)
                if words + count <= max_words and (best is None or rest + worth > best.worth):
                    choices[words + count] = _Choice(rest + worth, (*parts, part))
    return choices


def _list_cuts(plain: str, max_words: int) -> Iterator[tuple[str, float]]:
    """Yield what can be quoted of a text, and what it is worth.

    That is all, all without what stands in brackets, what ends with a clause, else its first words.
    """
    total, words = count_words(plain), plain.split()
    if total <= max_words and len(plain) <= _MAX_QUOTED_CHARS:
        yield plain, 1.0
    bare = _ASIDE.sub("…", plain)
    if bare != plain and total <= 2 * count_words(bare) <= 2 * max_words and len(bare) <= _MAX_QUOTED_CHARS:
        yield bare, _BARE_WORTH
    if _is_unspaced(plain):
        heads = [plain[: sign.start()] for sign in _CLAUSE_SIGN.finditer(plain[: 2 * max_words])]
    else:
        ends = range(_MIN_CUT_WORDS, min(len(words), max_words + 1))
        heads = [" ".join(words[:at]).rstrip(" ,;:–—-(") for at in ends if _ends_clause(words, at)]
    heads = [head for head in heads if len(head) <= _MAX_QUOTED_CHARS]
    most = [head for head in heads if 2 * count_words(head) >= total]
    yield from ((f"{head}…", _CUT_WORTH + _MORE_WORTH * count_words(head) / total) for head in most)
    few = min(_MAX_TORN_WORDS, max_words)
    if total > few and not any(count_words(head) <= few for head in most):
        torn = plain[: 2 * few - 1] if _is_unspaced(plain) else " ".join(words[:few])
        short = [head for head in heads if count_words(head) <= few] or [torn[:_MAX_QUOTED_CHARS].rstrip(" ,;:–—-(")]
        yield f"{short[-1]}…", _TORN_WORTH


def _ends_clause(words: Sequence[str], at: int) -> bool:
    """Return whether the words before a place can be read by themselves."""
    before, after = words[at - 1], words[at].lower()
    if after not in _CONJUNCTIONS and not after.startswith("(") and not before.endswith((",", ";", ":", ")")):
        return False
    head = " ".join(words[:at]).rstrip(" ,;:")
    is_closed = head.count("(") == head.count(")") and not _OPEN_END.search(head)
    # A clause has a verb, somewhere behind its subject.
    began = next(
        (
            place
            for place in range(at - 1, 0, -1)
            if words[place].lower() in _CONJUNCTIONS or words[place - 1].endswith(",")
        ),
        0,
    )
    return is_closed and at - began > _MIN_CLAUSE_WORDS and not (_SUBORDINATE.match(head) and "," not in head)


def _format_actions(digest: Digest) -> str:
    """Return the agent's actions in few words, however odd the names of its files."""
    edited = _format_edits(digest, "") or ("edited files" if digest.edited_files else "")
    ran = f"ran {pluralize(len(digest.commands), 'command')}" if digest.commands else ""
    calls = sum(count for _, count in digest.tools)
    made = f"made {pluralize(calls, 'tool call')}" if calls else ""
    return (
        " and ".join(filter(None, (edited, ran))) or made or ("the agent answered" if digest.replies else "no answer")
    )


def _format_edits(digest: Digest, text: str) -> str:
    """Return which files were edited, those with most edits first, "" for none with a plain name that isn't told."""
    names = list(_list_plain_names(digest.edited_files))
    shown = [name for name in dict.fromkeys((*digest.most_edited, *names)) if name in names][:_MAX_FILES]
    if all(_contains(text, name) for name in shown) or count_words(" ".join(shown)) > _MAX_FILES:
        return ""
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    return f"edited {', '.join(shown)}{more}"


def _list_plain_names(paths: Iterable[str]) -> Iterator[str]:
    """Yield base names that can stand in a sentence, and be its anchor."""
    return (name for name in dict.fromkeys(map(base_name, paths)) if len(name) > 1 and _SAFE_NAME.fullmatch(name))


def _contains(sentence: str, anchor: str) -> bool:
    """Return whether the anchor stands in the sentence as a word of its own; a CJK character ends any word."""
    text, token = sentence.lower(), anchor.lower()
    start = text.find(token)
    while start >= 0:
        end = start + len(token)
        if not _is_word_character(text[start - 1 : start]) and not _is_word_character(text[end : end + 1]):
            return True
        start = text.find(token, start + 1)
    return False


def _is_word_character(neighbour: str) -> bool:
    return neighbour.isalnum() and (neighbour.isascii() or not _CJK.match(neighbour))
