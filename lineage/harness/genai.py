"""What Gemini CLI and Qwen Code share: messages as parts of the Gemini API. (harnesses.md 3.5 and 10)

A part is text, a call, a result, or data in base64; signatures are never looked at.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from lineage.core.format.turns import ASSISTANT, TOOL, Turn
from lineage.harness.collector import UNKNOWN
from lineage.harness.json_values import as_mapping, as_string, format_media_note
from lineage.harness.text import format_omission, render_tool_input, strip_injections

REWOUND = "rewound"  # turns that were taken back: they stay

_WRAPPERS = ("session_context", "hook_context", "qwen:user-prompt-submit-context")
_SNAPSHOT = re.compile(r"^[ \t]*<state_snapshot>", re.MULTILINE)
_SNAPSHOT_END = "</state_snapshot>"
_BLOB = re.compile(r'(?<=")[A-Za-z0-9+/=_-]{256,}(?=")')


def get_object(value: Any, name: str) -> dict[str, Any]:
    """An object's member of that name where it is an object too, else an empty one."""
    return as_mapping(as_mapping(value).get(name))


def as_parts(content: Any) -> list[Any]:
    """A message's content as a list: it may be a string or a single part."""
    if isinstance(content, list):
        return content
    return [] if content is None else [content]


def is_thought(part: Any) -> bool:
    """Whether a part's text is what the model thought, and no answer."""
    return isinstance(part, dict) and part.get("thought") is True


def extract_text(parts: Iterable[Any], skipped: Counter[str]) -> str:
    """The text of some parts; data leaves a note of its size, what harness and hooks wrapped around it goes.

    Parts that are no text are counted.
    """
    texts = []
    for part in parts:
        text = _text(part)
        if text is None:
            skipped[UNKNOWN] += 1
        else:
            texts.append(_strip_wrappers(text))
    return strip_injections("\n".join(text for text in texts if text)).strip("\n")


def list_media_notes(parts: Iterable[Any]) -> list[str]:
    """The notes that stand for the data among some parts."""
    return [_text(part) or "" for part in parts if get_object(part, "inlineData")]


def build_call_turn(name: Any, arguments: Any) -> Turn:
    """A call of a tool with the argument that says what it was about."""
    return Turn(ASSISTANT, "", name=as_string(name) or "tool", input=_omit_blobs(render_tool_input(arguments)))


def split_responses(parts: list[Any]) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """The responses among some parts, each with itself and the parts that follow it; one without a name or id where
    there is none."""
    starts = [place for place, part in enumerate(parts) if get_object(part, "functionResponse")]
    for start, end in pairwise([0, *starts[1:], len(parts)]):
        answers = (get_object(part, "functionResponse") for part in parts[start:end])
        yield next(filter(None, answers), {}), parts[start:end]


def build_result_turn(name: str, parts: list[Any], skipped: Counter[str], *, error: bool) -> Turn:
    """A tool's result: the text of its response and of what lies beside it."""
    answers = [answer for part in parts if (answer := get_object(part, "functionResponse"))]
    texts = [_response_text(answer, skipped) for answer in answers]
    texts.append(extract_text((part for part in parts if not get_object(part, "functionResponse")), skipped))
    error = error or any(_failed(get_object(answer, "response")) for answer in answers)
    return Turn(TOOL, "\n".join(text for text in texts if text), name=name or "tool", error=error)


def find_snapshot(text: str) -> str | None:
    """The summary in a compression's `<state_snapshot>`, None where the text holds none."""
    opening = _SNAPSHOT.search(text)
    return text[opening.end() :].partition(_SNAPSHOT_END)[0].strip() if opening else None


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    data = get_object(part, "inlineData")
    if data:
        return format_media_note(as_string(data.get("mimeType")), as_string(data.get("data")))
    return part["text"] if isinstance(part, dict) and isinstance(part.get("text"), str) else None


def _strip_wrappers(text: str) -> str:
    """Text without a block of the harness's or a hook's at either end of it."""
    for name in _WRAPPERS:
        opening, closing = f"<{name}>", f"</{name}>"
        if text.lstrip().startswith(opening) and closing in text:
            text = text.partition(closing)[2].lstrip("\n")
        if text.rstrip().endswith(closing) and opening in text:
            text = text.rpartition(opening)[0].rstrip()
    return text


def _response_text(answer: dict[str, Any], skipped: Counter[str]) -> str:
    body = answer.get("response")
    texts = [extract_text([_render_response(body)], skipped), extract_text(as_parts(answer.get("parts")), skipped)]
    return "\n".join(text for text in texts if text)


def _render_response(body: Any) -> str:
    """A response's output, else its error, else all of it as compact JSON."""
    for value in (body, *(as_mapping(body).get(key) for key in ("output", "error"))):
        if isinstance(value, str) and value:
            return value
    try:
        return _omit_blobs(json.dumps(body, ensure_ascii=False, separators=(",", ":"))) if body else ""
    except RecursionError:
        return "[too deeply nested]"


def _failed(body: dict[str, Any]) -> bool:
    return bool(body.get("error")) and not body.get("output")


def _omit_blobs(text: str) -> str:
    return _BLOB.sub(lambda found: format_omission("data", len(found[0].rstrip("=")) * 3 // 4), text)
