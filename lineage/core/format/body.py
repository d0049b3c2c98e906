"""The body hash, `body-normalized-v1`. (spec: checksum scope)"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator

HASH_SCOPE = "body-normalized-v1"

_BLANK = " \t\r\n"

_SURROGATE = re.compile(r"[\ud800-\udfff]")


class StreamedText:
    """A text that is too long to be held: made anew each time, in pieces of whole lines. `str` of it is the whole."""

    def __init__(self, chunks: Callable[[], Iterable[str]]) -> None:
        self.chunks = chunks

    def __str__(self) -> str:
        return "".join(self.chunks())


Body = str | StreamedText


def body_chunks(body: Body) -> Iterable[str]:
    """The body in pieces of whole lines: one, where it is held."""
    return (body,) if isinstance(body, str) else body.chunks()


def normalize_body(body: str) -> str:
    r"""LF line ends, no spaces or tabs at line ends, no trailing empty lines; nothing else changes.

    >>> normalize_body("alpha  \r\nbeta\t\r\n\r\n")
    'alpha\nbeta'
    """
    return (body if _is_normalized(body) else _normalize_lines(body)).rstrip("\n")


def hash_body(body: Body) -> str:
    """SHA-256, in hex, of the normalized body as UTF-8; a lone surrogate counts as U+FFFD."""
    if isinstance(body, str):
        return hashlib.sha256(encode_utf8(normalize_body(body))).hexdigest()
    digest = hashlib.sha256()
    for part in _normalize_chunks(body.chunks()):
        digest.update(encode_utf8(part))
    return digest.hexdigest()


def _normalize_chunks(chunks: Iterable[str]) -> Iterator[str]:
    """What is normalized, in parts: a part ends where white space begins of which nobody knows yet what follows."""
    blank = ""
    for piece in chunks:
        text = blank + piece
        end = len(text.rstrip(_BLANK))
        yield _normalize_lines(text[:end])
        blank = text[end:]


def _normalize_lines(text: str) -> str:
    """Only the lines that need to change are looked at."""
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    for blank in filter(text.__contains__, " \t"):
        *lines, rest = text.split(f"{blank}\n")
        text = "\n".join([*(line.rstrip(" \t") for line in lines), rest])
    return text.rstrip(" \t")


def _is_normalized(body: str) -> bool:
    """Whether no line needs to change, as in whatever lineage wrote: found out without a look at each line."""
    return not ("\r" in body or " \n" in body or ("\t" in body and "\t\n" in body) or body.endswith((" ", "\t")))


def encode_utf8(text: str) -> bytes:
    """The text as UTF-8, `cleaned` where it has to be."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return replace_surrogates(text).encode()


def replace_surrogates(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates become U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text
