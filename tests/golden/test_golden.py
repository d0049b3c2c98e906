"""One small workspace, byte for byte: what a reader of the vault sees is looked at before it changes.

The files lie in `files/`, as in a workspace. Where a change of them is meant, write them again and read the diff:

    LINEAGE_GOLDEN=write python -m pytest tests/golden

Fails with any change of a template, a key, an order, a hash, a name or a rule of the sanitizer.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.pipeline.maintenance.verify import verify
from tests.support.workspace import at_time, compact_session, end_session, open_test_workspace, read_store

FILES = Path(__file__).parent / "files"

GENERIC = [
    {"role": "user", "text": "Why does reader.py drop the last line?", "at": "2026-11-19T08:00:00Z"},
    {"role": "assistant", "text": "", "name": "Read", "input": {"file_path": "/home/ada/demo/reader.py"}},
    {"role": "tool", "text": 'lines = text.split("\\n")[:-1]', "name": "Read"},
    {
        "role": "assistant",
        "text": "The bug was in the split: it drops what follows the last newline.\n\nI decided to use splitlines().",
        "at": "2026-11-19T08:00:41.250Z",
    },
    {"role": "assistant", "text": "", "name": "Edit", "input": {"file_path": "/home/ada/demo/reader.py"}},
    {"role": "tool", "text": "ok", "name": "Edit"},
    {"role": "user", "text": "Thanks. The key AKIA" + "QWERTYUIOPASDFGH is in the log, by the way."},
    {
        "role": "assistant",
        "text": "Then it should be rotated. TODO: remove it from the log.",
        "at": "2026-11-20T00:00:03Z",
    },
]


def claude_code(count: int) -> str:
    """The first records of a small Claude Code transcript."""
    texts: list[tuple[str, Any]] = [
        ("user", "Rename `parse` to `read_all` in [[notes]] and run the tests, please. See #412."),
        ("assistant", [{"type": "thinking", "thinking": "First the callers."}]),
        ("assistant", [{"type": "text", "text": "I'll look for its callers first.\n\n```sh\ngrep -rn parse src\n```"}]),
        ("assistant", [{"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "grep -n 'parse(' src"}}]),
        ("user", [{"type": "tool_result", "tool_use_id": "c1", "content": "src/cli.py:12: parse(path)\n" * 3}]),
        ("assistant", [{"type": "tool_use", "id": "c2", "name": "Edit", "input": {"file_path": "src/cli.py"}}]),
        ("user", [{"type": "tool_result", "tool_use_id": "c2", "content": "String not found", "is_error": True}]),
        ("assistant", [{"type": "text", "text": "The file changed meanwhile; let's keep the old name as an alias."}]),
        ("user", "Good. Now the changelog."),
        ("assistant", [{"type": "text", "text": "Done: CHANGELOG.md names the alias. ~~~ is fine in it."}]),
    ]  # fmt: skip
    records = [
        {
            "type": kind,
            "uuid": f"00000000-0000-4000-8000-{number:012d}",
            "parentUuid": f"00000000-0000-4000-8000-{number - 1:012d}" if number else None,
            "timestamp": f"2026-11-20T09:{number:02d}:30.500Z",
            "sessionId": "a245b4fc-b607-4c50-8566-ebe23264272f",
            "cwd": "/home/ada/tool",
            "gitBranch": "rename-parse",
            "message": {"role": kind, "model": "a-model-1", "content": content},
        }
        for number, (kind, content) in enumerate(texts[:count])
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[dict[str, bytes]]:
    """An end, an end with a narrative, a compaction, a second capture and another agent's session."""
    root, source = tmp_path / "workspace", tmp_path / "session.jsonl"
    payload = {"harness": "claude-code", "project": None, "transcript_path": str(source)}
    session = "a245b4fc-b607-4c50-8566-ebe23264272f"
    with open_test_workspace(root, now="2026-11-20T00:00:05.000Z") as ws:
        end_session(ws, "generic-1", transcript=GENERIC)
        source.write_text(claude_code(8), encoding="utf-8")
        end_session(at_time(ws, "2026-11-20T09:10:00.000Z"), session, **payload)
        compact_session(
            at_time(ws, "2026-11-20T09:11:00.000Z"),
            session,
            **payload,
            trigger="auto",
            summary="Goal: rename `parse`.\n\n- callers found\n- ![[embedded]] and <%* code %> do nothing here",
        )
        source.write_text(claude_code(10), encoding="utf-8")
        narrative = "The rename is done; the old name stays as an alias."
        end_session(at_time(ws, "2026-11-20T09:30:00.000Z"), session, **payload, summary=narrative)
        end_session(at_time(ws, "2026-11-20T10:00:00.000Z"), "review-1", agent_id="reviewer", transcript="Is it ready?")
        assert verify(at_time(ws, "2026-11-20T10:00:00.000Z")) == []
        yield read_store(ws.documents.store)


def test_the_workspace_is_the_golden_one_byte_for_byte(workspace: dict[str, bytes]) -> None:
    if os.environ.get("LINEAGE_GOLDEN") == "write":
        _write(workspace)
    golden = {path.relative_to(FILES).as_posix(): path.read_bytes() for path in FILES.rglob("*") if path.is_file()}
    assert sorted(workspace) == sorted(golden)
    assert {path: data.decode() for path, data in workspace.items()} == {p: data.decode() for p, data in golden.items()}


def _write(workspace: dict[str, bytes]) -> None:
    for path in FILES.rglob("*.md"):
        path.unlink()
    for path, data in workspace.items():
        (FILES / path).parent.mkdir(parents=True, exist_ok=True)
        (FILES / path).write_bytes(data)


def test_every_kind_of_file_is_among_them(workspace: dict[str, bytes]) -> None:
    kinds = {path.rpartition("--")[2] for path in workspace if "--" in path}
    assert kinds == {"transcript.md", "summary.md", "compaction.md", "manifest.md"}
    assert {"MEMORY.md", "agents/reviewer/MEMORY.md"} <= set(workspace)
    assert any(path.startswith("memory/claims/") for path in workspace)
