"""What is made when it is first asked for: the names of packages (PEP 562), and patterns that few texts need."""

import re
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, AnyStr, cast


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


class _Pattern:
    """Stands for a compiled pattern: what is asked of it is asked once, and kept."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self.pattern = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(self.pattern, self._flags), name)
        setattr(self, name, found)
        return found


def pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that is compiled when it is first used: most runs need few of a module's, and one with a set of far-off
    characters takes milliseconds. It is no argument for the functions of `re`.

    >>> pattern("[一-鿿]+").findall("csv解析器")
    ['解析器']
    """
    return cast("re.Pattern[AnyStr]", _Pattern(text, flags))
