"""The body hash, `body-normalized-v1`. (spec: checksum scope)"""

import hashlib
import re

HASH_SCOPE = "body-normalized-v1"

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def normalized(body: str) -> str:
    r"""LF line ends, no spaces or tabs at line ends, no trailing empty lines; nothing else changes.

    >>> normalized("alpha  \r\nbeta\t\r\n\r\n")
    'alpha\nbeta'
    """
    text = body.replace("\r\n", "\n").replace("\r", "\n")
    return "\n".join(line.rstrip(" \t") for line in text.split("\n")).rstrip("\n")


def body_sha256(body: str) -> str:
    """SHA-256, in hex, of the normalized body as UTF-8; a lone surrogate counts as U+FFFD."""
    return hashlib.sha256(cleaned(normalized(body)).encode()).hexdigest()


def cleaned(text: str) -> str:
    """Text that UTF-8 can hold: lone surrogates become U+FFFD."""
    return _SURROGATE.sub("\ufffd", text)
