"""The input of a tool call as parts of a transcript: edits, written files, commands and prompts; the rest as JSON.

The kind of a part follows from the names of the arguments: harnesses share them more than the names of their tools.
"""

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from lineage.core.base.markdown import choose_language
from lineage.core.format.turns import ASSISTANT, InputPart, Turn
from lineage.harness.json_values import JsonObject, as_list, as_string, decode_json
from lineage.harness.text import render_tool_input

# The old and the new text of an edit.
_EDITS = (
    ("old_string", "new_string"), ("oldString", "newString"), ("old_str", "new_str"), ("oldText", "newText"),
    ("old_text", "new_text"), ("search", "replace"), ("before", "after"), ("TargetContent", "ReplacementContent"),
)  # fmt: skip
_EDIT_LISTS = ("edits", "replacements")
_PATHS = (
    "file_path", "filePath", "absolute_path", "notebook_path", "path", "target_file", "filename", "file",
    "TargetFile", "AbsolutePath",
)  # fmt: skip
# Whole texts, and the language of each; "" for that of the file.
_TEXTS = {
    "content": "", "contents": "", "file_text": "", "new_source": "", "code_edit": "", "insert_text": "",
    "CodeContent": "",
    "command": "bash", "cmd": "bash", "CommandLine": "bash", "script": "bash",
    "code": "", "patch": "diff", "diff": "diff", "patchText": "diff",
    "prompt": "markdown", "plan": "markdown", "message": "markdown", "task": "markdown", "instruction": "markdown",
    "instructions": "markdown", "query": "", "text": "markdown", "description": "", "input": "",
}  # fmt: skip
_UNNAMED = frozenset(("content", "CodeContent", "command", "cmd", "CommandLine", "patch", "input"))
_ALWAYS_SHOWN = frozenset(("bash", "diff"))
_SUFFIXES = {"pyi": "python", "h": "c", "yml": "yaml", "htm": "html", "tsx": "tsx", "markdown": "markdown"}
_PATCH = "*** Begin Patch"
_MAX_DEPTH = 100


def build_call_turn(name: Any, arguments: Any, call_id: Any = "", **details: Any) -> Turn:
    """Return the turn of a tool call: its main argument beside the name, and the parts of its input.

    `call_id` is the harness's id of the call; its result names it too.
    """
    shown = render_tool_input(arguments)
    return Turn(
        ASSISTANT,
        "",
        name=as_string(name) or "tool",
        input=shown,
        parts=list_input_parts(arguments, shown),
        call_id=as_string(call_id),
        **details,
    )


def list_input_parts(arguments: Any, shown: str = "") -> tuple[InputPart, ...]:
    """Return the parts of a call's arguments. `shown` is the argument that the transcript names beside the tool."""
    value = decode_json(arguments) if isinstance(arguments, str) and arguments.lstrip()[:1] in "{[" else arguments
    if isinstance(value, dict):
        return tuple(_iter_parts(value, shown))
    if isinstance(arguments, str):
        is_patch = arguments.lstrip().startswith(_PATCH)
        return (InputPart(arguments, "diff" if is_patch else ""),) if arguments.strip() and arguments != shown else ()
    return (InputPart(encode_json(value), "json"),) if value else ()


def _iter_parts(arguments: JsonObject, shown: str) -> Iterator[InputPart]:
    rest = dict(arguments)
    suffix = PurePosixPath(_find_path(arguments).replace("\\", "/")).suffix[1:].lower()
    language = choose_language(_SUFFIXES.get(suffix, suffix))
    yield from _take_edits(rest, "")
    for key in _EDIT_LISTS:
        edits = [dict(item) for item in as_list(rest.get(key)) if isinstance(item, dict)]
        if edits and len(edits) == len(rest[key]):
            parts = [part for item in edits for part in _take_edits(item, _find_path(item))]
            if len(parts) == len(edits) and not any(item.keys() - set(_PATHS) for item in edits):
                del rest[key]
                yield from parts
    for key, known in _TEXTS.items():
        text = rest.get(key)
        if isinstance(text, str) and ("\n" in text or known in _ALWAYS_SHOWN or key.startswith("content")):
            del rest[key]
            shown_as = "diff" if text.lstrip().startswith(_PATCH) else known or language
            yield InputPart(text, shown_as, key if key not in _UNNAMED else "")
    rest = {key: value for key, value in rest.items() if value != shown or "\n" in shown or len(shown) > 200}
    if rest:
        yield InputPart(encode_json(rest), "json")


def _take_edits(arguments: JsonObject, label: str) -> Iterator[InputPart]:
    for old_key, new_key in _EDITS:
        old, new = arguments.get(old_key), arguments.get(new_key)
        if isinstance(old, str) and isinstance(new, str):
            del arguments[old_key], arguments[new_key]
            yield InputPart(new, label=label, old=old)


def _find_path(arguments: JsonObject) -> str:
    return next((arguments[key] for key in _PATHS if isinstance(arguments.get(key), str)), "")


def encode_json(value: Any) -> str:
    """Return a decoded value as JSON in lines, in the order given; a note for one nested too deep."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=2, default=str)
    except RecursionError:
        return "[too deeply nested]"
