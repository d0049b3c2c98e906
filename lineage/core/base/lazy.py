"""Lazy exports of a package: a module is imported with the first use of a name from it (PEP 562)."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def export_lazily(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    r"""Return the `__getattr__` of a package; `modules` maps each exported name to its module inside the package.

    >>> export_lazily("lineage.core.base", {"to_one_line": "links"})("to_one_line")("a\nb")
    'a b'
    """

    def load_attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return load_attribute
