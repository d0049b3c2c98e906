"""The engine that runs the rules: RE2, whose time is linear in the text whatever the pattern. There is no other."""

from functools import cache
from typing import Any

from lineage.errors import EngineMissing

_MAX_MEMORY_BYTES = 64 << 20


def load_re2() -> Any:
    """The module `re2`. Raises EngineMissing where google-re2 is not installed."""
    try:
        import re2  # noqa: PLC0415  (fail closed: its absence is an error of capture, not of import)
    except ImportError as error:
        raise EngineMissing(
            "the redaction engine google-re2 is not installed: nothing is captured without it"
        ) from error
    return re2


@cache
def compile_pattern(pattern: str) -> Any:
    """The pattern, over UTF-8 bytes. Raises `re2.error` where RE2 does not take it."""
    return load_re2().compile(pattern.encode(), build_options())


def build_options() -> Any:
    chosen = load_re2().Options()
    chosen.max_mem = _MAX_MEMORY_BYTES
    chosen.log_errors = False
    return chosen
