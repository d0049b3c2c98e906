"""Private sessions: captured whole, and nothing of them crosses to another session. (format: Captures; issue: 7)

Fails where any of its askers stops asking `may_reach`: the routing and the bar of extract/admission.py, the project in
pipeline/knowledge/learning.py, the row in core/ledger.py, the entries in pipeline/knowledge/said.py, the gate of
index/searching.py; and where pipeline/capture/session.py takes a session's privacy from the request alone.
"""

from pathlib import Path
from typing import Any

import pytest

from lineage.core.request import SESSION_END, Request, request
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.context import Asked, context
from lineage.pipeline.upkeep.recovery import recover
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.pipeline.upkeep.resuming import run
from lineage.store import MemoryStore
from tests.support.commands import Lineage
from tests.support.faults import Fuse, dies, mortal
from tests.support.houses import at, compact, contents, end, house_at, search, turns

pytestmark = pytest.mark.slow

LATER, LAST = "2026-11-22T12:00:00.000Z", "2026-11-23T12:00:00.000Z"
PROJECT = "/home/ada/quokka"
TALK = turns(
    "I prefer wombats over quokkas. I am currently working on the wombat.",
    "We decided to feed the wombat at noon. Lesson: the wombat bites.",
    "The project uses a wombat. We decided on the wombat for good.",
    "TODO: wash the wombat.",
)


def end_privately(house: House, session: str = "s-1", **payload: Any) -> Any:
    return end(house, session, **{"transcript": TALK, "project": PROJECT, "private": True, **payload})


def outside(house: House, token: str) -> dict[str, bytes]:
    """What a reader of the workspace sees that is not the session's own."""
    files = contents(house.canon.store) | contents(house.canon.store, "books/")
    return {path: data for path, data in files.items() if token not in path}


def holders(house: House, token: str, word: bytes = b"wombat") -> list[str]:
    return [path for path, data in outside(house, token).items() if word in data.lower()]


def test_it_is_captured_and_learned_from_for_itself_alone(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        outcome = end_privately(house)
        token = outcome.session_token
        assert outcome.learned == {"kept": 7, "pending": 0, "dropped": {}}
        assert {ref.scope for ref in house.canon.books.list()} == {f"session/{token}"}
        assert holders(house, token) == []
        assert holders(house, token, b"quokka") == []
        assert "(private session)" in contents(house.canon.store)["MEMORY.md"].decode()


def test_no_search_and_no_context_tells_of_it(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        end_privately(house)
        end(house, "s-2", project=PROJECT)
        for again in (False, True):
            if again:
                reindex(house)
            assert search(house, "wombat", None, 10) == []
            for query in (None, "wombat"):
                asked = Asked(project=PROJECT, query=query, session="s-2")
                assert "wombat" not in context(house, asked).text.lower()


def test_its_own_context_may(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        end_privately(house)
        end(house, "s-2", project=PROJECT)
        assert "wombat" in context(house, Asked(project=PROJECT, session="s-1")).text


@pytest.mark.leaves_findings
def test_what_is_moved_out_of_it_is_shown_to_nobody(tmp_path: Path) -> None:
    """A hand copies a book of it into the project's folder."""
    with house_at(tmp_path) as house:
        token = end_privately(house).session_token
        own = house.canon.store.read(f"books/session/{token}/lesson.md").data
        house.canon.store.create("books/project/quokka/lesson.md", own)
        reindex(house)
        assert search(house, "wombat", None, 10) == []
        assert "wombat" not in context(house, Asked(project=PROJECT, query="wombat")).text
        assert b"wombat" not in contents(house.canon.store)["MEMORY.md"]


@pytest.mark.parametrize("claimed", [False, None], ids=["not-private", "not-said"])
def test_no_later_end_takes_its_privacy_away(tmp_path: Path, claimed: bool | None) -> None:
    with house_at(tmp_path) as house:
        end_privately(house, transcript=TALK[:2])
        said = {} if claimed is None else {"private": claimed}
        outcome = end(at(house, LATER), transcript=TALK, project=PROJECT, **said)
        note = "it stays private: the first capture decided"
        assert (outcome.status, outcome.reason) == ("captured", None if claimed is None else note)
        again = end(at(house, LAST), transcript=TALK, project=PROJECT, **said)
        assert again.reason == ("nothing new" if claimed is None else f"nothing new; {note}")
        assert holders(house, outcome.session_token) == []
        assert all(b"private: true" in data for data in artifacts(house).values())


def test_no_later_end_makes_a_session_private(tmp_path: Path) -> None:
    """What was shown was shown: half a session that is private would promise what isn't so."""
    with house_at(tmp_path) as house:
        end(house, transcript=TALK[:2], project=PROJECT)
        outcome = end_privately(at(house, LATER))
        assert outcome.reason == "it stays as it is, not private: the first capture decided"
        assert all(b"private: false" in data for data in artifacts(house).values())


def test_a_compaction_can_be_its_first_capture(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        outcome = compact(house, summary="Goal: feed the wombat.", private=True)
        end(at(house, LATER), transcript=TALK, project=PROJECT)
        compact(at(house, LAST), summary="Goal: wash the wombat.", private=False)
        assert holders(house, outcome.session_token) == []


@pytest.mark.leaves_findings  # the workspace is a dictionary, and gone
def test_a_private_end_that_died_stays_private_whoever_finishes_it(tmp_path: Path) -> None:
    """At every call, by ends that know nothing of it and die too, and by a recovery."""
    points = next(point for point in range(1, 100) if not died_and_recovered(tmp_path / str(point), point))
    assert points > 8


def died_and_recovered(folder: Path, point: int) -> bool:
    """False where a private end makes less calls than that."""
    store, private = MemoryStore(), MemoryStore()

    def dying(house: House, asked: Request, call: int) -> bool:
        return dies(lambda: run(mortal(house, store, private, Fuse(call, after=True)), asked))

    with house_at(folder, store=store, private=private) as house:
        payload: dict[str, Any] = {"harness": "generic", "session_id": "s-1", "project": PROJECT, "transcript": TALK}
        first = request(SESSION_END, {**payload, "private": True}, agent_id=None, now=house.now)
        public = request(SESSION_END, payload, agent_id=None, now=LATER)
        if not dying(house, first, point):
            return False
        for call in range(1, point):
            dying(at(house, LATER), public, call)
        recover(at(house, LAST))
        assert run(at(house, LAST), public).status == "unchanged"
        assert holders(house, first.token) == []
        return True


def test_the_command_line_says_so(lineage: Lineage) -> None:
    given = ("session-end", "--harness", "generic", "--session-id", "s-1", "--transcript")
    assert lineage(*given, "User: I prefer wombats over quokkas.", "--private").code == 0
    said = lineage(*given, "User: I prefer wombats over quokkas.\nAssistant: Fine.", "--json")
    assert said.json["status"] == "captured"
    assert "wombat" not in (lineage.root / "MEMORY.md").read_text().lower()
    assert lineage("search", "wombats", "--json").json["results"] == []
    assert "wombat" not in lineage("context").out.lower()
    assert "wombat" not in lineage("book", "list").out.lower()


def artifacts(house: House) -> dict[str, bytes]:
    return {path: data for path, data in contents(house.canon.store, "memory/").items() if "/claims/" not in path}
