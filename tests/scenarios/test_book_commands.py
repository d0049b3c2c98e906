"""`lineage memory`: looking at books and changing them.

What the guards rest on: `found`, `changeable`, `refuse_agents`, `move`, `_marked` and `settled` of
pipeline/memory/books.py; the comparison and `refuse_agents` in `confirm_entries`.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.cli.memory import COMMANDS
from lineage.core.base.naming import Identity
from lineage.errors import InvalidInput, LineageError
from lineage.extraction.admission_policy import Admission, CandidateContext, admit
from lineage.extraction.candidates import Candidate
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.books import forget_entry, pin_globally
from lineage.pipeline.memory.entry_writer import write_entries
from lineage.pipeline.memory.remember import Memo, remember
from lineage.pipeline.memory.waiting_entries import confirm_entries, load_evidence
from tests.support.books import show_book, write_file
from tests.support.commands import SAMPLE_ID, LineageCommand, run_process
from tests.support.terminals import run_on_terminal
from tests.support.workspace import open_test_workspace

TABS = "Prefers tabs over spaces in Makefiles."
PATH = "books/global/preference.md"
AGENT = Caller("claude-code")
IT_SAID = "  it said:\n    | The parser is hand-written.\n"


@pytest.fixture
def vault(lineage: LineageCommand) -> LineageCommand:
    lineage("init")
    return lineage


@pytest.fixture
def tabs(vault: LineageCommand) -> str:
    """The id of a preference that the user stated."""
    return str(vault("book", "add", "global", "preference", TABS, "--tag", "style", "--json").json["id"])


def test_the_printed_command_takes_back_that_an_edited_entry_was_forgotten(vault: LineageCommand, tabs: str) -> None:
    """Both texts, the first and the edited one, may be remembered again: one id brings all of a forgetting back."""
    edited = "Prefers tabs, 'always'; \"never\" $(spaces)."
    assert vault("memory", "edit", tabs, edited).code == 0
    said = vault("memory", "forget", tabs).out
    assert f"\n  “{edited}”\n" in said
    (restore,) = re.findall(r"^    lineage (memory restore [0-9a-f]+)$", said, re.MULTILINE)
    (again,) = re.findall(r"^    (lineage remember .*)$", said, re.MULTILINE)
    words = shlex.split(again)
    assert re.search(r"`lineage memory restore [0-9a-f]+`", vault(*words[1:]).err)
    assert "its 2 lines are deleted from books/global/preference.md" in vault(*restore.split()).out
    assert "lineage:forgotten" not in (vault.root / PATH).read_text()
    assert vault(*words[1:]).code == 0
    (back,) = show_book(vault)
    assert (back["text"], back["tags"], back["trust"]) == (edited, ["style"], "[user-stated]")
    assert vault("remember", "--kind", "preference", TABS).code == 0


@pytest.mark.parametrize("count", [1, 2])
def test_any_id_of_a_forgetting_restores_it(vault: LineageCommand, tabs: str, count: int) -> None:
    assert vault("memory", "edit", tabs, "Prefers tabs over spaces everywhere.").code == 0
    assert vault("memory", "forget", tabs).code == 0
    ((other, head),) = re.findall(r"lineage:forgotten ([0-9a-f]+) with ([0-9a-f]+) -->", _read_text(vault))
    assert head == tabs
    assert vault("memory", "restore", *[other, tabs][:count], "--json").json.get("left", []) == []
    assert "lineage:forgotten" not in _read_text(vault)


def test_the_printed_command_takes_back_that_an_edited_and_moved_entry_was_forgotten(vault: LineageCommand) -> None:
    """The rules would find other words, in another book."""
    vault.end_sample()
    (decision, *_) = vault("memory", "show", "project/reader", "decision", "--json").json["entries"]
    edited = "Rows are read with csv.reader, always."
    assert vault("memory", "edit", decision["id"], edited).code == 0
    moved = vault("memory", "move", decision["id"], "global", "--json").json["entry"]["id"]
    said = vault("memory", "forget", moved).out
    (restore, again, remove) = re.findall(r"^    lineage (.*)$", said, re.MULTILINE)
    assert remove.startswith("remove ")
    assert vault(*shlex.split(restore)).code == 0
    assert vault(*shlex.split(again)).code == 0
    assert edited in [
        entry["text"] for entry in vault("memory", "show", "global", "decision", "--json").json["entries"]
    ]


def test_a_kind_that_is_nearly_one_of_lineage_s_is_told(vault: LineageCommand) -> None:
    done = vault("remember", "The staging host is called pluto.", "--kind", "ruel")
    assert (done.code, "ruel is a kind of your own; did you mean `--kind rule`?" in done.err) == (0, True)
    for kind in ("rule", "decisions", "recipe"):
        assert "did you mean" not in vault("remember", f"The {kind} is here.", "--kind", kind).err


def test_restore_takes_those_that_are_forgotten_and_names_the_others(vault: LineageCommand, tabs: str) -> None:
    """Of lines that older versions left, each is its own."""
    first, other = "0" * 16, "1" * 16
    lines = "".join(f"\n<!-- lineage:forgotten {name} -->\n" for name in (first, other))
    write_file(vault, PATH, _read_text(vault) + lines)
    assert vault("memory", "restore", first).code == 0
    again = vault("memory", "restore", first, other)
    assert (again.code, f"left: {first!r} is not forgotten\n" in again.out) == (0, True), again.err
    assert f"{other} may be learned again: its line is deleted" in again.out
    none = vault("memory", "restore", first, other)
    assert (none.code, all(f"{one!r} is not forgotten" in none.err for one in (first, other))) == (1, True)


def _read_text(vault: LineageCommand) -> str:
    return (vault.root / PATH).read_text()


def test_status_says_that_an_entry_waits(vault: LineageCommand, waiting: str) -> None:
    assert waiting and "waiting    1 entry for you: `lineage memory review`" in vault("status").out
    assert vault("status", "--json").json["waiting_entries"] == 1
    assert vault("memory", "forget", waiting).code == 0
    assert "waiting    " not in vault("status").out


@pytest.fixture
def waiting(vault: LineageCommand) -> str:
    """The id of a note that an agent proposed."""
    with open_test_workspace(vault.root) as ws:
        said = remember(ws, Memo(text="The parser is hand-written."), AGENT)
    return str(said.id)


def files(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*.md"))}


def test_help_and_examples_name_every_command(vault: LineageCommand) -> None:
    assert vault("book", "list").code == 0
    shown = vault("book", "--help").out
    for name in COMMANDS:
        assert f"  {name} " in shown
        assert f"lineage memory {name}" in vault("memory", name, "--help").out
    assert vault("book", "migrate-nothing").code == 2


@pytest.mark.leaves_findings
def test_the_list_counts_every_shelf(vault: LineageCommand, tabs: str, waiting: str) -> None:
    vault("book", "add", "global", "preference", "Prefers short words.")
    vault("book", "forget", show_book(vault)[1]["id"])
    write_file(vault, "books/global/preference.archive-2025.md", "Old words by hand.\n\n<!-- lineage:end 0 -->\n")
    books = {(one["scope"], one["kind"]): one for one in vault("book", "list", "--json").json["books"]}
    assert set(books) == {("global", "curated"), ("global", "note"), ("global", "preference")}
    keys = ["scope", "kind", "path", "entries", "waiting", "archived", "forgotten", "problems"]
    states = ["in_use", "stale", "superseded", "done", "forgettings"]
    assert list(books["global", "preference"]) == [*keys, *states]
    counts = [books["global", "preference"][key] for key in keys[3:7]]
    assert counts == [1, 0, 1, 1]
    assert "books/global/preference.archive-2025.md: line 3" in books["global", "preference"]["problems"][1]
    assert [books["global", "note"][key] for key in keys[3:7]] == [0, 1, 0, 0]
    assert vault("book", "list", "--scope", "project/x", "--json").json["books"] == []
    (only,) = vault("book", "list", "--pending", "--json").json["books"]
    assert [entry["id"] for entry in only["pending"]] == [waiting]
    vault("reindex")


def test_what_is_superseded_or_done_is_counted_apart(vault: LineageCommand, tabs: str) -> None:
    assert vault("book", "add", "global", "preference", "Prefers spaces.", "--supersedes", tabs).code == 0
    task = vault("book", "add", "global", "task", "Write the notes", "--json").json["id"]
    assert vault("memory", "done", task).code == 0
    listed = run_on_terminal(vault.root, "memory", "list").lines
    assert {"  preference   1 in use, 1 superseded", "  task         0 in use, 1 done"} <= set(listed)
    plain = vault("memory", "list").out
    assert "2 entries, 1 of them superseded\n" in plain and "1 entry, 1 of them done\n" in plain
    books = {one["kind"]: one for one in vault("memory", "list", "--json").json["books"]}
    assert [books["preference"][key] for key in ("entries", "in_use", "superseded")] == [2, 1, 1]


def test_what_was_edited_or_moved_is_not_forgotten(vault: LineageCommand, tabs: str) -> None:
    """One forgetting leaves several ids and counts once; earlier versions left no new id where an entry moved."""

    def count() -> dict[str, int]:
        return {one["scope"]: one["forgettings"] for one in vault("memory", "list", "--json").json["books"]}

    moved = vault("memory", "move", tabs, "project/demo", "--json").json["entry"]["id"]
    assert f"<!-- lineage:forgotten {tabs} with {moved} -->" in _read_text(vault)
    assert (count()["global"], count()["project/demo"]) == (0, 0)
    assert f"{tabs} was moved: it is {moved} now, preference of project/demo" in vault("memory", "pin", tabs).err
    write_file(vault, PATH, _read_text(vault).replace(f" with {moved}", ""))
    assert count()["global"] == 0
    (_, alone) = vault("memory", "list", "--scope", "global", "--json").json["books"]
    assert (alone["forgettings"], alone["forgotten"]) == (0, 1)
    assert vault("memory", "edit", moved, "Prefers tabs in Makefiles.").code == 0
    assert count()["global"] == 0, "its words before the edit tell"
    write_file(vault, PATH, _read_text(vault).replace(tabs, f"{tabs} with {moved}"))
    vault("reindex")
    assert vault("memory", "forget", moved).code == 0
    assert (vault.root / "books/project/demo/preference.md").read_text().count("lineage:forgotten") == 2
    assert (count()["global"], count()["project/demo"]) == (0, 1)
    assert "0 entries, 1 forgotten\n" in vault("memory", "list", "--scope", "project/demo").out
    assert "  preference   0 in use, 1 forgotten" in run_on_terminal(vault.root, "memory", "list").lines
    assert vault("memory", "restore", moved).code == 0
    assert f"lineage:forgotten {tabs} " in _read_text(vault), "where it was it stays away"
    assert vault("memory", "restore", tabs).code == 0
    assert "lineage:forgotten" not in _read_text(vault)


def test_a_session_s_book_names_its_session(vault: LineageCommand) -> None:
    talk = ("--harness", "generic", "--transcript", "User: hi\nAgent: Hm.")
    assert vault("session-end", *talk, "--session-id", SAMPLE_ID).code == 0
    scope = vault("memory", "add", f"session/{SAMPLE_ID}", "lesson", "The mast leaks.", "--json").json["scope"]
    short = run_on_terminal(vault.root, "list").text
    (name,) = re.findall(rf"\b{SAMPLE_ID[:8]}\b", short)
    assert f"{scope} · session {name}" in run_on_terminal(vault.root, "memory", "list").lines
    assert f"1 entry  (session {SAMPLE_ID})\n" in vault("memory", "list").out
    whole = vault("show", scope.removeprefix("session/"), "--json").json
    for reference in (scope, f"session/{name}"):
        assert vault("show", reference, "--json").json == whole
    assert "The mast leaks." in vault("memory", "show", f"session/{name}").out
    assert vault("memory", "list", "--scope", f"session/{name}", "--json").json["books"][0]["scope"] == scope
    unknown = vault("memory", "show", "session/zzzz")
    assert (unknown.code, "no session 'zzzz'" in unknown.err) == (1, True)


def test_a_pin_ends_a_supersession(vault: LineageCommand, tabs: str) -> None:
    """Fails without the pinned ids in `find_superseded`: nothing but the word changed."""
    new = vault("book", "add", "global", "preference", "Prefers spaces.", "--supersedes", tabs, "--json").json["id"]

    def is_told() -> list[bool]:
        (found,) = vault("search", "Makefiles", "--json").json["results"]
        return [
            TABS in vault("context").out,
            TABS in (vault.root / "MEMORY.md").read_text(),
            found["standing"],
        ]

    assert is_told() == [False, False, False]
    pinned = vault("memory", "pin", tabs[:8])
    assert f"it stands again, {new} no longer takes its place" in pinned.out
    assert is_told() == [True, True, True]
    assert [one["state"] for one in show_book(vault)] == ["pinned", "standing"]
    assert f"superseded by {new}" in vault("memory", "pin", tabs, "--undo").out
    assert is_told() == [False, False, False]
    assert vault("memory", "pin", tabs).code == 0
    with open_test_workspace(vault.root) as ws:
        agent_note = remember(ws, Memo(text="Prefers dots.", kind="preference", supersedes=(tabs,)), AGENT)
        assert agent_note.status == "pending"
    assert is_told() == [True, True, True]
    last = vault("remember", "--kind", "preference", "Prefers two blanks.", "--supersedes", tabs, "--json").json["id"]
    states = {one["id"]: (one["state"], one["superseded"] and one["superseded"]["by"]) for one in show_book(vault)}
    assert states[tabs] == ("superseded", last), "the later word counts"
    assert is_told() == [False, False, False]


def test_a_pin_is_shown_beside_another_state(vault: LineageCommand) -> None:
    task = vault("book", "add", "agent/ann", "task", "Write the notes", "--json").json["id"]
    assert vault("memory", "pin", task).code == vault("memory", "done", task).code == 0
    assert "  done, pinned" in vault("memory", "show", "agent/ann", "task").out
    assert " · done, pinned" in run_on_terminal(vault.root, "memory", "show", "agent/ann", "task").lines[0]


def test_text_and_id_that_were_swapped_are_answered_with_the_right_line(vault: LineageCommand, tabs: str) -> None:
    swapped = vault("memory", "edit", "Prefers 'tabs'.", tabs[:6])
    assert (swapped.code, "the id comes first, then the text" in swapped.err) == (2, True)
    (line,) = re.findall(r"`lineage (.*)`", swapped.err)
    assert vault(*shlex.split(line)).code == 0
    assert show_book(vault)[0]["text"] == "Prefers 'tabs'."
    assert "no entry 'Prefers tabs.'" in vault("memory", "edit", "Prefers tabs.", "Prefers more.").err


def test_the_plain_output_says_what_the_object_says(vault: LineageCommand, tabs: str, waiting: str) -> None:
    listed = vault("book", "list").out
    assert "preference" in listed
    assert "0 entries, 1 waiting" in listed
    pending = vault("book", "list", "--pending").out
    assert waiting in pending
    assert "lineage memory review" in pending
    shown = vault("book", "show", "global", "preference").out
    assert all(word in shown for word in (tabs, "[user-stated]", "standing", "#style", TABS))
    assert "nothing in books/global/fact.md" in vault("book", "show", "global", "fact").out
    assert vault("book", "show", "global", "fact", "--pending", "--archive", "2025").code == 2
    assert vault("book", "show", "global", "fact", "--archive", "old").code == 2
    assert vault("book", "show", "..", "fact").code == 2


@pytest.mark.leaves_findings
def test_no_escape_sequence_comes_from_a_book(vault: LineageCommand) -> None:
    write_file(vault, PATH, "By hand \x1b[31mred\x1b]52;c;eA==\x07\n")
    assert "\x1b" not in vault("book", "show", "global", "preference").out
    assert "\x1b" not in vault("book", "show", "global", "preference", "--json").out
    vault("reindex")


def test_what_is_written_by_hand_is_an_entry_with_its_line(vault: LineageCommand, tabs: str) -> None:
    file = vault.root / PATH
    file.write_text(file.read_text() + "\n\nAlso: short words.\n", encoding="utf-8")
    by_lineage, by_hand = show_book(vault)
    lines = file.read_text().split("\n")
    assert lines[by_lineage["line"] - 1].startswith("<!-- lineage:entry")
    assert lines[by_hand["line"] - 1] == by_hand["text"] == "Also: short words."
    assert (by_hand["source"], by_hand["trust"], by_hand["at"]) == ("hand", "[user-stated]", None)
    for command in (["pin"], ["done"], ["forget"]):
        done = vault("book", *command, by_hand["id"])
        assert (done.code, f"line {by_hand['line']} of {PATH}" in done.err) == (2, True)
    assert file.read_text().endswith("Also: short words.\n")
    vault("reindex")


@pytest.mark.slow
def test_edit_replaces_the_body_and_nothing_else(vault: LineageCommand, tabs: str) -> None:
    secret = "AKIA" + "QWERTYUIOPASDFGH"
    done = vault("book", "edit", tabs[:5], f"Tabs in Makefiles.\n\n---\n\n# No heading {secret}", "--json")
    (entry,) = show_book(vault)
    assert done.json["entry"] == entry
    assert entry["text"] == "Tabs in Makefiles.\n\n---\n\n# No heading [REDACTED:aws-access-key-id]"
    assert (entry["id"], entry["tags"], entry["source"]) == (tabs, ["style"], "manual")
    assert entry["updated"] >= entry["at"]
    assert vault("book", "edit", tabs, " \n").code == 2
    assert run_process(vault.root, "book", "edit", tabs, "-", stdin=b"From stdin.").code == 0
    assert show_book(vault)[0]["text"] == "From stdin."
    told = vault("memory", "why", tabs).out
    assert "its words then:\n    | Tabs in Makefiles.\n" in told and "came from None" not in told
    assert "before the last edit" not in told


@pytest.fixture
def derived(vault: LineageCommand, waiting: str) -> str:
    """The id of an agent's note in a project."""
    return str(vault("memory", "move", waiting, "project/demo", "--json").json["entry"]["id"])


def test_what_a_person_writes_into_a_derived_entry_is_the_person_s(vault: LineageCommand, derived: str) -> None:
    assert show_book(vault, "project/demo", "note")[0]["trust"] == "[derived]"
    done = vault("memory", "edit", derived, "The parser is generated.")
    assert done.out == f"edited: {derived}, note of project/demo (books/project/demo/note.md) [user-stated]\n{IT_SAID}"
    (entry,) = show_book(vault, "project/demo", "note")
    assert (entry["trust"], entry["source"], entry["id"]) == ("[user-stated]", "confirmed", derived)
    assert "you confirmed or edited it" in vault("memory", "why", derived).out
    again = vault("memory", "edit", derived, "The parser is generated.")
    assert again.out.startswith(f"unchanged: {derived}, ")
    assert show_book(vault, "project/demo", "note") == [entry]


@pytest.mark.slow
def test_an_editor_that_changes_nothing_leaves_what_was(
    vault: LineageCommand, derived: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(vault.root)
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "true")
    assert vault("memory", "edit", derived).out.startswith(f"unchanged: {derived}, ")
    assert list(vault("memory", "edit", derived, "--json").json) == ["entry"]
    assert files(vault.root) == before
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nsed -i "s/hand-written/generated/" "$2"\n')
    script.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(script))
    seen = vault("memory", "edit", derived).out
    assert seen.startswith("edited: ") and seen.endswith(f" [user-stated]\n{IT_SAID}")
    assert show_book(vault, "project/demo", "note")[0]["trust"] == "[user-stated]"


def test_a_moved_entry_s_new_id_is_named(vault: LineageCommand, tabs: str) -> None:
    moved = vault("memory", "move", tabs, "project/demo").out
    assert moved.startswith(f"moved, its id is new: {show_book(vault, 'project/demo')[0]['id']}, ")


def test_what_is_no_task_is_answered_with_commands_that_work(vault: LineageCommand, tabs: str) -> None:
    said = vault("memory", "done", tabs).err
    commands = [line for line in re.findall(r"`lineage ([^`]*)`", said) if "SCOPE" not in line]
    assert commands == ["memory list"] and vault(*commands[0].split()).code == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["VISUAL", "EDITOR"])
def test_edit_opens_the_editor_at_the_line(
    vault: LineageCommand, tabs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    script = tmp_path / "an editor.py"
    script.write_text(
        "import sys, pathlib\nline, path = sys.argv[2:]\nfile = pathlib.Path(path)\n"
        "assert 'lineage:entry' in file.read_text().split('\\n')[int(line[1:]) - 1]\n"
        "file.write_text(file.read_text().replace('tabs', 'TABS'))\n"
    )
    monkeypatch.setenv("EDITOR", "false")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv(name, f"{sys.executable} '{script}' --wait")
    assert vault("book", "edit", tabs).code == 0
    assert show_book(vault)[0]["text"] == TABS.replace("tabs", "TABS")
    monkeypatch.setenv(name, "false")
    assert vault("book", "edit", tabs).code == 1
    for nothing in ("", "no-such-editor-here", "'"):
        monkeypatch.setenv(name, nothing)
        monkeypatch.setenv("EDITOR", nothing)
        assert vault("book", "edit", tabs).code == 2


@pytest.mark.slow
def test_an_editor_that_goes_to_lines_otherwise(
    vault: LineageCommand, tabs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "code"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/seen\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))
    assert vault("book", "edit", tabs).code == 0
    line = show_book(vault)[0]["line"]
    assert (tmp_path / "seen").read_text() == f"--wait --goto {vault.root / PATH}:{line}\n"


def test_done_and_pin_and_back(vault: LineageCommand, tabs: str) -> None:
    task = vault("book", "add", "agent/ann", "task", "Write the notes", "--json").json["id"]
    for command, undone, there in (("done", "standing", "done"), ("pin", "standing", "pinned")):
        vault("book", command, task)
        assert show_book(vault, "agent/ann", "task")[0]["state"] == there
        before = files(vault.root)
        assert vault("book", command, task).code == 0
        assert files(vault.root) == before
        vault("book", command, task, "--undo")
        assert show_book(vault, "agent/ann", "task")[0]["state"] == undone
    assert (vault("book", "done", tabs).code, "no task" in vault("book", "done", tabs).err) == (2, True)


@pytest.mark.slow
@pytest.mark.parametrize("reference", ["..", "../../x", "", "zz", "ffffffffffffffff", "%", "*", "\u202e", "a" * 500])
@pytest.mark.parametrize("command", ["done", "pin", "forget", "edit", "demote", "confirm"])
def test_an_id_that_is_none_changes_nothing(vault: LineageCommand, tabs: str, command: str, reference: str) -> None:
    (vault.root / "AGENT_MEMORY.md").unlink()
    vault("reindex", "--yes")
    before = files(vault.root)
    more = {"edit": ["text"], "demote": ["project/x"], "confirm": ["--yes"]}.get(command, [])
    done = vault("book", command, reference, *more)
    assert (done.code, "lineage memory show" in done.err) == (1, True)
    assert files(vault.root) == before


def test_a_prefix_has_to_be_unambiguous(vault: LineageCommand, tabs: str) -> None:
    ids = [tabs] + [vault("book", "add", "global", "note", f"Note number {n}.", "--json").json["id"] for n in range(17)]
    twin = next(one for one in ids if sum(other[0] == one[0] for other in ids) > 1)
    done = vault("book", "pin", twin[0])
    assert (done.code, "ambiguous" in done.err) == (1, True)
    assert vault("book", "pin", twin[:15].upper()).code == 0


def test_demote_moves_an_entry_and_it_does_not_come_back(vault: LineageCommand, tabs: str) -> None:
    moved = vault("book", "demote", tabs, "project/demo", "--json").json["entry"]
    assert (moved["scope"], moved["kind"], moved["text"]) == ("project/demo", "preference", TABS)
    assert (moved["tags"], moved["trust"]) == (["style"], "[user-stated]")
    assert show_book(vault) == []
    assert vault("remember", "--kind", "preference", TABS, "--json").json["status"] == "forgotten"
    assert vault("book", "demote", moved["id"], "project/demo").code == 2
    back = vault("book", "demote", moved["id"], "global")
    assert (back.code, "lineage:forgotten" in back.err) == (2, True)
    assert [entry["text"] for entry in show_book(vault, "project/demo")] == [TABS]
    assert vault("book", "demote", moved["id"], "nowhere/x").code == 2


def test_what_is_derived_does_not_become_global_by_being_moved(vault: LineageCommand, waiting: str) -> None:
    assert vault("book", "demote", waiting, "project/demo").code == 0
    (moved,) = show_book(vault, "project/demo", "note")
    assert moved["trust"] == "[derived]"
    assert vault("book", "demote", moved["id"], "global").code == 2
    assert show_book(vault, "global", "note") == []


def test_what_is_forgotten_stays_so_whoever_says_it(vault: LineageCommand) -> None:
    with open_test_workspace(vault.root) as ws:
        waiting = str(remember(ws, Memo(text="The parser is hand-written."), Caller("pi", ("s-0",))).id)
        forget_entry(ws, waiting)
        for session in ("s-0", "s-1", "s-2"):
            said = remember(ws, Memo(text="The parser is hand-written."), Caller("codex", (session,)))
            assert said.status == "forgotten"
            assert f"lineage:forgotten {said.id} " in (vault.root / str(said.path)).read_text()
    assert vault("book", "list", "--pending", "--json").json["books"] == []
    assert vault("book", "forget", waiting).code == 1
    assert vault("remember", "The parser is hand-written.").code == 1


def test_confirm_shows_where_it_came_from_and_puts_it_in_force(
    vault: LineageCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = vault("remember", "The parser is generated.", "--json").json["id"]
    session = vault.end_sample("--json").json["session_token"]
    with monkeypatch.context() as inside:
        inside.setenv("CLAUDE_CODE_SESSION_ID", SAMPLE_ID)
        waiting = vault("remember", "The parser is hand-written.", "--supersedes", old, "--json").json["id"]
    asked = vault("book", "confirm", waiting)
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert show_book(vault, "global", "note")[0]["state"] == "standing"
    done = vault("book", "confirm", waiting[:6], "--yes")
    assert "| The parser is hand-written." in done.out
    assert f"--{session}--manifest.md]]" in done.out
    assert "takes the place of:\n    | The parser is generated." in done.out
    states = {entry["id"]: (entry["state"], entry["trust"]) for entry in show_book(vault, "global", "note")}
    assert states == {old: ("superseded", "[user-stated]"), waiting: ("standing", "[user-stated]")}
    assert show_book(vault, "global", "note", "--pending") == []
    again = vault("book", "confirm", waiting, "--yes")
    assert (again.code, "doesn't wait" in again.err) == (2, True)


def test_confirm_says_who_said_it_and_when(vault: LineageCommand) -> None:
    """The words as they stood in the transcript, which may say more than the entry does."""
    path = vault.end_sample("--json").json["transcript_path"]
    turn = vault("show", SAMPLE_ID, "--turns", "1-1", "--json").json["turns"][0]
    said = "The reader drops the last line, and we decided to keep it."
    with open_test_workspace(vault.root) as ws:
        candidate = Candidate("decision", "We keep the last line.", "user", turn["id"], quote=said, is_general=True)
        admitted = admit(candidate, CandidateContext(token=Identity("default", SAMPLE_ID).token))
        assert isinstance(admitted, Admission)
        ((_, entry),) = write_entries(ws, [admitted], at=ws.now, origin=path).entries
    shown = vault("book", "confirm", entry.id, "--yes").out
    assert "  says:\n    | We keep the last line.\n" in shown
    assert f"  came from:\n    | {said}\n" in shown
    assert f"in: [[{path}#^{turn['id']}]] ({turn['role']} {turn['at']})" in shown


def test_confirm_prints_one_object(vault: LineageCommand, waiting: str) -> None:
    (confirmed,) = vault("book", "confirm", waiting, waiting, "--yes", "--json").json["confirmed"]
    assert (confirmed["id"], confirmed["quote"]) == (waiting, "The parser is hand-written.")
    assert (confirmed["shelf"], confirmed["source"]) == ("", "confirmed")


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "state"), [("y", "standing"), ("n", "waiting"), ("", "waiting")])
def test_confirm_asks_on_a_terminal(vault: LineageCommand, waiting: str, answer: str, state: str) -> None:
    ours, theirs = os.openpty()
    os.write(ours, f"{answer}\n".encode())
    command = [sys.executable, "-m", "lineage", "-w", str(vault.root), "book", "confirm", waiting]
    done = subprocess.run(command, stdin=theirs, capture_output=True, text=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert f"Put {waiting} in force?" in done.stdout
    found = [*show_book(vault, "global", "note"), *show_book(vault, "global", "note", "--pending")]
    assert [entry["state"] for entry in found] == [state]


def test_what_changed_since_it_was_shown_is_not_confirmed(vault: LineageCommand, waiting: str) -> None:
    file = vault.root / "books/pending/global/note.md"
    with open_test_workspace(vault.root) as ws:
        seen = load_evidence(ws, [waiting])
        file.write_text(file.read_text().replace("hand-written", "hand-written by the user's order"))
        with pytest.raises(InvalidInput, match="changed since"):
            confirm_entries(ws, seen)
        assert ws.documents.books.get("global", "note").entries == ()
    vault("reindex")


@pytest.mark.leaves_findings
def test_what_waits_and_was_forgotten_by_hand_is_not_confirmed(vault: LineageCommand, waiting: str) -> None:
    file = write_file(vault, "books/global/note.md", f"<!-- lineage:forgotten {waiting} -->\n")
    done = vault("book", "confirm", waiting, "--yes")
    assert (done.code, "forgotten" in done.err) == (2, True)
    assert [entry["id"] for entry in show_book(vault, "global", "note", "--pending")] == [waiting]
    assert waiting in file.read_text()
    vault("reindex")


def test_no_agent_confirms_pins_or_changes_what_the_user_stated(
    vault: LineageCommand, tabs: str, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = vault("book", "add", "global", "task", "Write the notes", "--json").json["id"]
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("VISUAL", "true")
    before = files(vault.root)
    with open_test_workspace(vault.root) as ws, pytest.raises(LineageError, match="an agent can't"):
        confirm_entries(ws, load_evidence(ws, [waiting]), AGENT)
    for arguments in (["confirm", waiting], ["confirm", waiting, "--yes"], ["pin", tabs], ["pin", waiting],
                      ["edit", tabs, "Spaces."], ["edit", tabs], ["forget", tabs],
                      ["demote", tabs, "project/x"], ["edit", waiting, "The <script>parser</script> is generated."],
                      ["demote", waiting, "project/x"]):  # fmt: skip
        done = vault("book", *arguments)
        assert (done.code, "an agent can't" in done.err, "claude-code" in done.err) == (1, True, True), arguments
    assert files(vault.root) == before
    assert vault("book", "done", task).code == 0
    assert vault("book", "forget", waiting).code == 0


def test_search_finds_what_a_command_wrote_and_not_what_it_took_away(vault: LineageCommand, tabs: str) -> None:
    def hits(word: str) -> list[str]:
        return [hit["kind"] for hit in vault("search", word, "--json").json["results"]]

    assert hits("Makefiles") == ["entry"]
    vault("book", "edit", tabs, "Prefers spaces in Rakefiles.")
    assert (hits("Makefiles"), hits("Rakefiles")) == ([], ["entry"])
    vault("book", "forget", tabs)
    assert hits("Rakefiles") == []


def test_relearning_says_what_goes_and_comes_and_does_it(vault: LineageCommand) -> None:
    said = "User: We decided to keep splitlines in the reader because quoted rows break."
    vault("session-end", "--harness", "generic", "--session-id", "s-1", "--project", "/p/demo", "--transcript", said)
    with open_test_workspace(vault.root) as ws:
        transcript = next(entry.key for entry in ws.documents.store.list("memory/") if "--transcript" in entry.key)
        found = admit(
            Candidate("decision", "We decided to look at it first.", "user", ""),
            CandidateContext("", "default", "demo"),
        )
        assert isinstance(found, Admission)
        write_entries(ws, [found], at=ws.now, origin=transcript, tags=("heuristic",))
    dry = vault("book", "relearn", "--dry-run")
    assert (
        "    We decided to look at it first.\n1 capture read; entries removed: 1, added: 0\nnothing was written"
        in dry.out
    )
    assert vault("book", "relearn", "--json").json["removed"][0]["text"] == "We decided to look at it first."
    assert vault("book", "relearn").out == "1 capture read; entries removed: 0, added: 0\n"


def test_pinning_to_global_keeps_the_original_and_asks_for_the_kind(vault: LineageCommand) -> None:
    with open_test_workspace(vault.root) as ws:
        own = str(remember(ws, Memo(text="Releases are cut by hand.", kind="lesson", scope="project/demo"), AGENT).id)
    assert "give `--kind decision`" in vault("book", "pin", own, "--global").err
    assert "give `--global`" in vault("book", "pin", own, "--kind", "decision").err
    pinned = vault("book", "pin", own, "--global", "--kind", "rule", "--json").json["entry"]
    assert (pinned["scope"], pinned["kind"], pinned["trust"]) == ("global", "preference", "[user-stated]")
    assert pinned["text"] == "Releases are cut by hand."
    assert own in vault("book", "show", "project/demo", "lesson", "--pending").out
    assert "is global already" in vault("book", "pin", pinned["id"], "--global", "--kind", "decision").err
    vault("book", "forget", pinned["id"])
    assert "forgotten in global" in vault("book", "pin", own, "--global", "--kind", "preference").err
    with open_test_workspace(vault.root) as ws, pytest.raises(LineageError, match="agent"):
        pin_globally(ws, own, "decision", AGENT)


def test_caps_of_books_stand_in_the_settings(vault: LineageCommand) -> None:
    (vault.root / "lineage.toml").write_text("[books]\nmax_project = 2\nmax_agent = 3\n")
    for number in range(4):
        for scope in ("project/demo", "agent/default"):
            vault("remember", "--scope", scope, "--kind", "lesson", f"Lesson {number} is that rows end.")
    books = {book["scope"]: book for book in vault("book", "list", "--json").json["books"]}
    for scope in ("project/demo", "agent/default"):
        assert (books[scope]["entries"], books[scope]["archived"]) == (2, 2)
    (vault.root / "lineage.toml").write_text("[books]\nmax_project = 0\n")
    assert "books.max_project" in vault("book", "list").err
    (vault.root / "lineage.toml").unlink()
