"""Lessons, 40: "Silent token burn: 649 million tokens in background extraction. No model call without being configured;
every call counted and shown in `lineage status`."

Fails where a model is chosen because its program is there, where a call isn't begun in telemetry before it is made, and
where the limit is not asked.
"""

import os
from pathlib import Path

import pytest

from lineage.app.working import swept, work
from tests.support.commands import SAMPLE, Lineage
from tests.support.doorbells import ended, leave, say
from tests.support.models import ANSWER, answering, asked, configured, program

pytestmark = pytest.mark.slow

TEMPTING = ("claude", "llm", "ollama", "gemini", "codex", "python3")
GENERIC = ("--harness", "generic", "--session-id", "s-1", "--project", "/home/ada/demo")


@pytest.fixture
def temptations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every program that might answer is there, with keys for it; each notes that it was started."""
    folder = tmp_path / "bin"
    command = answering(folder)
    for name in TEMPTING:
        path = folder / name
        path.write_text(f"#!/bin/sh\nexec {' '.join(command)}\n")
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    for variable in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "LLM_MODEL"):
        monkeypatch.setenv(variable, "there")
    return folder


def everything(lineage: Lineage, tmp_path: Path) -> None:
    """Whatever captures, finishes, rebuilds or reads."""
    assert lineage("init").code == 0
    assert lineage.end().code == 0
    assert lineage("compaction", *GENERIC, "--summary", "Goal: reader.py in demo.").code == 0
    leave(lineage.root, ended(say(tmp_path / "s-2.jsonl", "Mend reader.py in demo. Then write a test for it.")))
    assert work(lineage.root)
    swept(lineage.root, idle_minutes=0)
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
    lineage: Lineage, home: Path, tmp_path: Path, temptations: Path, provider: str | None
) -> None:
    if provider:
        configured(home, provider=provider, command=["claude", "-p"], name="gpt-x")
    everything(lineage, tmp_path)
    assert asked(temptations) == []
    model = lineage("status", "--json").json["model"]
    assert (model["provider"], model["last_30_days"]) == (
        "none", {"calls": 0, "tokens": 0, "outcomes": {}, "held_back": {}},
    )  # fmt: skip


def test_every_call_is_counted_and_shown(lineage: Lineage, home: Path, tmp_path: Path, temptations: Path) -> None:
    configured(home, provider="command", command=["claude", "-p"])
    everything(lineage, tmp_path)
    prompts = asked(temptations)
    assert len(prompts) >= 3
    model = lineage("status", "--json").json["model"]
    assert model["today"]["calls"] == len(prompts)
    least = sum(len(prompt) for prompt in prompts) // 4
    assert least <= model["today"]["tokens"] <= least + len(prompts) * (len(ANSWER) // 4 + 3)
    assert f"today {len(prompts)} calls" in lineage("status").out


@pytest.mark.parametrize("code", ["sys.exit(1)", "print('no')", "os.kill(os.getpid(), 9)"])
def test_a_call_that_fails_is_counted_too_and_not_made_again(
    lineage: Lineage, home: Path, tmp_path: Path, code: str
) -> None:
    configured(home, provider="command", command=program(tmp_path / "model", code))
    everything(lineage, tmp_path)
    made = len(asked(tmp_path / "model"))
    assert lineage("status", "--json").json["model"]["today"]["calls"] == made
    lineage.end()
    assert lineage("recover").code == 0
    assert len(asked(tmp_path / "model")) == made


def test_the_limit_ends_it_whatever_goes_on(lineage: Lineage, home: Path, tmp_path: Path, temptations: Path) -> None:
    configured(home, provider="command", command=["claude", "-p"], calls_per_day=1)
    everything(lineage, tmp_path)
    assert len(asked(temptations)) == 1
    model = lineage("status", "--json").json["model"]
    assert (model["today"]["calls"], model["limit_reached"]) == (1, True)
