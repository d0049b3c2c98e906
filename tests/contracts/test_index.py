"""The index's port, on every engine: what is written is found, what is gone is not. (lineage/index/base.py)

What each guard rests on:
- one row a path: `on conflict` where rows are written, and the dropping of passages beside it.
- all or nothing: the transaction around each write.
- private and trial sessions stay out of search: `build_artifact_condition` in index/filtering.py.
- any text is a query: `quoted`; `_like`, which escapes; what the server can't hold: `_Text` in database/postgres.py.
- order by bytes: `collate "C"` in index/postgres/schema.py; the test server's own order is another.
"""

import contextlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base import naming
from lineage.core.capture.ledger import LedgerEntry, Window, build_entries, build_head, build_ledger, is_visible
from lineage.core.format.documents import Artifact
from lineage.errors import WorkspaceError
from lineage.index import SNIPPET_MARKS, ArtifactRow, Index, IndexedFile, SessionFilter, build_row
from tests.support.artifacts import AT, make_artifact, make_identity
from tests.support.indexes import open_emptied_index, open_index

WINDOW = Window("2026-11-01T00:00:00.000Z", "2026-11-30T00:00:00.000Z")
LATER = "2026-11-21T10:30:00.000Z"


def row(
    kind: str = naming.SUMMARY, session: str = "s-1", at: str = AT, text: str = "", **changes: object
) -> ArtifactRow:
    """The row of a valid artifact; `changes` are columns."""
    document = make_artifact(kind, session, at, **({"body": f"[[links]]\n{text}\n"} if text else {}))
    return build_row(document, b"data", "stamp")._replace(**changes)  # type: ignore[arg-type]


def manifest_row(session: str = "s-1", at: str = AT, **changes: object) -> ArtifactRow:
    path = naming.artifact_path(naming.build_stem(at, make_identity(session).token), naming.MANIFEST)
    return row(session=session, at=at)._replace(source_kind=naming.MANIFEST, source_path=path, **changes)  # type: ignore[arg-type]


def found(index: Index, query: str, agent: str | None = None, limit: int = 10) -> list[str]:
    return [hit.session_id for hit in index.search(query, agent, limit=limit)]


def all_known(index: Index) -> list[IndexedFile]:
    return list(index.iter_files())


# rows


def test_a_session_is_held_where_it_has_a_row(index: Index) -> None:
    index.upsert([row(session=f"s-{number}") for number in range(3)])
    tokens = [make_identity(f"s-{number}").token for number in (1, 2, 7)]
    assert index.find_indexed_tokens(tokens) == set(tokens[:2])
    index.delete_session(tokens[0])
    assert index.find_indexed_tokens(tokens) == {tokens[1]}


def test_rows_are_known_in_path_order_with_stamp_and_hash(index: Index) -> None:
    rows = [row(session=f"s-{number}", stamp=f"stamp-{number}") for number in range(5)]
    index.upsert(reversed(rows))
    expected = sorted((item.source_path, item.stamp, item.source_sha256) for item in rows)
    assert all_known(index) == [IndexedFile(*item) for item in expected]


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("is_rebuilt", [True, False])
def test_a_partial_session_shows_until_it_is_there_whole(index: Index, is_first: bool, is_rebuilt: bool) -> None:
    partial = [row(kind, text="apples", partial=1) for kind in (naming.TRANSCRIPT, naming.SUMMARY)]
    whole = [row(kind, at=LATER, text="pears") for kind in (naming.TRANSCRIPT, naming.SUMMARY)]
    other = row(session="s-2", text="apples", partial=1)
    if is_rebuilt:
        with index.rebuild() as build:
            build.write(list(enumerate([*partial, *whole, other] if is_first else [other, *whole, *partial], 1)))
    else:
        index.upsert([other, *partial] if is_first else whole)
        assert sorted(found(index, "apples")) == (["s-1", "s-2"] if is_first else [])
        index.upsert(whole if is_first else [other, *partial])
    assert (found(index, "apples"), found(index, "pears")) == (["s-2"], ["s-1"])
    assert index.count_unshown_sessions() == 0
    stems = [entry.stem for entry in index.load_ledger("default", WINDOW).entries]
    assert sorted(stems) == sorted([whole[0].stem, other.stem])


def test_a_row_of_the_same_path_is_replaced_and_so_is_its_text(index: Index) -> None:
    index.upsert([row(text="about apples", title="First")])
    index.upsert([row(text="about pears", title="Second", source_sha256="other")])
    assert [known.sha256 for known in all_known(index)] == ["other"]
    assert (found(index, "apples"), found(index, "pears")) == ([], ["s-1"])
    assert (found(index, "First"), found(index, "Second")) == ([], ["s-1"])
    assert index.count_by_kind() == {"summary": 1}


def test_removed_rows_and_their_text_are_gone(index: Index) -> None:
    gone, kept = row(text="about apples"), row(session="s-2", text="about apples")
    index.upsert([gone, kept])
    index.delete_paths([gone.source_path, "memory/never-was.md"])
    assert [known.path for known in all_known(index)] == [kept.source_path]
    assert found(index, "apples") == ["s-2"]
    assert index.has_paths([kept.source_path])
    assert not index.has_paths([gone.source_path])
    assert not index.has_paths([gone.source_path, kept.source_path])


def test_text_of_a_removed_row_does_not_come_back_with_the_next_one(index: Index) -> None:
    for number in range(3):
        gone = row(session=f"s-{number}", text=f"secret{number}")
        index.upsert([gone])
        index.delete_paths([gone.source_path])
    index.upsert([row(session="s-9", text="harmless")])
    assert found(index, "secret0 secret1 secret2") == []


def test_asking_for_the_same_path_twice_is_asking_once(index: Index) -> None:
    index.upsert([row()])
    assert index.has_paths([row().source_path] * 2)


def test_a_restamp_changes_nothing_else(index: Index) -> None:
    index.upsert([row(text="apples", stamp="old")])
    index.update_stamps([(row().source_path, "new"), ("memory/never-was.md", "x")])
    assert all_known(index) == [IndexedFile(row().source_path, "new", row().source_sha256)]
    assert found(index, "apples") == ["s-1"]


def test_a_batch_is_written_whole_or_not_at_all(index: Index) -> None:
    def rows() -> Iterator[ArtifactRow]:
        yield row(text="apples")
        yield row(session="s-2", source_sha256=None)

    with pytest.raises(WorkspaceError):
        index.upsert(rows())
    assert all_known(index) == []
    assert found(index, "apples") == []


def test_rows_survive_the_end_of_the_process(engine: str, tmp_path: Path) -> None:
    with closing(open_index(engine, tmp_path / "index.db")) as index:
        assert index.needs_reindex
        index.upsert([row(text="apples")])
        index.mark_complete()
        assert not index.needs_reindex
    with closing(open_index(engine, tmp_path / "index.db")) as index:
        assert not index.needs_reindex
        assert found(index, "apples") == ["s-1"]


def test_a_rebuild_that_was_cut_off_is_still_due(engine: str, tmp_path: Path) -> None:
    with closing(open_index(engine, tmp_path / "index.db")) as index:
        index.upsert([row()])
    with closing(open_index(engine, tmp_path / "index.db")) as index:
        assert index.needs_reindex
        assert len(all_known(index)) == 1


def test_an_index_that_was_reset_is_empty_and_due(index: Index) -> None:
    index.upsert([row(text="apples")])
    index.mark_complete()
    index.reset()
    assert index.needs_reindex
    assert (all_known(index), found(index, "apples")) == ([], [])


# ledger


def in_ledger(index: Index, agent: str = "default") -> list[LedgerEntry]:
    """The agent's entries; their tallies count exactly them."""
    found = index.load_ledger(agent, WINDOW)
    entries = list(found.entries)
    assert list(found.tallies) == list(build_ledger(entries).tallies)
    return entries


def test_the_ledger_holds_the_window_s_visible_captures_of_one_agent(index: Index) -> None:
    inside = [
        make_artifact(naming.SUMMARY),
        make_artifact(naming.TRANSCRIPT),
        make_artifact(session="s-2", private=True),
    ]
    outside = [
        make_artifact(session="s-3", ended_at="2026-10-31T23:59:59.999Z"),
        make_artifact(session="s-4", ended_at="2026-11-30T00:00:00.001Z"),
        make_artifact(session="s-5", agent_id="other"),
        make_artifact(session="s-6", project="/tmp/scratch"),
    ]
    index.upsert(build_row(document, b"", "") for document in (*inside, *outside))
    index.upsert([manifest_row()])
    assert in_ledger(index) == build_entries(map(build_head, inside))
    assert index.list_agents() == ["default", "other"]
    assert index.count_unshown_sessions() == 1  # in a temporary folder


@pytest.mark.parametrize("ended_at", [WINDOW.since, WINDOW.until])
def test_both_ends_of_the_window_belong_to_it(index: Index, ended_at: str) -> None:
    index.upsert([build_row(make_artifact(ended_at=ended_at), b"", "")])
    assert len(in_ledger(index)) == 1


MOMENTS = st.sampled_from(
    [WINDOW.since, "2026-11-01T10:00:00.000Z", "2026-11-02T10:00:00.000Z", AT, LATER, WINDOW.until]
)
DOCUMENTS = st.builds(
    make_artifact,
    st.sampled_from([naming.SUMMARY, naming.TRANSCRIPT, naming.COMPACTION]),
    st.sampled_from(["s-1", "s-2", "s-3"]),
    MOMENTS,
    ended_at=st.none(),
    project=st.sampled_from([None, "/home/ada/demo", "/home/ada/other", "/tmp/scratch"]),
    private=st.booleans(),
)


@given(steps=st.lists(st.tuples(st.booleans(), DOCUMENTS), max_size=20))
def test_the_ledger_is_that_of_the_artifacts_after_any_writes_and_drops(
    engine: str, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[bool, Artifact]]
) -> None:
    index = open_emptied_index(engine, tmp_path_factory.mktemp("ledger") / "index.db")
    there: dict[str, Artifact] = {}
    with closing(index):
        for is_written, document in steps:
            if is_written:
                there[document.path] = document
                index.upsert([build_row(document, b"", "")])
            else:
                there.pop(document.path, None)
                index.delete_paths([document.path])
        heads = (build_head(document) for document in there.values() if is_visible(document))
        kinds_agree = {d.stem: (d.project, d.private) for d in there.values()}
        if all(kinds_agree[d.stem] == (d.project, d.private) for d in there.values()):
            assert in_ledger(index) == [entry for entry in build_entries(heads) if WINDOW.contains(entry.membership)]


def test_staged_rows_are_read_by_their_writer_alone_until_the_block_is_left(
    engine: str, index: Index, tmp_path: Path
) -> None:
    with closing(open_index(engine, tmp_path / "index.db")) as other:
        with index.upsert_in_transaction([row()]):
            assert len(in_ledger(index)) == 1
            assert in_ledger(other) == []
        assert len(in_ledger(other)) == 1


def test_staged_rows_are_gone_where_the_block_fails(index: Index) -> None:
    with contextlib.suppress(KeyError), index.upsert_in_transaction([row()]):
        raise KeyError
    assert in_ledger(index) == []
    assert all_known(index) == []


def test_captures_of_the_future_are_counted_once_each(index: Index) -> None:
    future = "2027-01-01T00:00:00.000Z"
    documents = [make_artifact(kind, ended_at=future) for kind in (naming.SUMMARY, naming.TRANSCRIPT)]
    index.upsert(build_row(document, b"", "") for document in (*documents, make_artifact(session="s-2")))
    assert index.count_future_captures("default", WINDOW) == 1
    assert index.count_future_captures("other", WINDOW) == 0


# sessions


def test_sessions_come_newest_first_with_the_newest_sentence(index: Index) -> None:
    index.upsert([manifest_row("s-1"), manifest_row("s-2", LATER), row(session="s-2", at=LATER)])
    for at, sentence in ((AT, "The old one."), ("2026-11-25T10:30:00.000Z", "The new one.")):
        for kind in (naming.TRANSCRIPT, naming.SUMMARY):
            index.upsert([row(kind, "s-1", at, memory_sentence=sentence)])
    sessions = index.list_sessions("default")
    assert [(s.session_id, s.memory_sentence, s.captures) for s in sessions] == [
        ("s-1", "The new one.", 2),
        ("s-2", make_artifact(session="s-2").memory_sentence, 0),
    ]
    assert [s.session_id for s in index.list_sessions(None, limit=1)] == ["s-1"]
    assert index.list_sessions("other") == []


def test_a_session_has_the_first_ask_and_the_newest_outcome_of_its_captures(index: Index) -> None:
    index.upsert([manifest_row("s-1", title="known at capture"), manifest_row("s-2", LATER, title="known at capture")])
    for at, ask, outcome in (
        (AT, "rename the parser", "Renamed it."),
        (LATER, "and the reader", "Renamed both."),
        ("2026-11-25T10:30:00.000Z", "", ""),
    ):
        index.upsert([row(naming.TRANSCRIPT, "s-1", at, ask=ask, outcome=outcome)])
    index.upsert([row(naming.SUMMARY, "s-1", text="of pears")])
    sessions = [(s.title, s.ask, s.outcome) for s in index.list_sessions("default")]
    assert sessions == [("rename the parser", "rename the parser", "Renamed both."), ("known at capture", "", "")]
    (hit,) = index.search("pears", None, limit=5)
    assert (hit.title, hit.outcome) == ("rename the parser", "Renamed both.")
    index.delete_session(make_identity("s-1").token)
    assert [(s.title, s.ask) for s in index.list_sessions("default")] == [("known at capture", "")]


def test_a_session_is_found_by_a_prefix_of_its_id_key_or_token(index: Index) -> None:
    index.upsert([manifest_row("alpha", session_key="chat#alpha"), manifest_row("beta")])
    token = make_identity("alpha").token
    for reference in ("alpha", "al", "chat#", token, token[:6]):
        assert [s.session_id for s in index.list_sessions(None, reference=reference)] == ["alpha"], reference
    for reference in ("lpha", "%", "_lpha", "a%", "!", "", "\x00", "\udcff"):
        expected = ["alpha", "beta"] if reference == "" else []
        assert sorted(s.session_id for s in index.list_sessions(None, reference=reference)) == expected, reference


def test_a_whole_id_or_key_is_found_among_many_newer_sessions_that_begin_with_it(index: Index) -> None:
    index.upsert([manifest_row("task-1", session_key="chat#1")])
    index.upsert(manifest_row(f"task-1{number:02}", LATER, session_key=f"chat#1{number}") for number in range(60))
    for reference in ("task-1", "chat#1"):
        sessions = index.list_sessions(None, reference=reference, limit=50)
        assert (len(sessions), sessions[-1].session_id) == (50, "task-1"), reference


def test_a_session_is_found_by_its_project_s_path_or_the_end_of_it(index: Index) -> None:
    index.upsert([manifest_row("s-1", project="/home/ada/de_mo"), manifest_row("s-2", project="/home/ada/deXmo")])
    for project in ("/home/ada/de_mo", "de_mo", "ada/de_mo"):
        assert [s.session_id for s in index.list_sessions(None, wanted=SessionFilter(project=project))] == ["s-1"]
    for project in ("mo", "%", "/home/ada", "\udcff"):
        assert index.list_sessions(None, wanted=SessionFilter(project=project)) == []


def test_text_of_any_characters_comes_back_as_it_was(index: Index) -> None:
    text = "a\0b \x02 % ' \\ \U0001f600"
    index.upsert([manifest_row("s-1", title=text, ask=text, project=text)])
    (session,) = index.list_sessions(None, wanted=SessionFilter(project=text))
    assert (session.ask, session.project, session.title) == (text, text, text)


def test_a_session_s_files_come_oldest_first(index: Index) -> None:
    index.upsert([row(at=LATER), row(), row(naming.TRANSCRIPT), row(session="s-2")])
    assert index.list_session_files(make_identity().token) == [
        (make_artifact(naming.SUMMARY).path, "summary"),
        (make_artifact(naming.TRANSCRIPT).path, "transcript"),
        (make_artifact(at=LATER).path, "summary"),
    ]


# search


def test_any_word_finds_and_more_of_them_rank_higher(index: Index) -> None:
    index.upsert([row(session="one", text="apples here"), row(session="two", text="apples and pears")])
    assert found(index, "apples pears plums") == ["two", "one"]
    assert found(index, "plums") == []
    assert found(index, "PEARS") == ["two"]


def test_a_title_weighs_more_than_a_sentence_and_that_more_than_a_body(index: Index) -> None:
    index.upsert(
        [
            row(session="body", title="plums", memory_sentence="pears", text="apples"),
            row(session="sentence", title="plums", memory_sentence="apples", text="pears"),
            row(session="title", title="apples", memory_sentence="plums", text="pears"),
        ]
    )
    assert found(index, "apples") == ["title", "sentence", "body"]


def test_a_session_is_one_result_its_best(index: Index) -> None:
    index.upsert([row(naming.SUMMARY, text="apples and more"), row(at=LATER, text="apples apples apples")])
    hits = index.search("apples", None, limit=10)
    assert [hit.path for hit in hits] == [make_artifact(at=LATER).path]
    assert hits[0].score > 0
    assert f"{SNIPPET_MARKS[0]}apples{SNIPPET_MARKS[1]}" in hits[0].snippet


def test_private_and_trial_sessions_are_not_found(index: Index) -> None:
    index.upsert([row(session="a", text="apples", private=1), row(session="b", text="apples", visible=0)])
    assert found(index, "apples") == []


def test_only_the_agent_that_is_asked_for_is_searched(index: Index) -> None:
    index.upsert([row(session="a", text="apples"), row(session="b", text="apples", agent_id="other")])
    assert found(index, "apples", "other") == ["b"]
    assert sorted(found(index, "apples", None)) == ["a", "b"]
    assert found(index, "apples", "nobody") == []


def test_there_are_no_more_results_than_asked_for(index: Index) -> None:
    index.upsert(row(session=f"s-{number}", text="apples") for number in range(5))
    assert len(found(index, "apples", limit=3)) == 3


def test_accents_make_no_difference(index: Index) -> None:
    index.upsert([row(text="a résumé in the café")])
    assert found(index, "resume") == found(index, "CAFÉ") == ["s-1"]


SYNTAX = ("apples NEAR pears", 'NEAR("apples" "pears", 2)', '"apples', "title:apples", "app* OR", "^apples", "-apples")


@pytest.mark.parametrize("query", [*SYNTAX, "(apples", "apples AND", "{title}: apples", "'apples'; drop table search"])
def test_nothing_in_a_query_is_syntax(index: Index, query: str) -> None:
    index.upsert([row(session="right", text="apples"), row(session="wrong", text="plums")])
    assert found(index, query) in (["right"], []), query
    assert found(index, "plums") == ["wrong"]


@pytest.mark.parametrize(
    "query", ["", " ", '"', "*", "()", "_", "\0", "\udcff", "…", "😀", "NEAR", "x" * 100_000, "z " * 9999]
)
def test_a_query_without_a_useful_word_finds_nothing(index: Index, query: str) -> None:
    index.upsert([row(text="apples")])
    assert found(index, query) == []


@given(st.one_of(st.text(), st.binary().map(lambda data: data.decode("utf-8", "surrogateescape"))))
def test_no_query_of_any_bytes_is_an_error(shared: Index, query: str) -> None:
    assert isinstance(shared.search(query, None, limit=3), list)
    assert isinstance(shared.list_sessions(None, reference=query, wanted=SessionFilter(project=query)), list)


@given(st.text(alphabet="\"*()^:-+ANDORNEAT{},_'\\ apples", max_size=40))
def test_no_query_of_syntax_is_an_error(shared: Index, query: str) -> None:
    assert isinstance(shared.search(query, None, limit=3), list)


@pytest.fixture(scope="module")
def shared(engine: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """One index for many queries, which change nothing in it."""
    with closing(open_index(engine, tmp_path_factory.mktemp("index") / "index.db")) as index:
        index.upsert([row(text="apples and pears"), manifest_row()])
        yield index
