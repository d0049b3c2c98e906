"""Pages: an address, a template or an action, and a redirect after it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage.web.routes import GET, RouteParameter, WebCall
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class TemplateView:
    """A template and its values."""

    template: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Redirect:
    """The action is done: another page shows the result."""

    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, or the action of a form. `fields` are the allowed fields besides the CSRF value."""

    path: str
    run: "Callable[[Workspace, WebCall], TemplateView | Redirect]"
    method: str = GET
    parameters: tuple[RouteParameter, ...] = ()
    fields: tuple[str, ...] = field(default=())

    @property
    def is_change(self) -> bool:
        """Whether the page is the action of a form."""
        return self.method != GET
