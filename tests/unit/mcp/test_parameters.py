"""What tools take: schema and check say the same."""

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import InvalidInput
from lineage.mcp.parameters import NUMBER, TEXTS, ToolParameter, build_schema, parse_arguments
from lineage.mcp.tools import TOOLS

PARAMETERS = (
    ToolParameter("text", "A text.", required=True, maximum=5),
    ToolParameter("choice", "One of two.", choices=("a", "b"), default="a"),
    ToolParameter("number", "A number.", kind=NUMBER, minimum=1, maximum=9),
    ToolParameter("texts", "Texts.", kind=TEXTS, maximum=3),
)
_VALUES = st.sampled_from(["a", "b", "", " ", "abc", "abcdef", 0, 1, 9, 10, True, 1.5, [], ["abc"], ["abcd"], [1], {}])


def is_taken(given: dict[str, Any]) -> bool:
    try:
        parse_arguments(PARAMETERS, given)
    except InvalidInput as error:
        assert error.hint
        return False
    return True


@given(st.dictionaries(st.sampled_from(["text", "choice", "number", "texts", "agent"]), _VALUES))
def test_what_the_schema_forbids_is_refused_and_what_it_allows_is_taken(given: dict[str, Any]) -> None:
    allowed = jsonschema.Draft202012Validator(build_schema(PARAMETERS)).is_valid(given)
    is_blank = isinstance(given.get("text"), str) and not given["text"].strip()
    assert is_taken(given) == (allowed and not is_blank)


@given(st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.text(), st.lists, max_leaves=5), max_size=4))
def test_anything_is_taken_or_refused(given: dict[str, Any]) -> None:
    for tool in TOOLS:
        try:
            arguments = parse_arguments(tool.parameters, given)
        except InvalidInput:
            continue
        assert list(arguments) == [parameter.name for parameter in tool.parameters]


def test_what_is_not_given_is_the_default() -> None:
    assert parse_arguments(PARAMETERS, {"text": "x", "number": None}) == {
        "text": "x", "choice": "a", "number": None, "texts": (),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "text has to be given"),
        ({"text": "x", "choice": "c"}, "choice has to be one of a, b"),
        ({"text": "x", "number": 10}, "number has to be a whole number from 1 to 9"),
        ({"text": "x", "agent": "bob"}, "no such parameter: 'agent'"),
    ],
)
def test_a_refusal_says_what_is_wrong(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        parse_arguments(PARAMETERS, given)
