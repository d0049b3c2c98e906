"""The spool in its folder: the one place with raw text is its owner's alone.

What the guard rests on: `private=True` of the store, that is the modes in `_temporary`.
"""

import os
import stat
from pathlib import Path

from lineage.core.format.job import Job
from lineage.documents import Documents, Spool
from lineage.store import LocalStore
from tests.support.memory_store import MemoryStore


def job() -> Job:
    return Job(
        flow="session-end",
        token="a" * 16,
        captured_at="2026-11-20T10:30:00.000Z",
        sentence="A sentence.",
        quality="ok",
        payload={"transcript": "raw"},
    )


def private(folder: Path) -> LocalStore:
    return LocalStore(folder / "state", locks=folder / "state" / "locks", private=True)


def test_jobs_are_readable_by_their_owner_only_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        spool = Spool(private(tmp_path))
        spool.put(job())
        spool.put(job())
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "state").rglob("*")}
    assert modes[job().name] == 0o600
    assert modes["spool"] == 0o700


def test_raw_text_lies_in_the_private_store_and_nowhere_else(tmp_path: Path) -> None:
    workspace = MemoryStore()
    canon = Documents(workspace, private(tmp_path))
    canon.spool.put(job())
    assert list(workspace.list("spool/")) == []
    assert [found.name for found in canon.spool.list_pending()] == [job().name]


def test_a_temporary_file_of_a_killed_writer_is_no_job(tmp_path: Path) -> None:
    spool = Spool(private(tmp_path))
    spool.put(job())
    (tmp_path / "state/spool/.lineage-tmp-0123").write_bytes(b"half")
    assert spool.list_pending() == [job()]
    assert spool.list_damaged() == []
