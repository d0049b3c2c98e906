"""`memory_sentence_v1`: the quality floor and the deterministic fallback that passes it by construction.

The fallback is built from what happened. It quotes at most the user's own request, never assistant or tool text, and
names files by pattern-checked base names only. (spec: per-session sentence quality floor; format: Sentence)
"""

import math
import re
from collections.abc import Iterable
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

_URL = re.compile(r"[a-z0-9+.-]{0,32}://\S*|\bwww\.\S+", re.IGNORECASE)
_CODE = re.compile(r"`{3,}.*?(?:`{3,}|$)", re.DOTALL)
_MARKUP = re.compile(r"[`*~<>|{}\[\]\\“”\"^$=]+|(?<![^\W_])_+|_+(?![^\W_])|#(?!\d)")
_INNER_STOP = re.compile(r"[.!?…;:]+(?=['’)»]*(?:\s|$))|[。！？]+")
_SAFE_NAME = re.compile(r"[\w@+-][\w.@+-]{0,47}")

_LENGTH_STEPS = ((14, 3), (9, 3), (5, 1), (0, 0))


class SentenceContext(NamedTuple):
    """Whose session it was: the anchors that do not come from its turns."""

    harness: str
    session_id: str
    project: str | None = None


def find_faults(sentence: str, anchors: Iterable[str]) -> list[str]:
    """What keeps a sentence below the floor; an empty list means that it passes.

    >>> find_faults("Worked on task.", {"demo"})
    ['3 words, not 12 to 48', 'no concrete anchor of this session', 'a low-signal template']
    """
    found = []
    count = count_words(sentence)
    if not MIN_WORDS <= count <= MAX_WORDS:
        found.append(f"{count} words, not {MIN_WORDS} to {MAX_WORDS}")
    if not _TERMINAL.search(sentence):
        found.append("no terminal punctuation")
    if not is_one_sentence(sentence):
        found.append("not exactly one sentence")
    if not any(_contains(sentence, anchor) for anchor in anchors):
        found.append("no concrete anchor of this session")
    if " ".join(re.findall(r"\w+", sentence.lower())) in _LOW_SIGNAL:
        found.append("a low-signal template")
    return found


def count_words(text: str) -> int:
    """Words by white space; a run of CJK characters counts one word for two characters."""
    count = 0
    for piece in map(_strip_quotes, text.split()):
        runs = [] if piece.isascii() else _CJK.findall(piece)
        count += max(1, sum(math.ceil(len(run) / 2) for run in runs))
    return count


def _strip_quotes(piece: str) -> str:
    """A word without the marks around it, which mostly are all of it that is not ASCII."""
    return piece if piece.isascii() else piece.strip("“”‘’…–")


def is_one_sentence(text: str) -> bool:
    """Whether nothing inside ends a sentence; abbreviations ("e.g.") and file names do not."""
    if "\n" in text or not text.strip():
        return False
    return all(_ABBREVIATION.search(text[: match.start() + 1]) for match in _BOUNDARY.finditer(text))


def extract_anchors(context: SentenceContext, digest: Digest) -> frozenset[str]:
    """Concrete tokens of this session: project, files, identifiers, named components, harness and session id."""
    found = {context.harness, context.session_id, _shorten_id(context.session_id)}
    if context.project:
        found.add(base_name(context.project))
    for path in (*digest.edited_files, *digest.read_files):
        found.update((path, base_name(path)))
    found.update(digest.names)
    return frozenset(anchor for anchor in found if len(anchor) > 1)


def build_fallback(digest: Digest, context: SentenceContext, ending: str = "ended") -> str:
    """The deterministic sentence. `ending` is what became of the session: `ended` or `was compacted`.

    >>> (build_fallback(Digest(turns=2, requests=("Why is CI red?",), replies=1), SentenceContext("codex", "s-1",
    ... "/home/ada/demo")))
    'In demo, the user asked “Why is CI red”, and the agent answered, and the codex session ended after 2 turns.'
    """
    for quoted, named in _LENGTH_STEPS:
        text = _compose(digest, context, ending, quoted, named)
        if count_words(text) <= MAX_WORDS:
            break
    return text


def base_name(path: str) -> str:
    """The last part of a POSIX or Windows path."""
    return re.split(r"[\\/]", path.rstrip("\\/"))[-1]


def to_plain_text(text: str) -> str:
    """Text without links, code, markup and inner sentence ends, on one line."""
    return to_one_line(_INNER_STOP.sub(_choose_joint, strip_markup(text))).strip(" ,.!?-–")


def _choose_joint(stop: re.Match[str]) -> str:
    """What joins two sentences into one: a dash for the end of a sentence, a comma for lesser stops."""
    return "," if set(stop[0]) <= set(";:") else " – "


def strip_markup(text: str) -> str:
    """Text without links, code and markup, on one line."""
    return to_one_line(_MARKUP.sub(" ", _URL.sub(" ", _CODE.sub(" ", text))))


def _compose(digest: Digest, context: SentenceContext, ending: str, max_words: int, max_files: int) -> str:
    """The sentence with so many words of the request and so many file names at most."""
    asked = _format_request(digest, max_words, max_files)
    place, turns = _format_place(context), pluralize(digest.turns, "turn")
    return f"{place}, {asked}, and the {context.harness} session {ending} after {turns}."


def _format_place(context: SentenceContext) -> str:
    name = base_name(context.project) if context.project else ""
    clean = " ".join(to_plain_text(name).split()[:3])[:48].strip()
    return f"In {clean}" if clean else f"In session {_shorten_id(context.session_id)}"


def _shorten_id(session_id: str) -> str:
    return re.sub(r"[^\w-]+", "-", session_id)[:12].strip("-_") or "unnamed"


def _format_request(digest: Digest, max_words: int, max_files: int) -> str:
    did = _format_actions(digest, max_files)
    quote = _quote(digest.requests[0], max_words) if digest.requests else ""
    if quote:
        return f"the user asked “{quote}”, and the agent {did}"
    if digest.requests:
        return f"the user sent a request, and the agent {did}"
    return f"no request was typed and the agent {did}"


def _quote(request: str, max_words: int) -> str:
    kept = ""
    for word in to_plain_text(request).split():
        longer = f"{kept} {word}".strip()
        if count_words(longer) > max_words or len(longer) > 120:
            break
        kept = longer
    if not kept and max_words:
        kept = to_plain_text(request)[: max_words * 2]
    return kept.strip(" ,–")


def _format_actions(digest: Digest, max_files: int) -> str:
    done = []
    names = [
        name for name in dict.fromkeys(base_name(path) for path in digest.edited_files) if _SAFE_NAME.fullmatch(name)
    ]
    if names and max_files:
        rest = len(names) - max_files
        more = f" and {rest} more" if rest > 0 else ""
        done.append(f"edited {', '.join(names[:max_files])}{more}")
    elif digest.edited_files:
        done.append("edited files")
    if digest.commands:
        done.append(f"ran {pluralize(len(digest.commands), 'command')}")
    calls = sum(count for _, count in digest.tools)
    if calls and not done:
        done.append(f"made {pluralize(calls, 'tool call')}")
    if not done:
        return "answered" if digest.replies else "did not answer"
    return " and ".join(done)


def _contains(sentence: str, anchor: str) -> bool:
    """Whether the anchor stands in the sentence as a whole, not inside another word; scripts without spaces between
    words end any."""
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
