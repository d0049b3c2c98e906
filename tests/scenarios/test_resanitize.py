"""Resanitize: committed artifacts under new rules, and what the one lawful replacement leaves behind.

Fails without any of these in pipeline/upkeep/resanitizing.py: the record in the manifest, `artifacts.replace`, the
rows, `publish_all`, `scrub`, `spool.put`, `begun` (rows of what a dead run replaced); and without `leads` in
verification.
"""

import itertools
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lineage.core.base import naming
from lineage.core.books.entry import new_entry
from lineage.core.format.documents import FORMAT, Artifact, parse_document
from lineage.core.sanitizer import Rule, Ruleset, build_ruleset
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.resanitize import ResanitizeResult, resanitize
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.workspace.lookup import load_document
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.commands import LineageCommand
from tests.support.dead_processes import (
    copy_workspace,
    find_holders,
    leave_dead_process,
    list_spool_paths,
    read_workspace_files,
    run_until_crash,
)
from tests.support.faults import CrashPoint
from tests.support.indexes import delete_database
from tests.support.workspace import at_time, compact_session, end_session, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

SECRET = "quokka4711"
RULES = build_ruleset([Rule(id="animal", pattern="quokka[0-9]+", keywords=("quokka",))])
TALK = [
    *make_turns(f"Where does {SECRET} live?", f"In the lair of {SECRET}, below.", "Thanks, that is all."),
    {"role": "assistant", "name": "Bash", "text": "", "input": {"command": f"dig {SECRET}.py"}, "id": "t4"},
    {"role": "tool", "name": "Bash", "text": f"found {SECRET}", "id": "t5"},
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A session whose every part holds a secret that no rule knew, and one that has nothing to hide."""
    folder = tmp_path / "vault"
    with open_test_workspace(folder) as ws:
        end_session(ws, "s-1", transcript=TALK, project=f"/home/ada/{SECRET}", summary=f"We spoke of {SECRET}.")
        compact_session(ws, "s-1", f"Goal: find {SECRET}.", transcript=TALK)
        end_session(ws, "s-2")
    return folder


@contextmanager
def opened(root: Path, rules: Ruleset = RULES) -> Iterator[Workspace]:
    with open_test_workspace(root, rules=rules) as ws:
        yield ws


def resanitized(root: Path, **options: Any) -> ResanitizeResult:
    with opened(root) as ws:
        return resanitize(ws, **options)


def test_no_byte_of_the_workspace_holds_it_any_more_and_verify_finds_nothing(root: Path) -> None:
    with opened(root) as ws:
        assert {finding.mend for finding in verify(ws)} == {"lineage admin resanitize"}
    untouched = {path: data for path, data in read_workspace_files(root).items() if SECRET.encode() not in data}
    done = resanitized(root)
    assert find_holders(root, SECRET) == []
    assert sorted(record.path.rsplit("--")[2] for record in done.replaced) == [
        "compaction.md", "summary.md", "transcript.md",
    ]  # fmt: skip
    assert done.redactions["animal"] >= 8
    assert done.unchanged == 2
    with opened(root) as ws:
        assert verify(ws) == []
        assert ws.index.search("lair", None, limit=5)
    after = read_workspace_files(root)
    assert {path: after[path] for path in untouched} == untouched
    assert list_spool_paths(root) == []


def test_the_manifest_tells_what_was_replaced_and_under_which_rules(root: Path) -> None:
    with open_test_workspace(root) as ws:
        before = ws.rules.version
    done = resanitized(root)
    with opened(root) as ws:
        path = ws.index.list_sessions(None, reference="s-1")[0].manifest_path
        manifest = load_document(ws, path)
        assert manifest is not None
        assert manifest.replacements() == done.replaced  # type: ignore[union-attr]
        for record in done.replaced:
            artifact = parse_document((root / record.path).read_bytes(), record.path)
            assert isinstance(artifact, Artifact)
            assert (record.old_version, record.new_version) == (before, ws.rules.version)
            assert artifact.sanitizer_version == ws.rules.version


def test_a_second_run_and_a_dry_run_change_no_byte(root: Path) -> None:
    before = read_workspace_files(root)
    would = resanitized(root, dry_run=True)
    assert read_workspace_files(root) == before
    assert resanitized(root).replaced == would.replaced
    after = read_workspace_files(root)
    assert resanitized(root).replaced == []
    assert read_workspace_files(root) == after


def test_a_dry_run_says_by_file_and_rule_what_would_change_and_writes_nothing(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lineage = LineageCommand(root, capsys)
    (root / "own.toml").write_text('[[rules]]\nid = "animal"\nregex = "quokka[0-9]+"\n')
    (root / "lineage.toml").write_text('[sanitizer]\nrules_path = "own.toml"\n')
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and "locks" not in path.parts}
    shown = lineage("resanitize", "--dry-run").out
    would = lineage("resanitize", "--dry-run", "--json").json
    after = {path: path.read_bytes() for path in root.rglob("*") if path.is_file() and "locks" not in path.parts}
    assert after == before
    assert len(would["by_file"]) == 3
    for path, counts in would["by_file"].items():
        assert SECRET in (root / path).read_text()
        assert f"would be replaced: {path} (" in shown
        assert f"\n  animal {counts['animal']}\n" in shown
    assert sum(counts["animal"] for counts in would["by_file"].values()) == would["redactions"]["animal"]
    assert lineage("resanitize", "--json").json["by_file"] == would["by_file"]


def test_new_rules_alone_change_no_file_and_no_row_until_it_is_asked_for(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lineage = LineageCommand(root, capsys)
    talk = tmp_path / "talk.json"
    talk.write_text(json.dumps([*TALK, {"role": "user", "text": f"{SECRET} has no id"}]))
    source = ("--harness", "generic", "--agent", "ann", "--session-id", "s-9", "--transcript-path", str(talk), "--json")
    compaction = ("compaction", *source, "--summary", f"Goal: find {SECRET}, not quoll1.")

    def look() -> tuple[object, ...]:
        with open_test_workspace(root) as ws:
            rows = ws.index.list_sessions(None, limit=9)
        files = {path: data for path, data in read_workspace_files(root).items() if path != "lineage.toml"}
        return files, rows, lineage("show", "s-9", "--json").out, lineage("search", "lair", "--json").out

    rules = {word: f'[[rules]]\nid = "animal"\nregex = "{word}[0-9]+"\n' for word in ("quokka", "quoll")}
    for word, text in rules.items():
        (root / f"{word}.toml").write_text(text)
    (root / "lineage.toml").write_text('[sanitizer]\nrules_path = "quoll.toml"\n')
    assert lineage(*compaction).json["status"] == lineage("session-end", *source).json["status"] == "captured"
    assert lineage(*compaction).json["status"] == lineage("session-end", *source).json["status"] == "unchanged"
    before, version = look(), lineage("status", "--json").json["sanitizer"]
    (root / "lineage.toml").write_text('[sanitizer]\nrules_path = "quokka.toml"\n')
    assert lineage("status", "--json").json["sanitizer"] != version
    assert lineage(*compaction).json["status"] == lineage("session-end", *source).json["status"] == "unchanged"
    for command in ("recover", "render", "sweep", "reindex"):
        assert lineage(command).code == 0, command
    assert look() == before
    assert lineage("resanitize", "--json").json["replaced"]
    assert look() != before
    assert lineage(*compaction).json["status"] == lineage("session-end", *source).json["status"] == "unchanged"
    (root / "lineage.toml").unlink()


def test_a_session_goes_on_after_it(root: Path) -> None:
    resanitized(root)
    more = [*TALK, {"role": "user", "text": f"And where is {SECRET} now?", "id": "t6"}]
    with opened(root) as ws:
        assert end_session(ws, "s-1", transcript=TALK).status == "unchanged"
        assert end_session(ws, "s-1", transcript=more).turns == 1
        assert verify(ws) == []
    assert find_holders(root, SECRET) == []


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("finish", [recover, finish_pending], ids=["recover", "the next command"])
def test_a_run_that_died_anywhere_is_finished(
    root: Path, tmp_path: Path, finish: Callable[[Workspace], object], after: bool
) -> None:
    for point in itertools.count(1):
        copy = tmp_path / "copy"
        copy_workspace(root, copy)
        is_over = not run_until_crash(copy, resanitize, CrashPoint(point, after), rules=RULES)
        with opened(copy) as ws:
            finish(ws)
            if not resanitize(ws).replaced:
                assert point > 1 or after
            assert verify(ws) == [], point
        assert find_holders(copy, SECRET) == [], point
        assert list_spool_paths(copy) == []
        shutil.rmtree(copy)
        if is_over:
            break


def test_a_run_that_was_cut_off_with_its_spool_lost_is_a_finding_that_names_the_command(root: Path) -> None:
    assert run_until_crash(root, resanitize, CrashPoint(3), rules=RULES)
    for path in list_spool_paths(root):
        (root / path).unlink()
    with opened(root) as ws:
        found = [finding for finding in verify(ws) if "cut off" in finding.what]
        assert {finding.mend for finding in found} == {"lineage admin resanitize"}
        resanitize(ws)
        assert verify(ws) == []
    assert find_holders(root, SECRET) == []


def test_an_index_that_has_the_old_rows_is_told_to_reindex_and_not_to_restore(root: Path, tmp_path: Path) -> None:
    """Another machine, to which a sync brought what was replaced here."""
    copy_workspace(root, tmp_path / "other")
    resanitized(root)
    for path, data in read_workspace_files(root).items():
        (tmp_path / "other" / path).unlink(missing_ok=True)
        (tmp_path / "other" / path).write_bytes(data)
    with opened(tmp_path / "other") as ws:
        found = [finding for finding in verify(ws) if "since it was indexed" in finding.what]
        assert found
        assert {finding.mend for finding in found} == {"lineage reindex"}
        reindex(ws)
        assert verify(ws) == []


@pytest.mark.leaves_findings
def test_an_edit_by_hand_after_it_is_a_finding_even_without_an_index(root: Path) -> None:
    record = resanitized(root).replaced[0]
    file = root / record.path
    file.chmod(0o644)
    file.write_bytes(file.read_bytes().replace(b"agent_id:", b"agent_id: ", 1))
    delete_database(root)
    with opened(root) as ws:
        reindex(ws)
        assert [f.path for f in verify(ws) if "since it was redacted" in f.what] == [record.path]


def test_a_damaged_file_is_named_and_left_alone(root: Path) -> None:
    path = next(
        p
        for p in read_workspace_files(root)
        if p.endswith("--summary.md") and SECRET.encode() in read_workspace_files(root)[p]
    )
    data = (root / path).read_bytes()
    (root / path).chmod(0o644)
    (root / path).write_bytes(data + b"more\n")
    done = resanitized(root)
    assert [problem for problem, _ in done.problems] == [path]
    assert (root / path).read_bytes() == data + b"more\n"
    (root / path).write_bytes(data)
    resanitized(root)
    assert find_holders(root, SECRET) == []


def test_the_command_uses_the_workspace_s_own_rules(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lineage = LineageCommand(root, capsys)
    assert lineage("resanitize").code == 0
    (root / "own.toml").write_text('[[rules]]\nid = "animal"\nregex = "quokka[0-9]+"\n')
    (root / "lineage.toml").write_text('[sanitizer]\nrules_path = "own.toml"\n')
    shown = lineage("resanitize", "--dry-run")
    assert "3 files would be replaced, 2 held nothing to redact" in shown.out
    assert find_holders(root, SECRET)
    done = json.loads(lineage("resanitize", "--json").out)
    assert len(done["replaced"]) == 3
    assert find_holders(root, SECRET) == []
    assert lineage("verify").code == 0
    assert "redaction" in lineage("status").out


def test_rules_that_cannot_be_used_are_named_and_stop_everything(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lineage = LineageCommand(root, capsys)
    (root / "own.toml").write_text('[[rules]]\nid = "behind"\nregex = "(?<=x)y"\n')
    (root / "lineage.toml").write_text('[sanitizer]\nrules_path = "own.toml"\n')
    refused = lineage("session-end", "--harness", "generic", "--session-id", "s", "--transcript", "User: hi")
    assert refused.code != 0
    assert "behind" in refused.err
    (root / "lineage.toml").write_text('[sanitizer]\nrules_path = "gone.toml"\n')
    assert "gone.toml" in lineage("status").err
    (root / "lineage.toml").unlink()


def test_personal_data_is_masked_where_that_is_chosen_and_one_project_stays_one(tmp_path: Path) -> None:
    rules = build_ruleset(personal={"user-name": "mask", "email": "mask"})
    with open_test_workspace(tmp_path / "vault", rules=rules) as ws:
        talk = make_turns("Write to ada@example.org please.", "Done in /home/ada/demo/reader.py.")
        for session in ("s-1", "s-2"):
            end_session(ws, session, transcript=talk, project="/home/ada/demo")
        assert len({row.project for row in ws.index.list_sessions(None)}) == 1
    assert [path for path, _ in find_holders(tmp_path / "vault", "home/ada", "ada@example.org")] == []


def test_without_the_engine_nothing_is_captured_and_nothing_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "vault"
    lineage = LineageCommand(root, capsys)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "re2", None)
        refused = lineage(
            "session-end", "--harness", "generic", "--session-id", "s-1", "--transcript", "User: hi there"
        )
        assert refused.code == 1
        assert "google-re2" in refused.err
        assert "waits in the spool" in refused.err
        assert len(list_spool_paths(root)) == 1
        assert [path for path in read_workspace_files(root) if path.startswith(naming.MEMORY)] == []
    assert lineage("recover").code == 0
    assert list_spool_paths(root) == []
    with open_test_workspace(root) as ws:
        assert len(ws.index.list_sessions(None)) == 1
        assert replace(ws, now=ws.now).index.search("hi there", None, limit=1)


def test_entries_of_books_are_redacted_and_what_a_hand_wrote_stays(root: Path) -> None:
    with open_test_workspace(root) as ws:
        entry = new_entry("global", "note", f"The den of {SECRET} is open.", at=ws.now, source="manual")
        ws.documents.books.add("global", "note", entry)
        path = root / "books" / "global" / "note.md"
        path.write_text(path.read_text() + f"\nMy own line about {SECRET}.\n")
        reindex(ws)
    assert resanitized(root, dry_run=True).books == ["books/global/note.md"]
    assert path.read_text().count(SECRET) == 2
    assert resanitized(root).books == ["books/global/note.md"]
    assert "The den of [REDACTED:animal] is open." in path.read_text()
    assert path.read_text().count(SECRET) == 1
    with opened(root) as ws:
        assert SECRET not in build_context(ws, ContextRequest()).text
        assert SECRET not in (root / "MEMORY.md").read_text()
        (found,) = ws.documents.books.get("global", "note").entries
        assert found.id == entry.id
    assert resanitized(root).books == []
    with open_test_workspace(root) as ws:  # under the rules that every other test is judged by
        publish_all(ws)


@pytest.fixture
def noted(root: Path) -> Path:
    """The workspace with two books that hold the secret."""
    with open_test_workspace(root) as ws:
        write_entry(ws, "global", "note", f"The den of {SECRET} is open.")
        write_entry(ws, "global", "fact", f"The food of {SECRET} is hay.")
        publish_all(ws)
    return root


@pytest.mark.parametrize("finish", [recover, finish_pending], ids=["recover", "the next command"])
def test_a_run_that_died_between_the_files_of_books_and_their_rows_is_finished(
    noted: Path, finish: Callable[[Workspace], object]
) -> None:
    leave_dead_process(noted, resanitize, dies_at="books/global/note.md", after=True, rules=RULES)
    with opened(noted) as ws:
        assert {hit.entry.kind for hit in ws.index.search(SECRET, None, limit=9) if hit.entry} == {"note", "fact"}
        finish(ws)
        assert ws.index.search(SECRET, None, limit=9) == []
        assert verify(ws) == []
    assert find_holders(noted, SECRET) == []
    assert list_spool_paths(noted) == []


@pytest.mark.leaves_findings
def test_a_run_is_finished_once_however_late(noted: Path) -> None:
    leave_dead_process(noted, resanitize, dies_at="books/global/note.md", after=False, rules=RULES)
    path = noted / "books" / "global" / "fact.md"
    path.write_text(path.read_text().replace(f"format: {FORMAT}\n", "format: 99\n"))
    with opened(noted) as ws:
        finish_pending(at_time(ws, "2027-03-01T00:00:00.000Z"))
    assert list_spool_paths(noted) == []


@pytest.mark.leaves_findings
def test_a_book_of_a_newer_format_is_a_problem_and_keeps_no_other_book_s_secret(noted: Path) -> None:
    path = noted / "books" / "global" / "fact.md"
    path.write_text(path.read_text().replace(f"format: {FORMAT}\n", "format: 99\n"))
    before = path.read_bytes()
    done = resanitized(noted)
    assert [problem for problem, _ in done.problems] == ["books/global/fact.md"]
    assert done.books == ["books/global/note.md"]
    assert path.read_bytes() == before
    assert SECRET not in (noted / "books" / "global" / "note.md").read_text()
    assert list_spool_paths(noted) == []
