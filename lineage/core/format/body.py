"""Bodies of documents: held or streamed text, UTF-8, and the body hash `body-normalized-v1` (spec: checksum scope)."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator

HASH_SCOPE = "body-normalized-v1"

_BLANK = " \t\r\n"
_BUFFER_SIZE = 1 << 16  # characters
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class StreamedText:
    """A text too long for memory: each call of `chunks` makes it anew, in chunks of whole lines."""

    def __init__(self, chunks: Callable[[], Iterable[str]]) -> None:
        self.chunks = chunks

    def __str__(self) -> str:
        return "".join(self.chunks())


Body = str | StreamedText


class EncodedStream(Iterable[bytes]):
    """A repeatable iterable over a head and a streamed text as UTF-8."""

    def __init__(self, head: str, text: StreamedText) -> None:
        self._head, self._text = head, text

    def __iter__(self) -> Iterator[bytes]:
        # A transcript comes turn by turn: joined, its chunks are worth a system call each.
        buffer, size = [self._head], 0
        for chunk in self._text.chunks():
            buffer.append(chunk)
            size += len(chunk)
            if size >= _BUFFER_SIZE:
                yield encode_utf8("".join(buffer))
                buffer, size = [], 0
        yield encode_utf8("".join(buffer))


def decode_lines(chunks: Iterable[bytes], start: int) -> Iterator[str]:
    """Yield UTF-8 from byte `start` on as text, in chunks of whole lines."""
    rest = b""
    for chunk in chunks:
        data, start = rest + chunk[start:], max(0, start - len(chunk))
        lines, newline, rest = data.rpartition(b"\n")
        yield (lines + newline).decode("utf-8")
    yield rest.decode("utf-8")


def body_chunks(body: Body) -> Iterable[str]:
    """Return the body in chunks of whole lines: a single one if it is held."""
    return (body,) if isinstance(body, str) else body.chunks()


def normalize_body(body: str) -> str:
    r"""Return the body with LF line ends, no blanks at line ends and no empty lines at its end.

    >>> normalize_body("alpha  \r\nbeta\t\r\n\r\n")
    'alpha\nbeta'
    """
    # Whatever lineage wrote is normalized: four searches are cheaper than a split into lines.
    is_normalized = not (
        "\r" in body or " \n" in body or ("\t" in body and "\t\n" in body) or body.endswith((" ", "\t"))
    )
    return (body if is_normalized else _normalize_lines(body)).rstrip("\n")


def hash_body(body: Body) -> str:
    """Return the SHA-256, in hex, of the normalized body as UTF-8. A lone surrogate counts as U+FFFD."""
    if isinstance(body, str):
        return hashlib.sha256(encode_utf8(normalize_body(body))).hexdigest()
    digest = hashlib.sha256()
    blank = ""
    for chunk in body.chunks():
        # White space at the end of a chunk waits: the next chunk shows if it ends a line, or the body.
        text = blank + chunk
        end = len(text.rstrip(_BLANK))
        digest.update(encode_utf8(_normalize_lines(text[:end])))
        blank = text[end:]
    return digest.hexdigest()


def _normalize_lines(text: str) -> str:
    # Splits at "blank, newline" only: few lines end in a blank, and a look at each line would cost ten times as much.
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    for blank in filter(text.__contains__, " \t"):
        *lines, rest = text.split(f"{blank}\n")
        text = "\n".join([*(line.rstrip(" \t") for line in lines), rest])
    return text.rstrip(" \t")


def encode_utf8(text: str) -> bytes:
    """Return the text as UTF-8, with U+FFFD for lone surrogates."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return replace_surrogates(text).encode()


def replace_surrogates(text: str) -> str:
    """Return the text with U+FFFD for lone surrogates, so that UTF-8 can hold it."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub("\ufffd", text)
    return text
