"""What people type for a project: `.`, a folder, and what lists print. All mean the same project in every command.

Fails without `_locate_project` in the options and `find_named` in `context` and `remember`.
"""

from pathlib import Path

import pytest

from tests.support.commands import LineageCommand
from tests.support.terminals import run_on_terminal

_TALK = ("--harness", "generic", "--transcript", "User: moor the boat\nAgent: It is moored.")


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    made = LineageCommand(tmp_path / "vault", capsys)
    assert made("init").code == 0
    return made


def capture(lineage: LineageCommand, folder: str) -> None:
    done = lineage("session-end", *_TALK, "--project", folder, "--session-id", folder.replace("/", "-"))
    assert done.code == 0, done.err


@pytest.mark.parametrize("name", [".", "./", "../quay", "~/work/quay"])
def test_a_folder_is_the_project_that_stands_there(
    lineage: LineageCommand, home: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "work" / "quay"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    capture(lineage, name)
    assert [row["project"] for row in lineage("list", "--project", str(folder), "--json").json["sessions"]] == [
        str(folder)
    ]
    assert len(lineage("list", "--project", name, "--json").json["sessions"]) == 1
    assert lineage("remember", "--project", name, "Moor at noon.", "--json").json["scope"] == "project/quay"
    told = lineage("context", "--project", str(folder)).out
    assert "Moor at noon." in told
    assert lineage("context", "--project", name).out == told


def test_a_name_that_a_list_prints_is_that_project(lineage: LineageCommand) -> None:
    for folder in ("/srv/ada/quay", "/srv/bob/quay", "/srv/cy/bob/pier"):
        capture(lineage, folder)
    remembered = lineage("remember", "--project", "bob/quay", "Moor at noon.", "--json").json
    assert "Moor at noon." in lineage("context", "--project", "/srv/bob/quay").out
    assert "Moor at noon." in lineage("context", "--project", "bob/quay").out
    assert "Moor at noon." not in lineage("context", "--project", "/srv/ada/quay").out
    name = remembered["scope"].removeprefix("project/")
    assert name.startswith("quay-"), name
    listed = lineage("list", "--project", name, "--json").json["sessions"]
    assert [row["project"] for row in listed] == ["/srv/bob/quay"]
    capture(lineage, "/opt/bob/quay")
    for words in (("remember", "Moor late."), ("context",)):
        done = lineage(*words, "--project", "bob/quay")
        assert (done.code, "/opt/bob/quay, /srv/bob/quay" in done.err) == (2, True), done.err


@pytest.mark.slow
@pytest.mark.in_folder
def test_a_receipt_says_which_folder_the_project_is(lineage: LineageCommand) -> None:
    capture(lineage, "/srv/bob/quay")
    known = run_on_terminal(lineage.root, "remember", "--project", "bob/quay", "Moor at noon.").text
    assert "project/quay is /srv/bob/quay" in known
    unknown = run_on_terminal(lineage.root, "remember", "--project", "nobody", "Moor at noon.").text
    assert "no session of a project called nobody is saved; `lineage list`" in unknown
    near = run_on_terminal(lineage.root, "remember", "--project", "quai", "Moor at noon.").text
    assert "no session of a project called quai is saved (did you mean quay?)" in near
    new = " ".join(run_on_terminal(lineage.root, "remember", "--project", "/srv/new", "Moor at noon.").text.split())
    assert "project/new is /srv/new: no session there is saved yet, the next one is told this" in new
    capture(lineage, "/opt/ada/quay")
    shared = " ".join(run_on_terminal(lineage.root, "remember", "--project", "quay", "Moor at one.").text.split())
    assert "project/quay is /srv/bob/quay; 2 projects are called quay: `--project FOLDER` names another one" in shared
