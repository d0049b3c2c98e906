"""Plausible ways in which a line with a secret stands in a transcript: wrapped, dumped, escaped, encoded, joined."""

import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from html import escape
from random import Random
from typing import NamedTuple

from benchmarks.redaction_marks import (
    CLOSE,
    MARKS,
    MAY_CLOSE,
    MAY_OPEN,
    OPEN,
    Case,
    Span,
    marked_lines,
    may,
    read_case,
    unmarked,
)

_WORDS = "the run of last night was slower than usual so we looked at what it does first and found this line in it"
_SECRET = re.compile(f"{OPEN}([^{CLOSE}]*){CLOSE}")
Dress = Callable[[str, Random], Case | None]


_COMMON = (
    ".env", "export", "JSON", "YAML quoted", "Python", "TypeScript", "Go :=", "Java", "header", "--name=value",
    "English", "docker run", "INI", "log line", "prefix",
)  # fmt: skip
_PLUS = ("Python", "Python keyword", "TypeScript", "JavaScript object", "Go :=", "Go field", "Java", "Swift, Kotlin")
_BESIDE = ("Python", "Python keyword", "Python dict", "C++")
_WRITTEN = ("English", "Markdown table", "other languages")


class Disguise(NamedTuple):
    """A way to change a marked text; None where it would change nothing. The carriers are those it is plausible in."""

    id: str
    kind: str
    dress: Dress
    carriers: tuple[str, ...] = _COMMON


def _wrapped(margin: Callable[[int, Random], str], end: str = "") -> Dress:
    def dress(text: str, random: Random) -> Case | None:
        line = next((line for line in text.split("\n") if OPEN in line and CLOSE in line), "")
        secret = _SECRET.search(line)
        if not secret or len(secret[1]) < 12:
            return None
        width = random.randint(60, 76)
        start = len(unmarked(line[: secret.start()]))
        cut = random.randint(4, len(secret[1]) - 4)
        line = _filler((width - cut - start) % width, random) + line
        line = _SECRET.sub(lambda match: may(match[0]), line)
        rows = list(_rows(line, width))
        number = random.randint(8, 80)
        return read_case(
            "\n".join(row(margin(number + place, random), line, end, width) for place, line in enumerate(rows))
        )

    return dress


def row(margin: str, text: str, end: str, width: int) -> str:
    """Set a line of a text into a margin."""
    return margin + text + (" " * (width - len(unmarked(text))) + end if end else "")


def _filler(length: int, random: Random) -> str:
    text = ""
    while len(text) < length:
        text += random.choice(_WORDS.split()) + " "
    return text[: max(0, length - 1)] + " " * min(1, length)


def _rows(line: str, width: int) -> Iterator[str]:
    """Cut after so many characters; a secret that is cut is marked in both rows."""
    row, size, inside = "", 0, False
    for character in line:
        if character not in MARKS and size == width:
            yield row + (CLOSE if inside else "")
            row, size = (OPEN if inside else ""), 0
        inside = (inside or character == OPEN) and character != CLOSE
        row += character
        size += character not in MARKS
    yield row


def _clock(place: int, _: Random) -> str:
    return f"2026-03-04T05:{place % 60:02}:07.{place * 37 % 1000:03}Z "


def _every_line(margin: Callable[[int, Random], str], end: str = "") -> Dress:
    def dress(text: str, random: Random) -> Case | None:
        if "\n" in text[text.index(OPEN) : text.rindex(CLOSE)]:
            text = _SECRET.sub(lambda match: may(match[0]), text)
        rows = list(marked_lines(text.rstrip("\n")))
        width = max(len(unmarked(row)) for row in rows)
        return read_case("\n".join(row(margin(place + 1, random), line, end, width) for place, line in enumerate(rows)))

    return dress


def _each(form: Callable[[str], str], written: int, only: Callable[[str], bool] = lambda _: True) -> Dress:
    """Write characters of the secret in another form."""

    def dress(text: str, _: Random) -> Case | None:
        secret = _SECRET.search(text)
        if not secret or "\n" in secret[1] or not any(map(only, secret[1])):
            return None
        changed = "".join(form(character) if only(character) else character for character in secret[1])
        return read_case(f"{text[: secret.start()]}{OPEN}{changed}{CLOSE}{text[secret.end() :]}", written)

    return dress


def _line_of(form: Callable[[str], str]) -> Dress:
    def dress(text: str, _: Random) -> Case | None:
        return read_case("".join(character if character in MARKS else form(character) for character in text))

    return dress


def _wide(character: str) -> str:
    return chr(ord(character) + 0xFEE0) if 0x21 <= ord(character) <= 0x7E else character


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode())


def _entity(character: str) -> str:
    return f"&#{ord(character)};" if character in "'/=" else escape(character)


def _inside(*signs: str) -> Dress:
    """Put signs that nobody sees into the secret."""

    def dress(text: str, random: Random) -> Case | None:
        secret = _SECRET.search(text)
        if not secret or len(secret[1]) < 8:
            return None
        places = sorted(random.sample(range(2, len(secret[1]) - 1), len(signs)))
        pieces = [secret[1][start:end] for start, end in zip([0, *places], [*places, None], strict=True)]
        changed = "".join(piece + sign for piece, sign in zip(pieces, [*signs, ""], strict=True))
        return read_case(f"{text[: secret.start()]}{OPEN}{changed}{CLOSE}{text[secret.end() :]}")

    return dress


def _concatenated(joint: str) -> Dress:
    def dress(text: str, random: Random) -> Case | None:
        secret = re.search(rf"([\"'])({OPEN}[^{CLOSE}\"'\\]*{CLOSE})\1", text)
        value = unmarked(secret[2]) if secret else ""
        if not secret or len(value) < 10:
            return None
        count = random.choice((1, 2)) if len(value) > 14 else 1
        places = sorted(random.sample(range(3, len(value) - 3, 3), count))
        pieces = [value[start:end] for start, end in zip([0, *places], [*places, None], strict=True)]
        changed = may(joint.join(f"{secret[1]}{OPEN}{piece}{CLOSE}{secret[1]}" for piece in pieces))
        return read_case(text[: secret.start()] + changed + text[secret.end() :])

    return dress


def _hex_dump(text: str, _: Random) -> Case | None:
    case = read_case(text)
    if not case.text.isascii():
        return None
    data = case.text.encode()
    secret = [place for start, end in case.secret for place in range(start, end)]
    hidden = frozenset(secret)
    rows = []
    for start in range(0, len(data), 16):
        places = range(start, min(start + 16, len(data)))
        digits = "".join(
            _marked_if(place in hidden, f"{data[place]:02x}") + (" " if place % 2 else "") for place in places
        )
        right = "".join(
            _marked_if(place in hidden, chr(data[place]) if 32 <= data[place] < 127 else ".") for place in places
        )
        width = len(unmarked(digits))
        rows.append(f"{start:08x}: {_joined(digits)}{' ' * (41 - width)}{_joined(right)}")
    return read_case(MAY_OPEN + "\n".join(rows) + MAY_CLOSE, 2)


def _marked_if(secret: bool, text: str) -> str:
    return f"{OPEN}{text}{CLOSE}" if secret else text


def _joined(text: str) -> str:
    return re.sub(f"{CLOSE}( ?){OPEN}", r"\1", text)


def _base64_line(text: str, random: Random) -> Case | None:
    case = read_case(text)
    data = case.text.encode()
    encoded = b64encode(data).decode()
    before = len(case.text[: case.secret[0][0]].encode())
    until = len(case.text[: case.secret[-1][1]].encode())
    hidden: Span = (-(-before * 8 // 6), until * 8 // 6)
    inner = f"{encoded[: hidden[0]]}{OPEN}{encoded[hidden[0] : hidden[1]]}{CLOSE}{encoded[hidden[1] :]}"
    form = random.choice(("$ echo {} | base64 -d", "payload: {}", "{}", '{{"content": "{}", "encoding": "base64"}}'))
    return read_case(form.format(may(inner)))


MARGINS: dict[str, tuple[Callable[[int, Random], str], str]] = {
    "no margin": (lambda _place, _random: "", ""),
    "indented": (lambda _place, _random: "    ", ""),
    "box": (lambda _place, _random: "│ ", " │"),
    "quote": (lambda _place, _random: "> ", ""),
    "service": (lambda _place, _random: "api-1  | ", ""),
    "line numbers": (lambda place, _random: f"{place:6}→", ""),
    "time stamps": (_clock, ""),
    "comment": (lambda _place, _random: "# ", ""),
}

DISGUISES: tuple[Disguise, ...] = (
    *(Disguise(f"wrapped, {name}", "wrapped", _wrapped(*margin)) for name, margin in MARGINS.items()),
    *(
        Disguise(f"margin, {name}", "margin", _every_line(*margin))
        for name, margin in MARGINS.items()
        if name not in {"no margin", "comment"}
    ),
    Disguise("hex dump", "dump", _hex_dump),
    Disguise("base64 of the line", "encoded", _base64_line),
    Disguise(
        "Markdown escapes", "escaped", _each(lambda sign: "\\" + sign, 1, frozenset("_*~#[]|").__contains__), _WRITTEN
    ),
    Disguise("HTML entities of signs", "escaped", _each(_entity, 1, frozenset("&<>\"'/=").__contains__), _WRITTEN),
    Disguise("%XX of signs", "escaped", _each(_percent, 1, lambda sign: not sign.isalnum() and sign not in "-_.~")),
    Disguise("%XX of all", "encoded", _each(_percent, 3)),
    Disguise("\\uXXXX", "encoded", _each(lambda sign: f"\\u{ord(sign):04x}", 6)),
    Disguise("\\xXX", "encoded", _each(lambda sign: f"\\x{ord(sign):02x}" if ord(sign) < 256 else sign, 4)),
    Disguise("HTML entities of all", "encoded", _each(lambda sign: f"&#{ord(sign)};", 5)),
    Disguise("fullwidth", "encoded", _line_of(_wide)),
    Disguise("zero-width once", "unseen", _inside("\u200b")),
    Disguise("zero-width twice", "unseen", _inside("\u200d", "\ufeff")),
    Disguise("soft hyphen", "unseen", _inside("\u00ad")),
    Disguise("colours", "unseen", _inside("\x1b[1;31m", "\x1b[0m")),
    Disguise('"a" + "b"', "joined", _concatenated(" + "), _PLUS),
    Disguise('"a" + on the next line', "joined", _concatenated(" +\n      "), _PLUS),
    Disguise('"a" "b"', "joined", _concatenated(" "), _BESIDE),
    Disguise('"a" . "b"', "joined", _concatenated(" . "), ("PHP",)),
)
