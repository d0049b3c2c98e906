"""A secret that a width, a margin or a dump cuts is masked in all its rows, and rows that only look cut stay.

Fails when rows are joined with their margins, when a dump's hex column is not read, or when unrelated lines are joined.
"""

import pytest

from lineage.core.sanitizer import MARKER, Sanitizer
from lineage.core.sanitizer.encodings import concatenate_literals
from lineage.core.sanitizer.layers import SEPARATOR, Layer
from lineage.core.sanitizer.wrapped import decode_dumps, find_row_cut, join_rows
from tests.support.parametrize import each
from tests.unit.core.sanitizer.material import OWN, SECRETS, TOKEN

WIDTH = 66
MARGINS = {
    "none": lambda _number, row: row,
    "indented": lambda _number, row: f"    {row}",
    "box": lambda _number, row: f"│ {row:{WIDTH}} │",
    "quotation": lambda _number, row: f"> {row}",
    "quotation twice": lambda _number, row: f"> > {row}",
    "service": lambda _number, row: f"api-1  | {row}",
    "line numbers": lambda number, row: f"{number:6}→{row}",
    "time stamps": lambda number, row: f"2026-03-04T05:06:{number:02}.{number * 37:03}Z {row}",
    "hash": lambda _number, row: f"# {row}",
    "slashes": lambda _number, row: f"// {row}",
}


def wrap(line: str, margin: str) -> str:
    rows = [line[start : start + WIDTH] for start in range(0, len(line), WIDTH)]
    return "\n".join(MARGINS[margin](number, row) for number, row in enumerate(rows, 9))


@each("margin", MARGINS, ids=list(MARGINS))
@each("secret", SECRETS.values(), ids=SECRETS)
def test_a_credential_in_rows_is_masked_in_all_of_them(secret: str, margin: str) -> None:
    for kept in (12, len(secret) // 2):  # characters in the first row
        before = "some words before it so that its row is full, then comes: item="
        text = wrap(f"{before[-(WIDTH - kept) :]:>{WIDTH - kept}}".replace("  ", "a ") + secret + " and more", margin)
        shown = Sanitizer().sanitize(text)
        assert MARKER.search(shown)
        left = MARKER.sub("", shown)
        assert all(secret[start : start + 6] not in left for start in range(0, len(secret) - 6, 3)), shown
        assert Sanitizer().sanitize(shown) == shown


@pytest.mark.slow
@each("margin", MARGINS, ids=list(MARGINS))
def test_rows_in_a_stream_are_those_of_the_whole(margin: str) -> None:
    line = f"some words before it so that its row is full: item={SECRETS['jwt']} and more"
    text = "\n".join(wrap("-" * length + line, margin) for length in range(1, 60)) + "\n"
    shown = Sanitizer().sanitize(text)
    assert len(MARKER.findall(shown)) == 59
    for block in (3000, 3100, 3200):
        assert "".join(Sanitizer().sanitize_stream([text], block_chars=block, overlap_chars=1500)) == shown


def test_three_rows_without_a_margin_are_one_secret() -> None:
    text = f"{'the word before it':.>51} probe_Ab1Cd2Ef\n{'Gh3' * 15}\nZz9 is the end"
    assert Sanitizer(OWN).sanitize(text) == f"{'the word before it':.>51} [REDACTED:probe-token] is the end"


@each(
    ("first", "second", "rest"),
    [
        ('the long line of this file says that the password = "q7Zp4v', "Lk-sXw", '" and more'),
        ("the long line of this file says that the password = q7Zp4vLk", "9sXw2mBt", " and more"),
        ("the long line of this file says that the password = q7Zp4vLk9sXw", "hkpwU", ""),
        ("in found it ni export SESSION_SECRET=d4D4szoaURPBGLtyf3imRjPlnaeligwLW", "hkphweU", ""),
        ('it night so first it it run lo OKTA_API_TOKEN = "00-AHt56WX7aPLB', "3kwE4R4egOCaVE2ZmS8DPL2ERe6", '"'),
    ],
)
def test_a_named_value_goes_on_in_the_next_row(first: str, second: str, rest: str) -> None:
    shown = Sanitizer().sanitize(f"> {first}\n> {second}{rest}")
    assert shown.endswith(f"]{rest}")
    assert MARKER.search(shown)
    assert second not in shown


@pytest.mark.parametrize(
    "following",
    [
        "and then it goes on", "2026-03-04T05:06:07Z next", "05:06:07 next", "OTHER_KEY_2=1", "other: 2", "#next",
        " indented", "", "done.", "the password is none",
    ],
)  # fmt: skip
def test_a_line_behind_a_full_one_stays(following: str) -> None:
    for margin in ("", "> ", "# "):
        first = f"{margin}the long line of this file says that password = q7Zp4vLk9sXw2mBt"
        shown = Sanitizer().sanitize(f"{first}\n{margin}{following}\n")
        assert shown.startswith(first[:-16] + "[REDACTED:")
        assert shown.endswith(f"]\n{margin}{following}\n"), shown


LEFT = "the long line of this file says that the password = q7Zp4vLk9sXw"
APART = {
    "short rows": (LEFT[-20:], "2mBt7dPy"),
    "rows too long": (LEFT.rjust(300, "."), "2mBt7dPy"),
    "a longer row": (LEFT, f"2mBt7dPy {'and so on ' * 7}"),
    "longer within the margins": (f"    > {LEFT}", f"> 2mBt7dPy {'and so on ' * 5}."),
    "other margins": (f"> {LEFT}", "# 2mBt7dPy"),
    "other services": (f"api-1  | {LEFT}", "db-1  | 2mBt7dPy"),
    "other numbers": (f"12: {LEFT}", "14: 2mBt7dPy"),
    "a number and a time": (f"12: {LEFT}", "2026-03-04T05:06:07Z 2mBt7dPy"),
    "a space at the end": (f"{LEFT} ", "2mBt7dPy"),
    "an indented row": (f"> {LEFT}", ">   2mBt7dPy"),
    "a path": (LEFT, "/var/lib/gems/2.3.0/x.rb"),
    "one listing": (f"2mBt {LEFT}", "2mBt7dPy"),
}


@each(("left", "right"), APART.values(), ids=APART)
def test_lines_that_are_no_rows_of_one_are_apart(left: str, right: str) -> None:
    assert find_row_cut(left, right) is None


def test_a_border_is_one_only_with_its_margin() -> None:
    assert find_row_cut(f"| {LEFT} |", "| 2mBt7dPy |") == (len(LEFT) + 2, 2)
    assert find_row_cut(f"{LEFT} |", "2mBt7dPy |") == (len(LEFT) + 2, 0)


def test_words_are_not_worth_a_reading() -> None:
    assert join_rows(Layer(HARMLESS["prose"])) is None
    assert join_rows(Layer(f"{LEFT}\n2mBt7dPy"))


@each("margin", ["none", "box", "quotation", "hash"])
def test_values_with_signs_in_a_stream_are_those_of_the_whole(margin: str) -> None:
    line = 'some words before it so that its row is full: password = "q7$Zp!4v,Lk&9sX+w2;mB#t" and more'
    text = "\n".join(wrap("-" * length + line, margin) for length in range(1, 12)) + "\n"
    shown = Sanitizer().sanitize(text)
    for block in range(600, 700, 7):
        assert "".join(Sanitizer().sanitize_stream([text], block_chars=block, overlap_chars=300)) == shown


HARMLESS = {
    "prose": "> the run of last night was slower than usual, so we looked at\n> what it does first and found nothing",
    "paths": "# the files are below lineage/core/sanitizer/encodings/and/other\n# /paths/too and so on, see token.py",
    "log": "api-1  | GET /v1/items?first=1&last=2 200 with the token of app\napi-1  | GET /v1/items 200 9ms",
    "an answer": "Error: Access denied for user 'redmine'@'localhost' (using password: YES)\nx2Y/lib/gems/client.rb:90",
    "commits": "49c1b35 HEAD@{3}: checkout: moving from rotate-tokens to main\n1f2e3d4 HEAD@{4}: commit: all",
    "stack": "    at run (file:///home/mira/src/password.test.js:10:52)\n    Test.runInAsyncScope (node:a:2)",
    "a dump": "00000000: 7468 6572 6520 6973 206e 6f74 6869 6e67  there is nothing\n00000010: 2068 6572 65  here",
}


@each("text", HARMLESS.values(), ids=HARMLESS)
def test_harmless_rows_stay(text: str) -> None:
    assert Sanitizer().sanitize(text) == text


def dump(text: str, form: str) -> str:
    rows = []
    for start in range(0, len(text), 16):
        part = text[start : start + 16].encode()
        if form == "xxd":
            rows.append(f"{start:08x}: {part.hex(' ', -2):39}  {part.decode()}")
        elif form.startswith("od"):
            rows.append(f"{start:06x} {part.hex(' ')}" + (f"  >{part.decode()}<" if form.endswith("z") else ""))
        else:
            rows.append(f"{start:08x}  {part[:8].hex(' ')}  {part[8:].hex(' '):24} |{part.decode()}|")
    return "\n".join(rows)


@each("form", ["xxd", "hexdump -C", "od -A x -t x1", "od -A x -t x1z"])
def test_the_rows_of_a_dump_that_hold_a_secret_are_masked(form: str) -> None:
    before, after = "nothing of note " * 2, " and then no more of it" * 2
    text = dump(f"{before}{TOKEN}{after}", form)
    rows = text.split("\n")
    hidden = range(len(before) // 16, (len(before) + len(TOKEN) - 1) // 16 + 1)
    expected = [*rows[: hidden.start], "[REDACTED:probe-token]", *rows[hidden.stop :]]
    assert Sanitizer(OWN).sanitize(text).split("\n") == expected


def test_dumps_that_stand_apart_are_read_apart() -> None:
    read = decode_dumps(
        Layer("00000000: 6b65 793d 31  key=1\nnot a row\n00000010: 320a 1e0a 33  2...3\n00000020: 123 456")
    )
    assert read
    assert read.text == f"key=1{SEPARATOR}2\n \n3"


@each("literals", ['"q7Zp4v$" + "Lk9s"', '"q7Zp4v" + "$Lk9s"', '"q7Zp4v)"\n    ";Lk9s"'])
def test_literals_of_any_signs_are_joined(literals: str) -> None:
    joined = concatenate_literals(Layer(f"p = {literals}"))
    assert joined
    assert joined.text.count('"') == 2


@each("literals", ['"" + "Lk9s"', '"q7Zp4v" + ""', '"q7Zp4v " + "Lk9s"', '"q7Zp4v", "Lk9s"', '"q7Zp4v"\', 1]'])
def test_literals_with_an_end_between_them_are_apart(literals: str) -> None:
    assert concatenate_literals(Layer(f"p = {literals}")) is None


def test_signs_with_markdown_escapes_are_read() -> None:
    escaped = TOKEN.replace("_", r"\_")
    assert Sanitizer(OWN).sanitize(rf"| a\|b | {escaped} | \*") == r"| a\|b | [REDACTED:probe-token] | \*"
