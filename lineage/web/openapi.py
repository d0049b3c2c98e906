"""The OpenAPI 3.1 document of a table of routes."""

from collections.abc import Iterable
from typing import Any

from lineage import __version__
from lineage.web.routes import Route, RouteParameter
from lineage.web.schema import TEXT, Schema, record

ERROR: Schema = record({"error": record({"message": TEXT, "hint": TEXT})})

_KINDS = {str: "string", int: "integer", bool: "boolean"}
_ERROR_CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
_FAILURE = {"description": "It failed; `message` says why, `hint` what to do next.", "content": _ERROR_CONTENT}
_LICENSE = {"name": "Apache-2.0", "identifier": "Apache-2.0"}
_CSRF = {
    "name": "X-CSRF-Token", "in": "header", "required": False,
    "description": "`csrf` of `/status`; not needed beside `Authorization`.", "schema": TEXT,
}  # fmt: skip


def build_document(routes: Iterable[Route], prefix: str) -> dict[str, Any]:
    """Return the document of the routes; the same bytes for the same table."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "lineage", "version": __version__, "license": _LICENSE},
        "servers": [{"url": prefix}],
        "security": [{}, {"token": []}],  # {}: a server without an access key asks for nothing
        "paths": paths,
        "components": {"schemas": {"Error": ERROR}, "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _operation(route: Route) -> dict[str, Any]:
    parameters = [_parameter(parameter, route.path) for parameter in route.parameters] + [_CSRF] * route.is_change
    return {
        "operationId": route.name,
        "summary": route.about,
        **({"parameters": parameters} if parameters else {}),
        **({"requestBody": {"required": True, "content": _json(route.body)}} if route.body else {}),
        "responses": _responses(route),
    }


def _responses(route: Route) -> dict[str, Any]:
    answers = route.statuses if min(route.statuses, default=300) < 300 else {200: "Done.", **route.statuses}
    return {
        **{str(status): {"description": text, "content": _json(route.response)} for status, text in answers.items()},
        "default": _FAILURE,
    }


def _parameter(parameter: RouteParameter, path: str) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": _KINDS[parameter.kind]}
    bounds = {"minimum": parameter.minimum, "maximum": parameter.maximum, "default": parameter.default}
    schema |= {name: value for name, value in bounds.items() if value is not None}
    schema |= {"enum": list(parameter.choices)} if parameter.choices else {}
    return {
        "name": parameter.name,
        "in": "path" if f"{{{parameter.name}}}" in path else "query",
        "required": parameter.required,
        "description": parameter.about,
        "schema": schema,
    }


def _json(schema: Schema) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
