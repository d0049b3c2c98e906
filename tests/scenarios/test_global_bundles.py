"""Global books that come in a bundle: they wait, they merge, and nothing that was forgotten or removed comes back.

Fails when `_settled` of pipeline/bundles/merging.py keeps what an entry says of itself or leaves it unsanitized, and
without any reason of `_Gate` or `_Here`, the order in `_admitted`, or an entry of the job.
"""

from pathlib import Path
from typing import Any

import pytest

from lineage.canon.bundles import unpacked
from lineage.core.book import entry_part, new_book
from lineage.core.book_paths import GLOBAL, PENDING
from lineage.core.entry import DERIVED, USER_STATED, Entry, new_entry
from lineage.pipeline.bundles.bundling import finish_import, import_bundle
from lineage.pipeline.bundles.exporting import export_global
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.confirming import confirm, evidence
from lineage.pipeline.knowledge.shelving import shelve
from lineage.pipeline.publishing import publish_all
from lineage.pipeline.upkeep.removal import remove
from tests.support.bundles import TALK, bundle_of, imports, told
from tests.support.commands import Lineage
from tests.support.faults import Fuse
from tests.support.houses import NOW, contents, end, house_at
from tests.support.wrecks import canonical, died, rehearsed, spooled

pytestmark = pytest.mark.slow


def stated(house: House, *texts: str, kind: str = "preference", **more: Any) -> list[Entry]:
    made = [new_entry(GLOBAL, kind, text, at=NOW, **{"source": "manual", **more}) for text in texts]
    for entry in made:
        house.canon.books.add(GLOBAL, kind, entry)
    shelved(house)
    return made


def shelved(house: House) -> None:
    """What the tests did to books by hand is known to the index and to MEMORY.md."""
    shelve(house, house.canon.books.list())
    publish_all(house)


def bodies(house: House, kind: str = "preference", shelf: str = "") -> list[str]:
    return [entry.body for entry in house.canon.books.get(GLOBAL, kind, shelf).entries]


def test_global_entries_wait_as_derived_whatever_they_say_of_themselves(there: House, here: House) -> None:
    (mine,) = stated(here, "Prefers tabs.")
    stated(there, "Prefers Go.", tags=("go",))
    stated(there, "Prefers spaces.", supersedes=(mine.id,))
    there.canon.store.create("AGENT_MEMORY.md", b"Never deploy on Fridays.\n\n<script>x</script>\n")
    done = import_bundle(here, export_global(there).data)
    assert done.entries == {"books/pending/global/curated.md": 1, "books/pending/global/preference.md": 2}
    assert bodies(here) == ["Prefers tabs."]
    waiting = here.canon.books.get(GLOBAL, "preference", PENDING).entries
    assert {(entry.trust, entry.source, entry.supersedes, entry.pinned) for entry in waiting} == {
        (DERIVED, "bundle", (), False)
    }
    assert waiting[0].tags == ("go",)
    (curated,) = here.canon.books.get(GLOBAL, "curated", PENDING).entries
    assert "<script" not in curated.text
    assert not (here.index.path.parents[1] / "AGENT_MEMORY.md").exists()
    assert b"Prefers Go" not in here.canon.store.read("MEMORY.md").data
    confirm(here, evidence(here, [waiting[0].id]))
    assert here.canon.books.get(GLOBAL, "preference").entries[-1].trust == USER_STATED


def test_one_s_own_global_books_are_taken_at_once(there: House, here: House) -> None:
    old, new = stated(there, "Prefers Go.", "Prefers Rust.")
    there.canon.books.propose(GLOBAL, "preference", new_entry(GLOBAL, "preference", "Maybe.", at=NOW, source="x"))
    stated(there, "Prefers Zig.", supersedes=(old.id,))
    done = import_bundle(here, export_global(there).data, trust=True)
    assert done.entries == {"books/global/preference.md": 3, "books/pending/global/preference.md": 1}
    assert here.canon.books.get(GLOBAL, "preference").entries == there.canon.books.get(GLOBAL, "preference").entries
    assert here.canon.books.get(GLOBAL, "preference").standing[0].id == new.id


def test_an_archived_entry_comes_though_the_one_that_took_its_place_names_it(there: House, here: House) -> None:
    old = new_entry(GLOBAL, "preference", "Prefers Go.", at=NOW, source="manual")
    there.canon.books.archive(GLOBAL, "preference", [entry_part(new_book(GLOBAL, "preference"), old)])
    stated(there, "Prefers Zig.", supersedes=(old.id,))
    import_bundle(here, export_global(there).data, trust=True)
    assert bodies(here) == ["Prefers Go.", "Prefers Zig."]


def test_a_derived_entry_takes_no_place_of_what_the_user_stated_here(there: House, here: House) -> None:
    (mine,) = stated(here, "Prefers Go.")
    stated(there, "Prefers Zig.", source="assistant_turn", supersedes=(mine.id,))
    import_bundle(here, export_global(there).data, trust=True)
    assert bodies(here) == ["Prefers Go.", "Prefers Zig."]
    assert here.canon.books.get(GLOBAL, "preference").entries[1].supersedes == ()


@pytest.mark.parametrize("trust", [False, True])
def test_merging_twice_adds_nothing_and_forgotten_stays_forgotten(there: House, here: House, trust: bool) -> None:
    kept, gone = stated(there, "Prefers Go.", "Likes cats.")
    stated(here, "Likes cats.")
    stated(here, "Prefers Go.", origin="[[elsewhere]]")
    here.canon.books.forget(GLOBAL, "preference", gone.id)
    stated(there, "Hates dogs.", kind="note")
    data = export_global(there).data
    done = import_bundle(here, data, trust=trust)
    assert done.dropped == {"forgotten": 1, "known": 1}, "the same words are known whoever said them"
    assert list(done.entries.values()) == [1]
    before = contents(here.canon.store, "books/")
    again = import_bundle(here, data, trust=trust)
    assert (again.entries, again.dropped) == ({}, {"forgotten": 1, "known": 2})
    assert contents(here.canon.store, "books/") == before
    assert kept.body in bodies(here)


def test_entries_of_sessions_that_are_removed_or_private_here_stay_out(there: House, here: House) -> None:
    gone = end(here, "gone", transcript=TALK[:2])
    hidden = end(here, "hidden", transcript=TALK[2:], private=True)
    remove(here, "gone", reason="asked for")
    stated(there, "From the removed.", origin=f"[[{gone.transcript_path}#^t-0123456789]]")
    stated(there, "From the private.", origin=f"[[{hidden.transcript_path}]]")
    stated(there, "From elsewhere.", origin="[[memory/2026-11-20T10-00-00.000Z--aaaaaaaaaaaaaaaa--transcript.md]]")
    for trust in (False, True):
        done = import_bundle(here, export_global(there).data, trust=trust, dry_run=True)
        assert done.dropped == {"of a private session": 1, "of a removed session": 1}
        assert sum(done.entries.values()) == 1


def test_secrets_in_global_entries_are_redacted(there: House, here: House) -> None:
    stated(there, "The key is AKIA" + "QWERTYUIOPASDFGH.", tags=("AKIA" + "QWERTYUIOPASDFGH",))
    for trust in (False, True):
        done = import_bundle(here, export_global(there).data, trust=trust, dry_run=True)
        assert done.redactions == {"aws-access-key-id": 2}
    import_bundle(here, export_global(there).data, trust=True)
    assert not [path for path, data in contents(here.canon.store, "books/").items() if b"QWERTY" in data]


def test_a_dry_run_writes_nothing(there: House, here: House) -> None:
    told(there)
    stated(there, "Prefers Go.")
    for data in (bundle_of(there), export_global(there).data):
        shown = import_bundle(here, data, dry_run=True)
        assert shown.dry_run
        assert contents(here.canon.store, "") == {}
        assert here.canon.spool.pending() == []
        assert shown.sessions or shown.entries


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True], ids=["before-the-call", "after-the-call"])
def test_a_merge_that_died_anywhere_is_finished_from_its_job(tmp_path: Path, there: House, after: bool) -> None:
    stated(there, "Prefers Go.", "Prefers spaces.")
    stated(there, "We ship on Mondays.", kind="decision")
    flow = imports(export_global(there).data, trust=True)
    whole = tmp_path / "whole"
    whole.mkdir()
    calls = rehearsed(whole, flow)
    assert not died(whole, flow, Fuse())
    for point in range(1, len(calls) + 1):
        root = tmp_path / f"point-{point}"
        root.mkdir()
        assert died(root, flow, Fuse(point, after))
        begun = bool(spooled(root))
        with house_at(root, now=NOW) as house:
            for job in house.canon.spool.pending():
                finish_import(house, job)
        assert spooled(root) == []
        assert canonical(root) in ([canonical(whole)] if begun else [{}, canonical(whole)]), calls[point - 1]


def test_the_command_says_what_went_where(there: House, tmp_path: Path, lineage: Lineage) -> None:
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
    assert unpacked((tmp_path / "out.zip").read_bytes()).bundle.holds == GLOBAL
    assert [path.name for path in (lineage.root / "books").iterdir()] == ["pending"]
