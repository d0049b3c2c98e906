"""Parsing JSON with comments: accepted forms, and refusals that name file and line."""

import json
from typing import Any

import pytest
from hypothesis import given

from lineage.errors import InvalidInput
from lineage.installing.jsonc import parse_jsonc
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
