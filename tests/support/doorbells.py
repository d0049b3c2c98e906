"""Ringing the doorbell in tests as a harness does: a process of its own, a payload on stdin."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lineage.cli import doorbell as bell
from lineage.pipeline.incoming.locating import Machine
from lineage.pipeline.incoming.sweeping import Swept, sweep
from lineage.pipeline.incoming.working import Drained, drain
from lineage.telemetry import Seen
from tests.support.houses import house_at
from tests.support.races import PROJECT
from tests.support.wrecks import artifacts

LATER = "2099-01-01T00:00:00.000Z"
SPOOLED = {"LINEAGE_NO_WORKER": "1"}


def command(root: Path, harness: str = "claude-code", *more: str) -> list[str]:
    return [sys.executable, "-m", "lineage", "hook", harness, "--workspace", str(root), *more]


def environment(**more: str) -> dict[str, str]:
    """This process's, with the project importable from anywhere."""
    return {**os.environ, "PYTHONPATH": str(PROJECT), **more}


def payload(event: str = "SessionEnd", session: str = "s-1", **more: Any) -> dict[str, Any]:
    """Claude Code's."""
    return {"hook_event_name": event, "session_id": session, "cwd": "/home/ada/demo", **more}


def ring(
    root: Path, value: Any, harness: str = "claude-code", *more: str, **variables: str
) -> "subprocess.CompletedProcess[bytes]":
    """Rings with a JSON value, or with bytes as they are; no worker is started unless LINEAGE_NO_WORKER is empty."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return subprocess.run(
        command(root, harness, *more),
        input=data,
        capture_output=True,
        env=environment(**{**SPOOLED, **variables}),
        check=False,
        timeout=120,
    )


def spooled(root: Path) -> list[dict[str, Any]]:
    """What the doorbell left, as it lies there, by name."""
    return [json.loads(path.read_bytes()) for path in jobs(root)]


def jobs(root: Path) -> list[Path]:
    return sorted((root / ".lineage/spool/signals").glob("*"))


def logged(root: Path) -> str:
    path = root / ".lineage/log/hook.log"
    return path.read_text() if path.exists() else ""


def eventually(condition: Callable[[], bool], what: str = "") -> None:
    """Waits for what another process does; fails after two minutes."""
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, f"it never came: {what}"
        time.sleep(0.05)


def workers(root: Path) -> list[int]:
    """The ids of the processes that are `lineage work` of a workspace. Linux only."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"work" in words and os.fsencode(root) in words and b"lineage" in words:
                found.append(int(entry.name))
    return found


def say(path: Path, *texts: str) -> Path:
    """A transcript of Claude Code's, or more of it; last written to an hour ago."""
    with path.open("a") as file:
        for number, text in enumerate(texts, path.stat().st_size):
            message = {"role": "user", "content": text}
            record = {"type": "user", "message": message, "uuid": f"{path.stem}-{number}", "sessionId": path.stem}
            file.write(json.dumps({**record, "timestamp": "2026-10-02T09:00:00.000Z", "cwd": "/home/ada/demo"}) + "\n")
    os.utime(path, (1_790_000_000, 1_790_000_000))
    return path


def leave(root: Path, value: Mapping[str, Any], harness: str = "claude-code", agent: str = "default") -> None:
    """Rings in this process; no worker is started."""
    with patch.dict(os.environ, {"LINEAGE_NO_WORKER": "1"}):
        bell.ring(str(root), harness, agent, dict(value))


def ended(path: Path, session: str | None = None, **more: Any) -> dict[str, Any]:
    return payload("SessionEnd", session or path.stem, transcript_path=str(path), **more)


def machine(home: Path) -> Machine:
    return Machine(home, {})


def drained(root: Path, home: Path, now: str = LATER) -> Drained:
    with house_at(root, now=now) as house:
        return drain(house, machine(home))


def swept(root: Path, home: Path, now: str = LATER) -> Swept:
    with house_at(root, now=now) as house:
        return sweep(house, machine(home))


def seen(root: Path) -> list[Seen]:
    with house_at(root) as house:
        return house.telemetry.seen()


def captured(root: Path, kind: str = "transcript") -> list[Any]:
    return [artifact for artifact in artifacts(root) if artifact.kind == kind]


def block(root: Path, folder: str = "/home/ada/demo", agent: str = "default") -> str:
    return bell._block(str(root), agent, folder)
