"""A Claude Code transcript of a given size: prompts, replies, tool calls and results in their real proportions."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.words import Prose

_SECRET = "export SERVICE_TOKEN=" + "".join(("q7Zp", "4vLk", "9sXw", "2mBt", "6hRc"))  # what a rule has to redact
_SECRET_EVERY = 40
_HOURS_PER_BYTE = 2e-6


def write(path: Path, size: int, prose: Prose, latest: str) -> str:
    """Writes JSON lines of at least `size` bytes, none of them after the time `latest`; the session's id. The same
    prose and times give the same file."""
    session = prose.identifier()
    began = datetime.fromisoformat(latest) - timedelta(hours=2 + size * _HOURS_PER_BYTE)
    lines = _lines(prose, session, began)
    with path.open("w", encoding="utf-8") as file:
        written = 0
        while written < size:
            written += file.write(json.dumps(next(lines)) + "\n")
    return session


def _lines(prose: Prose, session: str, began: datetime) -> Iterator[dict[str, Any]]:
    parent = None
    for number, (role, content) in enumerate(_contents(prose)):
        record = prose.identifier()
        yield {
            "parentUuid": parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/ada/lantern",
            "sessionId": session,
            "version": "2.0.14",
            "gitBranch": "main",
            "type": role,
            "message": {"role": role, "model": "claude-sonnet-4-5", "content": content},
            "uuid": record,
            "timestamp": (began + timedelta(seconds=7 * number)).isoformat(timespec="milliseconds"),
        }
        parent = record


def _contents(prose: Prose) -> Iterator[tuple[str, Any]]:
    number = 0
    while True:
        yield "user", prose.text(prose.random.randrange(60, 600))
        for _ in range(prose.random.randrange(2, 9)):
            number += 1
            call, name = f"toolu_{number:08d}", prose.file_name()
            tool, given = prose.random.choice(
                (("Read", {"file_path": name}), ("Edit", {"file_path": name}), ("Bash", {"command": f"pytest {name}"}))
            )
            result = prose.text(int(min(40_000, prose.random.lognormvariate(7.6, 1.1))))
            if number % _SECRET_EVERY == 0:
                result += f"\n{_SECRET}"
            yield "assistant", [{"type": "text", "text": prose.text(prose.random.randrange(80, 500))}]
            yield "assistant", [{"type": "tool_use", "id": call, "name": tool, "input": given}]
            yield "user", [{"type": "tool_result", "tool_use_id": call, "content": result}]
        yield "assistant", [{"type": "text", "text": prose.text(prose.random.randrange(300, 1800))}]
