"""Optional extras: packages that a plain install lacks and only some commands need."""

from importlib.util import find_spec

from lineage.errors import ExtraMissing


def require_extra(extra: str, *modules: str) -> None:
    """Raise ExtraMissing if a module of the extra isn't installed. None of them is imported."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ExtraMissing(extra, missing)
