"""Forms of a text for comparison: folded for cues, normalized for identity, words for overlap with tools."""

import re
import unicodedata
from functools import lru_cache

from lineage.core.base.links import to_one_line

_MARKS = re.compile(r"[\u0300-\u036f]+")
_WIDE = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_UNSPACED = re.compile(f"[{_WIDE}]")
_TOKEN = re.compile(rf"[{_WIDE}]|[^\W_{_WIDE}]+")
# Signs that nobody sees: a word is the same with and without them.
_INVISIBLE = re.compile("[\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+")
# Dashes, bullets, arrows, boxes and pictures: no folding changes them, and they are in no word.
_SIGNS = r"\u00a7\u00b0\u00b7\u00d7\u2013\u2014\u2022\u2190-\u2199\u2500-\u2775\u2794-\u27bf\U0001f300-\U0001faff"
_LETTER = re.compile(rf"[^\x00-\x7f{_SIGNS}]")
# Nor does it change the letters of China, Japan and Korea, unless a mark follows one.
_CONSTANT = rf"\x00-\x7f{_SIGNS}\u3001\u3002\u300c-\u300f\u3041-\u3096\u30a1-\u30fa\u30fc\u4e00-\u9fff\uac00-\ud7a3"
_CHANGEABLE = re.compile(f"[^{_CONSTANT}]+")
_STRAIGHT = (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("…", "..."))
_BLANKS = bytes(code if code < 128 and chr(code).isalnum() else 32 for code in range(256))
_ENDS = " .!。！\"'“”«»"


def fold_text(text: str) -> str:
    """Return the text for cues: without compatibility forms, case and Latin accents, with straight quotation marks.

    >>> fold_text("Não USE Ｇｉｔ’s Straße が")
    "nao use git's strasse が"
    """
    if text.isascii():
        return text.lower()
    for sign, straight in _STRAIGHT:
        text = text.replace(sign, straight)
    if text.isascii():  # most texts are ASCII but for quotation marks: spare them the slow forms
        return text.lower()
    lowered = _INVISIBLE.sub("", text).lower()
    if not _LETTER.search(lowered):
        return lowered
    return _fold_changeable(lowered)


def _fold_changeable(lowered: str) -> str:
    """Fold the rest alone: one sign in a long result must not cost as much as a long text."""
    parts, end = list[str](), 0
    for match in _CHANGEABLE.finditer(lowered):
        start = max(end, match.start() - 1)  # with the letter that an accent may stand on
        parts += (lowered[end:start], _fold_signs(lowered[start : match.end()]))
        end = match.end()
    return "".join((*parts, lowered[end:]))


@lru_cache(1 << 12)  # most are the same few arrows, dashes and commas, each with the letter before it
def _fold_signs(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold()
    # NFC afterwards: Japanese and Korean letters come apart in NFD and have to match whole.
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", plain)))


def normalize_text(text: str) -> str:
    """Return a text's identity: two texts with the same one are the same entry.

    Words, their order, signs and digits count. Case, white space and a full stop at the end don't.

    >>> (normalize_text(" User prefers  C++. ") == normalize_text("user prefers C++"),
    ... normalize_text("C++") == normalize_text("C#"))
    (True, False)
    """
    return unicodedata.normalize("NFC", to_one_line(text)).casefold().strip(_ENDS)


def tokenize(text: str) -> list[str]:
    """Return the folded words of a text. In scripts without spaces each character is a word."""
    return tokenize_folded(fold_text(text))


def tokenize_folded(folded: str) -> list[str]:
    """Return the words of a folded text."""
    if _LETTER.search(folded):
        return _TOKEN.findall(folded)
    return folded.encode("ascii", "replace").translate(_BLANKS).decode().split()


def is_unspaced(text: str) -> bool:
    """Return whether some of the text is in a script without spaces between words."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def measure_width(text: str) -> int:
    """Return the length in Latin characters. A character of a script without spaces counts two."""
    return len(text) if text.isascii() else len(text) + len(_UNSPACED.findall(text))
