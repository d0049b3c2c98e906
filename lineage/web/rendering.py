"""Templates: every value is escaped on its way into a page, whatever it is and wherever it came from."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lineage.core.links import one_line
from lineage.web import reading


@cache
def environment() -> Environment:
    """The templates of this package, with autoescape on for all of them."""
    made = Environment(
        loader=PackageLoader("lineage.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(line=one_line, clock=reading.clock, day=reading.day_name, blocks=reading.blocks)
    made.globals.update(source_of=reading.source_of, short=reading.short)
    return made


def rendered(template: str, values: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(values)
