"""The YAML that a person may write in a frontmatter: plain values and lists, nothing that acts or surprises."""

import pytest

from lineage.core.format.frontmatter import parse_yaml
from lineage.errors import FormatError
from tests.support.parametrize import each


@each(
    "text", ["no", "yes", "on", "True", "NULL", "12:30:45", "2026-03-28", "2026-03-28T22:34:06Z", "1_000", "1.5",
             "0x1f", "007", "1e3", ".inf", "<<", "1" * 19, "@x", "a b"]
)  # fmt: skip
def test_what_only_looks_like_another_type_stays_text(text: str) -> None:
    block = f"key: {text}\nlist: [{text}]" if text != "@x" else "key: '@x'\nlist: ['@x']"
    assert parse_yaml(block) == {"key": text, "list": [text]}


@pytest.mark.parametrize(("text", "value"), [("~", None), ("null", None), ("", None), ("true", True), ("-12", -12)])
def test_null_true_and_whole_numbers_are_known(text: str, value: object) -> None:
    read_value = parse_yaml(f"key: {text}")["key"]
    assert read_value == value
    assert type(read_value) is type(value)


@each("style", ["'{}'", '"{}"', "|-\n  {}", ">-\n  {}"])
@each("text", ["~", "true", "12", "null"])
def test_a_quoted_value_is_text(style: str, text: str) -> None:
    assert parse_yaml("key: " + style.format(text)) == {"key": text}


def test_lists_of_both_styles_are_lists() -> None:
    assert parse_yaml("a: [x, 1, ~]\nb:\n  - y\n  - no\nc: []") == {
        "a": ["x", 1, None],
        "b": ["y", "no"],
        "c": [],
    }


def test_an_empty_block_holds_nothing() -> None:
    assert parse_yaml("") == {}


LAUGHS = "a: &a [x]\nb: &b [*a, *a]\nc: [*b, *b]"
NESTED = "key: " + "[" * 9 + "]" * 9


@each(
    ("block", "why"),
    [
        ("key: !!python/object/apply:os.system [ls]", "tag"),
        ("key: !!str 5", "tag"),
        ("key: !x y", "tag"),
        ("key: ! y", "tag"),
        ("!!map {a: b}", "tag"),
        ("key: &a x", "anchor"),
        ("key: *a", "anchor"),
        (LAUGHS, "anchor"),
        ("key: 1\nother: 2\nkey: 3", "twice"),
        ('key: 1\n"key": 3', "twice"),
        (NESTED, "nested too deeply"),
        ("key: " + "[" * 5000, "nested too deeply"),
        ("key: " + "{a: " * 5000, "nested too deeply"),
        ("key: [[x]]", "neither"),
        ("key: {a: b}", "neither"),
        ("? [a]\n: b", "not plain text"),
        ("- a\n- b", "not a mapping"),
        ("text", "not a mapping"),
        ("key: [a", "not valid YAML"),
        ("key: 'a", "not valid YAML"),
        ("key: @x", "not valid YAML"),
        ("key: a\n--- \nkey: b", "not valid YAML"),
        ("key: \x00", "not valid YAML"),
        ("key: \ud800", "not valid YAML"),
        ('key: "\\ud800"', "not valid YAML"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else None,
)
def test_what_acts_multiplies_or_hides_is_refused(block: str, why: str) -> None:
    with pytest.raises(FormatError, match=why):
        parse_yaml(block)
