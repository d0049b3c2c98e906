"""What a removed session taught goes with it, from whatever book it has come to by then. (format: Removal)

Fails without `own_books` in `_paths` or `forget_taught` in `finish_removal` of pipeline/upkeep/removal.py, without
`text_without` in `_holds`, and in pipeline/knowledge/forgetting.py without the pending shelf, the index's books or
`sound`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.core.book_paths import CURATED, CURATED_PATH, GLOBAL, PENDING, BookRef
from lineage.core.checkpoint import Checkpoint, Message
from lineage.core.entry import ASSISTANT_TURN, Entry, new_entry
from lineage.core.rollover import Cap
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.bookkeeping import demote, edit
from lineage.pipeline.knowledge.confirming import confirm, evidence
from lineage.pipeline.upkeep.recovery import recover
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.verification import verify
from tests.support.commands import Lineage
from tests.support.faults import Fuse
from tests.support.houses import at, end, house_at, search, turns
from tests.support.wrecks import died, every_byte, rehearsed

pytestmark = pytest.mark.slow

LATER = "2026-11-22T12:00:00.000Z"
TALK: list[dict[str, Any]] = turns(
    "I prefer wombats over quokkas. I am currently working on the wombat. We decided on the wombat for good.",
    "We decided to feed the wombat at noon. Lesson: the wombat bites. TODO: wash the wombat.",
    "The project uses a wombat.",
)
OTHERS = turns("I prefer tabs over spaces.", "Lesson: the split drops the last line.")
MINE = "A wombat is a marsupial: my own words, typed by hand."


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A workspace with a session that is to go, and another one of the same project."""
    with house_at(tmp_path / "w") as opened:
        end(opened, "s-2", transcript=OTHERS)
        end(opened, "s-1", transcript=TALK)
        yield opened


def entries(house: House) -> dict[str, list[str]]:
    """The texts of all entries by the path of their book; books without one are left out."""
    found = {
        ref.path: [entry.body for entry in house.canon.books.read(ref).entries] for ref in house.canon.books.list()
    }
    return {path: texts for path, texts in found.items() if texts}


def waiting(house: House, kind: str) -> Entry:
    found = house.canon.books.get(GLOBAL, kind, PENDING).entries
    return next(entry for entry in found if "wombat" in entry.body)


def by_hand(house: House, path: str, change: Any) -> None:
    blob = house.canon.store.read(path)
    house.canon.store.replace(path, change(blob.data.decode()).encode(), blob.version)


LEFT = {
    "books/pending/global/preference.md": ["I prefer tabs over spaces."],
    "books/project/demo/lesson.md": ["Lesson: the split drops the last line."],
}


def test_every_entry_goes_and_leaves_its_id(house: House) -> None:
    refs = list(house.canon.books.list())
    before = {entry.id for ref in refs for entry in house.canon.books.read(ref).entries if "wombat" in entry.body}
    token = end(house, "s-1", transcript=TALK).session_token
    receipt = remove(house, "s-1", reason="asked for")
    assert receipt.entries == len(before) == 7
    assert f"books/session/{token}/context.md" in receipt.removed_paths
    assert receipt.elsewhere == []
    assert entries(house) == LEFT
    own = {ref for ref in refs if ref.scope.startswith("session/")}
    left = {identifier for ref in refs if ref not in own for identifier in house.canon.books.read(ref).forgotten}
    assert left < before
    assert len(before - left) == 1
    assert search(house, "wombat", None, 10) == []
    assert not [path for path, data in every_byte(house.telemetry.path.parents[1]).items() if b"wombat" in data]


def test_wherever_it_has_come_to(house: House) -> None:
    """Confirmed, moved to another scope, rolled over, changed by hand, copied into the curated book."""
    confirm(at(house, LATER), evidence(house, [waiting(house, "preference").id]))
    demote(house, house.canon.books.get("project/demo", "decision").entries[0].id, "agent/default")
    house.canon.books.roll_over("project/demo", "lesson", Cap(0, 0))
    (task,) = house.canon.books.get("project/demo", "task").entries
    edit(house, task.id, "Wash the wombat twice, I say.")
    origin = waiting(house, "decision").origin
    curated = new_entry(GLOBAL, CURATED, "The wombat, curated.", at=LATER, source=ASSISTANT_TURN, origin=origin)
    house.canon.books.add(GLOBAL, CURATED, curated)
    receipt = remove(house, "s-1", reason="asked for")
    assert receipt.entries == 8
    found = {text for texts in entries(house).values() for text in texts}
    assert not [text for text in found if "wombat" in text]
    assert {text for texts in LEFT.values() for text in texts} <= found


def test_a_dry_run_says_the_same_and_does_nothing(house: House) -> None:
    before = entries(house)
    planned = remove(house, "s-1", reason="asked for", dry_run=True)
    assert entries(house) == before
    done = remove(house, "s-1", reason="asked for")
    assert (planned.entries, planned.removed_paths) == (done.entries, done.removed_paths)
    assert planned.elsewhere == [path for path in planned.elsewhere if path == "MEMORY.md"]


@pytest.mark.leaves_findings
def test_what_the_user_wrote_between_entries_stays(house: House) -> None:
    path = BookRef("project/demo", "lesson").path
    by_hand(house, path, lambda text: f"{text}\n{MINE}\n\n> {TALK[1]['text']}\n")
    house.canon.store.create(CURATED_PATH, f"# Mine\n\n{MINE}\n".encode())
    receipt = remove(house, "s-1", reason="asked for")
    assert MINE in house.canon.store.read(path).data.decode()
    assert MINE in house.canon.store.read(CURATED_PATH).data.decode()
    assert receipt.elsewhere == [path]


@pytest.mark.leaves_findings
def test_an_entry_that_lost_its_end_is_left_and_named(house: House) -> None:
    path = BookRef("project/demo", "decision").path
    by_hand(house, path, lambda text: "".join(line for line in text.splitlines(True) if "lineage:end" not in line))
    by_hand(house, path, lambda text: f"{text}\n{MINE}\n")
    receipt = remove(house, "s-1", reason="asked for")
    assert receipt.entries == 6
    assert receipt.elsewhere == [path]
    assert MINE in house.canon.store.read(path).data.decode()


def test_checkpoints_go(house: House) -> None:
    token = end(house, "s-1", transcript=TALK).session_token
    house.canon.checkpoints.put(
        Checkpoint(
            agent_id="default",
            session_id="s-1",
            session_token=token,
            harness="generic",
            project=None,
            saved_at=LATER,
            messages=(Message("user", "I prefer wombats."),),
        )
    )
    receipt = remove(house, "s-1", reason="asked for")
    assert any("checkpoints/" in path for path in receipt.spool_files)
    assert house.canon.checkpoints.get("default", LATER) is None


@pytest.mark.leaves_findings
def test_again_forgets_what_a_sync_brought_back(house: House) -> None:
    path = BookRef("project/demo", "lesson").path
    own = next(ref.path for ref in house.canon.books.list() if ref.scope.startswith("session/"))
    older = {key: house.canon.store.read(key).data for key in (path, own)}
    remove(house, "s-1", reason="asked for")
    house.canon.store.replace(path, older[path], house.canon.store.read(path).version)
    house.canon.store.create(own, older[own])
    recover(house)
    assert search(house, "wombat", None, 10) == []
    assert {finding.path for finding in verify(house)} == {path, own}
    receipt = remove(house, "s-1", reason="asked for", again=True)
    assert receipt.entries == 2
    assert verify(house) == []
    assert entries(house) == LEFT


def test_a_removal_that_died_anywhere_is_finished_by_the_next_run(tmp_path: Path) -> None:
    root = tmp_path / "w"

    def asked(house: House) -> None:
        remove(house, "s-1", reason="asked for")

    def filled(folder: Path) -> Path:
        with house_at(folder) as house:
            end(house, "s-2", transcript=OTHERS)
            end(house, "s-1", transcript=TALK)
        return folder

    calls = rehearsed(filled(root), asked)
    first = next(number for number, call in enumerate(calls, 1) if "tombstones" in call)
    for point in range(first, len(calls) + 1):
        folder = filled(tmp_path / f"point-{point}")
        assert died(folder, asked, Fuse(point, after=True))
        with house_at(folder) as house:
            recover(house)
            assert entries(house) == LEFT, calls[point - 1]
            assert search(house, "wombat", None, 10) == []
            assert verify(house) == []
        assert not [path for path, data in every_byte(folder).items() if b"wombat" in data], calls[point - 1]


def test_the_receipt_is_printed(lineage: Lineage) -> None:
    given = ("session-end", "--harness", "generic", "--session-id", "s-1", "--transcript")
    assert lineage(*given, "User: I prefer wombats over quokkas.").code == 0
    assert "would be removed: 1 entry in books" in lineage("remove", "s-1", "--dry-run").out
    assert lineage("remove", "s-1", "--yes", "--json").json["entries"] == 1
