"""`memory_sentence_v1`: the quality floor, and a deterministic fallback that always passes it.

The fallback quotes the best sentences of the synopsis, none of which repeats a tool, and names files by pattern-checked
base names only. (spec: per-session sentence quality floor; format: Sentence)
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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

_URL = re.compile(r"[a-z0-9+.-]{0,32}://\S*|\bwww\.\S+", re.IGNORECASE)
_CODE = re.compile(r"`{3,}.*?(?:`{3,}|$)", re.DOTALL)
_MARKUP = re.compile(r"[`*~<>|{}\[\]\\“”\"^$=]+|(?<![^\W_])_+|_+(?![^\W_])|#(?!\d)")
_INNER_STOP = re.compile(r"[.!?…;:]+(?=['’)»]*(?:\s|$))|[。！？]+")
_SAFE_NAME = re.compile(r"[\w@+-][\w.@+-]{0,47}")

_LONG_WORD = re.compile(r"[^\W_]{4}")
_CONJUNCTIONS = frozenset(("and", "because", "but", "if", "so", "that", "to", "where", "which", "why", "—", "–", "-"))
_MAX_ASK_WORDS = 22
_MAX_QUOTED_WORDS = 14  # of a sentence: two sentences say more than one that is whole
_MIN_QUOTED_WORDS = 5
_MAX_QUOTED_CHARS = 120
_MAX_FILES = 3


@dataclass(frozen=True, slots=True)
class SentenceContext:
    """The anchors of a session that do not come from its turns."""

    harness: str
    session_id: str
    project: str | None = None


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
    'In demo, “Why is CI red” → the agent answered, and the codex session ended after 2 turns.'
    """
    project = base_name(context.project) if context.project else ""
    name = " ".join(to_plain_text(project).split()[:3])[:48].strip()
    name = name if count_words(name) <= 3 else name[:12]
    place = f"In {name}" if name else f"In session {_shorten_id(context.session_id)}"
    tail = f", and the {context.harness} session {ending} after {pluralize(digest.turns, 'turn')}"
    actions = "" if _quote(digest.outcomes, _MIN_QUOTED_WORDS) else _format_actions(digest)
    # A shortened name is no anchor, and few words fill much space where words aren't set apart.
    needs_tail = (
        bool(actions) or not name or name != project or any(map(_is_unspaced, (*digest.asks, *digest.outcomes)))
    )
    left = MAX_WORDS - count_words(f"{place} → {actions}{tail * needs_tail}")
    ask = _quote(digest.asks or digest.requests[:1], min(left, _MAX_ASK_WORDS))
    asked = f"“{ask}”" if ask else "a request" if digest.requests else "no request"
    outcome = actions or f"“{_quote(digest.outcomes, left - max(count_words(ask), 2))}”"
    text = f"{place}, {asked} → {outcome}"
    if needs_tail or len(text.split()) < MIN_WORDS:
        text += tail
    return f"{text}."


def base_name(path: str) -> str:
    """Return the last part of a POSIX or Windows path."""
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def to_plain_text(text: str) -> str:
    """Return a text on one line without links, code, markup and inner ends of sentences."""
    joined = _INNER_STOP.sub(lambda stop: "," if set(stop[0]) <= set(";:") else " – ", strip_markup(text))
    return to_one_line(joined).strip(" ,.!?-–")


def strip_markup(text: str) -> str:
    """Return a text on one line without links, code and markup."""
    return to_one_line(_MARKUP.sub(" ", _URL.sub(" ", _CODE.sub(" ", text))))


def _shorten_id(session_id: str) -> str:
    return re.sub(r"[^\w-]+", "-", session_id)[:12].strip("-_") or "unnamed"


def _is_unspaced(text: str) -> bool:
    return count_words(text) > len(text.split())


def _quote(sentences: Sequence[str], max_words: int) -> str:
    """Return the best words of sentences, the best sentence first, as a quotation of at most so many words."""
    parts, left = list[str](), max_words
    for sentence in sentences:
        if left < _MIN_QUOTED_WORDS:
            break
        part = _cut_to_best_words(to_plain_text(sentence), min(left, _MAX_QUOTED_WORDS))
        parts += [part] if part else []
        left -= count_words(part)
    return "… ".join(parts)


def _cut_to_best_words(plain: str, max_words: int) -> str:
    """Return the run of words that holds the most long ones, the first of the best."""
    words = plain.split()
    if _is_unspaced(plain):  # text without spaces: two characters of it are a word
        plain = plain[: max_words * 2]
    elif len(words) > max_words:
        is_long = [_LONG_WORD.search(word) is not None for word in words]
        # A clause begins at a comma, or with a word like "that": a quotation from there on can be read.
        starts = [at for at in range(len(words)) if not at or _ends_clause(words[at - 1])]
        start = max(starts, key=lambda start: (sum(is_long[start : start + max_words]), -start))
        plain = " ".join(words[start : start + max_words])
    if len(plain) > _MAX_QUOTED_CHARS:
        plain = plain[:_MAX_QUOTED_CHARS].rpartition(" ")[0] or plain[:_MAX_QUOTED_CHARS]
    return plain.strip(" ,–")


def _ends_clause(word: str) -> bool:
    return word.endswith((",", ";", ":", "–", "—", ")")) or word.lower() in _CONJUNCTIONS


def _format_actions(digest: Digest) -> str:
    """Return what the agent did, in few words whatever the names of its files are."""
    names = [name for name in dict.fromkeys(map(base_name, digest.edited_files)) if _SAFE_NAME.fullmatch(name)]
    shown = names[:_MAX_FILES] if count_words(" ".join(names[:_MAX_FILES])) <= _MAX_FILES else []
    more = f" and {len(names) - len(shown)} more" if len(names) > len(shown) else ""
    edited = f"edited {', '.join(shown)}{more}" if shown else "edited files" if digest.edited_files else ""
    ran = f"ran {pluralize(len(digest.commands), 'command')}" if digest.commands else ""
    calls = sum(count for _, count in digest.tools)
    made = f"made {pluralize(calls, 'tool call')}" if calls else ""
    return (
        " and ".join(filter(None, (edited, ran))) or made or ("the agent answered" if digest.replies else "no answer")
    )


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
