"""A workspace's first archive appears while other processes work in it without one.

Each makes a test here fail when it is taken out: `notice_archive` in `session_lock`, each of the two in
`run_in_workspace`, and `notice_archives` in the mirror's `_read_both`.
"""

from pathlib import Path

import pytest

from lineage.app.workspace import run_in_workspace
from lineage.core.transfer.archive_paths import is_archivable
from lineage.errors import ImmutableError, NotFoundError
from lineage.pipeline.capture.session import session_lock
from lineage.pipeline.maintenance.archive import archive
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.workspace.lookup import load_document
from lineage.workspace.workspace import Workspace
from tests.support.archives import (
    APRIL,
    BEFORE,
    FIRST_TURNS,
    MORE_TURNS,
    read_bundled_artifacts,
    write_january_sessions,
)
from tests.support.concurrency import read_line, start_process
from tests.support.mirrors import open_world
from tests.support.workspace import end_session, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

_ARCHIVE = f"""
from pathlib import Path
from lineage.pipeline.maintenance.archive import archive
from tests.support.mirrors import open_world
from tests.support.workspace import open_test_workspace
with open_test_workspace(Path("vault"), now="{APRIL}") as ws:
    print(archive(ws, "{BEFORE}").artifacts)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_january_sessions(tmp_path / "vault")
    return tmp_path / "vault"


def archive_elsewhere(root: Path) -> list[str]:
    """Archive January in another process. Return the paths of its artifacts."""
    with start_process(_ARCHIVE, root.parent) as process:
        assert read_line(process) == "7"
    return sorted(read_bundled_artifacts(root))


def test_a_committed_artifact_gets_no_twin_with_other_content(root: Path) -> None:
    with open_test_workspace(root, now=APRIL) as ws:
        keys = [entry.key for entry in ws.documents.store.list("memory/") if is_archivable(entry.key)]
        artifacts = {key: ws.documents.artifacts.get(key) for key in keys}
        for path in archive_elsewhere(root):
            artifact = artifacts[path]
            assert artifact is not None
            with session_lock(ws, artifact.identity.token):
                assert ws.documents.artifacts.write(artifact) is False
                with pytest.raises(ImmutableError):
                    ws.documents.artifacts.write(artifact._replace(title="other"))
            assert not (root / path).exists()
        assert verify(ws) == []


def test_a_resumed_session_is_captured_from_the_end_of_its_archived_captures(root: Path) -> None:
    more = make_turns("And the crane?", "On the roof.", start="2026-04-19T10:00")
    with open_test_workspace(root, now=APRIL) as ws:
        archive_elsewhere(root)
        outcome = end_session(ws, "s-1", transcript=[*FIRST_TURNS, *MORE_TURNS, *more], ended_at=APRIL)
        assert (outcome.status, outcome.turns) == ("captured", 2)
        assert verify(ws) == []


def test_a_reader_finds_an_artifact_that_is_archived_meanwhile(root: Path) -> None:
    runs = []

    def read_all(ws: Workspace) -> list[bool]:
        runs.append(ws.documents.store)
        paths = [path for path, _ in ws.index.list_session_files(ws.index.list_sessions(None)[0].session_token)]
        if not (root / "archive").exists():
            archive_elsewhere(root)
        return [load_document(ws, path) is not None for path in paths]

    assert all(run_in_workspace(root, read_all))
    assert len(runs) == 2
    assert all(run_in_workspace(root, read_all))
    assert len(runs) == 3


def test_a_reader_that_raises_for_what_is_archived_meanwhile_runs_again(root: Path) -> None:
    def read(ws: Workspace) -> bytes:
        (path, *_) = [entry.key for entry in ws.documents.store.list("memory/") if is_archivable(entry.key)]
        if not (root / "archive").exists():
            archive_elsewhere(root)
        if (document := load_document(ws, path)) is None:
            raise NotFoundError(path)
        return document.path.encode()

    assert run_in_workspace(root, read).startswith(b"memory/2026-01")


def test_a_reindex_keeps_the_rows_of_what_is_archived_meanwhile(root: Path) -> None:
    def reindex_late(ws: Workspace) -> int:
        if not (root / "archive").exists():
            archive_elsewhere(root)
        return reindex(ws, confirmed=True).dropped

    run_in_workspace(root, reindex_late)
    with open_test_workspace(root, now=APRIL) as ws:
        assert verify(ws) == []


@pytest.mark.leaves_findings
def test_a_mirror_writes_no_twin_of_what_is_archived_meanwhile(tmp_path: Path) -> None:
    """Fails without `notice_archives` in the mirror's `_read_both`."""
    with open_world(tmp_path) as world:
        laptop = world.open_laptop("one")
        at = "2026-01-05T11:00:00.000Z"
        end_session(laptop.shared, "s-1", transcript=FIRST_TURNS, captured_at=at, ended_at=at)
        laptop.mirror()
        assert archive(world.open_workspace("other", world.remote), BEFORE).artifacts == 2
        laptop.mirror(confirmed=True)
        assert not any(is_archivable(entry.key) for entry in world.remote.list("memory/"))
        assert sum(is_archivable(entry.key) for entry in laptop.local.documents.store.list("memory/")) == 2
