"""Parsing JSON with comments: accepted forms, and refusals that name file and line."""

import json
from typing import Any

import pytest
from hypothesis import given

from lineage.errors import InvalidInput
from lineage.installing.jsonc import insert_item, parse_jsonc, remove_item
from tests.support.parametrize import each
from tests.unit.installing.generated import scattered, settings


def to_plain(text: str) -> Any:
    root = parse_jsonc(text, "settings.json").root
    return root.to_python() if root else None


@given(value=settings())
def test_json_reads_as_python_reads_it(value: Any) -> None:
    assert to_plain(json.dumps(value)) == value


@given(text=scattered({"a": [1, {"b": "// no comment"}], "c": None}, comments=True))
def test_comments_and_trailing_commas_change_nothing(text: str) -> None:
    assert to_plain(text) == {"a": [1, {"b": "// no comment"}], "c": None}


def test_the_last_of_a_repeated_key_counts() -> None:
    root = parse_jsonc('{"a": 1, "a": 2}', "settings.json").root
    assert root is not None and root.to_python() == {"a": 2}
    assert root.get_member("a") == root.items[1].value


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "// nothing\n"])
def test_a_file_may_hold_no_value(text: str) -> None:
    assert to_plain(text) is None


JSON5 = r"""{
  // as OpenClaw's own documentation writes it
  unquoted: 'single "q" \' \x41 \v', $a1: .5, "b": +0x1F, größe: -Infinity,
  lines: 'one \
two', list: [1., -2e3,],
}"""


def test_the_settings_of_a_harness_that_reads_json5_may_be_that() -> None:
    document = parse_jsonc(JSON5, "/home/ada/.openclaw/openclaw.json")
    assert document.root is not None
    assert document.root.to_python() == {
        "unquoted": 'single "q" \' A \x0b', "$a1": 0.5, "b": 31, "größe": float("-inf"), "lines": "one two",
        "list": [1.0, -2000.0],
    }  # fmt: skip
    text, _ = insert_item(document, document.root, {"c": 1}, "mine")
    grown = parse_jsonc(text, "openclaw.json")
    assert grown.root is not None and grown.root.to_python()["mine"] == {"c": 1}
    assert remove_item(grown, grown.root, len(grown.root.items) - 1) == JSON5


@pytest.mark.parametrize(
    "text", ["{a: tru}", "{a-b: 1}", "[010]", "{'a\nb': 1}", "['\\u12']", "['\\xg0']", "{'a': 1} 'b'"]
)
def test_what_is_no_json5_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^openclaw\.json:\d+: "):
        parse_jsonc(text, "openclaw.json")


BROKEN = {
    "unclosed object": ('{\n "a": 1\n', 3),
    "unclosed string": ('{\n "a": "b\n}', 2),
    "line end in a string": ('{"a": "b\\\nc"}', 1),
    "missing comma": ('{\n "a": 1\n "b": 2}', 3),
    "missing colon": ('{\n\n "a" 1}', 3),
    "missing value": ('{"a": }', 1),
    "doubled comma": ("[1,\n,2]", 2),
    "leading comma": ("[,1]", 1),
    "key without quotes": ("{a: 1}", 1),
    "number as a key": ("{1: 1}", 1),
    "single quotes": ("{'a': 1}", 1),
    "half a word": ('{"a": tru}', 1),
    "wrong bracket": ('{"a": [1}', 1),
    "unclosed comment": ("{} /* to be\ncontinued", 1),
    "two values": ("{}\n{}", 2),
    "bad escape": ('["\\x"]', 1),
    "a mark inside": ('{"a":\n\ufeff1}', 2),
    "deep": ("[" * 101 + "]" * 101, 1),
    "a slash": ('{"a": 1} /', 1),
}


@each("case", BROKEN)
def test_what_is_broken_is_refused_by_file_and_line(case: str) -> None:
    text, line = BROKEN[case]
    with pytest.raises(InvalidInput, match=rf"^settings\.json:{line}: ") as caught:
        parse_jsonc(text, "settings.json")
    assert "nothing was changed" in caught.value.hint
