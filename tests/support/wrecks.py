"""Workspaces that a dead process left behind, and every byte of them."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lineage.app import places
from lineage.core import naming
from lineage.core.documents import Artifact, parsed
from lineage.core.sanitizer import BUILTIN, Ruleset
from lineage.pipeline.capture import compaction as compaction_flow
from lineage.pipeline.capture import session_end as session_end_flow
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.reindexing import ensure_indexed
from lineage.store import LocalStore
from tests.support.faults import Fuse, dies, mortal
from tests.support.houses import NOW, compact, end, house_at

SENTENCE = "In demo the reader was mended in reader.py by the first try, and nothing of it was lost at all."


def wreck(root: Path, flow: Callable[[House], object], *, dies_at: str, after: bool = False, now: str = NOW) -> None:
    """Runs a flow in the folder `root` as a process that dies at its first mutating call whose name holds `dies_at`.

    The sentence that it makes, if it comes to that, is SENTENCE.
    """
    calls = rehearsed(root, flow, now=now)
    point = next(number for number, call in enumerate(calls, 1) if dies_at in call)
    assert died(root, flow, Fuse(point, after), now=now)


def rehearsed(root: Path, flow: Callable[[House], object], *, now: str = NOW) -> list[str]:
    """The mutating calls of a flow: it runs through in a copy of the folder."""
    copy = root.with_name(f"{root.name}-rehearsal")
    copied(root, copy) if root.exists() else copy.mkdir()
    fuse = Fuse()
    died(copy, flow, fuse, now=now)
    shutil.rmtree(copy)
    return fuse.calls


def copied(root: Path, copy: Path, now: str = NOW) -> None:
    """A copy of a workspace with rows of its own, for a server has those of a folder by the name that lies beside it;
    MEMORY.md is as old there as it is here."""
    shutil.copytree(root, copy, symlinks=True)
    name = copy / ".lineage" / "index-id"
    if name.exists():
        name.unlink()
        with house_at(root, now=now) as here, house_at(copy, now=now) as there:
            ensure_indexed(there)
            for mark, value in here.telemetry.marks().items():
                there.telemetry.mark(mark, value)


def died(root: Path, flow: Callable[[House], object], fuse: Fuse, *, now: str = NOW, rules: Ruleset = BUILTIN) -> bool:
    store = places.store_at(root)
    private = LocalStore(root / ".lineage", locks=root / ".lineage" / "locks", private=True)
    with (
        house_at(root, now=now, store=store, private=private, rules=rules) as house,
        patch.object(session_end_flow, "memory_sentence", _first),
        patch.object(compaction_flow, "memory_sentence", _first),
    ):
        return dies(lambda: flow(mortal(house, store, private, fuse)))


def _first(*_: Any) -> tuple[str, str]:
    return SENTENCE, "ok"


def canonical(root: Path) -> dict[str, bytes]:
    """Every file outside `.lineage/` with its bytes."""
    return {path: data for path, data in every_byte(root).items() if not path.startswith(".lineage/")}


def spooled(root: Path) -> list[str]:
    return [path for path in every_byte(root) if path.startswith(".lineage/spool/")]


def every_byte(root: Path) -> dict[str, bytes]:
    """Every file below the folder with its bytes, read as they lie on disk. No database of it may be open."""
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def holders(root: Path, *texts: str) -> list[tuple[str, str]]:
    """(path, text) of every file that holds one of the texts in its name or its bytes, whatever the case."""
    found = every_byte(root).items()
    return [
        (path, text)
        for path, data in found
        for text in texts
        if text.lower().encode() in data.lower() or text.lower() in path.lower()
    ]


def artifacts(root: Path) -> Iterator[Artifact]:
    for path, data in canonical(root).items():
        name = naming.parse_path(path)
        document = parsed(data, path) if name else None
        if isinstance(document, Artifact):
            yield document


def lose_machine(root: Path) -> None:
    """Everything that is this machine's own is gone: index, telemetry, spool, locks."""
    shutil.rmtree(root / ".lineage")


def lose_databases(root: Path) -> None:
    for path in (root / ".lineage").glob("*.db*"):
        path.unlink()


def without_write_times(files: dict[str, bytes]) -> dict[str, bytes]:
    """Manifests without what differs from write to write: when, by whom and how often."""
    of_the_write = re.compile(rb"^(updated_at|write_id|revision): .*\n", re.MULTILINE)
    return {path: of_the_write.sub(b"", data) for path, data in files.items()}


def compacts(store: LocalStore, number: int) -> str:
    """One of several processes that compact the same session at once; the path of what it wrote."""
    with house_at(store.root, now=f"2026-11-21T12:00:{number:02d}.000Z") as house:
        return compact(house, summary=f"Goal number {number}.").compaction_path or ""


def ends(store: LocalStore, number: int) -> str:
    """One of several processes that each end a session of their own; its token."""
    with house_at(store.root) as house:
        return end(house, f"s-{number}").session_token
