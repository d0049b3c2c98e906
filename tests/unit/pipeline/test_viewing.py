"""A session as it is looked at: turns across captures, lineage, forks; nothing is written."""

from pathlib import Path

import pytest

from lineage.errors import InvalidInput, NotFoundError
from lineage.pipeline.viewing import activity, file_of, turn_page, view
from tests.support.houses import compact, contents, end, house_at, memory_house, turns

SAID = turns(*(f"turn {number}" for number in range(1, 8)))


def test_turns_are_paged_across_captures(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        end(house, transcript=SAID[:4])
        end(house, transcript=SAID)
        page = turn_page(house, "s-1", first=3, count=3)
        assert [turn.text for turn in page.turns] == ["turn 3", "turn 4", "turn 5"]
        assert (page.first, page.total) == (3, 7)
        assert turn_page(house, "s-1", first=8, count=3).turns == ()
        wanted = page.turns[2].id
        around = turn_page(house, "s-1", count=4, turn=wanted)
        assert (around.first, wanted in {turn.id for turn in around.turns}) == (5, True)
        with pytest.raises(NotFoundError):
            turn_page(house, "s-1", turn="t-0000000000")


def test_what_was_said_again_otherwise_is_shown_as_it_was_said_last(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        end(house, transcript=SAID[:4])
        end(house, transcript=[*SAID[:2], *turns("", "", "other 3", "other 4")[2:]])
        assert [turn.text for turn in turn_page(house, "s-1").turns] == ["turn 1", "turn 2", "other 3", "other 4"]


def test_a_view_names_captures_compactions_and_forks(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        end(house, transcript=SAID[:4])
        compact(house, transcript=SAID[:4])
        end(house, transcript=SAID)
        shown = view(house, "s-1")
        assert [part.turns for part in shown.captures] == [(1, 4), (5, 7)]
        assert (len(shown.compactions), shown.turns, shown.revision) == (1, 7, 3)
        assert shown.relatives == ()


def linked(house: object, session: str, **ties: str) -> None:
    """Names another session in a manifest, as a harness that forks does."""
    from lineage.core.documents import serialized
    from lineage.index import row_of
    from lineage.pipeline.house import House
    from lineage.pipeline.lookup import resolve
    from lineage.pipeline.reading import document_at

    assert isinstance(house, House)
    path = resolve(house, session).manifest_path
    document = document_at(house, path)
    assert document
    blob = house.canon.store.read(path)
    data = serialized(document._replace(**ties))  # type: ignore[arg-type]
    house.canon.store.replace(path, data, blob.version)
    house.index.upsert([row_of(document._replace(**ties), data, "")])  # type: ignore[arg-type]


def test_forks_and_sub_agents_are_found_from_both_sides(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        for session in ("s-1", "s-2", "s-3", 'a "quoted" ü'):
            end(house, session, transcript=turns(f"In {session}.", "Done."))
        linked(house, "s-2", forked_from="s-1")
        linked(house, "s-3", parent_session="s-1")
        assert {(one.tie, one.named) for one in view(house, "s-1").relatives} == {("fork", "s-2"), ("started", "s-3")}
        (parent,) = view(house, "s-2").relatives
        assert (parent.tie, parent.named, parent.session and parent.session.session_id) == ("forked from", "s-1", "s-1")
        linked(house, "s-2", forked_from='a "quoted" ü')
        assert [one.named for one in view(house, 'a "quoted" ü').relatives] == ["s-2"]
        linked(house, "s-2", forked_from="gone")
        (gone,) = view(house, "s-2").relatives
        assert (gone.named, gone.session) == ("gone", None)


@pytest.mark.leaves_findings
def test_a_damaged_transcript_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        first = end(house, transcript=SAID[:4])
        end(house, transcript=SAID)
        assert first.transcript_path
        path = tmp_path / first.transcript_path
        path.chmod(0o644)
        path.write_text("not a transcript")
        shown = view(house, "s-1")
        assert (shown.unread, shown.captures[0].turns, shown.captures[1].turns) == (
            (first.transcript_path,),
            None,
            (5, 7),
        )


def test_files_are_the_newest_of_their_kind(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        end(house, transcript=SAID[:4])
        outcome = end(house, transcript=SAID)
        assert file_of(house, "s-1", "summary").path == outcome.summary_path
        with pytest.raises(NotFoundError):
            file_of(house, "s-1", "compaction")
        with pytest.raises(InvalidInput):
            file_of(house, "s-1", "../secret")


def test_looking_writes_nothing(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        end(house, transcript=SAID)
        before = (contents(house.canon.store), house.telemetry.counters())
        view(house, "s-1"), turn_page(house, "s-1"), file_of(house, "s-1", "summary"), activity(house, None)
        assert (contents(house.canon.store), house.telemetry.counters()) == before


def test_activity_has_thirty_days_the_last_one_today(tmp_path: Path) -> None:
    with memory_house(tmp_path) as house:
        for session, at in (("a", "2026-11-20"), ("b", "2026-11-20"), ("c", "2026-10-01")):
            time = f"{at}T10:00:00Z"
            end(house, session, transcript=turns(f"In {session}.", "Done."), ended_at=time, captured_at=time)
        end(house, "d", agent_id="ann", transcript=turns("In d.", "Done."), ended_at="2026-11-19T10:00:00Z")
        days = activity(house, None)
        assert (len(days), days[0][0], days[-1][0]) == (30, "2026-10-23", "2026-11-21")
        assert {date: count for date, count in days if count} == {"2026-11-20": 2, "2026-11-19": 1}
        assert sum(count for _, count in activity(house, "ann")) == 1
