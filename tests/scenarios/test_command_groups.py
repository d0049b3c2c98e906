"""Commands in groups: the sections of `--help`, old names, typing mistakes, completion, and `status --fix`."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from lineage.cli import admin, memory
from lineage.cli.lazy import LazyGroup
from lineage.cli.main import ALIASES, COMMANDS, SECTIONS, cli
from lineage.cli.status import find_commands
from tests.support.commands import SAMPLE_ID, LineageCommand


def test_help_lists_every_command_in_a_section_and_no_old_name(lineage: LineageCommand) -> None:
    lines = lineage("--help").out.splitlines()
    assert [line[:-1] for line in lines if line.endswith(":") and line[:-1] in SECTIONS] == list(SECTIONS)
    first = [line.split()[0] for line in lines if line.startswith("  ") and line.split()]
    assert set(COMMANDS) <= set(first)
    assert set(ALIASES) & set(first) == set()


@pytest.mark.parametrize("group", [cli, admin.command, memory.command], ids=lambda group: str(group.name))
def test_every_command_has_its_module_and_one_sentence(group: click.Group) -> None:
    texts = {"admin": admin.COMMANDS, "memory": memory.COMMANDS}.get(str(group.name), COMMANDS)
    with click.Context(group) as context:
        assert set(group.list_commands(context)) == set(texts)
        for name, text in texts.items():
            assert group.get_command(context, name) is not None
            assert text.endswith(".") and len(text) <= 70, text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("serch x", "lineage search"), ("sesions", "lineage list"), ("memory forgt x", "lineage memory forget"),
     ("admin reidx", "lineage admin reindex"), ("hooks instal", "lineage hooks install"),
     ("bundel", "lineage admin bundle"), ("forget x", "lineage memory forget"), ("correct x", "lineage memory edit"),
     ("edit x", "lineage memory edit"), ("why x", "lineage memory why"), ("delete x", "lineage remove"),
     ("rm x", "lineage remove"), ("check", "lineage status"), ("undo", "lineage setup --undo"),
     ("undo", "lineage help undo"), ("memory rm x", "lineage memory forget"),
     ("memory unpin x", "lineage memory pin ID --undo"), ("memory demot", "lineage memory move")],
)  # fmt: skip
def test_a_typing_mistake_is_answered_with_the_command_that_is_meant(
    lineage: LineageCommand, typed: str, meant: str
) -> None:
    done = lineage(*typed.split())
    assert (done.code, "did you mean `" in done.err, f"`{meant}`" in done.err) == (2, True, True), done.err


@pytest.mark.parametrize("group", [cli, memory.command], ids=lambda group: str(group.name))
def test_help_lists_the_command_that_any_unlisted_word_means(group: LazyGroup) -> None:
    """Else a proposal leads to a command whose name the help doesn't know."""
    with click.Context(group) as context:
        assert set(group.list_names(context)) - set(group.list_commands(context)) <= set(group.meanings)
    for name, lines in group.meanings.items():
        assert name not in {*COMMANDS, "list"} or group is not cli
        for line in lines:
            place: click.Command = cli
            for word in line.split()[1:]:
                if not isinstance(place, click.Group):
                    break
                with click.Context(place) as context:
                    assert word in place.list_commands(context), line
                    found = place.get_command(context, word)
                assert found is not None
                place = found


@pytest.mark.parametrize("command", ["import", "hooks install", "setup --yes"])
def test_the_beginning_of_a_harness_is_answered_with_its_name(lineage: LineageCommand, command: str) -> None:
    done = lineage(*command.split(), "claude")
    assert (done.code, "  did you mean claude-code? " in done.err) == (2, True), done.err


@pytest.mark.parametrize("name", ["project", "since", "until", "kind"])
def test_a_filter_that_is_given_as_an_option_is_answered_with_the_word(lineage: LineageCommand, name: str) -> None:
    done = lineage("search", "parser", f"--{name}", "x")
    assert (done.code, f"`lineage search {name}:x WORDS`" in done.err) == (2, True), done.err
    assert f"--{name}" not in lineage("search", "--help").out


@pytest.mark.slow
def test_a_shell_completes_commands_and_sessions(lineage: LineageCommand) -> None:
    lineage.end_sample()

    def complete(words: str) -> str:
        environment = {
            "_LINEAGE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split(" ")) - 1)
        }  # fmt: skip
        code = "import sys; from lineage.cli.main import cli; cli.main(prog_name='lineage')"
        done = subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
        )
        return done.stdout

    assert "plain,memory" in complete("lineage mem")
    assert complete(f"lineage -w {lineage.root} show 5f") == f"plain,{SAMPLE_ID}\n"
    assert complete(f"lineage -w {lineage.root}/missing show 5f").strip() == ""


@pytest.mark.slow
def test_bash_completes_after_the_handbook_s_line(lineage: LineageCommand) -> None:
    page = Path(__file__).parents[2] / "workspace_template/handbook/Find.md"
    (line,) = (one.partition("    a line")[0] for one in page.read_text("utf-8").splitlines() if "bash_source" in one)
    ask = 'COMP_WORDS=(lineage sear) COMP_CWORD=1; _lineage_completion lineage; echo "${COMPREPLY[@]}"'
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f"{line}\n{ask}"], env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("search\n", "")


@pytest.mark.parametrize(
    ("remedy", "lines"),
    [("lineage admin sweep", ["lineage admin sweep"]), ("`lineage reindex`, or rm FILE", ["lineage reindex"]),
     ("lineage import HARNESS", []), ("take `prompt = false` out", []), ("run `lineage memory review ID`", [])],
)  # fmt: skip
def test_only_whole_commands_of_a_finding_are_run(remedy: str, lines: list[str]) -> None:
    assert find_commands(remedy) == lines


@pytest.mark.slow
@pytest.mark.in_folder
def test_fix_runs_what_the_findings_name_after_asking(lineage: LineageCommand, tmp_path: Path) -> None:
    lineage.end_sample()
    lineage.root.chmod(0o755)
    assert "lineage admin upgrade" in lineage("status").out
    refused = lineage("status", "--fix")
    assert (refused.code, "--yes" in refused.err) == (2, True)
    ours, theirs = os.openpty()
    os.write(ours, b"n\n")
    command = [sys.executable, "-m", "lineage", "-w", str(lineage.root), "status", "--fix"]
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, "Run `lineage admin upgrade`?" in done.stdout) == (4, True), done.stderr
    os.write(ours, b"y\n")
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, "no problems found" in done.stdout) == (0, True), (done.stdout, done.stderr)
    assert lineage("status", "--fix", "--json").code == 2


def test_examples_use_the_new_names(lineage: LineageCommand) -> None:
    def walk(command: click.Command, path: str) -> None:
        for line in (command.help or "").partition("Example:")[2].split("\n"):
            words = shlex.split(line)
            assert not words or words[1] not in ALIASES, line
        if isinstance(command, click.Group):
            with click.Context(command) as context:
                for name in command.list_commands(context):
                    child = command.get_command(context, name)
                    assert child is not None
                    walk(child, f"{path} {name}")

    walk(cli, "lineage")
