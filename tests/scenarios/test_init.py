"""`lineage init`: into nothing, into a workspace, into a vault of somebody's, into one folder of it.

Fails when `_place` of app/initializing.py writes over what it finds, `_YOURS` or `_has_only_ours` holds too much or too
little, `_claim_ledger` looks at nothing, and when the answer to a conflict is asked for after the first write.
"""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.app.init_workspace import CSS_SNIPPET, init_workspace, list_installed_files
from lineage.app.locations import find_template
from lineage.installing.packages import read_skill
from tests.support.commands import LineageCommand, run_process

Tree = dict[str, tuple[bytes, int]]
NOTES = {
    "Journal.md": "# Dear diary\n",
    "views/Open tasks.md": "how I search\n",
    "lineage.toml": "# mine\n",
    ".gitignore": "private/\n",
    ".obsidian/app.json": '{"vimMode": true}',
    ".obsidian/appearance.json": '{"cssTheme": "Mine", "enabledCssSnippets": ["mine"]}',
    ".obsidian/snippets/mine.css": "body {}",
}


def tree(root: Path) -> Tree:
    """Every file but those of `.lineage/`, with its bytes and the time of its last change."""
    found = (path for path in root.rglob("*") if path.is_file() and ".lineage" not in path.relative_to(root).parts)
    return {path.relative_to(root).as_posix(): (path.read_bytes(), path.stat().st_mtime_ns) for path in found}


def of_the_template(*, settings: bool) -> set[str]:
    return {path for path in list_installed_files(find_template()) if path.startswith(".obsidian/") == settings}


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A vault of somebody's."""
    root = tmp_path / "vault"
    for path, text in NOTES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def test_a_new_workspace_gets_all_of_the_template_and_a_ledger(lineage: LineageCommand) -> None:
    done = lineage("init", "--json").json
    assert set(done["made"]) == of_the_template(settings=False) | of_the_template(settings=True)
    assert (done["kept"], done["refused"], done["withheld"], done["is_ignored"]) == ([], [], [], True)
    there = tree(lineage.root)
    assert there.keys() - set(done["made"]) == {"MEMORY.md"}
    assert all(there[path][0] == (find_template() / path).read_bytes() for path in done["made"])


def test_a_start_adds_at_most_a_dozen_files_that_one_sees(lineage: LineageCommand) -> None:
    lineage("init")
    seen = {path for path in tree(lineage.root) if not path.startswith(".")}
    assert seen >= {"AGENT_MEMORY.md", "MEMORY.md", "lineage.toml", "views/Sessions.base"}
    assert len(seen) <= 12
    assert not any(path.startswith(("handbook/", "integrations/", "services/")) for path in seen)


def test_in_a_vault_of_somebody_s_one_folder_is_added(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (notes / "lineage.toml").unlink()
    before = tree(notes)
    done = LineageCommand(notes, capsys)("init", "--json").json
    assert done["workspace"] == str(notes / "lineage")
    added = tree(notes).keys() - before.keys() - {CSS_SNIPPET}
    assert all(path.startswith("lineage/") for path in added)
    assert {path: tree(notes)[path] for path in before} == before
    assert LineageCommand(notes, capsys)("init", "--json").json["made"] == []


def test_the_handbook_is_read_from_the_package(lineage: LineageCommand) -> None:
    listed = lineage("help").out
    assert "privacy and threats" in listed
    assert "[[" not in listed
    assert lineage("help", "privacy").out.startswith("# Privacy and threats")
    assert lineage("help", "semantic", "search").out.startswith("## Semantic search")
    assert lineage("help", "OBSIDIAN", "--json").json["topic"] == "obsidian"
    assert "systemd" in lineage("help", "services").out
    assert lineage("help", "claude-code").code == 0
    assert lineage("help", "nothing like it").code == 1


@pytest.mark.parametrize("folder", [(), ("--folder", "brain/lineage")], ids=["alone", "in-a-folder"])
def test_a_second_run_changes_nothing(notes: Path, capsys: pytest.CaptureFixture[str], folder: tuple[str, ...]) -> None:
    lineage = LineageCommand(notes, capsys)
    if folder:
        (notes / "lineage.toml").unlink()
    first = lineage("init", *folder, "--json").json
    before = tree(notes)
    again = lineage("init", *folder, "--yes", "--json") if folder else lineage("init", "--json")
    assert tree(notes) == before
    assert (again.json["made"], again.json["replaced"]) == ([], [])
    assert again.json["withheld"] == first["withheld"]


def test_a_vault_of_somebody_s_keeps_every_byte(notes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(notes)
    done = LineageCommand(notes, capsys)("init", "--json").json
    after = tree(notes)
    assert {path: after[path] for path in before} == before
    assert after.keys() - before.keys() == {*done["made"], "MEMORY.md"}
    assert done["refused"] == ["views/Open tasks.md"]
    assert done["kept"] == [".gitignore", "lineage.toml", ".obsidian/app.json", ".obsidian/appearance.json"]
    assert set(done["withheld"]) == of_the_template(settings=True) - {CSS_SNIPPET, *NOTES}
    assert CSS_SNIPPET in done["made"]
    assert not done["is_ignored"]


def test_a_folder_of_a_vault_holds_everything_and_no_setting_changes(
    notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (notes / "lineage.toml").unlink()
    before = tree(notes)
    lineage = LineageCommand(notes, capsys)
    done = lineage("init", "--folder", "brain/lineage", "--json").json
    after = tree(notes)
    assert {path: after[path] for path in before} == before
    assert done["workspace"] == str(notes / "brain" / "lineage")
    inner = {f"brain/lineage/{path}" for path in of_the_template(settings=False)}
    assert after.keys() - before.keys() == {*inner, CSS_SNIPPET, "brain/lineage/MEMORY.md"}
    assert (done["refused"], done["shadowing"]) == ([], ["views/Open tasks.md"])
    assert not (notes / ".lineage").exists()
    inside = LineageCommand(notes / "brain" / "lineage", capsys)
    assert inside.end_sample().code == 0
    assert inside("verify").code == 0


def test_yes_replaces_lineage_s_own_and_never_what_is_the_user_s(
    notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    done = LineageCommand(notes, capsys)("init", "--yes", "--json").json
    assert done["replaced"] == ["views/Open tasks.md"]
    after = {path: data.decode() for path, (data, _) in tree(notes).items()}
    assert {path: after[path] for path in NOTES if path != "views/Open tasks.md"} == {
        path: text for path, text in NOTES.items() if path != "views/Open tasks.md"
    }
    assert after["views/Open tasks.md"] == (find_template() / "views/Open tasks.md").read_text(encoding="utf-8")


def test_yes_and_skip_exclude_each_other(lineage: LineageCommand) -> None:
    assert lineage("init", "--yes", "--skip").code == 2
    assert not lineage.root.exists()


def on_a_terminal(root: Path, answers: str) -> str:
    """What init shows on a real terminal where these answers are typed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "lineage", "init", str(root)]
    with subprocess.Popen(command, stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as running:
        os.write(ours, answers.encode())
        shown = running.communicate(timeout=60)[0].decode()
    os.close(ours)
    os.close(theirs)
    return shown


@pytest.mark.slow
def test_a_terminal_is_asked_once_for_each_conflict_and_no_is_the_default(notes: Path) -> None:
    (notes / "templates").mkdir()
    (notes / "templates" / "Book.md").write_text("mine too\n")
    shown = on_a_terminal(notes, "y\n\n")
    assert shown.count("Replace it?") == 2
    assert "replaced templates/Book.md" in shown
    assert (notes / "views" / "Open tasks.md").read_text() == NOTES["views/Open tasks.md"]
    assert (notes / "templates" / "Book.md").read_text() != "mine too\n"
    assert "put `.lineage/` into it" in shown


@pytest.mark.slow
def test_without_a_terminal_nothing_is_asked(notes: Path) -> None:
    done = run_process(notes, "init", stdin=b"y\ny\n")
    assert (done.code, "Replace it?" in done.out + done.err) == (0, False)
    assert "not made views/Open tasks.md: another file has the name" in done.out


@pytest.mark.parametrize("answer", [(), ("--skip",)])
def test_somebody_s_memory_md_stops_it_before_anything_is_written(
    notes: Path, capsys: pytest.CaptureFixture[str], answer: tuple[str, ...]
) -> None:
    (notes / "MEMORY.md").write_text("# What my other tool wrote\n")
    before = tree(notes)
    done = LineageCommand(notes, capsys)("init", *answer)
    assert (done.code, "--folder" in done.err) == (1, True)
    assert tree(notes) == before
    assert not (notes / ".lineage").exists()


def test_a_file_where_a_folder_belongs_stops_it_before_anything_is_written(
    notes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (notes / "templates").write_text("a file")
    before = tree(notes)
    done = LineageCommand(notes, capsys)("init")
    assert (done.code, "templates" in done.err) == (1, True)
    assert tree(notes) == before


@pytest.mark.parametrize("holds", [True, False], ids=["of-somebody", "empty"])
def test_settings_behind_a_link_are_left_alone(
    notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], holds: bool
) -> None:
    shared = tmp_path / "shared"
    (notes / ".obsidian").rename(shared if holds else tmp_path / "elsewhere")
    shared.mkdir(exist_ok=True)
    (notes / ".obsidian").symlink_to(shared)
    before = tree(shared)
    done = LineageCommand(notes, capsys)("init", "--json").json
    assert set(done["withheld"]) == of_the_template(settings=True)
    assert tree(shared) == before


def test_a_vault_that_was_never_opened_gets_no_settings_for_a_folder_s_sake(tmp_path: Path) -> None:
    done = init_workspace(tmp_path, "lineage")
    assert [path for path in tree(tmp_path) if path.startswith(".obsidian/")] == [CSS_SNIPPET]
    assert set(done.withheld) == of_the_template(settings=True) - {CSS_SNIPPET}


def test_a_run_that_was_cut_off_is_finished(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    init_workspace(root)
    whole = {path: data for path, (data, _) in tree(root).items()}
    for path in (".obsidian/types.json", "templates/Book.md", "MEMORY.md"):
        (root / path).unlink()
    assert init_workspace(root).made == ["templates/Book.md", ".obsidian/types.json"]
    assert {path: data for path, (data, _) in tree(root).items()} == whole


def test_once_obsidian_has_written_settings_they_are_the_user_s(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    init_workspace(root)
    (root / ".obsidian" / "workspace.json").write_text("{}")
    (root / ".obsidian" / "graph.json").unlink()
    (root / ".obsidian" / "bookmarks.json").write_text('{"items": []}')
    done = init_workspace(root, may_replace=lambda _: True)
    assert (done.made, done.replaced) == ([], [])
    assert not (root / ".obsidian" / "graph.json").exists()


@pytest.mark.parametrize("folder", ["..", "../x", ".hidden", "a/../b", "a//b", " ", "a/.b", "a\nb"])
def test_a_folder_that_is_none_of_the_vault_s_is_refused(
    notes: Path, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    (notes / "lineage.toml").unlink()
    before = tree(notes)
    done = LineageCommand(notes, capsys)("init", "--folder", folder)
    assert done.code in (1, 2), done
    assert tree(notes) == before


def test_a_folder_needs_a_vault_that_is_no_workspace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lineage = LineageCommand(tmp_path / "nowhere", capsys)
    done = lineage("init", "--folder", "lineage")
    assert (done.code, "no vault" in done.err, lineage.root.exists()) == (1, True, False)
    lineage("init")
    assert (lineage("init", "--folder", "inner").code, (lineage.root / "inner").exists()) == (1, False)


def test_the_skill_has_the_form_of_agent_skills_and_names_commands_that_there_are(lineage: LineageCommand) -> None:
    head, _, text = read_skill().removeprefix("---\n").partition("\n---\n")
    name, description = re.fullmatch(r"name: (.*)\ndescription: (.*)", head).groups()  # type: ignore[union-attr]
    assert name == "lineage"
    assert len(description) <= 1024
    used = re.findall(r"`lineage ([a-z-]+)([^`]*)`", text)
    assert {command for command, _ in used} >= {"search", "show", "remember"}
    for command, words in used:
        shown = lineage(command, "--help").out
        assert [option for option in re.findall(r"--[a-z]+", words) if f"{option} " not in shown] == []
