"""`lineage open`, and the way from a search result to the words that it was found by.

What each guard rests on: `referred` and `_holding` in pipeline/opening.py; `located` and `is_in_vault` in
app/open_target.py; `build_command` in cli/open.py; `parse_turn_range` in core/format/turns.py; `find_line`
in core/transcript.py; that a snippet of a title has no turns: `_shown` in index/searching.py.
"""

import re
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.harness.detect_caller import list_harness_variables
from lineage.index import SNIPPET_MARKS
from lineage.pipeline.maintenance.archive import archive
from lineage.workspace.lookup import show_turns
from tests.support.archives import APRIL, BEFORE, write_january_sessions
from tests.support.commands import SAMPLE_ID, LineageCommand
from tests.support.fake_programs import FakePrograms
from tests.support.workspace import at_time, end_session, make_turns, open_test_workspace, search_sessions

pytestmark = pytest.mark.slow

LOOKS = "## 2 · user · 10:00:00Z ^t-0000000000\n\n> [!agent] 2 · 10:00:00Z\n> x\n\n^t-0000000000\n"


@pytest.fixture
def vault(lineage: LineageCommand) -> LineageCommand:
    lineage("init")
    lineage.end_sample()
    return lineage


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePrograms:
    return FakePrograms(tmp_path / "bin", monkeypatch)


def edited(programs: FakePrograms, monkeypatch: pytest.MonkeyPatch, name: str = "ed it") -> None:
    """An editor whose path has a space, and that is set with an option of its own."""
    programs.add(name)
    monkeypatch.setenv("VISUAL", f"'{programs.folder / name}' --clean '$(touch x)'")


def test_a_note_is_opened_in_the_editor_at_the_turn(
    vault: LineageCommand, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(programs, monkeypatch)
    assert vault("open", SAMPLE_ID[:8], "--editor").code == 0
    assert vault("open", SAMPLE_ID, "--editor", "--turns", "3-4").code == 0
    assert vault("open", SAMPLE_ID, "--editor", "--manifest").code == 0
    summary, turn, manifest = (call["arguments"] for call in programs.calls)
    assert summary[:2] == turn[:2] == ["--clean", "$(touch x)"]
    assert summary[2].endswith("--summary.md")
    assert manifest[2].endswith("--manifest.md")
    line, path = turn[2:]
    assert Path(path).read_text().split("\n")[int(line[1:]) - 1].startswith("> [!tool]- 3 · ")
    assert not Path("x").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("code", ["--goto", "PATH:LINE"]),
        ("hx", ["PATH:LINE"]),
        ("notepad", ["PATH"]),
        ("nvim", ["+LINE", "PATH"]),
    ],
)
def test_editors_are_told_the_line_as_they_take_it(
    vault: LineageCommand, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch, name: str, expected: list[str]
) -> None:
    programs.add(name)
    monkeypatch.setenv("EDITOR", name)
    told = vault("open", SAMPLE_ID, "--editor", "--turns", "2", "--json").json
    values = {"PATH": told["path"], "LINE": str(told["line"])}
    wanted = [re.sub("PATH|LINE", lambda match: values[match[0]], word) for word in expected]
    assert programs.calls[0]["arguments"] == wanted


def test_in_a_vault_obsidian_opens_it(
    vault: LineageCommand, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    programs.add("xdg-open")
    (vault.root / ".obsidian").mkdir(exist_ok=True)
    done = vault("open", SAMPLE_ID)
    assert done.code == 0, done.err
    (uri,) = programs.calls[0]["arguments"]
    assert uri.startswith("obsidian://open?path=%2F")
    path = Path(unquote(uri.partition("path=")[2]))
    assert path.is_file()
    assert vault("open", SAMPLE_ID, "--print").out == f"{uri}\n"
    assert vault("open", SAMPLE_ID, "--print", "--editor").out == f"{path}\n"
    assert len(programs.calls) == 1
    programs.add("xdg-open", "sys.exit(3)")
    failed = vault("open", SAMPLE_ID)
    assert (failed.code, "--editor" in failed.err) == (1, True)
    edited(programs, monkeypatch)
    assert "opened in editor" in vault("open", SAMPLE_ID).out, "where nothing opens the address, the editor does"
    assert vault("open", SAMPLE_ID, "--obsidian").code == 1, "unless Obsidian was asked for"


def test_a_folder_above_can_be_the_vault(vault: LineageCommand, programs: FakePrograms) -> None:
    for own in (vault.root / ".obsidian", vault.root.parent / ".obsidian"):
        if own.exists():
            own.rename(own.with_name("not-obsidian"))
    assert vault("open", SAMPLE_ID, "--print").out.startswith("/")
    refused = vault("open", SAMPLE_ID, "--obsidian")
    assert (refused.code, "no vault" in refused.err) == (1, True)
    (vault.root.parent / ".obsidian").mkdir()
    assert vault("open", SAMPLE_ID, "--print").out.startswith("obsidian://")
    missing = vault("open", SAMPLE_ID)
    assert (missing.code, "--editor" in missing.err) == (2, True)


@pytest.mark.parametrize("named", ["", "no-such-editor-here", "'", "/"])
def test_without_an_editor_the_error_says_what_to_do(
    vault: LineageCommand, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("EDITOR", named)
    done = vault("open", SAMPLE_ID, "--editor")
    assert (done.code, "VISUAL or EDITOR" in done.err) == (2, True)
    programs.add("failing", "sys.exit(7)")
    monkeypatch.setenv("EDITOR", "failing")
    failed = vault("open", SAMPLE_ID, "--editor")
    assert (failed.code, "exit code 7" in failed.err) == (1, True)


def test_an_id_that_looks_like_an_option_is_none(lineage: LineageCommand, programs: FakePrograms) -> None:
    with open_test_workspace(lineage.root) as ws:
        end_session(ws, "--help", agent_id="ann")
        end_session(ws, "-x")
    done = lineage("open", "--editor", "--print", "--", "--help")
    assert (done.code, done.out.startswith("/")) == (0, True)
    assert lineage("show", "--", "-x").code == 0


def test_the_entry_that_search_finds_is_shown_and_its_book_opened(
    vault: LineageCommand, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault("remember", "Walruses are welcome in the harbour.")
    (hit,) = vault("search", "walruses", "--json").json["results"]
    assert vault("show", hit["id"], "--json").json["entry"]["text"] == "Walruses are welcome in the harbour."
    assert "Walruses" in vault("show", hit["id"]).out
    edited(programs, monkeypatch)
    assert vault("open", hit["id"], "--editor").code == 0
    line, path = programs.calls[0]["arguments"][2:]
    assert path == str(vault.root / hit["path"])
    assert hit["id"] in Path(path).read_text().split("\n")[int(line[1:]) - 1]


@pytest.mark.parametrize("reference", ["nobody", "0123456789abcdef", "", "\udcff"])
def test_what_is_not_there_is_not_opened(vault: LineageCommand, reference: str) -> None:
    shown, opened = vault("show", "--", reference), vault("open", "--print", "--", reference)
    assert (shown.code, shown.out) == (opened.code, opened.out) == (1, "")
    assert shown.err == opened.err
    assert "lineage" in opened.err


def test_a_removed_session_answers_as_show_does(vault: LineageCommand) -> None:
    assert vault("remove", SAMPLE_ID, "--reason", "asked", "--yes").code == 0
    shown, opened = vault("show", SAMPLE_ID), vault("open", SAMPLE_ID, "--print")
    assert (shown.code, shown.err) == (opened.code, opened.err) == (1, shown.err)


def test_an_agent_opens_nothing_of_the_user_s(
    vault: LineageCommand, programs: FakePrograms, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited(programs, monkeypatch)
    monkeypatch.setenv(list_harness_variables()[1].variables[0], "1")
    assert vault("open", SAMPLE_ID, "--editor").code == 1
    assert programs.calls == []
    assert vault("open", SAMPLE_ID, "--editor", "--print").code == 0


def test_what_is_archived_has_a_note_to_open_and_turns_to_show(lineage: LineageCommand) -> None:
    write_january_sessions(lineage.root)
    with open_test_workspace(lineage.root, now=APRIL) as ws:
        archive(ws, BEFORE)
    note = Path(lineage("open", "s-1", "--print", "--editor").out.strip())
    assert note.is_relative_to(lineage.root / "archive")
    assert note.is_file()
    turn = lineage("open", "s-1", "--turns", "5", "--editor", "--print", "--json").json
    assert Path(turn["path"]).read_text().split("\n")[turn["line"] - 1].startswith("> [!agent] 5 · ")
    (hit,) = lineage("search", "reeds", "kind:transcript", "--json").json["results"]
    assert hit["turns"] == [4, 5]
    assert "In the reeds" in lineage("show", hit["session_id"], "--turns", "4-5").out
    assert lineage("open", "s-1", "--manifest", "--print", "--editor").out.rstrip().endswith("--manifest.md")


@pytest.mark.parametrize(
    ("asked", "numbers"), [("1", [1]), ("1-1", [1]), ("5-9", [5]), ("2-3", [2, 3]), ("1-99999999", [1, 2, 3, 4, 5])]
)
def test_turns_at_the_boundaries_and_across_captures(lineage: LineageCommand, asked: str, numbers: list[int]) -> None:
    write_january_sessions(lineage.root)
    shown = lineage("show", "s-1", "--turns", asked, "--json").json
    assert [turn["number"] for turn in shown["turns"]] == numbers


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["0", "0-3", "3-2", "x", "-1", "1-", "1-2-3", "", "9" * 5000, "١", "1 - 2"])
def test_what_is_no_range_of_turns_is_told(vault: LineageCommand, asked: str) -> None:
    for command in (["show"], ["open", "--print"]):
        done = vault(*command, SAMPLE_ID, f"--turns={asked}")
        assert (done.code, "12-18" in done.err) == (2, True), command
    assert vault("show", SAMPLE_ID, "--turns", "900-901").code == 1
    assert vault("open", SAMPLE_ID, "--turns", "900", "--print").code == 1


def test_a_line_of_a_turn_is_not_one_that_a_turn_quotes(lineage: LineageCommand) -> None:
    with open_test_workspace(lineage.root) as ws:
        end_session(ws, transcript=make_turns(f"As in\n```\n{LOOKS}\n```\n{LOOKS}", "The second.", "The third."))
    found = lineage("open", "s-1", "--turns", "2", "--editor", "--print", "--json").json
    lines = Path(found["path"]).read_text().split("\n")
    assert lines[found["line"] - 1].startswith("> [!agent] 2 · ")


WORDS = [
    "parser",
    "weir",
    "heron",
    "naïve",
    "最后一行",
    "src/app.py",
    "snake_case",
    "don't",
    "Zeilen",
    "*",
    "[[x]]",
    "`a`",
]


@pytest.mark.slow
@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=120).map(" ".join), min_size=1, max_size=9),
    st.integers(1, 8),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
)
def test_the_turns_of_every_result_hold_the_words_that_matched(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], cut: int, query: str
) -> None:
    with open_test_workspace(tmp_path_factory.mktemp("vault")) as ws:
        said = make_turns(*texts)
        end_session(ws, transcript=said[:cut])
        end_session(at_time(ws, "2026-11-21T13:00:00.000Z"), transcript=said)
        for hit in search_sessions(ws, query, None, 50, by_passage=True):
            matched = [part.partition(SNIPPET_MARKS[1])[0] for part in hit.snippet.split(SNIPPET_MARKS[0])[1:]]
            assert matched, hit
            if hit.turns:
                shown = show_turns(ws, hit.session_token or "", *hit.turns).turns
                words = " ".join(" ".join((turn.name, turn.input, turn.text)) for turn in shown)
                assert [word for word in matched if word not in words] == []
