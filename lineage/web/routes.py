"""Routes and pages: the application, the OpenAPI document and the tests are made from these tables."""

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

from lineage.web.schema import Schema
from lineage.web.service import Service
from lineage.workspace.workspace import Workspace

SMALL_BODY = 1 << 20
LARGE_BODY = 64 << 20
GET, POST, PATCH = "GET", "POST", "PATCH"


@dataclass(frozen=True, slots=True)
class RouteParameter:
    """A value in the path or the query. A `default` of None makes it optional, unless it is `required`."""

    name: str
    about: str
    _: KW_ONLY
    kind: type = str
    default: str | int | bool | None = None
    required: bool = False
    minimum: int | None = None
    maximum: int | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WebCall:
    """One request, parsed and checked: its service, parameters and body."""

    service: Service
    values: Mapping[str, Any]
    body: Mapping[str, Any] = field(default_factory=dict)
    csrf: str = ""

    def text(self, name: str) -> str:
        """Return a value of the query or the path, "" if absent."""
        return str(self.values.get(name) or "")

    @property
    def agent(self) -> str | None:
        """The agent of the requested sessions, None for all agents."""
        named = self.text("agent")
        return None if named == "all" else named


class Reply(NamedTuple):
    """An answer with a status of its own."""

    value: Any
    status: int


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the API, with an opened workspace.

    `path` names its parameters in braces; `run` runs in a thread. Every method but GET changes something. Unfinished
    work of others is finished first, unless `resumes` is False because the route does so itself.
    """

    method: str
    path: str
    name: str
    about: str
    _: KW_ONLY
    response: Schema
    run: Callable[[Workspace, WebCall], Any]
    parameters: tuple[RouteParameter, ...] = ()
    body: Schema | None = None
    max_bytes: int = SMALL_BODY
    needs_index: bool = True
    resumes: bool = True
    statuses: Mapping[int, str] = field(default_factory=dict)

    @property
    def is_change(self) -> bool:
        """Whether the route changes something."""
        return self.method != GET

    @property
    def writes(self) -> bool:
        """Whether unfinished work is finished before the route runs."""
        return self.is_change and self.resumes


@dataclass(frozen=True, slots=True)
class TemplateView:
    """A template and its values."""

    template: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Redirect:
    """The action is done: another page shows the result."""

    to: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page, or the action of a form. `fields` are the allowed fields besides the CSRF value."""

    path: str
    run: "Callable[[Workspace, WebCall], TemplateView | Redirect]"
    _: KW_ONLY
    method: str = GET
    parameters: tuple[RouteParameter, ...] = ()
    fields: tuple[str, ...] = field(default=())

    @property
    def is_change(self) -> bool:
        """Whether the page is the action of a form."""
        return self.method != GET
