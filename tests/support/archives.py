"""Workspaces with an archive: two sessions of January 2026, seen from April."""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from lineage.pipeline.house import House
from tests.support.houses import compact, end, house_at, turns
from tests.support.wrecks import every_byte

JANUARY, APRIL = "2026-01-20T12:00:00.000Z", "2026-04-20T12:00:00.000Z"
BEFORE = "2026-02-01"
TALK = turns("Where does the heron live?", "By the weir, in reader.py.", "Thanks.", start="2026-01-05T10:00")
MORE = turns("Hm, and the bittern?", "In the reeds of reader.py.", start="2026-01-07T10:00")


def ended(house: House, session: str, at: str, **payload: Any) -> str:
    """Ends a session at a time; its token."""
    return end(house, session, captured_at=at, ended_at=at, **payload).session_token


def told(root: Path, **payload: Any) -> None:
    """A session with two captures and a compaction, and another one; in January."""
    with house_at(root, now=JANUARY) as house:
        ended(house, "s-1", "2026-01-05T11:00:00.000Z", transcript=TALK, **payload)
        compact(house, "s-1", "Goal: find the heron.", captured_at="2026-01-06T10:00:00.000Z", transcript=TALK)
        ended(house, "s-1", "2026-01-07T11:00:00.000Z", transcript=[*TALK, *MORE], **payload)
        ended(house, "s-2", "2026-01-08T11:00:00.000Z", transcript=turns("Say plover.", "Plover!"))


def unpacked_bytes(root: Path) -> dict[str, bytes]:
    """Every file below the folder with its bytes, those of its bundles' members too."""
    files = every_byte(root)
    members = {
        f"{path}!{name}": archive.read(name)
        for path, data in files.items()
        if path.endswith(".zip")
        for archive in [zipfile.ZipFile(BytesIO(data))]
        for name in archive.namelist()
    }
    return files | members


def bundled(root: Path) -> dict[str, bytes]:
    """The artifacts in the bundles of the archive, by path."""
    found = ((path.partition("!")[2], data) for path, data in unpacked_bytes(root).items() if ".zip!memory/" in path)
    return dict(found)


def mentions(root: Path, text: str) -> list[str]:
    """The files that hold a text in their name or bytes, or in what is packed in them."""
    wanted = text.encode()
    return [path for path, data in unpacked_bytes(root).items() if wanted in data or text in path]
