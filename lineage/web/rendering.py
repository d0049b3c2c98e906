"""The templates of this package, and the page that one becomes with its values."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lineage.core.base.links import to_one_line
from lineage.web import display
from lineage.web.rendered_text import render_within


@cache
def build_environment() -> Environment:
    """Return the templates of this package, with autoescape on for all of them."""
    loader = PackageLoader("lineage.web")
    made = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(line=to_one_line, clock=display.format_clock)
    made.filters.update(day=display.format_day, markdown=render_within, short=display.shorten)
    made.filters.update(clip=display.clip_to_bytes)
    return made


def render_template(template: str, values: Mapping[str, Any]) -> str:
    """Return a page: the template filled with these values."""
    return build_environment().get_template(template).render(values)
