"""What tools take: any value is taken or refused with a hint, and what a client is told is what is checked."""

from typing import Any

import jsonschema
from hypothesis import given
from hypothesis import strategies as st

from lineage.app.request_model import check_request
from lineage.errors import InvalidInput
from lineage.mcp.tools import TOOLS, Tool

_NAMES = sorted({name for tool in TOOLS for name in tool.asks.model_fields})
_VALUES = st.sampled_from(
    ["list", "show", "add", "note", "", " ", "x" * 81, "x" * 4_001, 0, 1, 51, True, 1.5, ["a"], [1], {}]
)


@given(st.sampled_from(TOOLS), st.dictionaries(st.sampled_from([*_NAMES, "agent"]), _VALUES))
def test_what_a_client_is_told_is_what_is_checked(tool: Tool, given: dict[str, Any]) -> None:
    try:
        check_request(tool.asks, given)
    except InvalidInput as error:
        assert error.hint
        assert not jsonschema.Draft202012Validator(tool.schema).is_valid(given)
    else:
        jsonschema.Draft202012Validator(tool.schema).validate(given)


def test_a_schema_holds_only_what_json_schema_knows() -> None:
    for tool in TOOLS:
        jsonschema.Draft202012Validator.check_schema(tool.schema)
        for parameter in tool.schema["properties"].values():
            known = {"type", "description", "default", "enum", "items", "pattern", "maxLength", "maxItems"}
            assert not set(parameter) - known - {"minimum", "maximum"}
            assert {"type", "description"} <= set(parameter)
