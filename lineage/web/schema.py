"""The part of JSON Schema this API needs: bodies are checked against it, the OpenAPI document shows it."""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
INTEGER: Schema = {"type": "integer"}
NUMBER: Schema = {"type": "number"}
BOOLEAN: Schema = {"type": "boolean"}
COUNTS: Schema = {"type": "object", "additionalProperties": {"type": "integer"}}
ANYTHING: Schema = {}

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "array": (list, tuple),
    "object": (dict,), "null": (type(None),),
}  # fmt: skip


def record(required: Mapping[str, Schema], optional: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def list_of(item: Schema) -> Schema:
    """Return the schema of a list of these items."""
    return {"type": "array", "items": item}


def nullable(schema: Schema) -> Schema:
    """Return the schema of a value or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def one_of(*names: str) -> Schema:
    """Return the schema of one of these texts."""
    return {"type": "string", "enum": list(names)}


def find_problem(value: Any, schema: Schema, where: str = "the body") -> str | None:
    """Return the first problem of a value, None if it matches the schema.

    >>> find_problem({"text": 1}, record({"text": TEXT}))
    'text is not a string'
    """
    return next(_find_problems(value, schema, where), None)


def _find_problems(value: Any, schema: Schema, where: str) -> Iterator[str]:
    if "anyOf" in schema:
        problems = [find_problem(value, option, where) for option in schema["anyOf"]]
        yield from () if None in problems else (problems[0] or "",)
    elif "type" in schema and not _is_type(value, schema["type"]):
        yield f"{where} is not {'an' if schema['type'][0] in 'aio' else 'a'} {schema['type']}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where} is not one of {', '.join(schema['enum'])}"
    elif "maxItems" in schema and len(value) > schema["maxItems"]:
        yield f"{where} has more than {schema['maxItems']} items"
    elif isinstance(value, dict):
        yield from _find_object_problems(value, schema)
    elif isinstance(value, list | tuple) and "items" in schema:
        for number, item in enumerate(value, 1):
            yield from _find_problems(item, schema["items"], f"item {number} of {where}")


def _is_type(value: Any, name: str) -> bool:
    # True is an int to Python, and no integer to JSON
    return isinstance(value, _TYPES[name]) and (isinstance(value, bool) == (name == "boolean"))


def _find_object_problems(value: Mapping[str, Any], schema: Schema) -> Iterator[str]:
    known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    yield from (f"{key} is missing" for key in schema.get("required", ()) if key not in value)
    for key, item in value.items():
        if key in known:
            yield from _find_problems(item, known[key], key)
        elif isinstance(others, Mapping):
            yield from _find_problems(item, others, key)
        elif others is False:
            near = get_close_matches(key, known, 1)
            yield f"unknown key {key[:60]!r}" + (f": did you mean {near[0]!r}?" if near else "")
