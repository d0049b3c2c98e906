"""What a harness says of an edit or a command: files, command line, and the output of a failure. Little is imported."""

import os

from lineage.cli.hook_files import decode_object
from lineage.harness.registry import find_field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence
    from typing import Any

    from lineage.recall.at_action import Action

_PATHS = ("file_path", "filePath", "absolute_path", "notebook_path", "path")
_COMMANDS = ("command", "cmd", "script")
_PATCHES = (*_COMMANDS, "patch", "patchText", "input")
_PATCH_BEGIN = "*** Begin Patch"
_PATCH_MARKS = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
_RESULTS = ("tool_response", "toolResult", "tool_output")
_TEXTS = ("stderr", "error", "textResultForLlm", "llmContent", "output", "stdout", "message")
_EXIT_LINES = ("exit code: ", "process exited with code ")
_EXIT_CODES = ("exit_code", "exitCode", "exit")
_MAX_FILES = 20
_CLAIM_NOTE = "About this folder.md"
_MAX_NOTE = 1 << 13


def build_action(payload: "dict[str, Any]", project_keys: "Sequence[str]") -> "Action | None":
    """Return the action that a payload tells of, None for none; of files those of one project."""
    from lineage.projects import locate_in_project
    from lineage.recall.at_action import Action

    folder, given = find_field(payload, "cwd"), _as_object(payload.get("tool_input", payload.get("toolArgs")))
    patch = next((text for text in _iter_texts(given, _PATCHES) if _PATCH_BEGIN in text), "")
    named = _list_patched(patch) if patch else list(_iter_texts(given, _PATHS))
    # an editor's `command` beside its path is the kind of its edit
    command = "" if named else next(_iter_texts(given, _COMMANDS), "")
    places: dict[tuple[str, ...], list[str]] = {}
    for name in named[:_MAX_FILES]:
        path = os.path.normpath(os.path.join(folder, os.path.expanduser(name)))
        if os.path.isabs(path):
            place, its_keys = locate_in_project(path, folder, project_keys)
            places.setdefault(tuple(its_keys), []).append(place)
    keys = tuple(project_keys) if tuple(project_keys) in places or not places else next(iter(places))
    paths, error = places.get(keys, []), _find_error(payload)
    return Action(keys, paths, command, error) if paths or command or error else None


def owns_books(root: str, folder: str, project_keys: "Collection[str]") -> bool:
    """Return whether a folder of books is a project's, by the note in it, as `workspace/book_folders.py` does."""
    from lineage.core.base.session_token import sha256

    hashes = {sha256(key.encode("utf-8", "replace")).hexdigest()[:16] for key in project_keys}
    if any(folder.endswith(f"-{one[:8]}") for one in hashes):
        return True
    try:
        with open(os.path.join(root, folder, _CLAIM_NOTE), encoding="utf-8", errors="replace") as file:
            lines = file.read(_MAX_NOTE).split("\n---")[0].split("\n")
    except OSError:
        return False
    values = dict(line.split(": ", 1) for line in lines if ": " in line)
    repository, key = (values.get(name, "").strip().strip('"') for name in ("repository", "key"))
    return repository in project_keys if repository else key in hashes


def _as_object(value: "Any") -> "dict[str, Any]":
    if isinstance(value, str):
        value = decode_object(bytearray(value.encode("utf-8", "replace")))
    return value if isinstance(value, dict) else {}


def _iter_texts(values: "dict[str, Any]", names: "Collection[str]") -> "Iterator[str]":
    for name in names:
        value = values.get(name)
        if isinstance(value, list) and value:  # `["bash", "-lc", "make test"]`
            value = value[-1]
        if isinstance(value, str) and value.strip():
            yield value


def _list_patched(patch: str) -> "list[str]":
    lines = (line.strip() for line in patch.split("\n"))
    return [line[len(mark) :] for line in lines for mark in _PATCH_MARKS if line.startswith(mark)]


def _find_error(payload: "dict[str, Any]") -> str:
    """Return what a failed tool printed, "" for one that went well or didn't run yet."""
    error = payload.get("error")
    if isinstance(error, str | dict) and error:
        return error if isinstance(error, str) else "\n".join(_iter_texts(error, _TEXTS))
    result = next((payload[name] for name in _RESULTS if payload.get(name)), None)
    if isinstance(result, str):
        return result if _has_failed(result) else ""
    values = result if isinstance(result, dict) else {}
    text = "\n".join(_iter_texts(values, _TEXTS))
    places = (values, _as_object(values.get("metadata")))
    codes = [code for place in places for code in map(place.get, _EXIT_CODES) if isinstance(code, int)]
    is_failure = values.get("resultType") == "failure" or values.get("error") or any(codes)
    # What was printed may speak of another command: the harness's own code says more.
    return text if is_failure or (not codes and _has_failed(text)) else ""


def _has_failed(text: str) -> bool:
    """Return whether an output says that its command ended with another code than 0."""
    lowered = text.lower()
    # A harness's own line says more than what was printed: one at the beginning or before the output, else the last.
    lines = lowered.strip().split("\n")
    head = next((place for place, line in enumerate(lines) if line.startswith("output:")), 1)
    codes = [line for line in (*lines[head:], *lines[:head]) if line.startswith(_EXIT_LINES)]
    if codes:
        return codes[-1].partition("code")[2].lstrip(": ")[:1] in tuple("123456789")
    for mark in ("exit code: ", "exit code ", "exited with code "):
        rest = lowered[at + len(mark) :] if (at := lowered.rfind(mark)) >= 0 else ""
        if rest[:1] in tuple("123456789"):
            return True
    return False
