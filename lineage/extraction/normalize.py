"""Forms of a text that comparisons use: folded for cues, normalized for identity, in tokens for echoes."""

import re
import unicodedata

from lineage.core.base.links import to_one_line

_MARKS = re.compile(r"[\u0300-\u036f]+")
_WIDE = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af"
_UNSPACED = re.compile(f"[{_WIDE}]")
_TOKEN = re.compile(rf"[{_WIDE}]|[^\W{_WIDE}]+")
_PLAIN = (("’", "'"), ("‘", "'"), ("“", '"'), ("”", '"'), ("…", "..."))
_BLANKS = {code: " " for code in range(128) if not (chr(code).isalnum() or chr(code) == "_")}
_ENDS = " .!。！\"'“”«»"


def fold_text(text: str) -> str:
    """Text as cues see it: compatibility forms, case and Latin accents taken away, quotation marks straight.

    >>> fold_text("Não USE Ｇｉｔ’s Straße が")
    "nao use git's strasse が"
    """
    if text.isascii():
        return text.lower()
    for sign, straight in _PLAIN:
        text = text.replace(sign, straight)
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", text).casefold()
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", plain)))


def normalize_text(text: str) -> str:
    """What makes two texts the same entry: all their words in their order, signs and digits; case, white space and the
    stop at the end don't count.

    >>> (normalize_text(" User prefers  C++. ") == normalize_text("user prefers C++"),
    ... normalize_text("C++") == normalize_text("C#"))
    (True, False)
    """
    return unicodedata.normalize("NFC", to_one_line(text)).casefold().strip(_ENDS)


def tokenize(text: str) -> list[str]:
    """The words of a text, folded; in scripts without spaces each character is one."""
    return tokenize_folded(fold_text(text))


def tokenize_folded(folded: str) -> list[str]:
    """`tokens`, of a text that is folded already."""
    return folded.translate(_BLANKS).split() if folded.isascii() else _TOKEN.findall(folded)


def is_unspaced(text: str) -> bool:
    """Whether some of the text is in a script that writes no spaces between words."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def measure_width(text: str) -> int:
    """Length in Latin characters: one of a dense script says as much as two."""
    return len(text) if text.isascii() else len(text) + len(_UNSPACED.findall(text))
