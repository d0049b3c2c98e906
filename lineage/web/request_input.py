"""Request parsing: parameters, JSON bodies and forms, each bounded and checked before use."""

import asyncio
import json
from collections.abc import Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request

from lineage.core.format.body import replace_surrogates
from lineage.errors import InvalidInput

_READ_TIMEOUT_SECONDS = 30.0
_MAX_FIELDS = 150
_JSON = "application/json"
_FORM = "application/x-www-form-urlencoded"


class BodyTooLarge(InvalidInput):
    """The body has more bytes than its route takes."""


class BodyTimeout(InvalidInput):
    """The body did not arrive in time."""


class UnsupportedMediaType(InvalidInput):
    """The body has another media type than its route takes."""


def read_address(request: Request, *, is_change: bool) -> dict[str, str]:
    """Return the values of path and query; an empty one is absent. A change takes no query.

    Raises InvalidInput for a name that comes twice.
    """
    if is_change and request.query_params:
        raise InvalidInput("a change takes nothing from the query", hint="send it in the body")
    pairs = [*request.path_params.items(), *request.query_params.multi_items()]
    if len(dict(pairs)) < len(pairs):
        raise InvalidInput("a parameter is there twice", hint="give it once")
    return {name: value for name, value in pairs if value != ""}


async def read_json(request: Request, max_bytes: int) -> dict[str, Any]:
    """Return the JSON object of the body. Raises InvalidInput for anything else."""
    _check_media_type(request, _JSON)
    data = await _read_body(request, max_bytes)
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("the body holds no JSON", hint="give one object, in UTF-8") from error
    if not isinstance(value, dict):
        raise InvalidInput("the body is not an object", hint="/api/openapi.json says what this takes")
    return value


async def read_form(request: Request, max_bytes: int, lists: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields of a form, of `lists` all values. Raises InvalidInput for others that are repeated."""
    _check_media_type(request, _FORM)
    data = await _read_body(request, max_bytes)
    try:
        text = data.decode("ascii")  # a browser escapes everything else
        pairs = parse_qsl(text, keep_blank_values=True, errors="strict", max_num_fields=_MAX_FIELDS)
    except ValueError as error:
        raise InvalidInput("the form can't be read", hint="load the page again") from error
    texts = [(name, replace_surrogates(value).replace("\r\n", "\n")) for name, value in pairs]
    single = [(name, value) for name, value in texts if name not in lists]
    fields = dict(single)
    if len(fields) < len(single):
        raise InvalidInput("a field is there twice", hint="load the page again")
    return {**fields, **{name: [value for key, value in texts if key == name] for name in lists}}


def read_cookie(headers: Mapping[str, str], name: str) -> str:
    """Return the value of a cookie, "" if absent; the first of several."""
    for pair in headers.get("cookie", "").split(";"):
        key, _, value = pair.strip().partition("=")
        if key == name:
            return value
    return ""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _check_media_type(request: Request, kind: str) -> None:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
        raise UnsupportedMediaType(f"the body is not {kind}", hint=f"send it with `Content-Type: {kind}`")


async def _read_body(request: Request, max_bytes: int) -> bytes:
    data = bytearray()
    try:
        async with asyncio.timeout(_READ_TIMEOUT_SECONDS):
            async for chunk in request.stream():
                data += chunk
                if len(data) > max_bytes:
                    raise BodyTooLarge(f"the body has more than {max_bytes:,} bytes", hint="send less at once")
    except TimeoutError as error:
        raise BodyTimeout("the body did not come in time", hint="send it again") from error
    return bytes(data)
