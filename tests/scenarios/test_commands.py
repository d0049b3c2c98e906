"""Each command as a person or a script uses it: its output, its JSON keys, and that help and README tell the truth."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from urllib.parse import unquote

import click
import pytest

from lineage.cli import admin
from lineage.cli.main import COMMANDS, cli
from tests.support.commands import SAMPLE, SAMPLE_ID, LineageCommand, run_process
from tests.support.embedding_server import EmbeddingServer, run_embedding_server
from tests.support.fake_programs import CLAUDE, FakePrograms

README = Path(__file__).parents[2] / "README.md"
OUTCOME_KEYS = {
    "status", "session_token", "manifest_path", "transcript_path", "summary_path", "compaction_path", "captured_at",
    "memory_sentence", "memory_sentence_quality", "redactions", "reason",
}  # fmt: skip


def command_of(path: str) -> click.Command:
    command: click.Command = cli
    for name in path.split():
        assert isinstance(command, click.Group)
        with click.Context(command) as context:
            child = command.get_command(context, name)
        assert child is not None
        command = child
    return command


def examples(name: str) -> list[str]:
    """The command lines under `Example:` in a command's help."""
    text = command_of(name).help or ""
    return [line.strip() for line in text.partition("Example:")[2].split("\n") if line.strip()]


def test_a_session_end_prints_the_documented_object(lineage: LineageCommand) -> None:
    done = lineage.end_sample("--json")
    assert done.code == 0
    assert set(done.json) >= OUTCOME_KEYS
    assert done.json["status"] == "captured"
    assert done.json["redactions"] == {"github-token": 1}
    for key in ("manifest_path", "transcript_path", "summary_path"):
        assert (lineage.root / done.json[key]).is_file()
    again = lineage.end_sample("--json").json
    assert (again["status"], again["reason"]) == ("unchanged", "nothing new")


@pytest.mark.slow
def test_the_payload_comes_by_stdin_too_and_options_win(tmp_path: Path) -> None:
    payload = {
        "harness": "generic",
        "session_id": "s-1",
        "agent_id": "ann",
        "transcript": [{"role": "user", "text": "hi"}],
    }
    done = run_process(
        tmp_path, "session-end", "--stdin", "--json", "--session-id", "s-2", stdin=json.dumps(payload).encode()
    )
    assert done.code == 0
    listed = run_process(tmp_path, "sessions", "--agent", "ann", "--json").json["sessions"]
    assert [row["session_id"] for row in listed] == ["s-2"]


def test_a_compaction_prints_the_documented_object(lineage: LineageCommand) -> None:
    arguments = ["--harness", "claude-code", "--session-id", SAMPLE_ID, "--summary", "Goal: the reader.", "--json"]
    done = lineage("compaction", *arguments)
    assert set(done.json) >= OUTCOME_KEYS
    assert (lineage.root / done.json["compaction_path"]).is_file()
    assert lineage("compaction", *arguments).json["status"] == "unchanged"
    missing = lineage("compaction", "--harness", "claude-code", "--session-id", SAMPLE_ID)
    assert (missing.code, "summary" in missing.err) == (2, True)


@pytest.mark.leaves_findings
def test_a_removed_session_is_refused_with_the_object_on_stdout(lineage: LineageCommand) -> None:
    token = lineage.end_sample("--json").json["session_token"]
    tombstone = lineage.root / "memory" / "tombstones" / f"{token}.md"
    tombstone.parent.mkdir()
    tombstone.write_text("a tombstone in doubt still counts")
    done = lineage.end_sample("--json")
    assert done.code == 1
    assert (done.json["status"], done.json["reason"]) == ("refused", "removed")


def test_init_keeps_what_is_there(lineage: LineageCommand) -> None:
    lineage.root.mkdir()
    (lineage.root / "AGENT_MEMORY.md").write_text("mine")
    done = lineage("init", "--json")
    assert done.json["kept"] == ["AGENT_MEMORY.md"]
    assert "lineage.toml" in done.json["made"]
    assert (lineage.root / "AGENT_MEMORY.md").read_text() == "mine"
    assert lineage("init", "--json").json["made"] == []


def test_the_template_documents_every_setting_with_its_default() -> None:
    from lineage.app.locations import find_template
    from lineage.config import Settings, parse_settings

    text = (find_template() / "lineage.toml").read_text()
    uncommented = re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE)
    assert parse_settings(text) == parse_settings(uncommented) == Settings()
    for section in (Settings().ledger, Settings().transcript):
        for key in (field.name for field in fields(section)):
            assert re.search(rf"^# {key} = ", text, re.MULTILINE), key


def test_show_prints_turns_by_number_across_captures(lineage: LineageCommand) -> None:
    lineage.end_sample()
    shown = lineage("show", SAMPLE_ID[:8], "--turns", "3-4", "--json").json
    assert [turn["number"] for turn in shown["turns"]] == [3, 4]
    assert [turn["name"] for turn in shown["turns"]] == ["Read", "Read"]
    assert "> [!tool]- 3 · " in lineage("show", SAMPLE_ID, "--turns", "3").out
    assert lineage("show", SAMPLE_ID, "--turns", "x").code == 2


def test_search_finds_by_any_word_and_by_no_word_finds_nothing(lineage: LineageCommand) -> None:
    lineage.end_sample()
    hits = lineage("search", "newline", "zebra", "--json").json
    assert hits["query"] == "newline zebra"
    (session,) = [hit for hit in hits["results"] if hit["kind"] != "entry"]
    assert session["session_id"] == SAMPLE_ID
    keys = ["session_id", "session_token", "agent_id", "kind", "path", "turns", "score", "snippet", "project"]
    assert list(session) == [
        *keys,
        "membership_ts",
        "memory_sentence",
        "title",
        "outcome",
        "superseded",
        "changed_since",
        "passages",
    ]
    assert lineage("search", "???", "--json").json["results"] == []
    others = lineage("search", "newline", "--agent", "other", "--json").json["results"]
    assert {(hit["kind"], hit.get("scope")) for hit in others} <= {("entry", "project/reader")}


def test_status_counts_and_render_is_idle_when_nothing_changed(lineage: LineageCommand) -> None:
    lineage.end_sample("--ended-at", "2099-01-01T00:00:00Z")
    state = lineage("status", "--json").json
    assert state["artifacts"] == {"manifest": 1, "summary": 1, "transcript": 1}
    assert state["counters"]["captures"] == 1
    (rendered,) = lineage("render", "--json").json["memory_md"]
    assert (rendered["written"], rendered["rows"], rendered["future"]) == (False, 0, 1)


def test_named_agents_have_a_memory_of_their_own(lineage: LineageCommand) -> None:
    lineage.end_sample("--agent", "ann", "--ended-at", "2026-01-01T00:00:00Z", "--captured-at", "2026-01-01T00:00:00Z")
    assert (lineage.root / "agents" / "ann" / "MEMORY.md").is_file()
    assert lineage("sessions", "--json").json["sessions"] == []
    assert len(lineage("sessions", "--agent", "all", "--json").json["sessions"]) == 1


@pytest.fixture(scope="module")
def embedding_server() -> Iterator[EmbeddingServer]:
    with run_embedding_server() as served:
        yield served


@pytest.mark.slow
@pytest.mark.parametrize("name", [*COMMANDS, *(f"admin {name}" for name in admin.COMMANDS)])
def test_the_examples_in_help_run(
    lineage: LineageCommand,
    home: Path,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    embedding_server: EmbeddingServer,
) -> None:
    (home / "demo").mkdir()
    (home / ".claude" / "projects" / "demo").mkdir(parents=True)
    (home / ".claude" / "projects" / "demo" / "ID.jsonl").write_bytes(SAMPLE.read_bytes())
    lineage.end_sample(session="2489c83d-fca2-5674-a85a-9f9be83b8d4e")
    FakePrograms(tmp_path / "bin", monkeypatch).add("claude", CLAUDE)
    assert examples(name), f"the help of {name} shows no example"
    if name == "admin embed":
        machine = home / ".config" / "lineage" / "config.toml"
        machine.parent.mkdir(parents=True)
        machine.write_text(f'[embedding]\nprovider = "openai"\nurl = "{embedding_server.url}"\nmodel = "m-1"\n')
    for line in examples(name):
        words = [str(SAMPLE) if word == "FILE" else word.replace("~", str(home)) for word in shlex.split(line)]
        assert words[0] == "lineage"
        done = lineage(*words[1:])
        assert done.code == 0, (line, done.err)


def test_the_readme_names_every_command() -> None:
    text = README.read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`lineage {name}" not in text] == []


def test_every_link_of_the_readme_leads_somewhere() -> None:
    text = README.read_text(encoding="utf-8")
    targets = [unquote(target) for target in re.findall(r"\]\(([^)#]+)", text) if "://" not in target]
    assert targets
    assert [target for target in targets if not (README.parent / target).exists()] == []


def test_the_readme_is_short() -> None:
    """At most 900 words; what stands in tables, with their links, is not counted."""
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(" ".join(line for line in lines if not line.startswith("|")).split()) <= 900


@pytest.mark.slow
def test_the_readme_s_console_runs_as_printed(tmp_path: Path, home: Path) -> None:
    """A shell reads every `$` line of the console blocks as it stands, in order, where `scripts` lies as in a clone.

    `…` in what is shown stands for anything.
    """
    (tmp_path / "scripts").symlink_to(README.parent / "scripts")
    blocks = re.findall(r"```console\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    steps = [step.partition("\n") for block in blocks for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]]
    assert steps
    script = "".join(f"{line}\necho =end= $?\n" for line, _, _ in steps)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LINEAGE_")}
    environment |= {"HOME": str(home), "PATH": path}
    done = subprocess.run(
        ["bash"], input=script, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    printed = re.split(r"=end= (\d+)\n", done.stdout)
    assert printed[1::2] == ["0"] * len(steps), done.stderr
    for (line, _, shown), out in zip(steps, printed[::2], strict=False):
        pattern = ".*".join(re.escape(part.strip()) for part in shown.strip().split("…"))
        assert re.search(pattern, out, re.DOTALL), f"{line}\n{out}"
    assert (tmp_path / "vault" / "MEMORY.md").is_file()
