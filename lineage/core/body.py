"""The body hash, `body-normalized-v1`. (spec: checksum scope)"""

import hashlib

from lineage.core.lazily import pattern

HASH_SCOPE = "body-normalized-v1"

_SURROGATE = pattern(r"[\ud800-\udfff]")


def normalized(body: str) -> str:
    r"""LF line ends, no spaces or tabs at line ends, no trailing empty lines; nothing else changes.

    >>> normalized("alpha  \r\nbeta\t\r\n\r\n")
    'alpha\nbeta'
    """
    if _is_tidy(body):
        return body.rstrip("\n")
    text = body.replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip(" \t") for line in text.split("\n")).rstrip("\n")


def body_sha256(body: str) -> str:
    """SHA-256, in hex, of the normalized body as UTF-8; a lone surrogate counts as U+FFFD."""
    return hashlib.sha256(encoded(normalized(body))).hexdigest()


def _is_tidy(body: str) -> bool:
    """Whether no line needs to change, as in whatever lineage wrote: found out without a look at each line."""
    end = body.rstrip("\n")
    return not ("\r" in body or " \n" in body or "\t\n" in body or end.endswith((" ", "\t")))


def encoded(text: str) -> bytes:
    """The text as UTF-8, `cleaned` where it has to be."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return cleaned(text).encode()


def cleaned(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates become U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text
