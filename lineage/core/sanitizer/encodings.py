"""Decoders: escapes, string concatenation, wrapped lines, base64, hex and dumps of a text as further layers of it.

Every decoder is linear: its patterns have no two ways to match one text, or are RE2's.
"""

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache

from lineage.core.sanitizer.layers import SEPARATOR, Layer, LayerBuilder, LayerEdit, build_visible_layer, rewrite_lines
from lineage.core.sanitizer.re2_patterns import compile_pattern
from lineage.core.sanitizer.wrapped import decode_dumps, join_rows

_MAX_ESCAPE_DEPTH = 3
_MAX_DECODE_DEPTH = 2
_MAX_NESTED = 4  # readings of a text that is nothing but an encoded one, each at most three quarters as long
_TOKEN = "A-Za-z0-9_+/=.-"
TOKEN_CHARACTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_+/=.-"
_LONG_TOKEN_CHARS = 16
_SHORT_TOKEN_CHARS = 4

_ESCAPE = re.compile(
    r"%(?:(?P<percent>[0-7][0-9A-Fa-f](?:%[0-7][0-9A-Fa-f])*)|(?P<percents>[89A-Fa-f][0-9A-Fa-f](?:%[89A-Fa-f][0-9A-Fa-f])*))"
    r"|\\(?:(?P<slashes>\\(?:\\\\)*)|(?P<one>[\"'/nrtbfae`$_*~#\[\]|])|u(?P<u>00[0-7][0-9A-Fa-f](?:\\u00[0-7][0-9A-Fa-f])*)"
    r"|u(?P<code>[0-9A-Fa-f]{4})|u\{(?P<braced>[0-9A-Fa-f]{1,6})\}|U(?P<wide>[0-9A-Fa-f]{8})|(?P<octal>[01][0-7]{2})"
    r"|x(?P<x>[0-7][0-9A-Fa-f](?:\\x[0-7][0-9A-Fa-f])*)|x(?P<xs>[89A-Fa-f][0-9A-Fa-f](?:\\x[89A-Fa-f][0-9A-Fa-f])*))"
    r"|&(?:#(?P<decimal>[0-9]{1,7});?|#[xX](?P<hex>[0-9A-Fa-f]{1,6});?"
    r"|(?P<named>amp|lt|gt|quot|apos|nbsp|colon|equals|plus|sol|lowbar|period|num|commat|hyphen);)"
)
_SINGLE_ESCAPES = dict(zip("\"'/nrtbfae`$_*~#[]|", "\"'/\n\n\t\b\f\a\x1b`$_*~#[]|", strict=True))
_NAMED_ENTITIES = {
    "amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": " ", "colon": ":", "equals": "=", "plus": "+",
    "sol": "/", "lowbar": "_", "period": ".", "num": "#", "commat": "@", "hyphen": "-",
}  # fmt: skip
_STRIDES = {"percent": ("%", 3), "u": (r"\u00", 6), "x": (r"\x", 4)}
_BYTES = {"percents": "%", "xs": r"\x"}
_NUMBERS = {"code": 16, "braced": 16, "wide": 16, "octal": 8, "decimal": 10, "hex": 16}

_JOIN_MARK = re.compile("(?s)\n.|[\"'`].*[\"'`]")  # a text without any of these has nothing to join
_GAP = r"[ \t]{0,40}(?:\\?\n[ \t]{0,40})?"
_CONCATENATION = re.compile(
    rf"[\"'`](?<=[^\s\"'`\\][\"'`]){_GAP}"
    rf"(?:(?:\+|\.\.?|&|~|\|\||<>|\+\+|(?:;{_GAP})?[A-Za-z_$][A-Za-z0-9_$.]{{0,40}}[ \t]{{0,8}}[+.]=){_GAP})?"
    rf"[rbuf@]?[\"'`](?=[,;:)\]}}]?[^\s\"'`,;:)\]}}])"
    r"(?![\w.@/-]{1,80}[\"'`][ \t]{0,2}:)"  # the name of another member, as in a diff
)
_NEXT_LINE = re.compile(
    rf"\n(?<=[ \t\\{_TOKEN}]\n)[ \t]{{0,40}}(?:(?:[>#|*+│]|//)[ \t]{{0,8}}|[0-9]{{1,6}}(?:→|\t|[:|] ))?(?=[{_TOKEN}])"
)
_MIXED_CASE = re.compile(
    r"[A-Za-z_+/=.-]*[0-9][0-9_+/=.-]*[A-Za-z]|[0-9A-Z_+/=.-]*[a-z][a-z0-9_+/=.-]*[A-Z]|[A-Za-z]+[0-9]"
)
_ASSIGNMENT_LINE = re.compile(  # or an instruction of a Dockerfile
    r"[+-]?[A-Za-z_][A-Za-z0-9_.-]{0,60}(?:[ \t]{0,8}:|[ \t]{1,8}=|=[^=\s])"
    r"|(?:ADD|ARG|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|LABEL|RUN|SHELL|STOPSIGNAL|USER|VOLUME|WORKDIR)[ \t]"
)
_TIME_STAMP = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:|[0-9]{2}:[0-9]{2}:[0-9]{2}")

_LETTERS = "[A-Za-z0-9+/_-]"
_ASCII = rf"(?:[ACDI-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589]{_LETTERS}){{5,}}"
# Base64 with 15 successive bytes of ASCII somewhere: else every long word would be decoded.
_BASE64 = rf"{_LETTERS}*?{_ASCII}{_LETTERS}*={{0,2}}"
_BYTE = "(?:[2-7][0-9A-Fa-f]|0[09AaDd])"
_HEX = rf"(?:0[xX])?{_BYTE}(?:(?:[ :,-]|[ ,] )?(?:0[xX])?{_BYTE}){{11,}}"
_PLAIN = re.compile(r"[ !#$(-Z\]-_a-~]*")  # nothing to leave out, fold, join or unescape
_ENCODED = f"{_ASCII}|{_HEX}"  # a cheap test: matches wherever _BASE64 or _HEX does
_NOT_HEX = re.compile(r"0[xX]|[^0-9A-Fa-f]")
_ASCII_STRETCH = re.compile(rb"[\t\n\r -~]{8,}")
_STANDARD_ALPHABET = bytes.maketrans(b"-_", b"+/")
_MIN_ENCODED_CHARS = 20
_SAMPLE = 64
_KNOWN_CHARS = 1000
# What was decoded of a text, at which depth, of a joined layer or not, and from where: no piece is read twice.
_Pieces = set[tuple[str, int, bool, tuple[int, int]]]


def iter_decoded_layers(lowest: Layer, depth: int = _MAX_DECODE_DEPTH, known: _Pieces | None = None) -> Iterator[Layer]:
    """Yield all readings of a text: as seen, unescaped, joined, decoded from base64, hex and hex dumps."""
    known = set() if known is None else known
    layer: Layer | None = build_visible_layer(lowest)
    for _ in range(_MAX_ESCAPE_DEPTH + 1):
        if layer is None:
            return
        for joined in _iter_joined_layers(layer) if _JOIN_MARK.search(layer.text) else (layer,):
            yield joined
            can_decode = depth and not joined.has_rows and len(joined.text) >= _MIN_ENCODED_CHARS
            data = joined.text.encode("ascii", "replace") if can_decode else b""
            if data and _has_encoded_span(data):
                for decoded in (_decode_spans(joined, data, depth, known), decode_dumps(joined)):
                    if decoded is not None and decoded.text:
                        yield from iter_decoded_layers(decoded, depth - 1, known)
        layer = unescape(layer)


def is_plain(text: str) -> bool:
    """Tell whether the text has only one reading and no marker."""
    return bool(_PLAIN.fullmatch(text)) and (len(text) < _MIN_ENCODED_CHARS or not _has_encoded_span(text.encode()))


def _has_encoded_span(data: bytes) -> bool:
    return compile_pattern(_ENCODED).search(data) is not None


def _iter_joined_layers(layer: Layer) -> Iterator[Layer]:
    for joined in (layer, concatenate_literals(layer)):
        if joined is not None:
            yield joined
            unwrapped = unwrap_lines(joined)
            if unwrapped is not None:
                yield unwrapped
    rows = join_rows(layer)
    if rows is not None:
        yield rows


def unescape(layer: Layer) -> Layer | None:
    r"""Decode escapes once: %41, \u0041, \x41, \101, \n and their like, Markdown's \_, &#65; and some named entities.

    >>> unescape(Layer(r"%41\u0042\x43\"&#68;")).text
    'ABC"D'
    """
    if "%" not in layer.text and "\\" not in layer.text and "&" not in layer.text:
        return None
    above = rewrite_lines(layer, ((*match.span(), *_decode_escape(match)) for match in _ESCAPE.finditer(layer.text)))
    return above and build_visible_layer(above)


def _decode_escape(match: re.Match[str]) -> tuple[str, int]:
    """Return the text of an escape, or of a run of the same kind, and its stride (see `Layer`)."""
    kind = str(match.lastgroup)
    if kind == "slashes":
        return match[kind][::2], 2
    if kind in _STRIDES:
        mark, stride = _STRIDES[kind]
        return bytes.fromhex(match[0].replace(mark, "")).decode("ascii"), stride
    if kind in _BYTES:
        return bytes.fromhex(match[0].replace(_BYTES[kind], "")).decode("utf-8", "replace"), 0
    if kind in _NUMBERS:
        code = int(match[kind], _NUMBERS[kind])
        return "\ufffd" if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF else chr(code), 0
    return (_SINGLE_ESCAPES if kind == "one" else _NAMED_ENTITIES)[match[kind]], 0


def concatenate_literals(layer: Layer) -> Layer | None:
    """Join string literals: `"a" + "b"`, `'a' . 'b'`, `"a" "b"`, `x = "a"; x += "b"`, over line ends too.

    >>> concatenate_literals(Layer('key = "ab" + "cd"')).text
    'key = "abcd"'
    """
    return rewrite_lines(layer, ((*match.span(), "", 0) for match in _CONCATENATION.finditer(layer.text)))


def is_literal_continued(text: str, end: int) -> bool:
    """Tell whether another literal is joined to the one that the quote at `end` closes."""
    return _CONCATENATION.match(text, end) is not None


def unwrap_lines(layer: Layer) -> Layer | None:
    r"""Join tokens that a line end breaks: in mail, in a quotation, in a listing with line numbers.

    >>> unwrap_lines(Layer("the key ghp_AbCd1234\n  EfGh5678 and more")).text
    'the key ghp_AbCd1234EfGh5678 and more'
    """
    return rewrite_lines(layer, _find_broken_tokens(layer.text), is_joined=True) if "\n" in layer.text else None


def _find_broken_tokens(text: str) -> Iterator[LayerEdit]:
    for match in _NEXT_LINE.finditer(text):
        start, end = match.span()
        left = text[max(0, start - _SAMPLE) : start]
        token = left.rstrip(" \t")
        if token.endswith(("=", "\\")):  # marks of a soft line break, in mail and in code
            token = token[:-1]
        if is_token_continued(token, text[end : end + _SAMPLE]):
            yield start - len(left) + len(token), end, "", 0


def is_token_continued(left: str, right: str) -> bool:
    """Tell whether the end of `left` and the start of `right` look like two parts of one random token."""
    tail = left[len(left.rstrip(TOKEN_CHARACTERS)) :]
    if not (is_random(tail) or "_" in tail or "-" in tail):
        return False
    head = leading_token(right)
    if not head or _ASSIGNMENT_LINE.match(right) or _TIME_STAMP.match(right):
        return False
    return is_random(head) or (
        len(tail) >= _LONG_TOKEN_CHARS and len(head) == len(right.split("\n", 1)[0].rstrip("\"'`,; "))
    )


def leading_token(text: str) -> str:
    """Return the token characters at the start of the text."""
    return text[: len(text) - len(text.lstrip(TOKEN_CHARACTERS))]


def is_random(token: str) -> bool:
    """Tell whether this looks like a part of a token rather than a word."""
    return len(token) >= _LONG_TOKEN_CHARS or (
        len(token) >= _SHORT_TOKEN_CHARS and (token.isupper() or _MIXED_CASE.match(token) is not None)
    )


def _decode_spans(layer: Layer, data: bytes, depth: int, known: _Pieces) -> Layer:
    """Return a layer of the decoded base64 and hex spans in its ASCII that no layer had before, each one piece."""
    builder, is_joined = LayerBuilder(layer), layer.has_joined_layer
    for start, end, readings in [*_find_base64_spans(data), *_find_hex_spans(data)]:
        origin = layer.map_to_original(start, end)
        for level, text in enumerate(readings):
            if (text, depth, is_joined, origin) not in known:
                # also at the next depth, where the outer reading would be decoded to it again
                known.update((text, at, is_joined, origin) for at in range(depth - bool(level), depth + 1))
                builder.replace(text, start, end)
                builder.insert(SEPARATOR)
    return builder.build()


def _decode_nested(text: str) -> list[str]:
    """Return a decoded text, and its own decoding as long as there is nothing else in it."""
    texts = [text]
    while len(texts) <= _MAX_NESTED:
        run = "".join(text.split()).strip("\"'").encode("ascii", "replace")
        if compile_pattern(_HEX).fullmatch(run):
            text = _decode_hex(run)
        elif compile_pattern(_BASE64).fullmatch(run):
            text = _decode_base64(run)[0]
        else:
            break
        texts.append(text)
    return texts


def _find_base64_spans(data: bytes) -> Iterator[tuple[int, int, list[str]]]:
    for match in compile_pattern(_BASE64).finditer(data):
        start, end = match.span()
        for readings in (_read_base64 if end - start < _KNOWN_CHARS else _read_base64.__wrapped__)(data[start:end]):
            yield start, end, readings


@lru_cache(maxsize=1 << 10)  # every layer has most of them again
def _read_base64(found: bytes) -> list[list[str]]:
    return [_decode_nested(text) for text in _decode_base64(found)]


def _decode_base64(found: bytes) -> list[str]:
    """Decode from each offset that gives ASCII: the run may begin with other letters, as in a path."""
    run, texts = found.rstrip(b"=").translate(_STANDARD_ALPHABET), []
    for shift in sorted({stretch.start() % 4 for stretch in compile_pattern(_ASCII).finditer(found)}):
        part = run[shift : len(run) - ((len(run) - shift) % 4 == 1)]
        texts.append(_decode_text(b64decode(part + b"=" * (-len(part) % 4))))
    return texts


def _find_hex_spans(data: bytes) -> Iterator[tuple[int, int, list[str]]]:
    for match in compile_pattern(_HEX).finditer(data):
        yield *match.span(), _decode_nested(_decode_hex(match[0]))


def _decode_hex(found: bytes) -> str:
    return _decode_text(bytes.fromhex(_NOT_HEX.sub("", found.decode())))


def _decode_text(data: bytes) -> str:
    r"""Return the bytes as text, or their stretches of ASCII if they are binary.

    >>> _decode_text("key".encode("utf-16-le"))
    'key'
    """
    if data.count(0) * 4 > len(data):  # UTF-16
        data = data.replace(b"\0", b"")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = " \n".join(stretch.decode() for stretch in _ASCII_STRETCH.findall(data))
    return text.replace("\x1e", " ")  # a separator may only come from us
