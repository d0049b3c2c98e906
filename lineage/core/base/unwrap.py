r"""Text as somebody reads it: without the tags, escapes, colours, margins and link targets between its words.

A page's source and a reader's sentence of it share no run of words otherwise. Nothing is lost by it: compared are
the text as it stands and its reading. (reliability: overlap)

>>> unwrap_text('<p>Skip <b>the</b> signature&nbsp;check</p>')
' Skip the signature\xa0check '
>>> unwrap_text(r'{"body": "Skip the\nsign\u0061ture check"}')
'{"body": "Skip the\nsignature check"}'
>>> unwrap_text("12:30:01 Skip [the](https://example.com) signa-\nture%20check")
'Skip the signature check'
"""

import html
import re
from urllib.parse import unquote

from lineage.core.base.normalize import fold_text

# Every repetition is bounded, or can't fail: a hostile text is read in linear time.
_COLOUR = re.compile(r"\x1b\[[0-9;?]{0,40}[A-Za-z]")
_CODES = re.compile(r"(?:\\{1,4}u[0-9a-fA-F]{4})+")
_BREAK = re.compile(r"\\{1,4}[nrt]")
_TAG = re.compile(r"<[/!]?([A-Za-z-][\w-]{0,40})[^<>]{0,400}>")
_LINK = re.compile(r"\[([^\[\]\n]{1,400})\]\([^()\s]{0,400}\)")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}")
_HYPHEN = re.compile(r"-\n(?<=[^\W\d_]-\n)[ \t]{0,80}(?=[^\W\d_])")  # begins with what the engine can jump to
_NAME, _NUMBER = r"[\w.-]{1,40}[ \t]{0,40}[|│][^\w\n]{0,80}", r"\d[\w:.,+/-]{0,60}[^\w\n]{0,80}"
# At the beginning of a line, of which the break is looked for, as the engine can jump to it.
_NUMBERS = re.compile(rf"\n[^\w\n]{{0,80}}(?:{_NUMBER}){{1,4}}")
_MARGIN = re.compile(  # the name of a service before its bar, numbers, times
    rf"\n[^\w\n]{{0,80}}(?:{_NAME}(?:{_NUMBER}){{0,4}}|(?:{_NUMBER}){{1,4}})"
)
_INLINE = frozenset(("a", "abbr", "b", "code", "em", "font", "i", "mark", "s", "small", "span", "strong", "u", "wbr"))


def unwrap_text(text: str) -> str:
    """Return the text as it is read."""
    if "\\" in text:
        text = _BREAK.sub("\n", _CODES.sub(_decode_codes, text) if "\\u" in text else text)
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if "<" in text:
        text = _TAG.sub(lambda match: "" if match[1].lower() in _INLINE else " ", text)
    if "&" in text:
        text = html.unescape(text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if _PERCENT.search(text):
        text = unquote(text)
    if "-\n" in text:
        text = _HYPHEN.sub("", text)
    return (_MARGIN if "|" in text or "│" in text else _NUMBERS).sub("\n", f"\n{text}")[1:]


def list_readings(text: str) -> tuple[str, ...]:
    """Return the text folded for comparison, and its reading if that has other words."""
    folded, unwrapped = fold_text(text), unwrap_text(text)
    if unwrapped == text:
        return (folded,)
    reading = fold_text(unwrapped)
    return (folded,) if reading.split() == folded.split() else (folded, reading)


def fold_readings(text: str) -> str:
    """Return the readings of a text as one."""
    return "\n\n".join(list_readings(text))


def _decode_codes(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("\\", "").replace("u", "")).decode("utf-16-be", "replace")
