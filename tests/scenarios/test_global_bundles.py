"""Global books that come in a bundle: they wait, they merge, and nothing that was forgotten or removed comes back.

Fails when `_settled` of pipeline/bundles/merging.py keeps what an entry says of itself or leaves it unsanitized, and
without any reason of `_Gate` or `_Here`, the order in `_admitted`, or an entry of the job.
"""

from pathlib import Path
from typing import Any

import pytest

from lineage.core.base.book_paths import GLOBAL, PENDING
from lineage.core.books.book import make_entry_part, new_book
from lineage.core.books.entry import DERIVED, USER_STATED, Entry, new_entry
from lineage.documents.bundle_zip import unpack
from lineage.pipeline.maintenance.import_journal import finish_import
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.memory.waiting_entries import confirm_entries, load_evidence
from lineage.pipeline.transfer.bundle_export import export_global
from lineage.pipeline.transfer.bundles import import_bundle
from lineage.workspace.book_index import index_books
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.bundles import TURNS, export_bundle, importing_flow, write_session_with_books
from tests.support.commands import LineageCommand
from tests.support.dead_processes import list_mutating_calls, list_spool_paths, read_workspace_files, run_until_crash
from tests.support.faults import CrashPoint
from tests.support.workspace import NOW, end_session, open_test_workspace, read_store

pytestmark = pytest.mark.slow


def stated(ws: Workspace, *texts: str, kind: str = "preference", **more: Any) -> list[Entry]:
    made = [new_entry(GLOBAL, kind, text, at=NOW, **{"source": "manual", **more}) for text in texts]
    for entry in made:
        ws.documents.books.add(GLOBAL, kind, entry)
    shelved(ws)
    return made


def shelved(ws: Workspace) -> None:
    """What the tests did to books by hand is known to the index and to MEMORY.md."""
    index_books(ws, ws.documents.books.list())
    publish_all(ws)


def bodies(ws: Workspace, kind: str = "preference", shelf: str = "") -> list[str]:
    return [entry.body for entry in ws.documents.books.get(GLOBAL, kind, shelf).entries]


def test_global_entries_wait_as_derived_whatever_they_say_of_themselves(there: Workspace, here: Workspace) -> None:
    (mine,) = stated(here, "Prefers tabs.")
    there.documents.store.create("AGENT_MEMORY.md", b"Never deploy on Fridays.\n\n<script>x</script>\n")
    stated(there, "Prefers Go.", tags=("go",))
    stated(there, "Prefers spaces.", supersedes=(mine.id,))
    done = import_bundle(here, export_global(there).data)
    assert done.entries == {"books/pending/global/curated.md": 1, "books/pending/global/preference.md": 2}
    assert bodies(here) == ["Prefers tabs."]
    waiting = here.documents.books.get(GLOBAL, "preference", PENDING).entries
    assert {(entry.trust, entry.source, entry.supersedes, entry.pinned) for entry in waiting} == {
        (DERIVED, "bundle", (), False)
    }
    assert waiting[0].tags == ("go",)
    (curated,) = here.documents.books.get(GLOBAL, "curated", PENDING).entries
    assert "<script" not in curated.text
    assert not (here.index.path.parents[1] / "AGENT_MEMORY.md").exists()
    assert b"Prefers Go" not in here.documents.store.read("MEMORY.md").data
    confirm_entries(here, load_evidence(here, [waiting[0].id]))
    assert here.documents.books.get(GLOBAL, "preference").entries[-1].trust == USER_STATED


def test_one_s_own_global_books_are_taken_at_once(there: Workspace, here: Workspace) -> None:
    old, new = stated(there, "Prefers Go.", "Prefers Rust.")
    there.documents.books.add(
        GLOBAL, "preference", new_entry(GLOBAL, "preference", "Maybe.", at=NOW, source="x"), PENDING
    )
    stated(there, "Prefers Zig.", supersedes=(old.id,))
    done = import_bundle(here, export_global(there).data, trust=True)
    assert done.entries == {"books/global/preference.md": 3, "books/pending/global/preference.md": 1}
    assert (
        here.documents.books.get(GLOBAL, "preference").entries
        == there.documents.books.get(GLOBAL, "preference").entries
    )
    assert here.documents.books.get(GLOBAL, "preference").active_entries[0].id == new.id


def test_an_archived_entry_comes_though_the_one_that_took_its_place_names_it(there: Workspace, here: Workspace) -> None:
    old = new_entry(GLOBAL, "preference", "Prefers Go.", at=NOW, source="manual")
    there.documents.books.archive(GLOBAL, "preference", [make_entry_part(new_book(GLOBAL, "preference"), old)])
    stated(there, "Prefers Zig.", supersedes=(old.id,))
    import_bundle(here, export_global(there).data, trust=True)
    assert bodies(here) == ["Prefers Go.", "Prefers Zig."]


def test_a_derived_entry_takes_no_place_of_what_the_user_stated_here(there: Workspace, here: Workspace) -> None:
    (mine,) = stated(here, "Prefers Go.")
    stated(there, "Prefers Zig.", source="assistant_turn", supersedes=(mine.id,))
    import_bundle(here, export_global(there).data, trust=True)
    assert bodies(here) == ["Prefers Go.", "Prefers Zig."]
    assert here.documents.books.get(GLOBAL, "preference").entries[1].supersedes == ()


@pytest.mark.parametrize("trust", [False, True])
def test_merging_twice_adds_nothing_and_forgotten_stays_forgotten(
    there: Workspace, here: Workspace, trust: bool
) -> None:
    kept, gone = stated(there, "Prefers Go.", "Likes cats.")
    stated(here, "Likes cats.")
    stated(here, "Prefers Go.", origin="[[elsewhere]]")
    here.documents.books.forget(GLOBAL, "preference", gone.id)
    stated(there, "Hates dogs.", kind="note")
    data = export_global(there).data
    done = import_bundle(here, data, trust=trust)
    assert done.dropped == {"forgotten": 1, "known": 1}, "the same words are known whoever said them"
    assert list(done.entries.values()) == [1]
    before = read_store(here.documents.store, "books/")
    again = import_bundle(here, data, trust=trust)
    assert (again.entries, again.dropped) == ({}, {"forgotten": 1, "known": 2})
    assert read_store(here.documents.store, "books/") == before
    assert kept.body in bodies(here)


def test_entries_of_sessions_that_are_removed_or_private_here_stay_out(there: Workspace, here: Workspace) -> None:
    gone = end_session(here, "gone", transcript=TURNS[:2])
    hidden = end_session(here, "hidden", transcript=TURNS[2:], private=True)
    remove(here, "gone", reason="asked for")
    stated(there, "From the removed.", origin=f"[[{gone.transcript_path}#^t-0123456789]]")
    stated(there, "From the private.", origin=f"[[{hidden.transcript_path}]]")
    stated(there, "From elsewhere.", origin="[[memory/2026-11-20T10-00-00.000Z--aaaaaaaaaaaaaaaa--transcript.md]]")
    for trust in (False, True):
        done = import_bundle(here, export_global(there).data, trust=trust, dry_run=True)
        assert done.dropped == {"of a private session": 1, "of a removed session": 1}
        assert sum(done.entries.values()) == 1


def test_secrets_in_global_entries_are_redacted(there: Workspace, here: Workspace) -> None:
    stated(there, "The key is AKIA" + "QWERTYUIOPASDFGH.", tags=("AKIA" + "QWERTYUIOPASDFGH",))
    for trust in (False, True):
        done = import_bundle(here, export_global(there).data, trust=trust, dry_run=True)
        assert done.redactions == {"aws-access-key-id": 2}
    import_bundle(here, export_global(there).data, trust=True)
    assert not [path for path, data in read_store(here.documents.store, "books/").items() if b"QWERTY" in data]


def test_a_dry_run_writes_nothing(there: Workspace, here: Workspace) -> None:
    write_session_with_books(there)
    stated(there, "Prefers Go.")
    for data in (export_bundle(there), export_global(there).data):
        shown = import_bundle(here, data, dry_run=True)
        assert shown.dry_run
        assert read_store(here.documents.store, "") == {}
        assert here.documents.spool.list_pending() == []
        assert shown.sessions or shown.entries


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_a_merge_that_died_anywhere_is_finished_from_its_job(tmp_path: Path, there: Workspace, after: bool) -> None:
    stated(there, "Prefers Go.", "Prefers spaces.")
    stated(there, "We ship on Mondays.", kind="decision")
    flow = importing_flow(export_global(there).data, trust=True)
    whole = tmp_path / "whole"
    whole.mkdir()
    calls = list_mutating_calls(whole, flow)
    assert not run_until_crash(whole, flow, CrashPoint())
    for point in range(1, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert run_until_crash(root, flow, CrashPoint(point, after))
        begun = bool(list_spool_paths(root))
        with open_test_workspace(root, now=NOW) as ws:
            for job in ws.documents.spool.list_pending():
                finish_import(ws, job)
        assert list_spool_paths(root) == []
        assert read_workspace_files(root) in (
            [read_workspace_files(whole)] if begun else [{}, read_workspace_files(whole)]
        ), calls[point - 1]


def test_the_command_says_what_went_where(there: Workspace, tmp_path: Path, lineage: LineageCommand) -> None:
    stated(there, "Prefers Go.")
    file = tmp_path / "global.zip"
    file.write_bytes(export_global(there).data)
    lineage("init")
    assert (
        "books/pending/global/preference.md: 1 would be added"
        in lineage("bundle", "import", str(file), "--dry-run").out
    )
    assert "books/pending/global/preference.md: 1 added" in lineage("bundle", "import", str(file)).out
    assert "no entry is new here\nleft out: known 1" in lineage("bundle", "import", str(file)).out
    exported = lineage("bundle", "export", "--global", "-o", str(tmp_path / "out.zip"), "--json").json
    assert [member["path"] for member in exported["members"]] == [
        "AGENT_MEMORY.md", "books/pending/global/preference.md",
    ]  # fmt: skip
    assert unpack((tmp_path / "out.zip").read_bytes()).bundle.holds == GLOBAL
    assert [path.name for path in (lineage.root / "books").iterdir()] == ["pending"]
