"""Scripts that write no spaces between words: each of their characters is made a token of its own.

A full-text index then finds words of any length as phrases of characters, those of two characters too.
"""

import re

SEPARATOR = "\u200b"
"""What stands between the characters: no tokenizer keeps it, and nobody sees it."""

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"  # kana and Han
    "\uac00-\ud7af\U00020000-\U0003ffff"  # Hangul, Han beyond the basic plane
)
_MAYBE_UNSPACED = re.compile("[^\x00-\u0dff\u2000-\u2fff]")  # quick to look for: texts without one have no dense script
_CHARACTER = re.compile(f"([{_UNSPACED}])")
_RUN = re.compile(f"[{_UNSPACED}]+|[^{_UNSPACED}]+")


def segment(text: str) -> str:
    r"""The text as it is indexed, with a seam after and before each character of a dense script.

    >>> segment("plain"), segment("修正 parser")
    ('plain', '\u200b修\u200b\u200b正\u200b parser')
    """
    return (
        text
        if text.isascii() or not _MAYBE_UNSPACED.search(text)
        else _CHARACTER.sub(rf"{SEPARATOR}\1{SEPARATOR}", text)
    )


def remove_separators(text: str) -> str:
    """The text as it was written, without its seams."""
    return text if text.isascii() else text.replace(SEPARATOR, "")


def split_runs(text: str) -> list[str]:
    """The text cut where dense scripts begin and end.

    >>> split_runs("csv解析器v2")
    ['csv', '解析器', 'v2']
    """
    return [text] if text.isascii() else _RUN.findall(text)


def is_unspaced(text: str) -> bool:
    """Whether the text begins in a script that writes no spaces between words."""
    return not text.isascii() and _CHARACTER.match(text) is not None


def split_bigrams(run: str) -> list[str]:
    """What a dense run is looked up by: its neighbouring characters, two by two.

    >>> split_bigrams("最后一行"), split_bigrams("行")
    (['最后', '后一', '一行'], ['行'])
    """
    return [run[start : start + 2] for start in range(len(run) - 1)] or [run]
