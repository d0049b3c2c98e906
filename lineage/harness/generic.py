"""The generic transcript: a list of turns `{"role", "text", "at"?, "name"?, "input"?, "id"?}`, or plain text.

What a payload gives inline has this form whatever the harness. (format: Commands)
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lineage.core.capture import Capture
from lineage.core.lazily import pattern
from lineage.core.times import utc
from lineage.core.turns import ROLES, USER, Turn
from lineage.errors import InvalidInput, TranscriptError
from lineage.harness.jsonl import read_bytes, records
from lineage.harness.listing import files
from lineage.harness.port import Found
from lineage.harness.text import salient, without_injected

_HINT = 'a turn is {"role": "user" | "assistant" | "tool" | "system", "text": "…", "at": "2026-03-28T22:34:06Z"}'
_SPEAKER = pattern(r"^(user|human|assistant|ai|agent|tool|system):[ \t]*", re.IGNORECASE | re.MULTILINE)
_SUFFIXES = (".json", ".jsonl", ".md", ".txt")
_ROLE_OF = {"human": USER, "ai": "assistant", "agent": "assistant"}


def read(path: Path, session: str | None = None) -> Capture:
    """A `.json` list, `.jsonl` objects, or any other file as plain text.

    Raises TranscriptError for unreadable and foreign files, InvalidInput for turns that break the form.
    """
    suffix = path.suffix.lower()
    if suffix == ".jsonl":
        skipped: Counter[str] = Counter()
        items = list(records(path, skipped))
        if (items or skipped) and not any("role" in item for item in items):
            raise TranscriptError(f"no turn in {path}", hint=_HINT)
        return _capture(items, skipped)
    text = _text(path)
    if suffix != ".json" or not text:
        return inline(text)
    try:
        return inline(json.loads(text))
    except (ValueError, RecursionError) as error:
        raise TranscriptError(f"not valid JSON: {path}", hint=_HINT) from error


def roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Nowhere: generic transcripts lie where somebody put them."""
    return []


def found(root: Path) -> Iterator[Found]:
    """Every `.json`, `.jsonl`, `.md` and `.txt` file."""
    return files(root, _SUFFIXES)


def _text(path: Path) -> str:
    try:
        text = read_bytes(path).decode("utf-8-sig").strip(" \t\r\n\x00")
    except UnicodeDecodeError:
        text = "\x00"
    if "\x00" in text:
        raise TranscriptError(f"not a text file: {path}", hint="give a JSON list of turns or plain text in UTF-8")
    return text


def inline(value: Any) -> Capture:
    """A list of turns or one string. Raises InvalidInput for anything else."""
    if isinstance(value, str):
        return Capture(turns=tuple(_spoken(value)))
    if isinstance(value, list):
        return _capture(value, Counter())
    raise InvalidInput(f"a transcript is a list of turns or a string, not {type(value).__name__}", hint=_HINT)


def _capture(items: list[Any], skipped: Counter[str]) -> Capture:
    turns = [_turn(item, index) for index, item in enumerate(items)]
    shown = tuple(turn for turn in turns if turn.text or turn.name)
    if len(shown) < len(turns):
        skipped["without text"] += len(turns) - len(shown)
    times = [turn.at for turn in turns if turn.at]
    return Capture(
        turns=shown,
        started_at=times[0] if times else None,
        ended_at=times[-1] if times else None,
        skipped=dict(sorted(skipped.items())),
    )


def _turn(item: Any, index: int) -> Turn:
    if not isinstance(item, dict) or item.get("role") not in ROLES:
        raise InvalidInput(f"turn {index} has no known role", hint=_HINT)
    for key in ("text", "at", "name"):
        if not isinstance(item.get(key), str | None):
            raise InvalidInput(f"turn {index}: '{key}' is not a string", hint=_HINT)
    if not isinstance(item.get("id"), str | int | None):
        raise InvalidInput(f"turn {index}: 'id' is neither a string nor a number", hint=_HINT)
    record = item.get("id")
    return Turn(
        role=item["role"],
        text=without_injected(item.get("text") or ""),
        at=_time(item.get("at"), index),
        name=item.get("name") or "",
        input=salient(item.get("input")),
        error=item.get("error") is True,
        source_id=str(record) if record not in (None, "") else None,
    )


def _time(value: str | None, index: int) -> str | None:
    try:
        return utc(value) if value else None
    except InvalidInput as error:
        raise InvalidInput(f"turn {index}: {error.message}", hint=error.hint) from error


def _spoken(text: str) -> Iterable[Turn]:
    """Plain text as turns: by speaker where its lines begin with one (`User:`), else as one turn of the user's."""
    text = without_injected(text)
    marks = list(_SPEAKER.finditer(text))
    if not marks or marks[0].start() > 0:
        return [Turn(USER, text)] if text else []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    spoken = ((_role(mark[1]), text[mark.end() : end].strip()) for mark, end in zip(marks, ends, strict=True))
    return [Turn(role, words) for role, words in spoken if words]


def _role(speaker: str) -> str:
    return _ROLE_OF.get(speaker.lower(), speaker.lower())
