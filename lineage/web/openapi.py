"""The OpenAPI 3.1 document of a table of routes."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from lineage import __version__
from lineage.app.request_model import PlainSchema
from lineage.web.models import Failure
from lineage.web.routes import Route

_FAILURE = {"description": "It failed; `message` says why, `hint` what to do next."}
_LICENSE = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
_CSRF = {
    "name": "X-CSRF-Token", "in": "header", "required": False,
    "description": "`csrf` of `/status`; not needed beside `Authorization`.", "schema": {"type": "string"},
}  # fmt: skip


def build_document(routes: Iterable[Route], prefix: str) -> dict[str, Any]:
    """Return the document of the routes; the same bytes for the same table."""
    routes = tuple(routes)
    asks: list[Any] = [((route.name, "asks"), "validation", TypeAdapter(route.model)) for route in routes]
    answers: list[Any] = [((route.name, "answer"), "serialization", TypeAdapter(route.answer)) for route in routes]
    failure: Any = (("", "failure"), "serialization", TypeAdapter(Failure))
    found, definitions = TypeAdapter.json_schemas(
        [*asks, *answers, failure], ref_template="#/components/schemas/{model}", schema_generator=PlainSchema
    )
    schemas = {key: schema for (key, _), schema in found.items()}
    schemes = {"token": {"type": "http", "scheme": "bearer"}}
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        answer, wrong = schemas[route.name, "answer"], _FAILURE | _content(schemas["", "failure"])
        asked = _resolve(schemas[route.name, "asks"], definitions)
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, asked, answer, wrong)
    return {
        "openapi": "3.1.0",
        "info": {"title": "lineage", "version": __version__, "license": _LICENSE},
        "servers": [{"url": prefix}],
        "security": [{}, {"token": []}],  # {}: a server without an access key asks for nothing
        "paths": paths,
        "components": {"schemas": definitions["$defs"], "securitySchemes": schemes},
    }


def _resolve(asked: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of a request itself: its values lie in the path, the query and the body."""
    return dict(definitions["$defs"][asked["$ref"].rpartition("/")[2]]) if "$ref" in asked else dict(asked)


def _operation(route: Route, asked: Mapping[str, Any], answer: Any, failure: Any) -> dict[str, Any]:
    fields, required = asked.get("properties", {}), asked.get("required", ())
    in_path = re.findall(r"{(\w+)}", route.path)
    outside = [name for name in fields if name in in_path or not route.is_change]
    parameters = [_parameter(name, fields[name], name in in_path, name in required) for name in outside]
    parameters += [_CSRF] * route.is_change
    body = {
        **asked,
        "properties": {name: schema for name, schema in fields.items() if name not in outside},
        "required": [name for name in required if name not in outside],
    }
    return {
        "operationId": route.name,
        "summary": route.about,
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"required": True, **_content(body)}} if route.is_change else {}),
        "responses": {**_answers(route, answer), "default": failure},
    }


def _answers(route: Route, schema: Any) -> dict[str, Any]:
    answers = route.statuses if min(route.statuses, default=300) < 300 else {200: "Done.", **route.statuses}
    return {str(status): {"description": text, **_content(schema)} for status, text in answers.items()}


def _parameter(name: str, schema: Mapping[str, Any], is_in_path: bool, is_required: bool) -> dict[str, Any]:
    return {
        "name": name,
        "in": "path" if is_in_path else "query",
        "required": is_required,
        "description": schema.get("description", ""),
        "schema": {key: value for key, value in schema.items() if key != "description"},
    }


def _content(schema: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}
