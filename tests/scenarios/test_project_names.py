"""What people type for a project: `.`, a folder, and what lists print. All mean the same project in every command.

Fails without `expand_folder` in the options and `find_named` in `context` and `remember`.
"""

import re
import shlex
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


def test_a_search_proposes_a_project_that_is_nearly_called_so_and_never_the_same(lineage: LineageCommand) -> None:
    capture(lineage, "/srv/bob/quay")
    assert "(did you mean project:quay?)" in lineage("search", "wombat project:quai").out
    assert "did you mean" not in lineage("search", "wombat project:quay").out


def test_a_search_proposes_a_kind_that_is_nearly_called_so_and_never_beside_a_known_one(
    lineage: LineageCommand,
) -> None:
    capture(lineage, "/srv/bob/quay")
    assert "(did you mean kind:decision?)" in lineage("search", "kind:desicion").out
    assert "(did you mean kind:transcript?)" in lineage("search", "wombat kind:transkript").out
    for known in ("wombat kind:decision", "wombat kind:decision kind:desicion", "kind:recipe"):
        assert "did you mean" not in lineage("search", known).out


@pytest.mark.slow
@pytest.mark.in_folder
def test_a_receipt_says_which_folder_the_project_is(lineage: LineageCommand) -> None:
    capture(lineage, "/srv/bob/quay")
    known = run_on_terminal(lineage.root, "remember", "--project", "bob/quay", "Moor at noon.").text
    assert "project/quay is /srv/bob/quay: its sessions are told this" in " ".join(known.split())
    assert "every session is told this" in run_on_terminal(lineage.root, "remember", "Moor at noon.").text
    recipe = run_on_terminal(lineage.root, "remember", "--kind", "recipe", "Moor at noon, with ropes.").text
    assert "told this" not in recipe  # a kind of one's own is found, and told by no start
    unknown = run_on_terminal(lineage.root, "remember", "--project", "nobody", "Moor at noon.").text
    assert "no session of a project called nobody is saved; `lineage list`" in unknown
    near = run_on_terminal(lineage.root, "remember", "--project", "quai", "Moor at noon.").text
    assert "no session of a project called quai is saved (did you mean quay?)" in near
    new = " ".join(run_on_terminal(lineage.root, "remember", "--project", "/srv/new", "Moor at noon.").text.split())
    assert "project/new is /srv/new: no session there is saved yet, the next one is told this" in new
    capture(lineage, "/opt/ada/quay")
    shared = " ".join(run_on_terminal(lineage.root, "remember", "--project", "quay", "Moor at one.").text.split())
    assert "2 projects are called quay, this is /srv/bob/quay; name another: ada/quay" in shared
    near = run_on_terminal(lineage.root, "remember", "--project", "bob/quai", "Moor at two.").text
    assert "no session of a project called bob/quai is saved (did you mean bob/quay?)" in near


def test_what_went_to_a_project_of_no_session_is_moved_or_taken_back(lineage: LineageCommand) -> None:
    capture(lineage, "/srv/bob/quay")
    done = lineage("remember", "--project", "quai", "Moor at noon.")
    assert "did you mean quay?" in done.err
    move, forget = re.findall(r"^    lineage (.*)$", done.out, re.MULTILINE)
    assert forget.startswith("memory forget ")
    assert lineage(*shlex.split(move), "--json").json["entry"]["scope"] == "project/quay"
    added = lineage("memory", "add", "project/pierr", "note", "Moor late.")
    (forget,) = re.findall(r"^    lineage (.*)$", added.out, re.MULTILINE)
    assert lineage(*shlex.split(forget)).code == 0
    assert "take it back" not in lineage("remember", "--project", "quay", "Moor at one.").out


def test_a_scope_is_typed_as_lists_print_projects(
    lineage: LineageCommand, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails without `find_scope` in `remember`, `show` and `move`, and `resolve_scope_filter` in `memory list`."""
    here = home / "work" / "pier"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    for folder in ("/srv/ada/quay", "/srv/bob/quay", "."):
        capture(lineage, folder)
    meant = lineage("remember", "--project", "bob/quay", "Moor at noon.", "--json").json["scope"]
    for number, scope in enumerate(("project/bob/quay", "bob/quay", "/srv/bob/quay", meant)):
        done = lineage("remember", "--scope", scope, "--kind", "rule", f"Never moor at {number}.", "--json")
        assert (done.json["scope"], done.err) == (meant, ""), scope
        added = lineage("memory", "add", scope, "rules", f"Never moor by {number}.", "--json")
        assert added.json["path"] == done.json["path"]
        assert {book["scope"] for book in lineage("memory", "list", "--scope", scope, "--json").json["books"]} == {
            meant
        }
        shown = lineage("memory", "show", scope, "rule", "--json").json
        assert shown["path"] == done.json["path"]
        entry = lineage("memory", "add", "global", "note", f"Ropes of {number}.", "--json").json["id"]
        assert lineage("memory", "move", entry, scope, "--json").json["entry"]["scope"] == meant
    moored = lineage("search", "is:rule moor", "--json").json["results"]
    assert {hit["path"] for hit in moored} == {f"books/{meant}/preference.md"}
    told = lineage("context", "--project", "bob/quay").out
    assert all(f"Never moor {word} {number}." in told for word in ("at", "by") for number in range(4))
    for scope in (".", "project/.", "../pier", "~/work/pier", "pier"):
        assert lineage("memory", "add", scope, "fact", f"Low tide, {scope}", "--json").json["scope"] == "project/pier"
    books = lineage("memory", "list", "--project", ".", "--json").json["books"]
    assert [(book["scope"], book["entries"]) for book in books] == [("project/pier", 5)]
    assert "no books of project/new yet" in lineage("memory", "list", "--scope", "/srv/new").out


def test_a_book_of_exactly_that_name_comes_first(lineage: LineageCommand) -> None:
    capture(lineage, "/srv/bob/quay")
    (lineage.root / "books/project/bob~02f~quay").mkdir(parents=True)
    (lineage.root / "books/project/bob~02f~quay/rule.md").write_text("Moor by hand.\n", encoding="utf-8")
    assert lineage("reindex").code == 0
    shown = lineage("memory", "show", "project/bob/quay", "rule")
    assert "Moor by hand." in shown.out
    assert "the project bob/quay (/srv/bob/quay) has its books in project/quay" in shown.err
    assert lineage("memory", "show", "project/bob/quay", "--json").json["books"][0]["kind"] == "rule"
    assert lineage("remember", "--scope", "project/bob/quay", "Moor it.", "--json").json["scope"] == "project/bob/quay"
    assert lineage("remember", "--scope", "bob/quay", "Moor it well.", "--json").json["scope"] == "project/quay"


def test_what_names_no_scope_is_told(lineage: LineageCommand) -> None:
    capture(lineage, "/srv/bob/quay")
    for words in (("remember", "--scope", "bob/quai", "Moor."), ("memory", "show", "bob/quai", "note")):
        done = lineage(*words)
        assert (done.code, "did you mean bob/quay?" in done.err) == (2, True), done.err
    listed = lineage("memory", "list", "--scope", "bob/quai")
    assert (listed.code, "did you mean bob/quay?" in listed.err) == (0, True)
    unknown = lineage("remember", "--scope", "project/bob/quai", "Moor at noon.", "--json")
    assert "no session of a project called bob/quai is saved (did you mean bob/quay?)" in unknown.err
    assert unknown.json["scope"] == lineage("remember", "--project", "bob/quai", "Moor.", "--json").json["scope"]
    assert "did you mean bob/quay?" in lineage("list", "--project", "bob/quai").out
    assert "nothing found (did you mean project:bob/quay?)" in lineage("search", "project:bob/quays", "Moor").out


def test_a_name_of_several_projects_is_told_by_every_command(lineage: LineageCommand) -> None:
    for folder in ("/srv/ada/quay", "/srv/bob/quay"):
        capture(lineage, folder)
    assert lineage("remember", "--project", "/srv/bob/quay", "Moor at noon.", "--json").json["scope"] != "project/quay"
    one = "2 projects are called quay, this is /srv/ada/quay; name another: bob/quay\n"
    remembered = lineage("remember", "--project", "quay", "Moor at dawn.", "--json")
    assert (remembered.json["scope"], remembered.err) == ("project/quay", one)
    for words in (
        ("context", "--project", "quay"), ("context", "--project", "quay", "--json"),
        ("context", "--project", "quay", "--prompt", "boat", "--json"), ("memory", "list", "--project", "quay"),
        ("memory", "list", "--scope", "project/quay"), ("memory", "show", "quay", "note"),
    ):  # fmt: skip
        assert lineage(*words).err == one, words
    assert lineage("context", "--project", "quay").out == lineage("context", "--project", "/srv/ada/quay").out
    every = "2 projects are called quay, these are of all of them; name one: ada/quay, bob/quay\n"
    for words in (("list", "--project", "quay"), ("search", "project:quay boat", "--json")):
        assert lineage(*words).err == every, words
    assert lineage("list", "--project", "bob/quay").err == ""


def test_a_context_says_that_its_project_is_unknown(lineage: LineageCommand) -> None:
    capture(lineage, "/srv/bob/quay")
    assert (
        "no session of a project called quai is saved (did you mean quay?)"
        in lineage("context", "--project", "quai").err
    )
    assert "no session of /srv/new is saved yet" in lineage("context", "--project", "/srv/new").err
    for name in ("/srv/bob/quay", "quay", "bob/quay"):
        assert lineage("context", "--project", name).err == ""
