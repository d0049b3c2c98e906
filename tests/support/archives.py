"""Workspaces with an archive: two sessions of January 2026, seen from April."""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from lineage.workspace.workspace import Workspace
from tests.support.dead_processes import read_all_files
from tests.support.workspace import compact_session, end_session, make_turns, open_test_workspace

JANUARY, APRIL = "2026-01-20T12:00:00.000Z", "2026-04-20T12:00:00.000Z"
BEFORE = "2026-02-01"
FIRST_TURNS = make_turns(
    "Where does the heron live?", "By the weir, in reader.py.", "Thanks.", start="2026-01-05T10:00"
)
MORE_TURNS = make_turns("Hm, and the bittern?", "In the reeds of reader.py.", start="2026-01-07T10:00")


def end_session_at(ws: Workspace, session: str, at: str, **payload: Any) -> str:
    """Ends a session at a time; its token."""
    return end_session(ws, session, captured_at=at, ended_at=at, **payload).session_token


def write_january_sessions(root: Path, **payload: Any) -> None:
    """A session with two captures and a compaction, and another one; in January."""
    with open_test_workspace(root, now=JANUARY) as ws:
        end_session_at(ws, "s-1", "2026-01-05T11:00:00.000Z", transcript=FIRST_TURNS, **payload)
        compact_session(
            ws, "s-1", "Goal: find the heron.", captured_at="2026-01-06T10:00:00.000Z", transcript=FIRST_TURNS
        )
        end_session_at(ws, "s-1", "2026-01-07T11:00:00.000Z", transcript=[*FIRST_TURNS, *MORE_TURNS], **payload)
        end_session_at(ws, "s-2", "2026-01-08T11:00:00.000Z", transcript=make_turns("Say plover.", "Plover!"))


def read_unpacked_files(root: Path) -> dict[str, bytes]:
    """Every file below the folder with its bytes, those of its bundles' members too."""
    files = read_all_files(root)
    members = {
        f"{path}!{name}": archive.read(name)
        for path, data in files.items()
        if path.endswith(".zip")
        for archive in [zipfile.ZipFile(BytesIO(data))]
        for name in archive.namelist()
    }
    return files | members


def read_bundled_artifacts(root: Path) -> dict[str, bytes]:
    """The artifacts in the bundles of the archive, by path."""
    found = (
        (path.partition("!")[2], data) for path, data in read_unpacked_files(root).items() if ".zip!memory/" in path
    )
    return dict(found)


def find_mentions(root: Path, text: str) -> list[str]:
    """The files that hold a text in their name or bytes, or in what is packed in them."""
    wanted = text.encode()
    return [path for path, data in read_unpacked_files(root).items() if wanted in data or text in path]
