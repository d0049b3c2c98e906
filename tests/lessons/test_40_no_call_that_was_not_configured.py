"""Lessons, 40: "Silent token burn: 649 million tokens in background extraction. No model call without being configured;
every call counted and shown in `lineage status`."

Fails where a model is chosen because its program is there, where a call isn't begun in telemetry before it is made, and
where the limit is not asked.
"""

import os
from pathlib import Path

import pytest

from lineage.app.worker import drain_and_sweep, run_worker
from tests.support.commands import SAMPLE, LineageCommand
from tests.support.hook_process import append_transcript, enqueue_in_process, make_end_payload
from tests.support.models import ANSWER, read_prompts, write_fixed_answer, write_machine_config, write_program

pytestmark = pytest.mark.slow

TEMPTING = ("claude", "llm", "ollama", "gemini", "codex", "python3")
GENERIC = ("--harness", "generic", "--session-id", "s-1", "--project", "/home/ada/demo")


@pytest.fixture
def temptations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every program that might answer is there, with keys for it; each notes that it was started."""
    folder = tmp_path / "bin"
    command = write_fixed_answer(folder)
    for name in TEMPTING:
        path = folder / name
        path.write_text(f"#!/bin/sh\nexec {' '.join(command)}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "LLM_MODEL"):
        monkeypatch.setenv(variable, "there")
    return folder


def everything(lineage: LineageCommand, tmp_path: Path) -> None:
    """Whatever captures, finishes, rebuilds or reads."""
    assert lineage("init").code == 0
    assert lineage.end_sample().code == 0
    assert lineage("compaction", *GENERIC, "--summary", "Goal: reader.py in demo.").code == 0
    enqueue_in_process(
        lineage.root,
        make_end_payload(
            append_transcript(tmp_path / "s-2.jsonl", "Mend reader.py in demo. Then write a test for it.")
        ),
    )
    assert run_worker(lineage.root)
    drain_and_sweep(lineage.root, idle_minutes=0)
    history = tmp_path / "history"
    history.mkdir()
    (history / "copy.jsonl").write_bytes(SAMPLE.read_bytes())
    assert lineage("import", "claude-code", str(history), "--jobs", "1").code == 0
    for words in (
        ("reindex",),
        ("render",),
        ("recover",),
        ("status",),
        ("sessions",),
        ("search", "newline"),
        ("doctor",),
    ):
        assert lineage(*words).code in (0, 4), words
    assert lineage("watch", "--once").code == 0


@pytest.mark.parametrize("provider", [None, "none"])
def test_without_being_configured_nothing_is_ever_asked(
    lineage: LineageCommand, home: Path, tmp_path: Path, temptations: Path, provider: str | None
) -> None:
    if provider:
        write_machine_config(home, provider=provider, command=["claude", "-p"], name="gpt-x")
    everything(lineage, tmp_path)
    assert read_prompts(temptations) == []
    model = lineage("status", "--json").json["model"]
    assert (model["provider"], model["last_30_days"]) == (
        "none", {"calls": 0, "tokens": 0, "outcomes": {}, "held_back": {}},
    )  # fmt: skip


def test_every_call_is_counted_and_shown(
    lineage: LineageCommand, home: Path, tmp_path: Path, temptations: Path
) -> None:
    write_machine_config(home, provider="command", command=["claude", "-p"])
    everything(lineage, tmp_path)
    prompts = read_prompts(temptations)
    assert len(prompts) >= 3
    model = lineage("status", "--json").json["model"]
    assert model["today"]["calls"] == len(prompts)
    least = sum(len(prompt) for prompt in prompts) // 4
    assert least <= model["today"]["tokens"] <= least + len(prompts) * (len(ANSWER) // 4 + 3)
    assert f"today {len(prompts)} calls" in lineage("status").out


@pytest.mark.parametrize("code", ["sys.exit(1)", "print('no')", "os.kill(os.getpid(), 9)"])
def test_a_call_that_fails_is_counted_too_and_not_made_again(
    lineage: LineageCommand, home: Path, tmp_path: Path, code: str
) -> None:
    write_machine_config(home, provider="command", command=write_program(tmp_path / "model", code))
    everything(lineage, tmp_path)
    made = len(read_prompts(tmp_path / "model"))
    assert lineage("status", "--json").json["model"]["today"]["calls"] == made
    lineage.end_sample()
    assert lineage("recover").code == 0
    assert len(read_prompts(tmp_path / "model")) == made


def test_the_limit_ends_it_whatever_goes_on(
    lineage: LineageCommand, home: Path, tmp_path: Path, temptations: Path
) -> None:
    write_machine_config(home, provider="command", command=["claude", "-p"], calls_per_day=1)
    everything(lineage, tmp_path)
    assert len(read_prompts(temptations)) == 1
    model = lineage("status", "--json").json["model"]
    assert (model["today"]["calls"], model["limit_reached"]) == (1, True)
