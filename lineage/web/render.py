"""Templates: every value is escaped on its way into a page."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lineage.core.base.links import to_one_line
from lineage.web import display


@cache
def build_environment() -> Environment:
    """Return the templates of this package, with autoescape on for all of them."""
    made = Environment(
        loader=PackageLoader("lineage.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(line=to_one_line, clock=display.format_clock)
    made.filters.update(day=display.format_day, blocks=display.parse_blocks)
    made.globals.update(source_of=display.find_source, short=display.shorten_project)
    return made


def render_template(template: str, values: Mapping[str, Any]) -> str:
    """Return a page: the template filled with these values."""
    return build_environment().get_template(template).render(values)
