"""Speed without a clock: what each flow opens, lists, reads, flushes and asks, and that it does not grow.

Fails with any import on the way of a hook, without the short helps in cli/main.py, when a capture lists `memory/`,
reads an artifact that is not its own or parses what it has just written, and when it looks for what it may learn a
second time.
"""

import re
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.canon import archived_store
from lineage.cli.lazy import LazyGroup
from lineage.cli.main import COMMANDS, cli
from lineage.core import documents, transcript
from lineage.core.naming import parse_path
from lineage.core.turns import ASSISTANT, TOOL, USER, Turn, identified
from lineage.extract import candidates, echoes, extract
from tests.support.counting import Work, imported, work_of
from tests.support.houses import end, house_at, turns

pytestmark = pytest.mark.slow

STARTED = {"lineage", "lineage.__main__", "lineage.cli", "lineage.core"}
HOOK = STARTED | {"lineage.cli.doorbell", "lineage.core.doorbell"}
HELP = {"lineage", "lineage.__main__", "lineage.cli", "lineage.errors"} | {
    f"lineage.cli.{name}" for name in ("main", "lazy", "ending", "output")
}
DEAR = {
    "argparse", "asyncio", "ctypes", "dataclasses", "http", "importlib.metadata", "inspect", "logging",
    "multiprocessing", "socket", "subprocess", "tempfile", "uuid", "zipfile",
}  # fmt: skip
END = ("session-end", "--harness", "generic", "--project", "/home/ada/demo", "--session-id")
TALK = "User: mend parser.py\nAgent: The parser is mended."


def foreign(modules: set[str]) -> set[str]:
    """The packages that are neither ours nor Python's."""
    return {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - {"lineage"}


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "lineage"}


def test_a_hook_imports_two_small_modules_and_not_even_json(tmp_path: Path) -> None:
    payload = b'{"hook_event_name": "SessionEnd", "session_id": "s-1", "transcript_path": "/tmp/none.jsonl"}'
    modules = imported("hook", "claude-code", "-w", str(tmp_path / "w"), stdin=payload, LINEAGE_NO_WORKER="1")
    assert own(modules) == HOOK
    assert foreign(modules) == set()
    assert not modules & {"json", "re", "pathlib", "hashlib", "sqlite3", "typing", *DEAR}
    assert len(list((tmp_path / "w" / ".lineage" / "spool" / "signals").iterdir())) == 1


def test_help_imports_no_command() -> None:
    modules = imported("--help")
    assert own(modules) == HELP
    assert foreign(modules) <= {"click"}
    assert not modules & {"asyncio", "sqlite3", "subprocess", "zipfile"}


@pytest.mark.slow
@pytest.mark.parametrize("command", [["status"], ["sessions"], ["search", "parser"], ["context"], ["render"]])
def test_who_reads_imports_neither_yaml_nor_the_engine(tmp_path: Path, command: list[str]) -> None:
    with house_at(tmp_path) as house:
        end(house, "s-1", transcript=turns("why does the parser stop?", "It drops the last line."))
    modules = imported("-w", str(tmp_path), *command)
    assert foreign(modules) <= {"click"}


def test_every_command_has_its_summary_in_the_list() -> None:
    unhelped = LazyGroup("lineage", modules={name: module for name, (module, _) in COMMANDS.items()})
    for width in (60, 80, 100):
        shown = []
        for group in (cli, unhelped):
            assert isinstance(group, LazyGroup)
            formatter = click.HelpFormatter(width=width)
            group.format_commands(click.Context(group), formatter)
            shown.append(formatter.getvalue())
        assert shown[0] == shown[1]


def captured(root: Path, sessions: int) -> Work:
    """The work of a session's end in a workspace with so many sessions, its locks and folders being there."""
    with house_at(root) as house:
        for number in range(sessions):
            end(house, f"s-{number}", transcript=turns(f"please mend reader{number}.py", "It is mended."))
    work_of(root, *END, "first", "--transcript", TALK)
    return work_of(root, *END, "second", "--transcript", TALK)


def names(paths: Any) -> list[str]:
    """Paths without what is different each time: random names, times, the shards of locks."""
    return sorted(re.sub(r"[0-9a-f]{16}$|\d{4}-\d\d-\d\dT[\d-]+\.\d+Z|(?<=swap-)\d+", "*", path) for path in paths)


def test_a_capture_does_not_grow_with_the_folder(tmp_path: Path) -> None:
    few, many = captured(tmp_path / "few", 10), captured(tmp_path / "many", 200)
    assert many.shape() == few.shape()
    assert names(many.opened.elements()) == names(few.opened.elements())
    assert names(many.listed.elements()) == names(few.listed.elements())
    for work in (few, many):
        work.read.pop("MEMORY.md")  # the window's, which is clipped
    assert abs(many.read.total() - few.read.total()) <= 20  # digits of the lease's generation


def test_what_a_capture_does(tmp_path: Path) -> None:
    """Counted once, to be lowered; a figure that goes up needs a reason."""
    work = captured(tmp_path, 3)
    artifacts = [path for path in work.opened if parse_path(path)]
    assert len(artifacts) == 3, "its own transcript, summary and manifest, nobody else's"
    assert "memory" not in work.listed and "" not in work.listed
    assert work.flushes <= 17
    assert len(work.statements) <= 50
    assert work.read["MEMORY.md"] <= 3 * (tmp_path / "MEMORY.md").stat().st_size
    assert all(work.read[path] <= 2 * (tmp_path / path).stat().st_size for path in artifacts)


@pytest.mark.slow
def test_a_second_end_of_the_same_session_flushes_nothing(tmp_path: Path) -> None:
    work_of(tmp_path, *END, "s-1", "--transcript", TALK)
    again = work_of(tmp_path, *END, "s-1", "--transcript", TALK)
    assert again.flushes == 0


def test_a_capture_parses_none_of_what_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    original = documents.parsed
    monkeypatch.setattr(documents, "parsed", lambda data, path: parsed.append(path) or original(data, path))
    monkeypatch.setattr(archived_store, "parsed", lambda data, path: parsed.append(path) or original(data, path))
    monkeypatch.setattr(transcript, "said", lambda body: parsed.append("what it says"))
    with house_at(tmp_path) as house:
        end(house, "s-1", transcript=turns("please mend reader.py", "It is mended."))
    assert [path for path in parsed if not path.endswith("--manifest.md")] == []


def test_a_capture_looks_for_what_it_may_learn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    original = candidates._said
    monkeypatch.setattr(candidates, "_said", lambda turn: looked.append(turn.id) or original(turn))
    with house_at(tmp_path) as house:
        end(house, "s-1", transcript=turns(*(f"Decision: we take reader number {n}." for n in range(20))))
    assert len(looked) == 20 + 4  # all turns, and once more the last ones, for what is open


def test_only_results_that_may_be_repeated_are_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    original = echoes.words_of
    monkeypatch.setattr(echoes, "words_of", lambda plain: taken.append(plain) or original(plain))
    results = [Turn(TOOL, text) for text in ("all 312 passed", "it drops every second line", "no such file")]
    echoes.echoed([(3, "It drops every second line.", False)], results)
    assert taken == ["it drops every second line"]


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40) | st.sampled_from(
    ["We decided to keep the reader.", "Lesson: it drops lines.", "~~~\nx\n~~~", "## 1 · user · – ^t-0123456789"]
)


@given(st.lists(st.tuples(st.sampled_from([USER, ASSISTANT, TOOL]), texts), max_size=12))
def test_what_is_learned_is_the_same_from_the_turns_and_from_their_file(said: list[tuple[str, str]]) -> None:
    """The run that captures learns from its turns, whoever finishes it after a crash from the transcript."""
    shown = (transcript.clipped(Turn(role, text), transcript.Limits()) for role, text in said)
    captured_turns = identified([turn for turn in shown if turn.text], "t" * 16)
    body = transcript.rendered("[[a]]", captured_turns)
    assert extract(transcript.parsed(body)) == extract(captured_turns)
    assert transcript.first_number(body) == (1 if captured_turns else None)
