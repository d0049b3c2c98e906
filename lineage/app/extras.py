"""What a plain install does not bring, and only some commands need."""

from importlib.util import find_spec

from lineage.errors import ExtraMissing


def require_extra(extra: str, *modules: str) -> None:
    """Raises ExtraMissing where a module of an extra isn't installed. None of them is imported."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise ExtraMissing(extra, missing)
