"""Bundles between workspaces: out, in, searched, verified, removed; what was removed or forgotten stays so.

Fails without `refuse_removed` in `import_bundle`, without any of its questions, or `imported_from` in `buried` of
pipeline/bundles/unspooling.py, when `_check_same` or `_bundling` of pipeline/bundles/bundling.py looks at nothing,
without the records of `sanitize_manifest`, and when an export follows a link or writes over a file.
"""

import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lineage.app import locations
from lineage.core.capture.request import SESSION_END, parse_request
from lineage.core.format.documents import Artifact, parse_document, parse_document_as, serialize_document, with_body
from lineage.documents.bundle_zip import find_bundles_with_session
from lineage.errors import ImmutableError, RemovedError
from lineage.pipeline.maintenance.finish_pending import run_capture
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.transfer.bundles import import_bundle
from lineage.workspace.workspace import Workspace
from tests.support.bundles import (
    TURNS,
    Files,
    export_bundle,
    get_session,
    read_documents,
    rebuild_bundle,
    write_session_books,
    write_session_with_books,
)
from tests.support.commands import LineageCommand
from tests.support.workspace import (
    compact_session,
    end_session,
    make_turns,
    open_test_workspace,
    read_store,
    search_sessions,
)

pytestmark = pytest.mark.slow

AFTERWARDS = "2026-11-22T00:00:00Z"


def test_a_session_goes_from_one_workspace_into_another(
    tmp_path: Path, lineage: LineageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    lineage.end_sample()
    file = tmp_path / "out.zip"
    exported = lineage("bundle", "export", "5f0c2f7e", "-o", str(file), "--json").json
    assert exported["private"] is False
    assert [session["session_id"][:8] for session in exported["sessions"]] == ["5f0c2f7e"]
    other = LineageCommand(tmp_path / "other", capsys)
    for more in ((), ("--dry-run",)):
        refused = other("bundle", "import", str(file), *more)
        assert refused.code == 1 and "lineage init" in refused.err
        assert not other.root.exists(), "a folder that is misspelt becomes no workspace"
    other("init")
    done = other("bundle", "import", str(file), "--json").json
    assert (done["holds"], done["sessions"][0]["status"]) == ("sessions", "imported")
    assert done["sessions"][0]["session_id"] != exported["sessions"][0]["session_id"]
    assert other("verify").code == 0
    (hit,) = other("search", "newline", "--json").json["results"]
    assert hit["session_token"] == done["sessions"][0]["session_token"]
    assert other("bundle", "import", str(file), "--copy").out.startswith("imported: session ")
    assert len(other("sessions", "--json").json["sessions"]) == 2


def take_out(
    lineage: LineageCommand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> tuple[Path, LineageCommand]:
    """Return a bundle of the sample session, and a workspace that it may come into."""
    lineage.end_sample()
    file = tmp_path / "out.zip"
    lineage("bundle", "export", "5f0c2f7e", "-o", str(file))
    other = LineageCommand(tmp_path / "other", capsys)
    other("init")
    return file, other


def test_what_is_said_to_be_imported_is_written_where_it_was_wanted(
    tmp_path: Path, lineage: LineageCommand, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fails where an import passes for a reader, which gets a copy of a workspace that nobody can write."""
    file, other = take_out(lineage, tmp_path, capsys)
    monkeypatch.setattr(locations, "is_writable", lambda root: False)
    (session,) = other("bundle", "import", str(file), "--json").json["sessions"]
    assert all((other.root / path).exists() for path in session["files"])


def test_what_is_here_already_is_said_and_written_no_second_time(
    tmp_path: Path, lineage: LineageCommand, capsys: pytest.CaptureFixture[str]
) -> None:
    file, other = take_out(lineage, tmp_path, capsys)
    would = other("bundle", "import", str(file), "--dry-run", "--json").json
    assert len(other("sessions", "--json").json["sessions"]) == 0
    done = other("bundle", "import", str(file), "--json").json
    assert done == would | {"dry_run": False}, "a dry run shows the ids that the import uses"
    for command, token in ((other, done["sessions"][0]["session_token"]), (lineage, "5f0c2f7e")):
        files = read_files(command.root)
        for more in ((), ("--dry-run",)):
            said = command("bundle", "import", str(file), *more)
            assert (said.code, "unchanged: session" in said.out, "here already" in said.out) == (0, True, True)
        assert read_files(command.root) == files
        assert command("bundle", "import", str(file), "--json").json["sessions"][0]["status"] == "unchanged"
        assert command("show", token).code == 0
    would = other("bundle", "import", str(file), "--copy", "--dry-run", "--json").json
    again = other("bundle", "import", str(file), "--copy", "--json").json
    assert again == would | {"dry_run": False}
    assert again["sessions"][0]["session_token"] != done["sessions"][0]["session_token"]
    assert other("bundle", "import", str(file), "--copy", "--restore").code == 2


def read_files(root: Path) -> dict[str, bytes]:
    """All that a workspace holds but its databases."""
    files = {str(path): path.read_bytes() for path in root.rglob("*.md")}
    return files | {str(path): b"" for path in root.glob(".lineage/spool/**/*")}


def test_another_state_of_a_session_is_another_import(there: Workspace, here: Workspace) -> None:
    write_session_with_books(there)
    first = get_session(import_bundle(here, export_bundle(there)))
    assert get_session(import_bundle(here, export_bundle(there))).status == "unchanged"
    compact_session(there, "s-1", "Another goal.", transcript=TURNS)
    second = get_session(import_bundle(here, export_bundle(there)))
    assert (second.status, second.session_token == first.session_token) == ("imported", False)
    third = get_session(import_bundle(here, export_bundle(there), copy=True))
    assert third.session_token not in (first.session_token, second.session_token)


def test_a_session_that_lost_a_file_here_is_not_here_already(there: Workspace) -> None:
    write_session_with_books(there)
    data = export_bundle(there)
    there.documents.store.delete(next(path for path in read_documents(there) if path.endswith("--summary.md")))
    assert get_session(import_bundle(there, data)).status == "imported"
    assert get_session(import_bundle(there, data, restore=True)).status == "restored"


def test_exporting_the_same_state_twice_gives_the_same_file(tmp_path: Path, lineage: LineageCommand) -> None:
    lineage.end_sample()
    one, two = tmp_path / "one.zip", tmp_path / "two.zip"
    for file in (one, two):
        assert lineage("bundle", "export", "5f0c2f7e", "-o", str(file)).code == 0
    assert one.read_bytes() == two.read_bytes()
    assert stat.S_IMODE(one.stat().st_mode) == 0o600


def test_an_export_overwrites_nothing_unasked_and_follows_no_link(tmp_path: Path, lineage: LineageCommand) -> None:
    lineage.end_sample()
    file, link, folder = tmp_path / "x.zip", tmp_path / "link.zip", tmp_path / "folder"
    file.write_text("mine")
    link.symlink_to(file)
    (tmp_path / "real").mkdir()
    folder.symlink_to(tmp_path / "real")
    for place, more in ((file, ()), (link, ("--force",)), (folder / "x.zip", ()), (tmp_path / "no" / "x.zip", ())):
        done = lineage("bundle", "export", "5f0c2f7e", "-o", str(place), *more)
        assert (done.code, done.err.count("\n")) == (2, 2)
    assert file.read_text() == "mine"
    assert list((tmp_path / "real").iterdir()) == []
    assert lineage("bundle", "export", "5f0c2f7e", "-o", str(file), "--force").code == 0
    assert file.read_bytes().startswith(b"PK")
    assert [path.name for path in tmp_path.iterdir() if "lineage-tmp" in path.name or path.name == ".lineage"] == []
    assert lineage("bundle", "export", "5f0c2f7e", "-o", str(lineage.root / "bundle")).code == 2
    assert lineage("bundle", "export", "5f0c2f7e", "-o", str(lineage.root / "bundle.ZIP")).code == 0
    assert lineage("bundle", "export", "-o", str(file)).code == 2
    assert lineage("bundle", "export", "5f0c2f7e", "--global", "-o", str(file)).code == 2
    assert lineage("bundle", "export", "nobody", "-o", str(tmp_path / "y.zip")).code == 1


def test_a_copy_says_what_the_original_says(there: Workspace, here: Workspace) -> None:
    token = write_session_with_books(there)
    session = get_session(import_bundle(here, export_bundle(there)))
    assert (session.imported_from, session.agent_id) == ([token], "default")
    for path, data in read_documents(there).items():
        if "/claims/" in path:
            continue
        original = parse_document(data, path) if path.startswith("memory/") else None
        copied = path.replace(token, session.session_token)
        copy = parse_document(here.documents.store.read(copied).data, copied) if original else None
        if isinstance(original, Artifact) and isinstance(copy, Artifact):
            assert copy.body == original.body.replace(token, session.session_token)
            same = ("captured_at", "started_at", "ended_at", "watermark", "project", "memory_sentence", "title")
            assert [getattr(copy, key) for key in same] == [getattr(original, key) for key in same]
    assert verify(here) == []
    assert [hit.session_token for hit in search_sessions(here, "wombat", None, 5)] == [session.session_token]


def test_a_copy_beside_its_original_leaves_it_as_it_is(there: Workspace) -> None:
    token = write_session_with_books(there)
    before = read_documents(there)
    session = get_session(import_bundle(there, export_bundle(there), copy=True))
    assert before.items() <= read_documents(there).items()
    assert verify(there) == []
    more = [*TURNS, *make_turns("And now?", "Nothing.", start="2026-11-20T20:00")]
    asked = {"harness": "generic", "session_id": "s-1", "project": "/home/ada/demo", "transcript": more}
    outcome = run_capture(there, parse_request(SESSION_END, asked, agent_id=None, now="2026-11-21T15:00:00.000Z"))
    assert (outcome.status, outcome.turns, outcome.session_token) == ("captured", 2, token)
    copied = there.documents.manifests.get(there.documents.claims.get_stem(session.session_token) or "")
    assert copied is not None
    assert copied.imported_from == [token]


def test_a_copy_of_a_copy_names_all_that_it_was(there: Workspace, here: Workspace) -> None:
    token = write_session_with_books(there)
    second = get_session(import_bundle(here, export_bundle(there)))
    third = get_session(import_bundle(there, export_bundle(here, second.session_id)))
    assert third.imported_from == [token, second.session_token]


@pytest.mark.slow
@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
def test_removing_it_later_leaves_nothing_of_it(there: Workspace, here: Workspace, restore: bool) -> None:
    write_session_with_books(there)
    session = get_session(import_bundle(here, export_bundle(there), restore=restore))
    remove(here, session.session_id, reason="asked for")
    left = read_store(here.documents.store, "")
    left = {path: data for path, data in left.items() if not path.startswith(("memory/tombstones/", "books/"))}
    assert not [path for path, data in left.items() if b"wombat" in data.lower()]
    assert search_sessions(here, "wombat", None, 5) == []


# --- Restoring


def test_restored_it_is_byte_for_byte_what_it_was(there: Workspace, here: Workspace) -> None:
    write_session_with_books(there)
    session = get_session(import_bundle(here, export_bundle(there), restore=True))
    assert session.status == "restored"
    assert read_documents(here) == read_documents(there)
    assert verify(here) == []
    again = get_session(import_bundle(here, export_bundle(there), restore=True))
    assert (again.status, again.files) == ("unchanged", [])


def test_restoring_fills_in_what_is_lost_and_touches_nothing_else(there: Workspace) -> None:
    token = write_session_with_books(there)
    data, before = export_bundle(there), read_documents(there)
    lost = [path for path in before if path.endswith("--summary.md") or "pending" in path or "/claims/" in path]
    for path in lost:
        there.documents.store.delete(path)
    session = get_session(import_bundle(there, data, restore=True))
    assert (session.status, sorted(session.files), session.session_token) == ("restored", sorted(lost), token)
    assert read_documents(there) == before


@pytest.mark.parametrize("what", ["capture", "artifact", "book", "compaction"])
def test_a_session_that_went_on_is_not_overwritten(there: Workspace, what: str) -> None:
    token = write_session_with_books(there)
    data = export_bundle(there)
    if what == "capture":
        end_session(
            there,
            "s-1",
            transcript=[*TURNS, *make_turns("More?", start="2026-11-20T20:00")],
            captured_at="2026-11-22T00:00:00Z",
        )
    elif what == "compaction":
        compact_session(there, "s-1", "Another goal.", transcript=TURNS)
    else:
        path = next(
            p for p in read_documents(there) if p.endswith("--summary.md" if what == "artifact" else "finding.md")
        )
        blob = there.documents.store.read(path)
        there.documents.store.replace(path, blob.data + b"\nmore\n", blob.version)
    before = read_documents(there)
    with pytest.raises(ImmutableError) as caught:
        import_bundle(there, data, restore=True)
    assert "without `--restore`" in caught.value.hint
    assert read_documents(there) == before
    if what in ("artifact", "book"):
        there.documents.store.replace(path, blob.data, there.documents.store.read(path).version)
    assert get_session(import_bundle(there, data, copy=True)).session_token != token


WORDS = st.text(st.sampled_from("abc [[]]|`~-#<>&\\\n\u2028é日😀"), min_size=1, max_size=40).filter(str.strip)


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(WORDS, min_size=1, max_size=3), min_size=1, max_size=2), st.booleans(), WORDS)
def test_any_session_comes_back_as_it_was_and_is_copied_whole(
    tmp_path_factory: pytest.TempPathFactory, said: list[list[str]], private: bool, free: str
) -> None:
    folder = tmp_path_factory.mktemp("round-trip")
    with (
        open_test_workspace(folder / "there") as there,
        open_test_workspace(folder / "here") as here,
        open_test_workspace(folder / "copy") as copy,
    ):
        texts: list[str] = []
        for number, more in enumerate(said):
            texts += more
            at = f"2026-11-21T1{number}:00:00Z"
            end_session(there, "s-1", transcript=make_turns(*texts), captured_at=at, private=private)
        token = there.index.list_sessions(None, reference="s-1")[0].session_token
        write_session_books(there, token)
        path = f"books/session/{token}/finding.md"
        blob = there.documents.store.read(path)
        words = free.replace("`", "'").replace("<", "(").replace("![", "[")
        there.documents.store.replace(path, blob.data + f"\n{words}\n".encode(), blob.version)
        data = export_bundle(there, include_private=True)
        assert export_bundle(there, include_private=True) == data

        import_bundle(here, data, restore=True)
        assert read_documents(here) == read_documents(there)

        session = get_session(import_bundle(copy, data))
        renamed = {path.replace(token, session.session_token) for path in read_documents(there)}
        assert set(read_documents(copy)) == renamed
        held = [path for path, found in read_documents(copy).items() if token.encode() in found]
        assert [path for path in held if not path.endswith("--manifest.md")] == []
        for place in (here, copy):
            assert [finding for finding in verify(place) if finding.path.startswith("memory/")] == []


def test_a_restored_file_under_new_rules_is_recorded_as_replaced(there: Workspace, here: Workspace) -> None:
    """The bundle was made where another version of the rules was in force."""
    write_session_with_books(there)
    secret = b"AKIA" + b"QWERTYUIOPASDFGH"

    def leak(found: Files) -> None:
        path = next(path for path in found if path.endswith("--summary.md"))
        document = parse_document_as(Artifact, found[path], path)
        found[path] = serialize_document(with_body(document, document.body + f"\nthe key {secret.decode()}\n"))

    done = import_bundle(here, rebuild_bundle(export_bundle(there), leak), restore=True)
    assert done.redactions == {"aws-access-key-id": 1}
    (record,) = here.documents.manifests.get(
        here.documents.claims.get_stem(get_session(done).session_token) or ""
    ).replacements()
    assert record.path.endswith("--summary.md")
    assert verify(here) == []
    assert not [path for path, data in read_documents(here).items() if secret in data]
    again = import_bundle(here, rebuild_bundle(export_bundle(there), leak), restore=True)
    assert get_session(again).status == "unchanged"


# --- What was removed


@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
def test_a_session_that_was_removed_here_does_not_come_back(there: Workspace, here: Workspace, restore: bool) -> None:
    write_session_with_books(there)
    data = export_bundle(there)
    import_bundle(here, data, restore=True)
    remove(here, "s-1", reason="asked for")
    before = read_documents(here)
    for dry_run in (True, False):
        with pytest.raises(RemovedError):
            import_bundle(here, data, restore=restore, dry_run=dry_run)
    assert read_documents(here) == before


def test_nor_under_the_id_of_a_copy_that_was_made_elsewhere(there: Workspace, here: Workspace, tmp_path: Path) -> None:
    write_session_with_books(there)
    with open_test_workspace(tmp_path / "third") as third:
        copy = get_session(import_bundle(third, export_bundle(there)))
        again = export_bundle(third, copy.session_id)
    remove(there, "s-1", reason="asked for")
    with pytest.raises(RemovedError):
        import_bundle(there, again)


def test_nor_after_its_copy_was_removed_here_by_its_turns(there: Workspace, here: Workspace) -> None:
    write_session_with_books(there)
    data = export_bundle(there)
    copy = get_session(import_bundle(here, data))
    remove(here, copy.session_id, reason="asked for")
    tells(here, copy.session_token, imported_from=[])
    for restore in (False, True):
        with pytest.raises(RemovedError, match="turns"):
            import_bundle(here, data, restore=restore)


def tells(ws: Workspace, token: str, **values: Any) -> None:
    """Another tombstone of a removed session."""
    tombstone = ws.documents.tombstones.get(token)
    assert tombstone is not None
    blob = ws.documents.store.read(tombstone.path)
    ws.documents.store.replace(tombstone.path, serialize_document(tombstone._replace(**values)), blob.version)


def test_nor_by_what_its_tombstone_says_it_was(there: Workspace, here: Workspace) -> None:
    """A session that has no turns is known by the tokens that it had."""
    outcome = compact_session(there, "s-1", "Goal: the wombat's ledger.")
    data = export_bundle(there)
    copy = get_session(import_bundle(here, data))
    remove(here, copy.session_id, reason="asked for")
    tells(here, copy.session_token, imported_from=[outcome.session_token])
    with pytest.raises(RemovedError):
        import_bundle(here, data)


def test_a_bundle_that_lies_in_the_workspace_is_found_by_the_session_that_it_holds(
    there: Workspace, here: Workspace
) -> None:
    token = write_session_with_books(there)
    here.documents.store.create("attic/one.zip", export_bundle(there))
    here.documents.store.create("attic/two.zip", b"PK\x03\x04 no bundle")
    here.documents.store.create("attic/three.ZIP", export_bundle(there))
    assert list(find_bundles_with_session(here.documents.store, token)) == ["attic/one.zip", "attic/three.ZIP"]
    assert list(find_bundles_with_session(here.documents.store, "a" * 16)) == []
