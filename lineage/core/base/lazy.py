"""The names of packages, whose modules are imported when a name is first asked for. (PEP 562)"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def export_lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`: `homes` names the module inside of it that each name comes from.

    >>> export_lazily("lineage.core.base", {"to_one_line": "links"})("to_one_line")("a\\nb")
    'a b'
    """

    def found(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return found
