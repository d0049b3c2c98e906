"""What a page is: an address, what it shows or does, and where it leads afterwards."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lineage.web.routes import GET, Call, Parameter

if TYPE_CHECKING:
    from lineage.pipeline.house import House


@dataclass(frozen=True, slots=True)
class Shown:
    """A template and its values."""

    template: str
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Moved:
    """What was asked for is done: the page that shows it is elsewhere."""

    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page, or what a form of one does. `fields` are those that the form may have, besides the CSRF token."""

    path: str
    act: "Callable[[House, Call], Shown | Moved]"
    method: str = GET
    parameters: tuple[Parameter, ...] = ()
    fields: tuple[str, ...] = field(default=())

    @property
    def changes(self) -> bool:
        return self.method != GET
