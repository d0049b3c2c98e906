"""Routes and pages: the application, the OpenAPI document and the tests are made from these tables."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple, get_origin

from lineage.app.request_model import RequestModel, build_request_model
from lineage.web.service import Service

SMALL_BODY = 1 << 20
LARGE_BODY = 64 << 20
GET, POST, PATCH = "GET", "POST", "PATCH"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebCall:
    """The service that was called, and the CSRF value of its client."""

    service: Service
    csrf: str = ""


class Reply(NamedTuple):
    """An answer with a status of its own."""

    value: Any
    status: int


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the API. `run` gets the opened workspace, the call, and by name what the client asks.

    What is asked is `asks`, by default the keyword-only parameters of `run`; of these the path names some in braces,
    the rest comes from the query, or from the body of a change. `answer` is the type of what `run` gives, in a thread.
    Every method but GET changes something. Unfinished work of others is finished first, unless `resumes` is False
    because the route does so itself.
    """

    method: str
    path: str
    name: str
    about: str
    _: KW_ONLY
    run: Callable[..., Any]
    answer: Any
    asks: type[RequestModel] | None = None
    max_bytes: int = SMALL_BODY
    needs_index: bool = True
    resumes: bool = True
    statuses: Mapping[int, str] = field(default_factory=dict)

    @property
    def model(self) -> type[RequestModel]:
        """The model of a request."""
        return self.asks or build_request_model(self.run)

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
    """One page, or the action of a form: `run` is asked as that of a route, by path and query, or path and fields."""

    path: str
    run: "Callable[..., TemplateView | Redirect]"
    method: str = GET

    @property
    def model(self) -> type[RequestModel]:
        """The model of a request."""
        return build_request_model(self.run)

    @property
    def list_fields(self) -> list[str]:
        """The fields that a form may send more than once."""
        return [name for name, field in self.model.model_fields.items() if get_origin(field.annotation) is Sequence]

    @property
    def is_change(self) -> bool:
        """Whether the page is the action of a form."""
        return self.method != GET
