"""Segmentation of scripts without spaces: each character is a token, so an index finds words as phrases."""

import re

from lineage.core.search.language import UNSPACED

SEPARATOR = "\u200b"
"""The separator of characters: tokenizers drop it, and nobody sees it."""

_UNSPACED = "".join(f"{first}-{last}" for first, last in UNSPACED)
_MAYBE_UNSPACED = re.compile("[^\x00-\u0dff\u2000-\u2fff]")  # one range, so a quick search clears most texts
_CHARACTER = re.compile(f"([{_UNSPACED}])")
_RUN = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")


def segment(text: str) -> str:
    r"""Return the text for an index, with separators around each character of an unspaced script.

    >>> segment("plain"), segment("修正 parser")
    ('plain', '\u200b修\u200b\u200b正\u200b parser')
    """
    if text.isascii() or not _MAYBE_UNSPACED.search(text):
        return text
    return _CHARACTER.sub(rf"{SEPARATOR}\1{SEPARATOR}", text)


def remove_separators(text: str) -> str:
    """Undo `segment`."""
    return text if text.isascii() else text.replace(SEPARATOR, "")


def split_runs(text: str) -> list[str]:
    """Return the text, cut at the ends of unspaced scripts.

    >>> split_runs("csv解析器v2")
    ['csv', '解析器', 'v2']
    """
    return [text] if text.isascii() else _RUN.findall(text)


def is_unspaced(text: str) -> bool:
    """Return whether the text begins in an unspaced script."""
    return not text.isascii() and _CHARACTER.match(text) is not None


def split_bigrams(run: str) -> list[str]:
    """Return the pairs of neighbouring characters of a run.

    >>> split_bigrams("最后一行"), split_bigrams("行")
    (['最后', '后一', '一行'], ['行'])
    """
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]
