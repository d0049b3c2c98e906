"""Lessons, 14: "A summarizer that spawned a full agent ran that agent's own hooks: 260k tokens."

Here the model is a program that does what such an agent does: its own hooks signal this workspace, at its
start and at its end. Fails where `build_provider` of app/models.py leaves LINEAGE_SUPPRESS out of a child's
environment, where the hook ignores it, and where a temp session is shown to a model.
"""

from pathlib import Path

import pytest

from lineage.app.worker import run_worker
from tests.support.commands import LineageCommand
from tests.support.hook_process import (
    PROJECT,
    append_transcript,
    enqueue_in_process,
    hook_command,
    list_captured,
    list_spooled_paths,
    make_end_payload,
)
from tests.support.models import ANSWER, read_prompts, write_machine_config, write_program, write_workspace_settings

AGENT = """
import subprocess
path = {transcript!r}
record = {{"type": "user", "message": {{"role": "user", "content": prompt}}, "uuid": "u-1", "sessionId": "own"}}
with open(path, "w") as file:
    print(json.dumps({{**record, "timestamp": "2026-10-02T09:00:00.000Z", "cwd": os.getcwd()}}), file=file)
if {free}:
    os.environ.pop("LINEAGE_SUPPRESS")
for event in ("SessionStart", "SessionEnd"):
    payload = {{"hook_event_name": event, "session_id": "own", "cwd": os.getcwd(), "transcript_path": path}}
    subprocess.run({hook!r}, input=json.dumps(payload).encode(), check=True)
sys.stdout.write({answer!r})
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace in which a hook has signalled one session."""
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("LINEAGE_NO_WORKER", "1")
    write_workspace_settings(tmp_path / "w", memory=False)
    enqueue_in_process(
        tmp_path / "w", make_end_payload(append_transcript(tmp_path / "s-1.jsonl", "Mend reader.py in demo."))
    )
    return tmp_path / "w"


def agent(root: Path, folder: Path, *, free: bool = False) -> list[str]:
    """A model that is a whole agent; a `free` one has shaken off what keeps its hooks silent."""
    own = str(folder / "own.jsonl")
    return write_program(folder, AGENT.format(transcript=own, hook=hook_command(root), answer=ANSWER, free=free))


def test_an_agent_that_summarizes_is_no_session_of_anybody_s(root: Path, home: Path, tmp_path: Path) -> None:
    write_machine_config(home, provider="command", command=agent(root, tmp_path))
    (done,) = run_worker(root)
    assert done.outcomes == {"captured": 1}
    assert list_spooled_paths(root) == []
    assert [artifact.memory_sentence_quality for artifact in list_captured(root)] == ["ok"]
    assert len(read_prompts(tmp_path)) == 1


def test_one_whose_hooks_ring_all_the_same_is_shown_to_no_model(
    root: Path, home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The chain ends with its first link: what runs in a temp folder is nobody's work."""
    write_machine_config(home, provider="command", command=agent(root, tmp_path, free=True))
    while list_spooled_paths(root):
        run_worker(root)
    assert [artifact.session_id for artifact in list_captured(root)] == ["s-1", "own"]
    assert len(read_prompts(tmp_path)) == 1
    assert LineageCommand(root, capsys)("status", "--json").json["model"]["today"]["calls"] == 1
