"""What adapters share: notes for what is left out of a transcript, tool input as one line, our own block."""

import json
import re
from typing import Any

CONTEXT_OPENING = "<lineage-context>"
CONTEXT_CLOSING = "</lineage-context>"

_INJECTED = re.compile(
    rf"<system-reminder>.*?</system-reminder>\s*|{CONTEXT_OPENING}.*?{CONTEXT_CLOSING}\s*", re.DOTALL
)
_SALIENT = (
    "file_path",
    "notebook_path",
    "path",
    "command",
    "cmd",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
)


def without_injected(text: str) -> str:
    """A text without what the harness or lineage itself put into it: it would come back as memory of memory."""
    return _INJECTED.sub("", text).strip()


def left_out(what: str, size: int) -> str:
    """The note that stands for an image or an opaque blob.

    >>> left_out("image image/png", 4096)
    '[image image/png, 4,096 bytes left out]'
    """
    return f"[{what}, {size:,} bytes left out]"


def salient(arguments: Any) -> str:
    """A tool call's arguments as one line: the argument that says what it was about, else all as compact JSON."""
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, dict):
        for key in _SALIENT:
            if isinstance(arguments.get(key), str) and arguments[key].strip():
                return str(arguments[key])
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"), default=str) if arguments else ""
