"""Nothing shows a stale decision before what amends it, in 42 chains of sessions, and search says what is stale.

The guards: `amends` and the order in `_find_amendments`, the project there, `_visit`, `standing` in `order_amended`,
`_mark_entry`, `is_asked`, `_announces`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.memory.prompt_recall import recall_for_prompt
from lineage.pipeline.memory.remember import Memo, remember
from lineage.pipeline.search.search import search
from lineage.workspace.workspace import Workspace
from tests.support.amendments import Chain, read_chains
from tests.support.books import write_entry
from tests.support.workspace import at_time, end_session, open_memory_workspace

pytestmark = pytest.mark.slow

CHAINS = read_chains()
LATER = "2026-12-01T00:00:00.000Z"
REPLY = {"user": "assistant", "assistant": "user"}


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workspace]:
    """A workspace of a session for each statement of each chain, all of one project."""
    with open_memory_workspace(tmp_path_factory.mktemp("chains")) as opened:
        for number, chain in enumerate(CHAINS):
            for day, (speaker, text) in enumerate(chain.statements, 1):
                turns = [{"role": "user", "text": f"{chain.question}?"}, {"role": speaker, "text": text}]
                turns.append({"role": REPLY[speaker], "text": "OK."})
                now = at_time(opened, f"2026-0{day}-10T{number // 60:02}:{number % 60:02}:00.000Z")
                end_session(now, f"{number}-{day}", transcript=turns, project="/home/ada/demo")
        yield opened


@pytest.mark.parametrize("number", range(len(CHAINS)), ids=[chain.question for chain in CHAINS])
def test_current_comes_before_superseded(ws: Workspace, number: int) -> None:
    chain: Chain = CHAINS[number]
    found = search(ws, chain.question, None, 10).hits
    hits = [hit for hit in found if hit.entry is None]
    own = [hit for hit in hits if str(hit.session_id).startswith(f"{number}-")]
    newest_first = [f"{number}-{day}" for day in range(len(chain.statements), 0, -1)]
    assert [hit.session_id for hit in own] == newest_first
    assert [hit.superseded is None for hit in own] == [True, *[False] * (len(own) - 1)]
    by_token = {hit.session_token: hit for hit in own} | {hit.entry.id: hit for hit in found if hit.entry}
    for hit in own[1:]:
        assert hit.superseded
        newer = by_token[hit.superseded.by]
        assert (newer.membership_ts or "")[:10] == hit.superseded.on > (hit.membership_ts or "")[:10]


@pytest.mark.parametrize("number", range(len(CHAINS)), ids=[chain.question for chain in CHAINS])
def test_a_prompt_and_a_context_are_told_what_is_current_first(ws: Workspace, number: int) -> None:
    question, said = CHAINS[number].question, [text for _, text in CHAINS[number].statements]
    recall = recall_for_prompt(ws, question, agent_id="default", keys=["~/demo"], folder=None, is_asked=True)
    context = build_context(ws, ContextRequest(project="/home/ada/demo", query=question))
    for told in ("\n".join(item.text for item in recall.items), context.text):
        places = [told.find(text[:40]) for text in reversed(said)]
        assert places[0] >= 0 and all(place < 0 or place > places[0] for place in places[1:])


def test_another_project_s_sessions_and_unrelated_ones_stay_where_they_are(ws: Workspace) -> None:
    for day, project in enumerate(("shop", "work/shop"), 1):
        now = at_time(ws, f"2026-07-0{day}T00:00:00.000Z")
        text = ("Use npm for the okapi page.", "The okapi page uses pnpm, no longer npm.")[day - 1]
        turns = [{"role": "user", "text": text}, {"role": "assistant", "text": "OK."}]
        end_session(now, f"o-{day}", transcript=turns, project=f"/home/ada/{project}")
    hits = [hit for hit in search(ws, "okapi page", None, 10).hits if str(hit.session_id).startswith("o-")]
    assert [hit.superseded for hit in hits] == [None, None]


def test_a_decision_is_not_superseded_by_its_own_entry_and_one_of_another_worktree_is(tmp_path: Path) -> None:
    texts = (
        (
            "",
            "The relay retries 3 times with exponential backoff.",
            "Done: relay retries 3 times with exponential backoff.",
        ),
        (
            "/.worktrees/more",
            "The relay no longer retries 3 times with exponential backoff but 5 times with linear backoff.",
            "Done: relay retries 5 times with linear backoff.",
        ),
    )
    with open_memory_workspace(tmp_path) as opened:
        for day, (folder, said, done) in enumerate(texts, 1):
            turns = [{"role": "user", "text": f"Decision: {said}"}, {"role": "assistant", "text": done}]
            now = at_time(opened, f"2026-07-0{day}T00:00:01.000Z")
            ended_at = f"2026-07-0{day}T00:00:00.000Z"  # before it is captured: an entry has the time of its capture
            end_session(now, f"r-{day}", transcript=turns, ended_at=ended_at, project=f"/srv/relay{folder}")
            assert opened.documents.books.read(BookRef("project/relay", "decision")).entries
        hits = search(opened, "relay retries exponential backoff", None, 10).hits
    newer = {hit.superseded is None for hit in hits if hit.session_id == "r-2"}
    older = {hit.superseded is None for hit in hits if hit.session_id == "r-1"}
    assert (len(hits), newer, older) == (4, {True}, {False})


def test_a_folder_that_got_a_remote_later_is_one_project(ws: Workspace) -> None:
    for day, text in enumerate(("Use npm for the dugong page.", "The dugong page uses pnpm, no longer npm."), 1):
        turns = [{"role": "user", "text": text}, {"role": "assistant", "text": "OK."}]
        end_session(at_time(ws, f"2026-10-0{day}T00:00:00.000Z"), f"d-{day}", transcript=turns, project="/home/ada/sea")
        if day == 1:
            ws.index.assign_project("/home/ada/sea", "~/sea", "github.com/ada/sea")
    hits = [hit for hit in search(ws, "dugong page", None, 10).hits if hit.session_id in ("d-1", "d-2")]
    assert {hit.project_key for hit in hits} == {"~/sea", "github.com/ada/sea"}
    assert {hit.session_id: hit.superseded is not None for hit in hits} == {"d-1": True, "d-2": False}


def test_sessions_amend_each_other_only_by_what_the_query_asks_for(ws: Workspace) -> None:
    texts = (
        "The zebra stripes are drawn twice on old phones.\n\nLunch is at noon.\n\nUse npm for audits of licences.",
        "The zebra stripes flicker on a tablet.\n\nLunch was good.\n\nAudits of licences use pnpm, no longer npm.",
    )
    for day, text in enumerate(texts, 1):
        turns = [{"role": "user", "text": text}, {"role": "assistant", "text": "OK."}]
        end_session(at_time(ws, f"2026-08-0{day}T00:00:00.000Z"), f"z-{day}", transcript=turns, project="/home/ada/zoo")
    for query, is_marked in (("zebra stripes", False), ("licence audits", True)):
        hits = [hit for hit in search(ws, query, None, 10).hits if hit.entry is None]
        own = {hit.session_id: hit.superseded is not None for hit in hits if str(hit.session_id).startswith("z-")}
        assert own == {"z-1": is_marked, "z-2": False}


def test_what_an_agent_announces_amends_nothing(ws: Workspace) -> None:
    texts = (
        "The wombat importer reads its rows with the old parser instead of a loop.",
        "Now let me check that the wombat importer no longer reads its rows with the old parser.",
    )
    for day, text in enumerate(texts, 1):
        turns = [{"role": "user", "text": "wombat importer rows?"}, {"role": "assistant", "text": text}]
        end_session(at_time(ws, f"2026-09-0{day}T00:00:00.000Z"), f"w-{day}", transcript=turns, project="/home/ada/den")
    hits = [hit for hit in search(ws, "wombat importer rows", None, 10).hits if str(hit.session_id).startswith("w-")]
    assert len(hits) == 2 and [hit.superseded for hit in hits] == [None, None]


def test_a_superseded_entry_comes_last_and_says_what_took_its_place(ws: Workspace) -> None:
    old = write_entry(ws, "project/demo", "decision", "The quokka service speaks REST, quokka by quokka.")
    new = write_entry(ws, "project/demo", "decision", "The quokka service speaks gRPC.", at=LATER, supersedes=(old.id,))
    write_entry(ws, "project/demo", "fact", "A quokka is a marsupial of the size of a cat, in the south of Australia.")
    hits = [hit for hit in search(ws, "quokka service REST", None, 10).hits if hit.entry]
    assert [hit.entry.id for hit in hits if hit.entry][-1] == old.id
    assert hits[-1].superseded == (LATER[:10], new.id, "The quokka service speaks gRPC.")
    assert {hit.superseded for hit in hits[:-1]} == {None}


def test_what_an_entry_of_a_person_superseded_comes_behind_it_and_says_so(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as opened:
        said = "We decided that the renderer Ozymandias uses licence server alpha."
        turns = [{"role": "user", "text": said}, {"role": "assistant", "text": "OK."}]
        end_session(opened, "s-1", transcript=turns, project="/home/ada/demo")
        (old,) = opened.documents.books.read(BookRef("project/demo", "decision")).entries
        current = "The renderer takes its licence from beta."
        memo = Memo(text=current, scope="project/demo", kind="decision", supersedes=(old.id,))
        remember(at_time(opened, LATER), memo)
        hits = search(opened, "Which licence server does the renderer Ozymandias use?", None, 10).hits
        assert [hit.superseded is None for hit in hits] == [True, *[False] * (len(hits) - 1)]
        assert hits[0].entry and hits[0].entry.text == current
        assert {hit.superseded.text for hit in hits[1:] if hit.superseded} == {current}
