"""Text in transcripts: injected blocks, notes for omitted data, tool input as one line."""

import json
from typing import Any

from lineage.core.base.hook_output import CONTEXT_MARKERS, strip_blocks

# Our own block first: it would come back as memory of memory.
_INJECTED_BLOCKS = (
    *CONTEXT_MARKERS,
    ("<system-reminder>", "</system-reminder>"),
    ("<ide_opened_file>", "</ide_opened_file>"),
    ("<ide_selection>", "</ide_selection>"),
)
# The main argument of common tools, the most telling first.
_INPUT_KEYS = (
    "file_path", "filePath", "absolute_path", "notebook_path", "pattern", "query", "path", "command", "cmd", "url",
    "description", "prompt", "TargetFile", "AbsolutePath", "DirectoryPath", "CommandLine", "Query",
)  # fmt: skip


def strip_injections(text: str) -> str:
    """Return a text without the blocks that the harness or lineage injected: they would come back as memory of memory.

    Blank lines around it go as well; the first line keeps its indentation.
    """
    text = strip_blocks(text, _INJECTED_BLOCKS).rstrip()
    return text[text.rfind("\n", 0, len(text) - len(text.lstrip())) + 1 :]


def format_omission(what: str, size: int) -> str:
    """Return the note that replaces an image or an opaque blob.

    >>> format_omission("image image/png", 4096)
    '[image image/png, 4,096 bytes left out]'
    """
    return f"[{what}, {size:,} bytes left out]"


def render_tool_input(arguments: Any) -> str:
    """Return a tool call's arguments as text: the main argument if it has one, else all as compact JSON."""
    if isinstance(arguments, str):
        return arguments
    if isinstance(arguments, dict):
        for key in _INPUT_KEYS:
            if isinstance(arguments.get(key), str) and arguments[key].strip():
                return str(arguments[key])
    try:
        return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"), default=str) if arguments else ""
    except RecursionError:
        return "[too deeply nested]"
