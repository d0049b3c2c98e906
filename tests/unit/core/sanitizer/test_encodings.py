"""A credential is found in every disguise, and nothing but it is replaced.

Fails when a decoder is taken out of `encodings.iter_decoded_layers`, or the folding or the invisible characters out of
`layers`.
"""

import json
import re
from base64 import b64encode, encodebytes
from urllib.parse import quote

import pytest

from lineage.core.sanitizer import MARKER, Sanitizer
from scripts.benchmarks.disguises import DISGUISES, SURROUNDED
from tests.support.parametrize import each
from tests.unit.core.sanitizer.material import KEY_BLOCK, NAMED, OWN, SECRETS, TOKEN


@each("disguise", DISGUISES.values(), ids=DISGUISES)
@each("secret", SECRETS.values(), ids=SECRETS)
def test_a_credential_is_found_in_every_disguise(secret: str, disguise: object) -> None:
    assert callable(disguise)
    text = f"Some words before it.\n{disguise(secret)}\nAnd some after it.\n"
    shown = Sanitizer().sanitize(text)
    assert shown.startswith("Some words before it.\n")
    assert shown.endswith("\nAnd some after it.\n")
    assert MARKER.search(shown)
    assert all(secret[start : start + 10] not in shown for start in range(0, len(secret) - 10, 5))
    assert Sanitizer().sanitize(shown) == shown


@each("disguise", SURROUNDED.values(), ids=SURROUNDED)
@each("secret", SECRETS.values(), ids=SECRETS)
def test_text_around_a_credential_stays_byte_for_byte(secret: str, disguise: object) -> None:
    assert callable(disguise)
    around = disguise("HERE").split("HERE")
    assert re.fullmatch(MARKER.pattern.join(map(re.escape, around)), Sanitizer().sanitize(disguise(secret)))


EXACT = {
    "percent": (f"a={quote(TOKEN)}&b=%41", "a=[REDACTED:probe-token]&b=%41"),
    "percent, whole": (f"?a={''.join(f'%{ord(c):02x}' for c in TOKEN)}%26b=1", "?a=[REDACTED:probe-token]%26b=1"),
    "escapes": (r"\tx\n" + TOKEN + r"\n\u00e9", r"\tx\n[REDACTED:probe-token]\n\u00e9"),
    "unicode escapes": (
        "é " + "".join(f"\\u{ord(c):04X}" for c in TOKEN) + r"\u0020é",
        r"é [REDACTED:probe-token]\u0020é",
    ),
    "braces": ("".join(f"\\u{{{ord(c):x}}}" for c in TOKEN), "[REDACTED:probe-token]"),
    "octal": ("".join(f"\\{ord(c):03o}" for c in TOKEN) + " x", "[REDACTED:probe-token] x"),
    "wide": ("".join(f"\\U{ord(c):08x}" for c in TOKEN), "[REDACTED:probe-token]"),
    "entities": (f"<b>{''.join(f'&#x{ord(c):x};' for c in TOKEN)}&lt;/b>", "<b>[REDACTED:probe-token]&lt;/b>"),
    "named entity": ("password&equals;&quot;q7Zp4vLk9sXw&quot;", "password&equals;&quot;[REDACTED:named-secret]&quot;"),
    "concatenation": (f'f("{TOKEN[:9]}" + "{TOKEN[9:]}", "b" + "c")', 'f("[REDACTED:probe-token]", "b" + "c")'),
    "three parts": (f"x = '{TOKEN[:9]}' + '{TOKEN[9:15]}' + '{TOKEN[15:]}';", "x = '[REDACTED:probe-token]';"),
    "a named secret in parts": ('password = "q7Zp4v" + "Lk9sXw"', 'password = "[REDACTED:named-secret]"'),
    "line end, escaped": (f"a {TOKEN[:18]}\\\n{TOKEN[18:]} b", "a [REDACTED:probe-token] b"),
    "line end, behind white space": (f"a {TOKEN[:18]} \t\n{TOKEN[18:]} b", "a [REDACTED:probe-token] b"),
    "listing": (f"     1→{TOKEN[:20]}\n     2→{TOKEN[20:]}\n", "     1→[REDACTED:probe-token]\n"),
    "zero-width around": (f"\u200b{TOKEN}\u200b é", "\u200b[REDACTED:probe-token]\u200b é"),
    "math": ("".join(chr(0x1D5EE + ord(c) - 97) if c.islower() else c for c in TOKEN) + ".", "[REDACTED:probe-token]."),
    "no-break space": (f"\u00a0{TOKEN}\u3000é", "\u00a0[REDACTED:probe-token]\u3000é"),
    "base64": (f"x: {b64encode(TOKEN.encode()).decode()} y", "x: [REDACTED:probe-token] y"),
    "base64 before a line that is no part of it": (
        f"{b64encode(f'my {TOKEN} ok'.encode()).decode()}\nAB",
        "[REDACTED:probe-token]\nAB",
    ),
    "base64 at the end of a path": (
        f"GET /ab/{b64encode(TOKEN.encode()).decode()} ok",
        "GET [REDACTED:probe-token] ok",
    ),
    "base64 within more": (
        f"data:text/plain;base64,{b64encode(f'a b c {TOKEN} d'.encode()).decode()}\n",
        "data:text/plain;base64,[REDACTED:probe-token]\n",
    ),
    "base64, half of it binary": (
        f"({b64encode(bytes(range(128, 250)) + f' {TOKEN} '.encode() + bytes(range(128, 250))).decode()})",
        "([REDACTED:probe-token])",
    ),
    "two in base64": (
        f"{b64encode(f'x {TOKEN}'.encode()).decode()} {b64encode(b'nothing at all in here').decode()}",
        f"[REDACTED:probe-token] {b64encode(b'nothing at all in here').decode()}",
    ),
    "hex dump": (f"<{TOKEN.encode().hex(' ')}>", "<[REDACTED:probe-token]>"),
    "hex literals": (", ".join(f"0x{ord(c):02X}" for c in TOKEN) + "};", "[REDACTED:probe-token]};"),
    "UTF-16 in base64": (b64encode(TOKEN.encode("utf-16")).decode(), "[REDACTED:probe-token]"),
    "UTF-16 with escaped zeros": ("\\u0000".join(TOKEN) + "!", "[REDACTED:probe-token]!"),
    "JSON in JSON in base64": (
        b64encode(json.dumps(json.dumps({"a": f"\n{TOKEN}"})).encode()).decode() + "\n",
        "[REDACTED:probe-token]\n",
    ),
}


@each(("text", "expected"), EXACT.values(), ids=EXACT)
def test_only_the_encoded_secret_is_replaced(text: str, expected: str) -> None:
    assert Sanitizer(OWN).sanitize(text) == expected


def test_base64_over_lines_is_replaced_as_one() -> None:
    mail = encodebytes(f"one line\n{TOKEN}\nanother line that goes on\n".encode()).decode()
    assert Sanitizer(OWN).sanitize(f"\n{mail}-- \n") == "\n[REDACTED:probe-token]\n-- \n"


def test_a_block_with_escaped_line_ends_is_one_secret() -> None:
    block = KEY_BLOCK
    assert Sanitizer(OWN).sanitize(json.dumps({"key": block})) == '{"key": "[REDACTED:probe-block]"}'
    assert Sanitizer(OWN).sanitize(json.dumps(json.dumps({"key": block}))) == r'"{\"key\": \"[REDACTED:probe-block]\"}"'


@each(
    "text",
    [
        "password: is a word\nq7Zp4vLk9sXw is another",
        "the\nquick brown fox\njumps",
        "name_of_it\nprobe_is a word",
        "lineage/core/sanitizer/encodings/and/other/paths",
        '["probe_", "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8"]',
        "%7B%22a%22%3A1%7D &amp; &#65; \\u0041 \\x41 " + "é" * 9,
        b64encode(b"there is nothing in here that is secret").decode(),
        "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    ],
)
def test_text_that_only_looks_encoded_stays(text: str) -> None:
    assert Sanitizer(OWN).sanitize(text) == text


def test_a_guess_crosses_a_line_end_only_inside_a_token() -> None:
    assert NAMED.guess
    assert Sanitizer(OWN).sanitize("secret = q7Zp4vLk\n9sXw2mBt6h") == "secret = [REDACTED:named-secret]"
    for text in ("secret = q7Zp4v\nnextName = 1", "secret = q7Zp4vLk\nand more words"):
        assert "\n" in Sanitizer(OWN).sanitize(text)
        assert Sanitizer(OWN).sanitize(text).split("\n")[1] == text.split("\n")[1]


@pytest.mark.parametrize("following", ["-KEY=old", " OTHER=1", "other: 2", "+KEY=zzz1", "key = 3"])
def test_an_assignment_on_the_next_line_is_no_part_of_a_token(following: str) -> None:
    token = "glpat-aB3dE5fG7hJ9kL1mN2pQ"
    assert Sanitizer().sanitize(f"+K={token}\n{following}\n") == f"+K=[REDACTED:gitlab-token]\n{following}\n"
