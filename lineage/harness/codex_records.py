"""Values in Codex's records: content, prompts, calls and results. (harnesses.md 2.5, 2.6)."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

from lineage.core.format.turns import InputPart, Turn
from lineage.harness.json_values import as_list, as_mapping, as_string, decode_json, format_media_note
from lineage.harness.text import strip_injections
from lineage.harness.tool_inputs import build_call_turn, encode_json

CALL_KINDS = {
    "function_call": ("tool", "arguments"),
    "custom_tool_call": ("tool", "input"),
    "local_shell_call": ("local_shell", "action"),
    "web_search_call": ("web_search", "action"),
    "tool_search_call": ("tool_search", "arguments"),
    "image_generation_call": ("image_generation", "revised_prompt"),
}
RESULT_KINDS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})

BOOKKEEPING_KINDS = frozenset(
    {"world_state", "token_usage_record", "inter_agent_communication", "inter_agent_communication_metadata"}
)
BOOKKEEPING_ITEMS = frozenset({
    "compaction", "compaction_summary", "context_compaction", "compaction_trigger", "ghost_snapshot",
    "tool_search_output", "additional_tools",
})  # fmt: skip
BOOKKEEPING_EVENTS = frozenset({
    "token_count", "task_complete", "turn_complete", "turn_aborted", "thread_settings_applied",
    "thread_goal_updated", "entered_review_mode", "exited_review_mode", "sub_agent_activity", "undo_completed",
    "error", "warning", "stream_error",
})  # fmt: skip
# These repeat an item: only its failure is news.
DUPLICATE_EVENTS = frozenset({
    "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "context_compacted", "exec_command_end",
    "mcp_tool_call_end", "patch_apply_end", "web_search_end", "image_generation_end", "view_image_tool_call",
    "dynamic_tool_call_response",
})  # fmt: skip
DUPLICATE_PARTS = frozenset({
    "Plan", "Reasoning", "WebSearch", "ImageView", "ImageGeneration", "DynamicToolCall", "CollabAgentToolCall",
    "SubAgentActivity", "ContextCompaction", "FunctionCallOutput", "Sleep",
})  # fmt: skip
NATIVE_CALLS = frozenset({"CommandExecution", "McpToolCall", "FileChange"})

_TEXTS = ("input_text", "output_text", "summary_text", "reasoning_text", "text", "Text")
_IMAGES = ("input_image", "image", "local_image")
_WRAPPERS = (
    "# AGENTS.md instructions", "<INSTRUCTIONS>", "<environment_context>", "<user_instructions>", "<turn_aborted>",
    "<permissions instructions>", "<skills_instructions>", "<skill>", "<user_shell_command>", "<user_action>",
    "<subagent_notification>", "<collaboration_mode>", "<apps_instructions>", "<plugins_instructions>",
    "<recommended_plugins>", "<hook_prompt", "<model_switch>", "<personality_spec>",
)  # fmt: skip
# Editors put context before the request.
_PREFACES = ("# Context from my IDE setup", "# Files mentioned by the user", "## My request for Codex")
_REQUEST = re.compile(r"^## My request[^\n:]*:?[ \t]*\n*", re.MULTILINE)
_SUMMARY_PREAMBLE = "Another language model started to solve this problem"
# The lines that Codex puts above a command's output.
_HEADER = re.compile(
    r"(?:(?:Chunk ID|Wall time|Process exited with code|Process running with session ID|Exit code"
    r"|Original token count|Total output lines)\b[^\n]*\n)+(?:Output:(?:\n|\Z))?"
)
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
_PATCH = "*** Begin Patch"
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_COMMANDS = ("command", "cmd")
# `bash -lc COMMAND`: the last word is the command.
_SHELL_WORDS = 3
# A longer address holds data or a signature.
_MAX_URL_CHARS = 300


def is_bare_item(record: dict[str, Any]) -> bool:
    """Return whether a record without wrapper is an item of Codex in 2025. Other harnesses use the same types."""
    match as_string(record.get("type")):
        case "message":
            return isinstance(record.get("content"), list) and bool(as_string(record.get("role")))
        case "reasoning":
            return isinstance(record.get("summary"), list)
        case kind:
            return (kind in CALL_KINDS or kind in RESULT_KINDS) and bool(as_string(record.get("call_id")))


def is_bare_header(record: dict[str, Any]) -> bool:
    """Return whether a record is the header of a file without wrappers."""
    return "type" not in record and bool(as_string(record.get("id"))) and bool(record.keys() & {"instructions", "git"})


def extract_texts(content: Any) -> Iterator[str | None]:
    """Yield the text of each block of a content: a note for an image, None for an unknown kind.

    Encrypted blocks have no text.
    """
    for block in content if isinstance(content, list) else [content]:
        kind = as_string(as_mapping(block).get("type"))
        if isinstance(block, str):
            yield block
        elif kind in _TEXTS and isinstance(block.get("text"), str):
            yield block["text"]
        elif kind in _IMAGES:
            yield _image(block)
        elif block is not None and kind != "encrypted_content":
            yield None


def _image(block: dict[str, Any]) -> str:
    url = block.get("image_url")
    source = as_string(url) or as_string(as_mapping(url).get("url")) or as_string(block.get("path"))
    if as_string(block.get("data")):
        return format_media_note(block.get("mimeType"), block["data"])
    if source.startswith("data:"):
        kind, _, data = source[len("data:") :].partition(",")
        return format_media_note(kind.partition(";")[0], data)
    return f"[image {source}]" if 0 < len(source) <= _MAX_URL_CHARS else "[image]"


def list_images(event: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the images of a `user_message` as blocks of a content: data, addresses or paths."""
    sources = as_list(event.get("images")) + as_list(event.get("local_images"))
    return [{"type": "image", "image_url": source} for source in sources]


def extract_prompt(text: str) -> str:
    """Return the text that a person typed, without an editor's preface; "" for a text of the harness."""
    text = strip_injections(text)
    if text.lstrip().startswith(_PREFACES):
        request = _REQUEST.search(text)
        text = text[request.end() :] if request else ""
    return "" if text.lstrip().startswith(_WRAPPERS) else text


def parse_summary(message: Any) -> str | None:
    """Return a compaction's summary without its fixed first line, None for an encrypted one (an empty `message`)."""
    text = as_string(message).strip()
    if text.startswith(_SUMMARY_PREAMBLE):
        text = text.partition("\n")[2].strip()
    return text or None


def parse_call(kind: str, item: dict[str, Any]) -> Turn:
    """Return the turn of a call; beside a patch's name stand its files."""
    default, key = CALL_KINDS[kind]
    name = ".".join(filter(None, (as_string(item.get("namespace")), as_string(item.get("name"))))) or default
    turn = _build_call(name, item.get(key))
    if _PATCH in turn.input and (files := _PATCHED_FILE.findall(turn.input)):
        parts = turn.parts or (InputPart(turn.input, "diff"),)
        return turn._replace(name="apply_patch", input=", ".join(dict.fromkeys(map(str.strip, files))), parts=parts)
    return turn


def _build_call(name: str, arguments: Any) -> Turn:
    """Return the turn of a call. A description that adds to the command gets a line of its own."""
    decoded = decode_json(arguments) if isinstance(arguments, str) else arguments
    turn = build_call_turn(name, _decode_argument(arguments))
    given = [decoded.get(key) for key in _COMMANDS] if isinstance(decoded, dict) else [decoded]
    words = next((as_list(value) for value in given if isinstance(value, list)), [])
    command = _join_command(words)
    if not isinstance(command, str) or all(word in command for word in words):
        return turn
    if command == words[-1]:
        first, *rest = turn.parts
        return turn._replace(parts=(first._replace(label=" ".join(words[:-1])), *rest))
    return turn._replace(parts=(*turn.parts, InputPart(encode_json(words), "json", "words")))


def _decode_argument(value: Any) -> Any:
    """Return a tool's arguments. Functions have JSON text, shells a list of words."""
    decoded = decode_json(value) if isinstance(value, str) else value
    if isinstance(decoded, dict):
        return {key: _join_command(part) if key in _COMMANDS else part for key, part in decoded.items()}
    return _join_command(value)


def _join_command(words: Any) -> Any:
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        return words
    is_shell = len(words) == _SHELL_WORDS and words[1] in ("-lc", "-c", "-Command")
    is_patch = words[:-1] == ["apply_patch"]
    return words[-1] if is_shell or is_patch else shlex.join(words)


def parse_result(output: Any) -> tuple[Any, bool]:
    """Return a result's content, and whether it reports a failure.

    A result is plain text, an object with content and success, the JSON text of an object with output and metadata, or
    the JSON text of a tool server's blocks.
    """
    text, has_failed = strip_header(output) if isinstance(output, str) else (output, False)
    value = decode_json(text) if isinstance(text, str) else text
    if isinstance(value, list) and value and all("type" in as_mapping(block) for block in value):
        return value, has_failed
    keys = [key for key in ("output", "content", "body") if key in as_mapping(value)]
    if not keys:
        return text, has_failed
    return value[keys[0]], has_failed or is_failure(value) or is_failure(as_mapping(value.get("metadata")))


def strip_header(text: str) -> tuple[str, bool]:
    """Return a command's output without Codex's header, and whether the header names an exit code other than 0."""
    header = _HEADER.match(text)
    if not header:
        return text, False
    code = _EXIT_CODE.search(header[0])
    return text[header.end() :], code is not None and int(code[1]) != 0


def is_failure(record: dict[str, Any]) -> bool:
    """Return whether a record of the end of a tool's work, an event or an item, reports a failure."""
    code, result = record.get("exit_code"), as_mapping(record.get("result"))
    return (
        (isinstance(code, int) and code != 0)
        or as_string(record.get("status")) in ("failed", "declined")
        or record.get("success") is False
        or "Err" in result
        or as_mapping(result.get("Ok", result)).get("isError") is True
    )


def parse_native_call(kind: str, item: dict[str, Any]) -> tuple[Turn, Any]:
    """Return the call and the output of a tool that ran inside another one, from its completed item."""
    match kind:
        case "CommandExecution":
            words = item.get("command")
            is_command = isinstance(_join_command(words), str)
            return _build_call("exec_command", {"command": words} if is_command else words), item.get(
                "aggregated_output"
            )
        case "FileChange":
            call = build_call_turn("apply_patch", item.get("changes"))
            return call._replace(input=", ".join(sorted(as_mapping(item.get("changes"))))), item.get("stdout")
    name = ".".join(filter(None, (as_string(item.get("server")), as_string(item.get("tool"))))) or "tool"
    result, error = as_mapping(item.get("result")), as_mapping(item.get("error"))
    call = build_call_turn(name, _decode_argument(item.get("arguments")))
    return call, result.get("content", error.get("message"))
