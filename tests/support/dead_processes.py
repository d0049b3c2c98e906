"""Workspaces that a dead process left behind, and every byte of them."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lineage.app import locations
from lineage.core.base import naming
from lineage.core.format.documents import Artifact, parse_document
from lineage.core.sanitizer import BUILTIN, Ruleset
from lineage.pipeline.capture import compaction as compaction_flow
from lineage.pipeline.capture import session_end as session_end_flow
from lineage.pipeline.maintenance.reindex import ensure_indexed
from lineage.store import LocalStore
from lineage.workspace.workspace import Workspace
from tests.support.faults import CrashPoint, crashes, with_crash_point
from tests.support.workspace import NOW, compact_session, end_session, open_test_workspace

SENTENCE = "In demo the reader was mended in reader.py by the first try, and nothing of it was lost at all."


def leave_dead_process(
    root: Path,
    flow: Callable[[Workspace], object],
    *,
    dies_at: str,
    after: bool = False,
    now: str = NOW,
    rules: Ruleset = BUILTIN,
) -> None:
    """Runs a flow in the folder `root` as a process that dies at its first mutating call whose name holds `dies_at`.

    The sentence that it makes, if it comes to that, is SENTENCE.
    """
    calls = list_mutating_calls(root, flow, now=now, rules=rules)
    point = next(number for number, call in enumerate(calls, 1) if dies_at in call)
    assert run_until_crash(root, flow, CrashPoint(point, after), now=now, rules=rules)


def list_mutating_calls(
    root: Path, flow: Callable[[Workspace], object], *, now: str = NOW, rules: Ruleset = BUILTIN
) -> list[str]:
    """The mutating calls of a flow: it runs through in a copy of the folder."""
    copy = root.with_name(f"{root.name}-rehearsal")
    copy_workspace(root, copy) if root.exists() else copy.mkdir()
    fuse = CrashPoint()
    run_until_crash(copy, flow, fuse, now=now, rules=rules)
    shutil.rmtree(copy)
    return fuse.calls


def copy_workspace(root: Path, copy: Path, now: str = NOW) -> None:
    """A copy of a workspace with rows of its own, for a server has those of a folder by the name that lies beside it;
    MEMORY.md is as old there as it is here."""
    shutil.copytree(root, copy, symlinks=True)
    name = copy / ".lineage" / "index-id"
    if name.exists():
        name.unlink()
        with open_test_workspace(root, now=now) as here, open_test_workspace(copy, now=now) as there:
            ensure_indexed(there)
            for mark, value in here.telemetry.read_marks().items():
                there.telemetry.mark(mark, value)


def link_workspace(root: Path, copy: Path) -> None:
    """A copy of a workspace whose files are the very same, to be replaced and deleted: its rows know their stamps."""
    if (root / ".lineage" / "index-id").exists():
        copy_workspace(root, copy)
        return
    shutil.copytree(root, copy, copy_function=os.link, ignore=lambda folder, _: [".lineage"] * (folder == str(root)))
    shutil.copytree(root / ".lineage", copy / ".lineage")


def run_until_crash(
    root: Path, flow: Callable[[Workspace], object], fuse: CrashPoint, *, now: str = NOW, rules: Ruleset = BUILTIN
) -> bool:
    store = locations.open_store(root)
    private = LocalStore(root / ".lineage", locks=root / ".lineage" / "locks", private=True)
    with (
        open_test_workspace(root, now=now, store=store, private=private, rules=rules) as ws,
        patch.object(session_end_flow, "compose_sentence", _fixed_sentence),
        patch.object(compaction_flow, "compose_sentence", _fixed_sentence),
    ):
        return crashes(lambda: flow(with_crash_point(ws, store, private, fuse)))


def _fixed_sentence(*_: Any) -> tuple[str, str]:
    return SENTENCE, "ok"


def read_workspace_files(root: Path) -> dict[str, bytes]:
    """Every file outside `.lineage/` with its bytes."""
    return {path: data for path, data in read_all_files(root).items() if not path.startswith(".lineage/")}


def list_spool_paths(root: Path) -> list[str]:
    return [path for path in read_all_files(root) if path.startswith(".lineage/spool/")]


def read_all_files(root: Path) -> dict[str, bytes]:
    """Every file below the folder with its bytes, read as they lie on disk. No database of it may be open."""
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def find_holders(root: Path, *texts: str) -> list[tuple[str, str]]:
    """(path, text) of every file that holds one of the texts in its name or its bytes, whatever the case."""
    found = read_all_files(root).items()
    return [
        (path, text)
        for path, data in found
        for text in texts
        if text.lower().encode() in data.lower() or text.lower() in path.lower()
    ]


def read_artifacts(root: Path) -> Iterator[Artifact]:
    for path, data in read_workspace_files(root).items():
        name = naming.parse_path(path)
        document = parse_document(data, path) if name else None
        if isinstance(document, Artifact):
            yield document


def delete_machine_state(root: Path) -> None:
    """Everything that is this machine's own is gone: index, telemetry, spool, locks."""
    shutil.rmtree(root / ".lineage")


def delete_databases(root: Path) -> None:
    for path in (root / ".lineage").glob("*.db*"):
        path.unlink()


def strip_write_fields(files: dict[str, bytes]) -> dict[str, bytes]:
    """Manifests without what differs from write to write: when, by whom and how often."""
    of_the_write = re.compile(rb"^(updated_at|write_id|revision): .*\n", re.MULTILINE)
    return {path: of_the_write.sub(b"", data) for path, data in files.items()}


def compact_in_process(store: LocalStore, number: int) -> str:
    """One of several processes that compact the same session at once; the path of what it wrote."""
    with open_test_workspace(store.root, now=f"2026-11-21T12:00:{number:02d}.000Z") as ws:
        return compact_session(ws, summary=f"Goal number {number}.").compaction_path or ""


def end_in_process(store: LocalStore, number: int) -> str:
    """One of several processes that each end a session of their own; its token."""
    with open_test_workspace(store.root) as ws:
        return end_session(ws, f"s-{number}").session_token
