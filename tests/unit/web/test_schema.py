"""Bodies are what the document says, or told what is wrong with them."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lineage.web.schema import BOOLEAN, COUNTS, INTEGER, NUMBER, TEXT, find_problem, list_of, nullable, one_of, record
from tests.support.parametrize import each

BODY = record(
    {"text": TEXT, "n": INTEGER},
    {
        "flag": BOOLEAN,
        "tags": {**list_of(TEXT), "maxItems": 2},
        "sort": one_of("a", "b"),
        "maybe": nullable(TEXT),
        "c": COUNTS,
    },
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@each(
    ("more", "said"),
    [
        ({}, None),
        ({"flag": True, "tags": ["a"], "sort": "b", "maybe": None, "c": {"x": 1}}, None),
        ({"text": 1}, "text is not a string"),
        ({"n": True}, "n is not an integer"),
        ({"n": 1.5}, "n is not an integer"),
        ({"flag": 1}, "flag is not a boolean"),
        ({"tags": ["a", 1]}, "item 2 of tags is not a string"),
        ({"tags": ["a", "b", "c"]}, "tags has more than 2 items"),
        ({"sort": "c"}, "sort is not one of a, b"),
        ({"maybe": 3}, "maybe is not a string"),
        ({"c": {"x": "1"}}, "x is not an integer"),
        ({"txt": ""}, "unknown key 'txt': did you mean 'text'?"),
    ],
)
def test_the_first_thing_that_is_wrong_is_said(more: dict[str, Any], said: str | None) -> None:
    assert find_problem({"text": "", "n": 0, **more}, BODY) == said


def test_what_is_missing_is_named() -> None:
    assert find_problem({"n": 1}, BODY) == "text is missing"
    assert find_problem([], BODY) == "the body is not an object"
    assert find_problem(2, NUMBER) is None


@given(JSON)
def test_any_value_is_judged(value: Any) -> None:
    said = find_problem(value, BODY)
    assert said is None or (said and "\n" not in said[:20])
    assert find_problem(value, {}) is None
