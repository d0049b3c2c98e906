"""What is made when it is first asked for: the names of packages (PEP 562), and patterns that few texts need."""

import re
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from typing import Any


def exporting(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: `homes` names the module inside of it that each name comes from.

    >>> exporting("lineage.core", {"one_line": "links"})("one_line")("a\\nb")
    'a b'
    """

    def found(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{homes[name]}"), name)

    return found


def pattern(text: str) -> Callable[[], re.Pattern[str]]:
    """A pattern that is compiled when it is first asked for: one with a set of far-off characters takes milliseconds.

    >>> pattern("[一-鿿]+")().findall("csv解析器")
    ['解析器']
    """
    return cache(lambda: re.compile(text))
