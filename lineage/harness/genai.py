"""Messages of the Gemini API, as Gemini CLI and Qwen Code store them. (harnesses.md 3.5 and 10).

A part is text, a call, a result, or data in base64; signatures are ignored.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from lineage.core.format.turns import TOOL, Turn
from lineage.harness import tool_inputs
from lineage.harness.adapter import REWOUND, UNKNOWN
from lineage.harness.json_values import JsonObject, as_mapping, as_string, format_media_note, measure_base64
from lineage.harness.text import format_omission, strip_injections
from lineage.harness.words import ATTACHMENT

_WRAPPERS = ("session_context", "hook_context", "qwen:user-prompt-submit-context")
# Around what came from outside, a tool's result for one.
_UNTRUSTED = ("<untrusted_context>\n", "\n</untrusted_context>")
# At the start of a line: prose and code may mention the tag.
_SNAPSHOT = re.compile(r"^[ \t]*<state_snapshot>", re.MULTILINE)
_SNAPSHOT_END = "</state_snapshot>"
# Behind a prompt that names files. Files may hold the end too.
_ATTACHED = re.compile(r"^--- Content from referenced files ---[ \t]*$", re.MULTILINE)
_ATTACHED_END = "\n--- End of content ---"
# Base64 of images in results, in every field that a tool chose.
_BLOB = re.compile(r'(?<=")[A-Za-z0-9+/=_-]{256,}(?=")')


def get_object(value: Any, name: str) -> dict[str, Any]:
    """Return an object's member as an object, an empty one if it is none."""
    return as_mapping(as_mapping(value).get(name))


def as_parts(content: Any) -> list[Any]:
    """Return a message's content as a list: it may be a string or a single part."""
    if isinstance(content, list):
        return content
    return [] if content is None else [content]


def is_thought(part: Any) -> bool:
    """Return whether a part's text is a thought of the model."""
    return isinstance(part, dict) and part.get("thought") is True


def extract_text(parts: Iterable[Any], skipped: Counter[str]) -> str:
    """Return the text of some parts, with notes for data and without the wrappers of harness and hooks.

    Parts of other kinds are counted.
    """
    texts = []
    for part in parts:
        text = _text(part)
        if text is None:
            skipped[UNKNOWN] += 1
        else:
            texts.append(_strip_wrappers(text))
    return strip_injections("\n".join(text for text in texts if text)).strip("\n")


def split_attachment(text: str) -> tuple[str, list[Turn]]:
    """Return a prompt as it was typed, and the turn of the files' content behind it."""
    start = _ATTACHED.search(text)
    if start is None:
        return text, []
    content, _, rest = text[start.end() :].rpartition(_ATTACHED_END)
    content, rest = (content, rest) if content else (rest, "")
    return f"{text[: start.start()]}{rest}".strip("\n"), [ATTACHMENT._replace(text=content.strip("\n"))]


def list_media_notes(parts: Iterable[Any]) -> list[str]:
    """Return the notes for the data among some parts."""
    return [_text(part) or "" for part in parts if get_object(part, "inlineData")]


def build_call_turn(call: JsonObject) -> Turn:
    """Return the turn of a tool call with its input, without blobs."""
    turn = tool_inputs.build_call_turn(call.get("name"), call.get("args"), call.get("id"))
    parts = tuple(part._replace(text=_omit_blobs(part.text)) for part in turn.parts)
    return turn._replace(input=_omit_blobs(turn.input), parts=parts)


def split_responses(parts: list[Any]) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Yield each response among some parts with itself and the parts up to the next one.

    Parts without any response come with an empty one.
    """
    starts = [index for index, part in enumerate(parts) if get_object(part, "functionResponse")]
    for start, end in pairwise([0, *starts[1:], len(parts)]):
        answers = (get_object(part, "functionResponse") for part in parts[start:end])
        yield next(filter(None, answers), {}), parts[start:end]


def build_result_turn(name: str, parts: list[Any], skipped: Counter[str], *, error: bool) -> Turn:
    """Return the turn of a tool's result: the text of its response and of the parts beside it."""
    answers = [answer for part in parts if (answer := get_object(part, "functionResponse"))]
    bodies = [get_object(answer, "response") for answer in answers]
    texts = []
    for answer in answers:
        texts.append(extract_text([_render_response(answer.get("response"))], skipped))
        texts.append(extract_text(as_parts(answer.get("parts")), skipped))
    texts.append(extract_text((part for part in parts if not get_object(part, "functionResponse")), skipped))
    error = error or any(body.get("error") and not body.get("output") for body in bodies)
    call_id = next((as_string(answer.get("id")) for answer in answers), "")
    return Turn(TOOL, "\n".join(text for text in texts if text), name=name or "tool", error=error, call_id=call_id)


def find_snapshot(text: str) -> str | None:
    """Return the summary in a compression's `<state_snapshot>`, None for a text without one."""
    opening = _SNAPSHOT.search(text)
    return text[opening.end() :].partition(_SNAPSHOT_END)[0].strip() if opening else None


def rewind(visible_counts: dict[str, int], skipped: Counter[str], record_id: Any, *, include: bool) -> None:
    """Drop the records from `record_id` on, or all if it is unknown. Count their turns as rewound.

    `visible_counts` has the number of turns of each record in the model's sight, in order.
    """
    ids = list(visible_counts)
    start = ids.index(record_id) + (not include) if record_id in ids else 0
    if count := sum(visible_counts.pop(name) for name in ids[start:]):
        skipped[REWOUND] += count


def _text(part: Any) -> str | None:
    if isinstance(part, str):
        return part
    if data := get_object(part, "inlineData"):
        return format_media_note(data.get("mimeType"), data.get("data"))
    return part["text"] if isinstance(part, dict) and isinstance(part.get("text"), str) else None


def _strip_wrappers(text: str) -> str:
    """Return the text without a block of the harness or a hook at either end."""
    if text.startswith(_UNTRUSTED[0]) and text.endswith(_UNTRUSTED[1]):
        text = text[len(_UNTRUSTED[0]) : -len(_UNTRUSTED[1])]
    for name in _WRAPPERS:
        opening, closing = f"<{name}>", f"</{name}>"
        if text.lstrip().startswith(opening) and closing in text:
            text = text.partition(closing)[2].lstrip("\n")
        if text.rstrip().endswith(closing) and opening in text:
            text = text.rpartition(opening)[0].rstrip()
    return text


def _render_response(body: Any) -> str:
    """Return a response's output, else its error, else all of it as compact JSON."""
    for value in (body, *(as_mapping(body).get(key) for key in ("output", "error"))):
        if isinstance(value, str) and value:
            return value
    try:
        return _omit_blobs(json.dumps(body, ensure_ascii=False, separators=(",", ":"))) if body else ""
    except RecursionError:
        return "[too deeply nested]"


def _omit_blobs(text: str) -> str:
    return _BLOB.sub(lambda match: format_omission("data", measure_base64(match[0])), text)
