"""The index is behind the files: its server was away when rows were due. Whoever finds it back brings it up.

A mark lies on this machine for each time; what it stands for is made good by a look at all files.
"""

from collections.abc import Sequence

from lineage.canon import Canon
from lineage.errors import IndexAway
from lineage.pipeline.house import House

_MARKS = "behind/"


def fall_behind(house: House, away: IndexAway) -> None:
    """Notes that rows are missing, and why."""
    house.canon.spool.store.create(f"{_MARKS}{house.new_id()}", f"{house.now} {away.message}\n".encode())


def behind(canon: Canon) -> list[str]:
    """Since when rows are missing and why, oldest first; empty where none are."""
    store = canon.spool.store
    return sorted(store.read(key).data.decode("utf-8", "replace").strip() for key in marks(canon))


def marks(canon: Canon) -> list[str]:
    """What `made_good` is told when all that was missing before is there."""
    return [entry.key for entry in canon.spool.store.list(_MARKS)]


def made_good(canon: Canon, known: Sequence[str]) -> None:
    """Takes the marks away that were there when a look at all files began; what fell behind since stays noted."""
    for key in known:
        canon.spool.store.delete(key)


def away(house: House) -> IndexAway | None:
    """Why the index can't be asked now; None where it can."""
    try:
        _ = house.index.is_new
    except IndexAway as error:
        return error
    return None
