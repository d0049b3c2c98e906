"""The request of another program as a pydantic model: checked on the way in, told as JSON Schema.

The page, its API and the MCP server import it; no command does, for it takes 50 ms.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from inspect import Parameter, signature
from typing import Any, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, ValidationError, create_model, model_validator
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import CoreSchema, ErrorDetails, core_schema

from lineage.core.format.body import replace_surrogates
from lineage.errors import InvalidInput

NOT_BLANK = r"\S"
"""The pattern of a text that has to say something."""


class RequestModel(BaseModel):
    """The values of one request; without fields of its own it takes none. Texts come as valid Unicode."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _replace_surrogates(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        return {name: replace_surrogates(value) if isinstance(value, str) else value for name, value in values.items()}


Model = TypeVar("Model", bound=RequestModel)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some texts that are known only when the program runs. For `Annotated`."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, _: Any, __: GetCoreSchemaHandler) -> CoreSchema:
        """Return the schema that pydantic checks by."""
        return core_schema.literal_schema(list(self.names))


class PlainSchema(GenerateJsonSchema):
    """JSON Schema without a title at each field; answers have exactly the fields that are told."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False: the name says it."""
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        """Return whether a field is always there: in an answer each is."""
        return self.mode == "serialization" or super().field_is_required(field, total)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        """Return the schema of a field with a default; null stands for none, and is not told."""
        told = super().default_schema(schema)
        return {key: value for key, value in told.items() if key != "default" or value is not None}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> dict[str, Any]:
        """Return the schema of a dataclass."""
        return super().dataclass_schema(schema) | {"additionalProperties": False}

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> dict[str, Any]:
        """Return the schema of a typed dictionary."""
        return super().typed_dict_schema(schema) | {"additionalProperties": False}


@cache
def build_request_model(function: Callable[..., Any]) -> type[RequestModel]:
    """Return the model of a function's keyword-only parameters: their types, `Annotated` and all, and defaults.

    >>> def read(*, first: int = 1) -> None: ...
    >>> build_request_model(read)().model_dump()
    {'first': 1}
    """
    types = get_type_hints(function, include_extras=True)
    named = (one for one in signature(function).parameters.values() if one.kind is Parameter.KEYWORD_ONLY)
    fields: dict[str, Any] = {
        one.name: (types[one.name], ... if one.default is Parameter.empty else one.default) for one in named
    }
    return create_model(function.__name__, __base__=RequestModel, **fields)


def check_request(model: type[Model], values: Any, *, is_text: bool = False) -> Model:
    """Return the values as their model. `is_text`: all came as text, of an address or a form.

    Raises InvalidInput with the first problem.

    >>> class Asked(RequestModel):
    ...     limit: int = 10
    >>> check_request(Asked, {"limit": "5"}, is_text=True).limit
    5
    """
    try:
        return model.model_validate(values, strict=not is_text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise _describe_problem(model, problem) from None


def _describe_problem(model: type[RequestModel], problem: ErrorDetails) -> InvalidInput:
    name, *more = map(str, problem["loc"] or ("",))
    # Behind a field stand the places in it, and names that pydantic gives to its types.
    where = ".".join((name[:60], *(part for part in more if part.isdigit())))
    field = model.model_fields.get(name)
    if problem["type"] == "extra_forbidden":
        near = get_close_matches(where, model.model_fields, 1)
        names = ", ".join(field.alias or name for name, field in model.model_fields.items()) or "nothing"
        return InvalidInput(
            f"unknown parameter {where!r}", hint=f"did you mean {near[0]}?" if near else f"it takes: {names}"
        )
    hint = field.description if field and field.description else "what it takes is told with its description"
    if problem["type"] == "missing":
        return InvalidInput(f"{where} is missing", hint=hint)
    if problem["type"] == "string_pattern_mismatch":
        is_empty = field is not None and any(getattr(one, "pattern", "") == NOT_BLANK for one in field.metadata)
        return InvalidInput(f"{where} {'is empty' if is_empty else 'has another form'}", hint=hint)
    said = problem["msg"][:1].lower() + problem["msg"][1:]
    if said.startswith("value should have at most"):  # of a text that may be null pydantic counts "items"
        said = said.replace("items after validation", "characters")
    return InvalidInput(f"{where}: {said}" if where else said, hint=hint)
