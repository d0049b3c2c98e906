"""What single values of Codex's records say: content, prompts, calls and results. (harnesses.md 2.5, 2.6)"""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from lineage.harness.text import salient, without_injected
from lineage.harness.values import mapping, medium, sequence, string

CALLS = {
    "function_call": ("tool", "arguments"),
    "custom_tool_call": ("tool", "input"),
    "local_shell_call": ("local_shell", "action"),
    "web_search_call": ("web_search", "action"),
    "tool_search_call": ("tool_search", "arguments"),
    "image_generation_call": ("image_generation", "revised_prompt"),
}
RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})

BOOKKEEPING_KINDS = frozenset(
    {"world_state", "token_usage_record", "inter_agent_communication", "inter_agent_communication_metadata"}
)
BOOKKEEPING_ITEMS = frozenset(
    {
        "compaction", "compaction_summary", "context_compaction", "compaction_trigger", "ghost_snapshot",
        "tool_search_output", "additional_tools",
    }
)  # fmt: skip
BOOKKEEPING_EVENTS = frozenset(
    {
        "token_count", "task_complete", "turn_complete", "turn_aborted", "thread_settings_applied",
        "thread_goal_updated", "entered_review_mode", "exited_review_mode", "sub_agent_activity", "undo_completed",
        "error", "warning", "stream_error",
    }
)  # fmt: skip
REPEATING_EVENTS = frozenset(
    {
        "agent_message", "agent_reasoning", "agent_reasoning_raw_content", "context_compacted", "exec_command_end",
        "mcp_tool_call_end", "patch_apply_end", "web_search_end", "image_generation_end", "view_image_tool_call",
        "dynamic_tool_call_response",
    }
)  # fmt: skip
REPEATING_PARTS = frozenset(
    {
        "Plan", "Reasoning", "WebSearch", "ImageView", "ImageGeneration", "DynamicToolCall", "CollabAgentToolCall",
        "SubAgentActivity", "ContextCompaction", "FunctionCallOutput", "Sleep",
    }
)  # fmt: skip
NATIVE_CALLS = frozenset({"CommandExecution", "McpToolCall", "FileChange"})

_TEXTS = ("input_text", "output_text", "summary_text", "reasoning_text", "text", "Text")
_IMAGES = ("input_image", "image", "local_image")
_WRAPPERS = (
    "# AGENTS.md instructions", "<INSTRUCTIONS>", "<environment_context>", "<user_instructions>", "<turn_aborted>",
    "<permissions instructions>", "<skills_instructions>", "<skill>", "<user_shell_command>", "<user_action>",
    "<subagent_notification>", "<collaboration_mode>", "<apps_instructions>", "<plugins_instructions>",
    "<recommended_plugins>", "<hook_prompt", "<model_switch>", "<personality_spec>",
)  # fmt: skip
_PREFACES = ("# Context from my IDE setup", "# Files mentioned by the user", "## My request for Codex")
_REQUEST = re.compile(r"^## My request[^\n:]*:?[ \t]*\n*", re.MULTILINE)
_SUMMARY_PREAMBLE = "Another language model started to solve this problem"
_HEADER = re.compile(
    r"(?:(?:Chunk ID|Wall time|Process exited with code|Process running with session ID|Exit code"
    r"|Original token count|Total output lines)\b[^\n]*\n)+(?:Output:(?:\n|\Z))?"
)
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)", re.MULTILINE)
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_COMMANDS = ("command", "cmd")
_SHELL_WORDS = 3
_LONGEST_ADDRESS = 300


def is_bare_item(record: dict[str, Any]) -> bool:
    """Whether a record without wrapper is an item as Codex wrote them in 2025; other harnesses use the word too."""
    match string(record.get("type")):
        case "message":
            return isinstance(record.get("content"), list) and bool(string(record.get("role")))
        case "reasoning":
            return isinstance(record.get("summary"), list)
        case kind:
            return (kind in CALLS or kind in RESULTS) and bool(string(record.get("call_id")))


def is_bare_header(record: dict[str, Any]) -> bool:
    """Whether a record is the first of such a file."""
    return "type" not in record and bool(string(record.get("id"))) and bool(record.keys() & {"instructions", "git"})


def texts(content: Any) -> Iterator[str | None]:
    """The text of each block of a content, a note for an image; None for a block of an unknown kind.

    What is encrypted says nothing.
    """
    for block in content if isinstance(content, list) else [content]:
        kind = string(mapping(block).get("type"))
        if isinstance(block, str):
            yield block
        elif kind in _TEXTS and isinstance(block.get("text"), str):
            yield block["text"]
        elif kind in _IMAGES:
            yield _image(block)
        elif block is not None and kind != "encrypted_content":
            yield None


def _image(block: dict[str, Any]) -> str:
    where = block.get("image_url")
    source = string(where) or string(mapping(where).get("url")) or string(block.get("path"))
    if string(block.get("data")):
        return medium(string(block.get("mimeType")), block["data"])
    if source.startswith("data:"):
        kind, _, data = source[len("data:") :].partition(",")
        return medium(kind.partition(";")[0], data)
    return f"[image {source}]" if 0 < len(source) <= _LONGEST_ADDRESS else "[image]"


def images(event: dict[str, Any]) -> list[dict[str, Any]]:
    """The images of a `user_message` as blocks of a content: data or addresses, and paths."""
    sources = sequence(event.get("images")) + sequence(event.get("local_images"))
    return [{"type": "image", "image_url": source} for source in sources]


def drawn(item: dict[str, Any]) -> str:
    """The note for an image that the model made, "" where a call made none."""
    return medium("image/png", item["result"]) if string(item.get("result")) else ""


def typed(text: str) -> str:
    """What a person typed: without an editor's preface; "" where the harness wrote all of it."""
    text = without_injected(text)
    if text.lstrip().startswith(_PREFACES):
        request = _REQUEST.search(text)
        text = text[request.end() :] if request else ""
    return "" if text.lstrip().startswith(_WRAPPERS) else text


def summary_of(message: Any) -> str | None:
    """A compaction's summary without its fixed first line; None where it is encrypted, so that `message` is empty."""
    text = string(message).strip()
    if text.startswith(_SUMMARY_PREAMBLE):
        text = text.partition("\n")[2].strip()
    return text or None


def call_of(kind: str, item: dict[str, Any]) -> tuple[str, str]:
    """The name of a called tool and the argument that says what it was about; of a patch, the files it touches."""
    default, key = CALLS[kind]
    name = ".".join(filter(None, (string(item.get("namespace")), string(item.get("name"))))) or default
    argument = argument_of(item.get(key))
    if _PATCH in argument and (files := _PATCHED.findall(argument)):
        return "apply_patch", ", ".join(dict.fromkeys(map(str.strip, files)))
    return name, argument


def argument_of(value: Any) -> str:
    """A tool's argument as text. Functions get theirs as JSON text, shells their command as a list of words."""
    decoded = _json(value)
    if isinstance(decoded, dict):
        return salient({key: _command(part) if key in _COMMANDS else part for key, part in decoded.items()})
    return salient(_command(value))


def _json(value: Any) -> Any:
    """What a text spells in JSON, else the value itself."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _command(words: Any) -> Any:
    if not isinstance(words, list) or not words or not all(isinstance(word, str) for word in words):
        return words
    return words[-1] if len(words) == _SHELL_WORDS and words[1] in ("-lc", "-c", "-Command") else shlex.join(words)


def result_of(output: Any) -> tuple[Any, bool]:
    """A result's content, and whether it says that it failed.

    It is plain text, an object with content and success, the JSON text of an object with output and metadata, or the
    JSON text of a tool server's blocks.
    """
    text, exited = without_header(output) if isinstance(output, str) else (output, False)
    value = _json(text)
    if isinstance(value, list) and value and all("type" in mapping(block) for block in value):
        return value, exited
    keys = [key for key in ("output", "content", "body") if key in mapping(value)]
    if not keys:
        return text, exited
    return value[keys[0]], exited or failed(value) or failed(mapping(value.get("metadata")))


def without_header(text: str) -> tuple[str, bool]:
    """A command's output without the lines that Codex puts above it, and whether they tell of an exit code but 0."""
    header = _HEADER.match(text)
    if not header:
        return text, False
    code = _EXIT_CODE.search(header[0])
    return text[header.end() :], code is not None and int(code[1]) != 0


def failed(ending: dict[str, Any]) -> bool:
    """Whether the end of a tool's work, as an event or an item tells it, was a failure."""
    code, result = ending.get("exit_code"), mapping(ending.get("result"))
    return (
        (isinstance(code, int) and code != 0)
        or string(ending.get("status")) in ("failed", "declined")
        or ending.get("success") is False
        or "Err" in result
        or mapping(result.get("Ok", result)).get("isError") is True
    )


def native_call(kind: str, item: dict[str, Any]) -> tuple[str, str, Any]:
    """Name, argument and output of a tool that ran inside another one, as its completed item tells them."""
    match kind:
        case "CommandExecution":
            return "exec_command", argument_of(item.get("command")), item.get("aggregated_output")
        case "FileChange":
            return "apply_patch", ", ".join(sorted(mapping(item.get("changes")))), item.get("stdout")
    name = ".".join(filter(None, (string(item.get("server")), string(item.get("tool"))))) or "tool"
    result, error = mapping(item.get("result")), mapping(item.get("error"))
    return name, argument_of(item.get("arguments")), result.get("content", error.get("message"))
