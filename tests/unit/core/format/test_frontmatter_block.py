"""The block as lineage writes it: read at once, and exactly where each line is one key and its value."""

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.frontmatter import dump_block, parse_own_block

_LINE = re.compile(r"([a-z_][a-z0-9_]*): (.+)")
LINES = (
    "a: 1", 'a: "x"', 'b: "x, "a": 1', 'c: [1, "b": 2]', "c: [1", "d: 2]", 'a: 1, "b": 2', "b: 3", 'e: {"a":1}',
    'f: [{"a":1}]', "f: [{}]", "g: null", "h: true \r", "i: 1.5", "j: NaN", "k: -Infinity", "l:  1", 'm: "\\ud800"',
    "", 'n: "a\\nb"', "A: 1", 'o: "x', 'p: y"', "q: 10000000000000000000000", 'a: "b: c"', 'r: "x", "s": "y"', "_: 1",
    "é: 1", 't: "\u2028"', "a : 1", 'u: ["x", 1, null]', "v: [[1]]",
)  # fmt: skip


def line_by_line(block: str) -> dict[str, Any] | None:
    """What the lines say, each looked at alone; None where one isn't of the form that is written."""
    meta: dict[str, Any] = {}
    for line in block.split("\n"):
        match = _LINE.fullmatch(line)
        if match is None or match[1] in meta or match[2][0] not in '"[0123456789ntf-':
            return None
        try:
            meta[match[1]] = json.loads(match[2])
        except ValueError:
            return None
    return meta if all(map(_is_plain, meta.values())) else None


def _is_plain(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return all(
        item is None
        or (isinstance(item, int) and abs(item) < 10**18)
        or (isinstance(item, str) and not re.search("[\ud800-\udfff]", item))
        for item in items
    )


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=4).map("\n".join), st.sampled_from(("", "\n")))
def test_lines_are_read_together_as_they_are_read_alone(block: str, end: str) -> None:
    assert repr(parse_own_block(block + end)) == repr(line_by_line((block + end).removesuffix("\n")))


@given(st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True), st.text() | st.none() | st.booleans()))
def test_what_is_written_is_read_as_our_own(meta: dict[str, Any]) -> None:
    written = {key: value for key, value in meta.items() if not isinstance(value, str) or value.isprintable()}
    assert parse_own_block(dump_block(written)) == (written or None)
