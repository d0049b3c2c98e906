"""The engine that runs the rules: RE2, linear in the text for every pattern. There is no other engine."""

from collections.abc import Collection
from functools import cache
from typing import Any

from lineage.errors import EngineMissing

_MAX_MEMORY_BYTES = 64 << 20
_MAX_TEXTS = 400  # in one pattern


def load_re2() -> Any:
    """Return the module `re2`. Raises EngineMissing if google-re2 is not installed."""
    try:
        import re2  # noqa: PLC0415  (fail closed: its absence is an error of capture, not of import)
    except ImportError as error:
        raise EngineMissing(
            "the redaction engine google-re2 is not installed: nothing is captured without it"
        ) from error
    return re2


@cache
def compile_pattern(pattern: str) -> Any:
    """Compile a pattern over UTF-8 bytes. Raises `re2.error` if RE2 refuses it."""
    return load_re2().compile(pattern.encode(), build_options())


def compile_texts(texts: Collection[str]) -> list[Any]:
    """Return patterns over UTF-8 that find any of these texts: one pass for hundreds of them.

    >>> [pattern.search(b"a.c") is not None for pattern in compile_texts(["abc", "b"])]
    [False]
    """
    ordered = list(map(load_re2().escape, sorted(texts)))
    parts = (ordered[start : start + _MAX_TEXTS] for start in range(0, len(ordered), _MAX_TEXTS))
    return [load_re2().compile("|".join(part).encode(), build_options()) for part in parts]


def build_options() -> Any:
    """Return the options of every pattern and set of patterns."""
    options = load_re2().Options()
    options.max_mem = _MAX_MEMORY_BYTES
    options.log_errors = False  # a bad pattern raises: RE2 would also print it
    return options
