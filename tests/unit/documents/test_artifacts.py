"""Artifacts in a folder: what a person, a sync tool or an attacker put in their place.

What the guard rests on: `O_NOFOLLOW` in the folder's `_read`; the frozen mode in `commit`.
"""

import stat
from pathlib import Path

import pytest

from lineage.core.base import naming
from lineage.core.format.documents import parse_document, serialize_document
from lineage.documents import Artifacts, Manifests, Tombstones
from lineage.errors import ImmutableError, WorkspaceError
from lineage.store import LocalStore
from tests.support.artifacts import make_artifact, make_capture, make_identity, make_stem


def test_artifacts_are_read_only_and_manifests_are_not(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    Artifacts(store).write(make_artifact())
    Manifests(store).link(make_stem(), make_capture(), "w-1", make_artifact().captured_at)
    assert stat.S_IMODE((tmp_path / make_artifact().path).stat().st_mode) == 0o400
    manifest = tmp_path / naming.artifact_path(make_stem(), naming.MANIFEST)
    assert stat.S_IMODE(manifest.stat().st_mode) & 0o200


def test_an_artifact_whose_mode_a_sync_tool_changed_is_still_the_same(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    Artifacts(store).write(make_artifact())
    (tmp_path / make_artifact().path).chmod(0o644)
    assert Artifacts(store).write(make_artifact()) is False


def test_an_artifact_that_was_edited_is_never_written_over(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    Artifacts(store).write(make_artifact())
    path = tmp_path / make_artifact().path
    path.chmod(0o644)
    path.write_bytes(serialize_document(make_artifact()) + b"edited")
    with pytest.raises(ImmutableError):
        Artifacts(store).write(make_artifact())
    assert path.read_bytes().endswith(b"edited")


def test_an_artifact_that_is_a_link_is_refused(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    outside = tmp_path / "outside.md"
    outside.write_bytes(serialize_document(make_artifact()))
    (tmp_path / "memory").mkdir()
    (tmp_path / make_artifact().path).symlink_to(outside)
    with pytest.raises(WorkspaceError):
        Artifacts(store).get(make_artifact().path)
    with pytest.raises(WorkspaceError):
        Artifacts(store).write(make_artifact())


def test_a_tombstone_that_cannot_be_read_lets_nobody_pass(tmp_path: Path) -> None:
    path = tmp_path / naming.tombstone_path(make_identity().token)
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "outside.md")
    with pytest.raises(WorkspaceError):
        Tombstones(LocalStore(tmp_path)).raise_if_removed(make_identity().token)


def test_keys_that_somebody_added_to_a_manifest_survive_its_next_revision(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    Manifests(store).link(make_stem(), make_capture(), "w-1", make_artifact().captured_at)
    path = naming.artifact_path(make_stem(), naming.MANIFEST)
    blob = store.read(path)
    store.replace(path, blob.data.replace(b"\nformat:", b'\nrating: 5\nseen: ["x"]\nformat:', 1), blob.version)
    assert Manifests(store).retire(make_stem(), make_stem(), "w-2", make_artifact().captured_at)
    changed = store.read(path).data
    assert b'\nrating: 5\nseen: ["x"]\n---\n' in changed
    assert parse_document(changed, path).write_id == "w-2"  # type: ignore[union-attr]
