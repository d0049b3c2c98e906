"""What a route is: the one table that the application, the OpenAPI document and the tests are made from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage.web.schema import Schema

if TYPE_CHECKING:
    from lineage.web.service import Service
    from lineage.workspace.workspace import Workspace

SMALL_BODY = 1 << 20
LARGE_BODY = 64 << 20
GET, POST, PATCH = "GET", "POST", "PATCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteParameter:
    """A value in the path or the query. `default` None means that it may be missing, unless it is `required`."""

    name: str
    about: str
    kind: type = str
    default: str | int | bool | None = None
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WebCall:
    """One request, read and checked: its parameters, its body, and whom it came to."""

    service: "Service"
    values: Mapping[str, Any]
    body: Mapping[str, Any] = field(default_factory=dict)
    csrf: str = ""

    def text(self, name: str) -> str:
        """A value of the query or the path, "" where it wasn't given."""
        return str(self.values.get(name) or "")

    @property
    def agent(self) -> str | None:
        """The agent whose sessions are asked for, None for every one's."""
        named = self.text("agent")
        return None if named == "all" else named


class Reply(NamedTuple):
    """An answer whose status isn't the route's own."""

    value: Any
    status: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation of the API. `path` names its parameters in braces; `act` runs in a thread with an opened house.

    What isn't a GET `changes` something, and runs with what others left unfinished being finished first, unless it
    does that itself (`resumes` False).
    """

    method: str
    path: str
    name: str
    about: str
    response: Schema
    run: Callable[["Workspace", WebCall], Any]
    parameters: tuple[RouteParameter, ...] = ()
    body: Schema | None = None
    max_bytes: int = SMALL_BODY
    needs_index: bool = True
    resumes: bool = True
    statuses: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_change(self) -> bool:
        return self.method != GET

    @property
    def writes(self) -> bool:
        return self.is_change and self.resumes
