"""24. Bundle import: the bundle's manifest can un-private a session; no size limit; one kind of id is not remapped.

Fails when `_delivery` of pipeline/bundles/delivering.py believes the bundle, the manifest or the artifacts alone,
without `checked_sizes` or `_check_end` in canon/bundles.py, and when `Move.document` or `entry_names` of
core/renaming.py leaves out a field or a kind of id. More of it: tests/scenarios/test_hostile_18_bundle.py.
"""

import pytest

from lineage.canon.bundles import unpacked
from lineage.core import naming
from lineage.core.book_paths import ref_of
from lineage.core.bundle import LIMITS, Limits
from lineage.core.documents import Artifact, Manifest, parsed
from lineage.errors import FormatError, InvalidInput
from lineage.pipeline.bundles.bundling import import_bundle
from lineage.pipeline.bundles.exporting import export_session
from lineage.pipeline.house import House
from tests.support.bundles import Files, bundle_of, remade, told
from tests.support.houses import search


def privacies(house: House, token: str) -> set[bool]:
    paths = [entry.key for entry in house.canon.store.list(naming.MEMORY) if token in entry.key]
    found = [parsed(house.canon.store.read(path).data, path) for path in paths]
    return {document.private for document in found if isinstance(document, Artifact | Manifest)}


SAYS_SO = {
    "the bundle": (True, ()),
    "the manifest": (False, ("manifest",)),
    "one of its artifacts": (False, ("transcript",)),
}


@pytest.mark.slow
@pytest.mark.parametrize("restore", [False, True], ids=["fresh", "restored"])
@pytest.mark.parametrize("who", SAYS_SO)
def test_whoever_says_that_it_is_private_is_believed(there: House, here: House, who: str, restore: bool) -> None:
    told(there, private=True)
    private, kinds = SAYS_SO[who]

    def unprivate(files: Files) -> None:
        kept = {kind: next(path for path in files if path.endswith(f"--{kind}.md")) for kind in kinds}
        for path in files:
            if path not in kept.values():
                files[path] = files[path].replace(b"private: true", b"private: false", 1)

    data = remade(bundle_of(there, include_private=True), unprivate, private=private)
    (session,) = import_bundle(here, data, restore=restore).sessions
    assert session.private
    assert privacies(here, session.session_token) == {True}
    assert search(here, "wombat", None, 5) == []
    assert b"wombat" not in here.canon.store.read("MEMORY.md").data


def test_a_private_session_leaves_the_workspace_when_it_is_meant_to_alone(there: House) -> None:
    told(there, private=True)
    with pytest.raises(InvalidInput) as caught:
        export_session(there, "s-1")
    assert "--include-private" in str(caught.value.hint)
    assert export_session(there, "s-1", include_private=True).bundle.private


def test_sizes_and_counts_have_limits(there: House) -> None:
    told(there)
    data = bundle_of(there)
    whole = unpacked(data)
    sizes = [member.bytes for member in whole.bundle.members]
    for tight in (
        {"members": len(sizes) - 1}, {"member_bytes": max(sizes) - 1}, {"total_bytes": sum(sizes) - 1},
        {"file_bytes": len(data) - 1}, {"description_bytes": 100}, {"small": 0, "ratio": 1},
    ):  # fmt: skip
        with pytest.raises(FormatError):
            unpacked(data, LIMITS._replace(**tight))
    exact = Limits(len(sizes), max(sizes), sum(sizes), len(data))
    assert unpacked(data, exact) == whole


def test_every_kind_of_id_is_remapped(there: House, here: House) -> None:
    token = told(there)
    old_books = [there.canon.books.read(ref) for ref in there.canon.books.list()]
    old = {identifier for book in old_books for identifier in book.known} | {token}
    assert len(old) > 5
    (session,) = import_bundle(here, bundle_of(there)).sessions
    for path in session.files:
        data = here.canon.store.read(path).data.decode()
        kept = [line for line in data.split("\n") if not line.startswith("imported_from: ")]
        assert not [name for name in old if name in "\n".join(kept)], path
        assert session.session_token in path
    manifest = next(path for path in session.files if path.endswith("--manifest.md"))
    assert f'imported_from: ["{token}"]' in here.canon.store.read(manifest).data.decode()
    books = [here.canon.books.read(ref) for ref in here.canon.books.list()]
    assert [len(book.entries) for book in books] == [len(book.entries) for book in old_books]
    assert [len(book.forgotten) for book in books] == [len(book.forgotten) for book in old_books]
    assert all(not book.problems for book in books)
    assert {ref.scope for path in session.files if (ref := ref_of(path))} == {f"session/{session.session_token}"}
    linked = {entry.id for book in books for entry in book.entries}
    assert {old for book in books for entry in book.entries for old in entry.supersedes} <= linked
