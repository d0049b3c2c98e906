"""Artifacts in a folder: what a person, a sync tool or an attacker put in their place.

What the guard rests on: `O_NOFOLLOW` in the folder's `_read`; the frozen mode in `commit`.
"""

import stat
from pathlib import Path

import pytest

from lineage.canon import Artifacts, Manifests, Tombstones
from lineage.core import naming
from lineage.core.documents import serialized
from lineage.errors import ImmutableError, WorkspaceError
from lineage.store import LocalStore
from tests.support.artifacts import artifact, capture, identity, stem


def test_artifacts_are_read_only_and_manifests_are_not(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    Artifacts(store).write(artifact())
    Manifests(store).link(stem(), capture(), "w-1", artifact().captured_at)
    assert stat.S_IMODE((tmp_path / artifact().path).stat().st_mode) == 0o444
    manifest = tmp_path / naming.artifact_path(stem(), naming.MANIFEST)
    assert stat.S_IMODE(manifest.stat().st_mode) & 0o200


def test_an_artifact_whose_mode_a_sync_tool_changed_is_still_the_same(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    Artifacts(store).write(artifact())
    (tmp_path / artifact().path).chmod(0o644)
    assert Artifacts(store).write(artifact()) is False


def test_an_artifact_that_was_edited_is_never_written_over(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    Artifacts(store).write(artifact())
    path = tmp_path / artifact().path
    path.chmod(0o644)
    path.write_bytes(serialized(artifact()) + b"edited")
    with pytest.raises(ImmutableError):
        Artifacts(store).write(artifact())
    assert path.read_bytes().endswith(b"edited")


def test_an_artifact_that_is_a_link_is_refused(tmp_path: Path) -> None:
    store = LocalStore(tmp_path)
    outside = tmp_path / "outside.md"
    outside.write_bytes(serialized(artifact()))
    (tmp_path / "memory").mkdir()
    (tmp_path / artifact().path).symlink_to(outside)
    with pytest.raises(WorkspaceError):
        Artifacts(store).get(artifact().path)
    with pytest.raises(WorkspaceError):
        Artifacts(store).write(artifact())


def test_a_tombstone_that_cannot_be_read_lets_nobody_pass(tmp_path: Path) -> None:
    path = tmp_path / naming.tombstone_path(identity().token)
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "outside.md")
    with pytest.raises(WorkspaceError):
        Tombstones(LocalStore(tmp_path)).refuse(identity().token)
