"""Lessons, 30: "The tab was closed, so no handoff was ever made."

Fails where only a handoff entry is shown as the last session: `_captured` of pipeline/knowledge/context.py stands for
it.
"""

import json
from pathlib import Path

from tests.support.commands import LineageCommand
from tests.support.hook_process import (
    append_transcript,
    drain_spool,
    enqueue_in_process,
    make_payload,
    read_context_block,
    run_sweep,
)
from tests.support.workspace import make_turns


def test_a_session_that_nobody_ended_is_told_of_to_the_next_one(tmp_path: Path, home: Path) -> None:
    """The harness was killed: no end, no handoff. The sweep captures it; the next start tells of it."""
    root, path = tmp_path / "w", append_transcript(tmp_path / "s-1.jsonl", "Mend the reader, it drops the last line.")
    enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)))
    drain_spool(root, home)
    assert len(run_sweep(root, home).captured) == 1
    told = read_context_block(root).partition("## Last session\n")[2]
    assert "Mend the reader, it drops the last line" in told
    assert "--summary.md]]" in told


def test_the_last_session_is_the_projects_own(lineage: LineageCommand, tmp_path: Path) -> None:
    for number, name in enumerate(("demo", "other")):
        source = tmp_path / f"{name}.json"
        source.write_text(json.dumps(make_turns(f"Mend the {name}.", "Done.", start=f"2026-11-20T1{number}:00")))
        arguments = ("--harness", "generic", "--session-id", name, "--project", f"/home/ada/{name}")
        assert lineage("session-end", *arguments, "--transcript-path", str(source)).code == 0
    for name, other in (("demo", "other"), ("other", "demo")):
        told = lineage("context", "--project", f"/home/ada/{name}").out
        assert f"Mend the {name}" in told.partition("## Last session\n")[2]
        assert f"Mend the {other}" not in told
    assert "Mend the other" in lineage("context").out.partition("## Last session\n")[2].partition("\n")[0]
