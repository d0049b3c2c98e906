"""24. Bundle import: the bundle's manifest can un-private a session; no size limit; one kind of id is not remapped.

Fails when `_delivery` of pipeline/bundles/delivering.py believes the bundle, the manifest or the artifacts alone,
without `check_sizes` or `_check_end` in canon/bundles.py, and when `Move.document` or `map_entry_ids` of
core/renaming.py leaves out a field or a kind of id. More of it: tests/scenarios/test_hostile_18_bundle.py.
"""

from dataclasses import replace

import pytest

from lineage.core.base import naming
from lineage.core.base.book_paths import parse_book_path
from lineage.core.format.documents import Artifact, Manifest, parse_document
from lineage.core.transfer.bundle import LIMITS, BundleLimits
from lineage.documents.bundle_zip import unpack
from lineage.errors import FormatError, InvalidInput
from lineage.pipeline.transfer.bundle_export import export_session
from lineage.pipeline.transfer.bundles import import_bundle
from lineage.workspace.workspace import Workspace
from tests.support.bundles import Files, export_bundle, rebuild_bundle, write_session_with_books
from tests.support.workspace import search_sessions


def privacies(ws: Workspace, token: str) -> set[bool]:
    paths = [entry.key for entry in ws.documents.store.list(naming.MEMORY) if token in entry.key]
    found = [parse_document(ws.documents.store.read(path).data, path) for path in paths]
    return {document.private for document in found if isinstance(document, Artifact | Manifest)}


SAYS_SO = {
    "the bundle": (True, ()),
    "the manifest": (False, ("manifest",)),
    "one of its artifacts": (False, ("transcript",)),
}


@pytest.mark.slow
@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
@pytest.mark.parametrize("who", SAYS_SO)
def test_whoever_says_that_it_is_private_is_believed(
    there: Workspace, here: Workspace, who: str, restore: bool
) -> None:
    write_session_with_books(there, private=True)
    private, kinds = SAYS_SO[who]

    def unprivate(files: Files) -> None:
        kept = {kind: next(path for path in files if path.endswith(f"--{kind}.md")) for kind in kinds}
        for path in files:
            if path not in kept.values():
                files[path] = files[path].replace(b"private: true", b"private: false", 1)

    data = rebuild_bundle(export_bundle(there, include_private=True), unprivate, private=private)
    (session,) = import_bundle(here, data, restore=restore).sessions
    assert session.private
    assert privacies(here, session.session_token) == {True}
    assert search_sessions(here, "wombat", None, 5) == []
    assert b"wombat" not in here.documents.store.read("MEMORY.md").data


def test_a_private_session_leaves_the_workspace_when_it_is_meant_to_alone(there: Workspace) -> None:
    write_session_with_books(there, private=True)
    with pytest.raises(InvalidInput) as caught:
        export_session(there, "s-1")
    assert "--include-private" in str(caught.value.hint)
    assert export_session(there, "s-1", include_private=True).bundle.private


def test_sizes_and_counts_have_limits(there: Workspace) -> None:
    write_session_with_books(there)
    data = export_bundle(there)
    whole = unpack(data)
    sizes = [member.bytes for member in whole.bundle.members]
    for tight in (
        {"members": len(sizes) - 1}, {"member_bytes": max(sizes) - 1}, {"total_bytes": sum(sizes) - 1},
        {"file_bytes": len(data) - 1}, {"description_bytes": 100}, {"ratio_exempt_bytes": 0, "ratio": 1},
    ):  # fmt: skip
        with pytest.raises(FormatError):
            unpack(data, replace(LIMITS, **tight))
    exact = BundleLimits(len(sizes), max(sizes), sum(sizes), len(data))
    assert unpack(data, exact) == whole


def test_every_kind_of_id_is_remapped(there: Workspace, here: Workspace) -> None:
    token = write_session_with_books(there)
    old_books = [there.documents.books.read(ref) for ref in there.documents.books.list()]
    old = {identifier for book in old_books for identifier in book.all_ids} | {token}
    assert len(old) > 5
    (session,) = import_bundle(here, export_bundle(there)).sessions
    for path in session.files:
        data = here.documents.store.read(path).data.decode()
        kept = [line for line in data.split("\n") if not line.startswith("imported_from: ")]
        assert not [name for name in old if name in "\n".join(kept)], path
        assert session.session_token in path
    manifest = next(path for path in session.files if path.endswith("--manifest.md"))
    assert f'imported_from: ["{token}"]' in here.documents.store.read(manifest).data.decode()
    books = [here.documents.books.read(ref) for ref in here.documents.books.list()]
    assert [len(book.entries) for book in books] == [len(book.entries) for book in old_books]
    assert [len(book.forgotten_ids) for book in books] == [len(book.forgotten_ids) for book in old_books]
    assert all(not book.problems for book in books)
    assert {ref.scope for path in session.files if (ref := parse_book_path(path))} == {
        f"session/{session.session_token}"
    }
    linked = {entry.id for book in books for entry in book.entries}
    assert {old for book in books for entry in book.entries for old in entry.supersedes} <= linked
