"""What is asked is what the schema says, or told what is wrong with it."""

from typing import Annotated, Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from lineage.app.request_model import OneOf, RequestModel, build_request_model, check_request
from lineage.errors import InvalidInput
from tests.support.parametrize import each


class Asked(RequestModel):
    text: str
    n: Annotated[int, Field(ge=0, le=9, description="A digit.")]
    flag: bool = False
    tags: Annotated[list[str], Field(max_length=2)] = Field(default=[])
    sort: Annotated[str, OneOf(("a", "b"))] = "a"
    maybe: str | None = None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
SOME = st.dictionaries(st.sampled_from([*Asked.model_fields, "other"]), JSON)


def find_problem(values: Any) -> str | None:
    try:
        check_request(Asked, values)
    except InvalidInput as error:
        assert error.hint
        return error.message
    return None


@each(
    ("more", "said"),
    [
        ({}, None),
        ({"flag": True, "tags": ["a"], "sort": "b", "maybe": None}, None),
        ({"text": 1}, "text: input should be a valid string"),
        ({"n": True}, "n: input should be a valid integer"),
        ({"n": 1.5}, "n: input should be a valid integer"),
        ({"n": 10}, "n: input should be less than or equal to 9"),
        ({"flag": 1}, "flag: input should be a valid boolean"),
        ({"tags": ["a", 1]}, "tags.1: input should be a valid string"),
        ({"tags": ["a", "b", "c"]}, "tags: list should have at most 2 items after validation, not 3"),
        ({"sort": "c"}, "sort: input should be 'a' or 'b'"),
        ({"maybe": 3}, "maybe: input should be a valid string"),
        ({"txt": ""}, "unknown parameter 'txt'"),
    ],
)
def test_the_first_thing_that_is_wrong_is_said(more: dict[str, Any], said: str | None) -> None:
    assert find_problem({"text": "", "n": 0, **more}) == said


def test_what_is_missing_is_named() -> None:
    assert find_problem({"n": 1}) == "text is missing"
    assert "dictionary" in (find_problem([]) or "")


@given(JSON | SOME | SOME.map(lambda more: {"text": "", "n": 1, **more}))
def test_what_the_schema_forbids_is_refused_and_what_it_allows_is_taken(values: Any) -> None:
    allowed = jsonschema.Draft202012Validator(Asked.model_json_schema()).is_valid(values)
    is_float = isinstance(values, dict) and isinstance(values.get("n"), float)  # 1.0 is an integer to JSON Schema
    assert is_float or (find_problem(values) is None) == allowed


def test_text_of_an_address_is_read_and_half_characters_are_replaced() -> None:
    asked = check_request(Asked, {"text": "a\ud800", "n": "7", "flag": "true"}, is_text=True)
    assert (asked.text, asked.n, asked.flag) == ("a\ufffd", 7, True)


def test_the_parameters_of_a_function_are_what_it_is_asked() -> None:
    def read(ws: int, *, first: Annotated[int, Field(ge=1)] = 1, last: int) -> None: ...

    assert list(build_request_model(read).model_fields) == ["first", "last"]
    assert check_request(build_request_model(read), {"last": 5}).model_dump() == {"first": 1, "last": 5}
