"""A session as it is looked at: turns across captures, lineage, forks; nothing is written."""

from pathlib import Path

import pytest

from lineage.errors import InvalidInput, NotFoundError
from lineage.pipeline.search.session_view import (
    count_daily_captures,
    load_session_file,
    load_session_view,
    load_turn_page,
)
from tests.support.workspace import (
    compact_session,
    end_session,
    make_turns,
    open_memory_workspace,
    open_test_workspace,
    read_store,
)

SAID = make_turns(*(f"turn {number}" for number in range(1, 8)))


def test_turns_are_paged_across_captures(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws, transcript=SAID[:4])
        end_session(ws, transcript=SAID)
        page = load_turn_page(ws, "s-1", first=3, count=3)
        assert [turn.text for turn in page.turns] == ["turn 3", "turn 4", "turn 5"]
        assert (page.first, page.total) == (3, 7)
        assert load_turn_page(ws, "s-1", first=8, count=3).turns == ()
        wanted = page.turns[2].id
        around = load_turn_page(ws, "s-1", count=4, turn=wanted)
        assert (around.first, wanted in {turn.id for turn in around.turns}) == (5, True)
        with pytest.raises(NotFoundError):
            load_turn_page(ws, "s-1", turn="t-0000000000")


def test_what_was_said_again_otherwise_is_shown_as_it_was_said_last(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws, transcript=SAID[:4])
        end_session(ws, transcript=[*SAID[:2], *make_turns("", "", "other 3", "other 4")[2:]])
        assert [turn.text for turn in load_turn_page(ws, "s-1").turns] == ["turn 1", "turn 2", "other 3", "other 4"]


def test_a_view_names_captures_compactions_and_forks(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws, transcript=SAID[:4])
        compact_session(ws, transcript=SAID[:4])
        end_session(ws, transcript=SAID)
        shown = load_session_view(ws, "s-1")
        assert [part.turns for part in shown.captures] == [(1, 4), (5, 7)]
        assert (len(shown.compactions), shown.turns, shown.revision) == (1, 7, 3)
        assert shown.relatives == ()


def linked(ws: object, session: str, **ties: str) -> None:
    """Names another session in a manifest, as a harness that forks does."""
    from lineage.core.format.documents import serialize_document
    from lineage.index import build_row
    from lineage.workspace.lookup import load_document, resolve_session
    from lineage.workspace.workspace import Workspace

    assert isinstance(ws, Workspace)
    path = resolve_session(ws, session).manifest_path
    document = load_document(ws, path)
    assert document
    blob = ws.documents.store.read(path)
    data = serialize_document(document._replace(**ties))  # type: ignore[arg-type]
    ws.documents.store.replace(path, data, blob.version)
    ws.index.upsert([build_row(document._replace(**ties), data, "")])  # type: ignore[arg-type]


def test_forks_and_sub_agents_are_found_from_both_sides(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        for session in ("s-1", "s-2", "s-3", 'a "quoted" ü'):
            end_session(ws, session, transcript=make_turns(f"In {session}.", "Done."))
        linked(ws, "s-2", forked_from="s-1")
        linked(ws, "s-3", parent_session="s-1")
        assert {(one.tie, one.session_id) for one in load_session_view(ws, "s-1").relatives} == {
            ("fork", "s-2"),
            ("started", "s-3"),
        }
        (parent,) = load_session_view(ws, "s-2").relatives
        assert (parent.tie, parent.session_id, parent.session and parent.session.session_id) == (
            "forked from",
            "s-1",
            "s-1",
        )
        linked(ws, "s-2", forked_from='a "quoted" ü')
        assert [one.session_id for one in load_session_view(ws, 'a "quoted" ü').relatives] == ["s-2"]
        linked(ws, "s-2", forked_from="gone")
        (gone,) = load_session_view(ws, "s-2").relatives
        assert (gone.session_id, gone.session) == ("gone", None)


@pytest.mark.leaves_findings
def test_a_damaged_transcript_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        first = end_session(ws, transcript=SAID[:4])
        end_session(ws, transcript=SAID)
        assert first.transcript_path
        path = tmp_path / first.transcript_path
        path.chmod(0o644)
        path.write_text("not a transcript")
        shown = load_session_view(ws, "s-1")
        assert (shown.unread, shown.captures[0].turns, shown.captures[1].turns) == (
            (first.transcript_path,),
            None,
            (5, 7),
        )


def test_files_are_the_newest_of_their_kind(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws, transcript=SAID[:4])
        outcome = end_session(ws, transcript=SAID)
        assert load_session_file(ws, "s-1", "summary").path == outcome.summary_path
        with pytest.raises(NotFoundError):
            load_session_file(ws, "s-1", "compaction")
        with pytest.raises(InvalidInput):
            load_session_file(ws, "s-1", "../secret")


def test_looking_writes_nothing(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws, transcript=SAID)
        before = (read_store(ws.documents.store), ws.telemetry.read_counters())
        (
            load_session_view(ws, "s-1"),
            load_turn_page(ws, "s-1"),
            load_session_file(ws, "s-1", "summary"),
            count_daily_captures(ws, None),
        )
        assert (read_store(ws.documents.store), ws.telemetry.read_counters()) == before


def test_activity_has_thirty_days_the_last_one_today(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        for session, at in (("a", "2026-11-20"), ("b", "2026-11-20"), ("c", "2026-10-01")):
            time = f"{at}T10:00:00Z"
            end_session(ws, session, transcript=make_turns(f"In {session}.", "Done."), ended_at=time, captured_at=time)
        end_session(ws, "d", agent_id="ann", transcript=make_turns("In d.", "Done."), ended_at="2026-11-19T10:00:00Z")
        days = count_daily_captures(ws, None)
        assert (len(days), days[0][0], days[-1][0]) == (30, "2026-10-23", "2026-11-21")
        assert {date: count for date, count in days if count} == {"2026-11-20": 2, "2026-11-19": 1}
        assert sum(count for _, count in count_daily_captures(ws, "ann")) == 1
