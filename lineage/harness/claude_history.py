"""The prompts of sessions that Claude Code has deleted, from its `history.jsonl`. (harnesses.md, section 1).

A line is one prompt: `display`, `pastedContents`, `timestamp` in milliseconds, `project` and `sessionId`. Older lines
have no `sessionId`: those of one project are one session as long as no two lie six hours apart, a night or an
afternoon; the session is named by project and first time. `display` is a person's words, with a mark in place of what
was pasted; that is a document, and follows as a turn of nobody's. A session with a transcript is none of these, and
neither is a group without an id that ends after a transcript of its project begins.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from lineage.core.base.times import from_epoch
from lineage.core.capture.capture import Capture
from lineage.core.format.turns import SYSTEM, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.adapter import NOTES, UNKNOWN, SessionLocation, choose_session
from lineage.harness.json_values import as_mapping, as_string
from lineage.harness.jsonl import read_records

NAME = "history.jsonl"
_GAP = 6 * 3600 * 1000
_BARE_COMMAND = re.compile(r"/\S*")
_MAX_MILLISECONDS = 253_370_764_800_000  # the year 9999

_Prompt = dict[str, Any]


def holds_prompts(path: Path) -> bool:
    """Return whether a file of that name is a prompt history. Raise TranscriptError if it cannot be read."""
    return bool(_load_sessions(path))


def discover(path: Path) -> Iterator[SessionLocation]:
    """Yield the sessions of a prompt history without transcripts, by id."""
    try:
        sessions = _load_sessions(path)
    except TranscriptError:
        return
    transcripts = list(path.parent.glob("projects/**/*.jsonl"))
    names = {transcript.stem for transcript in transcripts}
    starts: dict[str, float] = {}
    for transcript in transcripts:
        folder = transcript.relative_to(path.parent / "projects").parts[0]
        starts[folder] = min(starts.get(folder, _MAX_MILLISECONDS), _read_start(transcript))
    for session, prompts in sorted(sessions.items()):
        folder = re.sub(r"[^A-Za-z0-9]", "-", as_string(prompts[-1].get("project")))
        has_id = bool(prompts[0].get("sessionId"))
        if session not in names and (has_id or prompts[-1]["timestamp"] < starts.get(folder, _MAX_MILLISECONDS)):
            yield SessionLocation(path, session)


def read(path: Path, session: str | None) -> Capture:
    """Return the prompts of one session. Raise TranscriptError if the history is unreadable or lacks the session."""
    sessions = _load_sessions(path)
    hint = "`lineage import claude-code` finds its sessions"
    name = choose_session(sessions, session, f"the history {path}", hint)
    skipped: Counter[str] = Counter()
    turns = [turn for prompt in sessions[name] for turn in _read_prompt(prompt, skipped)]
    times = [from_epoch(prompt["timestamp"] / 1000) for prompt in sessions[name]]
    project = next(filter(None, (as_string(prompt.get("project")) for prompt in sessions[name])), None)
    return Capture(
        tuple(turns), times[0], times[-1], session_id=name, project=project, skipped=dict(skipped), partial=True
    )


def _read_prompt(prompt: _Prompt, skipped: Counter[str]) -> Iterator[Turn]:
    text, at = as_string(prompt.get("display")).strip(), from_epoch(prompt["timestamp"] / 1000)
    if not text or _BARE_COMMAND.fullmatch(text):
        skipped[NOTES] += 1
        return
    yield Turn(USER, text, at)
    for pasted in as_mapping(prompt.get("pastedContents")).values():
        document = as_string(as_mapping(pasted).get("content")).strip("\n")
        if document.strip():
            yield Turn(SYSTEM, document, at, name="pasted")
        else:
            skipped[UNKNOWN] += 1  # an image, or kept elsewhere


def _load_sessions(path: Path) -> Mapping[str, list[_Prompt]]:
    try:
        status = path.stat()
    except (OSError, ValueError):
        return _group(path)  # which says why it can't be read
    return _group(path, status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=2)  # an import reads its sessions one after the other
def _group(path: Path, *_state: int) -> Mapping[str, list[_Prompt]]:
    prompts = [record for record in read_records(path, Counter()) if _has_time(record) and "display" in record]
    sessions: dict[str, list[_Prompt]] = {}
    open_groups: dict[str, tuple[str, float]] = {}
    for prompt in sorted(prompts, key=lambda prompt: prompt["timestamp"]):
        session, project = as_string(prompt.get("sessionId")), as_string(prompt.get("project"))
        time = prompt["timestamp"]
        if not session:
            session, last = open_groups.get(project, ("", 0.0))
            if not session or time - last > _GAP:
                seed = f"{project}\n{time}".encode("utf-8", "replace")
                session = f"history-{hashlib.sha256(seed).hexdigest()[:16]}"
            open_groups[project] = session, time
        sessions.setdefault(session, []).append(prompt)
    return sessions


def _has_time(record: Mapping[str, Any]) -> bool:
    time = record.get("timestamp")
    return type(time) in (int, float) and 0 < float(time or 0) < _MAX_MILLISECONDS


def _read_start(transcript: Path) -> float:
    """Return the time of a transcript's first record, in milliseconds; 0 if it is unknown."""
    try:
        times = (as_string(record.get("timestamp")) for record in read_records(transcript, Counter()))
        return datetime.fromisoformat(next(filter(None, times))).timestamp() * 1000
    except (TranscriptError, ValueError, StopIteration):
        return 0
