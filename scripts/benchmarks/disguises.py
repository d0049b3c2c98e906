"""The ways in which a credential stands in a transcript: plain, quoted, escaped, wrapped, encoded."""

import json
from base64 import b64encode, encodebytes, urlsafe_b64encode
from collections.abc import Callable
from typing import Any

Disguise = Callable[[str], str]


def _twice(text: str) -> str:
    return json.dumps(json.dumps({"out": f"it is\n{text}\n"}))


def _halves(text: str) -> tuple[str, str]:
    middle = len(text) * 2 // 3
    return text[:middle], text[middle:]


def _between(before: str, joint: str, after: str) -> Disguise:
    return lambda text: joint.join(_halves(text)).join((before, after))


def _each(form: Callable[[int], str]) -> Disguise:
    return lambda text: "".join(form(ord(character)) for character in text)


def _wide(code: int) -> str:
    return chr(code + 0xFEE0) if 0x21 <= code <= 0x7E else chr(code)


def _encoded(encode: Callable[[bytes], Any], encoding: str = "utf-8") -> Disguise:
    def disguise(text: str) -> str:
        done = encode(text.encode(encoding))
        return str(done.decode() if isinstance(done, bytes) else done)

    return disguise


SURROUNDED: dict[str, Disguise] = {
    "prose": lambda text: f"The one to use is {text}, as it was. Not the other (see below).",
    "full stop": lambda text: f"It is {text}.",
    "parentheses": lambda text: f"use the new one ({text}) from now on",
    "markdown": lambda text: f"- **key**: `{text}`\n- other",
    "quoted": lambda text: f"run it with \"{text}\" or '{text}'",
    "in a URL": lambda text: f"https://api.example.org/v1/items?first=1&value={text}&last=2",
    "JSON": lambda text: json.dumps({"stdout": f"\n{text}\n", "code": 0}),
    "JSON twice": _twice,
    "a diff": lambda text: f"@@ -1 +1 @@\n-old\n+{text}\n",
    "a table": lambda text: f"│ name │ {text} │",
    "a listing": lambda text: f"     1→first\n     2→{text}\n     3→last",
}
"""It stands as it is, and something else around it."""

ENCODED: dict[str, Disguise] = {
    "wrapped": _between("it is ", "\n", " now"),
    "wrapped and indented": _between("it is ", "\n    ", ", yes"),
    "quoted-printable": _between("it is ", "=\n", " now"),
    "zero-width": lambda text: "\u200b".join(_halves(text)),
    "zero-width everywhere": "\u200d".join,
    "soft hyphen": lambda text: "\xad".join(_halves(text)),
    "bidi": lambda text: f"\u202a{text[:9]}\u202c{text[9:]}",
    "ANSI": lambda text: f"\x1b[1m{text[:7]}\x1b[0m\x1b[31m{text[7:]}\x1b[0m",
    "ANSI, escaped": lambda text: f"{text[:7]}\\u001b[31m{text[7:]}\\u001b[0m",
    "fullwidth": _each(_wide),
    "base64": _encoded(b64encode),
    "base64 of a line": lambda text: b64encode(f'{{"key": "{text}"}}\n'.encode()).decode(),
    "base64, for URLs": _encoded(urlsafe_b64encode),
    "base64, wrapped": lambda text: encodebytes(f"first line of some text\n{text}\nlast line".encode()).decode(),
    "base64 twice": lambda text: b64encode(b64encode(text.encode())).decode(),
    "base64 of UTF-16": _encoded(b64encode, "utf-16-le"),
    "hex": _encoded(bytes.hex),
    "hex, separated": _encoded(lambda data: data.hex(":")),
    "\\x": _each(lambda code: f"\\x{code:02x}"),
    "%": _each(lambda code: f"%{code:02X}"),
    "% twice": _each(lambda code: f"%25{code:02X}"),
    "\\u": _each(lambda code: f"\\u{code:04x}"),
    "\\u, escaped": _each(lambda code: f"\\\\u{code:04x}"),
    "&#": _each(lambda code: f"&#{code};"),
    "UTF-16": lambda text: "\0".join(text) + "\0",
    "+": _between('key = "', '" + "', '"'),
    "+ over lines": _between('key = "', '" +\n      "', '";'),
    ".": _between("$key = '", "' . '", "';"),
    "adjacent": _between('key = ("', '"\n       "', '")'),
    "continued": _between('echo "', '"\\\n  "', '"'),
    "+=": _between('key = "', '"\nkey += "', '"'),
    "+, escaped": lambda text: json.dumps('key = "{}" + "{}"'.format(*_halves(text))),
}
"""It has to be decoded or put together first."""

DISGUISES = SURROUNDED | ENCODED
