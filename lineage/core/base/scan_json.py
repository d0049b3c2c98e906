"""JSON, read and quoted by its C functions alone: the package around them costs as much as the start of Python."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def scan_object(text: str) -> "dict[str, Any]":
    """Return the object at the start of a text. Raises StopIteration, ValueError, RecursionError or SystemError."""
    value: dict[str, Any] = _build_scanner()(text, 0)[0]
    return value


def quote_json(text: str) -> str:
    """Return a text as an ASCII JSON string."""
    try:
        from _json import encode_basestring_ascii
    except ImportError:
        from json.encoder import encode_basestring_ascii
    return encode_basestring_ascii(text)


def _build_scanner() -> "Any":
    try:
        from _json import make_scanner
    except ImportError:
        from json import JSONDecoder

        return JSONDecoder().scan_once  # type: ignore[attr-defined]
    return make_scanner(_ScannerContext)  # type: ignore[arg-type]


class _ScannerContext:
    strict = False
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float
