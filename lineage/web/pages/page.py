"""What a page is: an address, what it shows or does, and where it leads afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage.web.routes import GET, RouteParameter, WebCall

if TYPE_CHECKING:
    from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class TemplateView:
    """A template and its values."""

    template: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Redirect:
    """What was asked for is done: the page that shows it is elsewhere."""

    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, or what a form of one does. `fields` are those that the form may have, besides the CSRF token."""

    path: str
    run: "Callable[[Workspace, WebCall], TemplateView | Redirect]"
    method: str = GET
    parameters: tuple[RouteParameter, ...] = ()
    fields: tuple[str, ...] = field(default=())

    @property
    def is_change(self) -> bool:
        return self.method != GET
