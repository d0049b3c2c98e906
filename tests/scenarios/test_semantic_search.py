"""Search by meaning, over a workspace and a real endpoint, wherever vectors lie: what is embedded, what is found, what
goes with a session.

Fails without any of these: the gate in `likeness.sources`, the sanitizer before a remote endpoint, the filters or the
phrases in `likeness.hits`, the comparison of a passage's hash, `is_current` while vectors are stored, `prune` or
`scrub` in a removal, `prune` in a resanitize or a reindex, the model's name in `is_ready`, and where a failing model
fails a search.
"""

from array import array
from collections.abc import Iterator
from pathlib import Path
from struct import pack

import pytest

from lineage.app.indexing import VARIABLE
from lineage.errors import ExtraMissing, InvalidInput
from lineage.index import Hit
from lineage.index.postgres.pgvector import PgVectors
from lineage.pipeline.embedding import coverage, embed
from lineage.pipeline.finding import HYBRID, LEXICAL, MODES, SEMANTIC, Found, find
from lineage.pipeline.house import House
from lineage.pipeline.upkeep.reindexing import reindex
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.resanitizing import resanitize
from lineage.store.postgres import Postgres
from tests.scenarios.test_resanitize import RULES, SECRET, TALK
from tests.support import engines
from tests.support.books import by_hand, put
from tests.support.embedding import Endpoint, embedding_house, endpoint
from tests.support.houses import end, house_at, root_of, turns
from tests.support.indexes import PLACES

pytestmark = pytest.mark.slow

READER = turns("Why does reader.py drop the last row?", "It splits on newline; fixed in reader.py.")
HARBOUR = turns("Where is the boat moored?", "At the third pier of the harbour.")
KITTEN = turns("What does the cat eat?", "Herring, and nothing else.")
TOKEN = "ghp_" + "aB3" * 12


@pytest.fixture(autouse=True, params=PLACES)
def place(request: pytest.FixtureRequest, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Vectors lie in a file, or with the rows on a server."""
    if request.param != "file":
        monkeypatch.setenv(VARIABLE, engines.pgvector().url)


@pytest.fixture
def served() -> Iterator[Endpoint]:
    with endpoint() as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, served: Endpoint) -> Iterator[House]:
    """Three sessions of two agents and projects, embedded."""
    with embedding_house(tmp_path / "vault", served) as opened:
        end(opened, "s-reader", transcript=READER, project="/home/ada/reader")
        end(opened, "s-harbour", transcript=HARBOUR, project="/home/ada/harbour")
        end(opened, "s-cat", transcript=KITTEN, project="/home/ada/zoo", agent_id="ann")
        embed(opened)
        yield opened


def sessions(found: Found) -> list[str | None]:
    return [hit.session_id for hit in found.hits if hit.entry is None]


def semantic(house: House, query: str, agent: str | None = "default", limit: int = 10) -> list[Hit]:
    found = find(house, query, agent, limit, mode=SEMANTIC)
    assert (found.mode, found.notes) == (SEMANTIC, ())
    return list(found.hits)


def on_server(house: House) -> Postgres | None:
    """The database that holds the vectors, None where a file does."""
    return house.index.database if isinstance(house.vectors, PgVectors) else None


def kept(house: House) -> bytes:
    """Every byte that this machine or its server keeps; not the server's write-ahead log."""
    folders = [root_of(house) / ".lineage"]
    if database := on_server(house):
        database.rows("checkpoint")
        folders.append(engines.pgvector().data / "base")
    return b"".join(path.read_bytes() for one in folders for path in sorted(one.rglob("*")) if path.is_file())


def blobs(house: House, token: str) -> list[bytes]:
    """The vectors and the hashes that are kept of a session's files, as they are in files."""
    assert house.vectors is not None
    paths = [path for path in house.vectors.sources() if token in path]
    hashes = [one for path in paths for one in house.vectors.places(path).values()]
    vectors = house.vectors.same(hashes).values()
    if on_server(house):
        vectors = [pack(f"<{len(vector)}e", *array("b", vector)) for vector in vectors]
    return [*hashes, *vectors]


def spoil(house: House) -> None:
    """Damages what is kept of vectors so that it can't be used."""
    assert house.vectors is not None
    if database := on_server(house):
        database.rows(f'alter table "{database.schema}_vectors".passages drop column vector')
        return
    house.vectors.close()
    (root_of(house) / ".lineage" / "vectors.db").write_bytes(b"no database" * 1000)


def test_what_is_meant_is_found_where_no_word_is(house: House) -> None:
    assert sessions(find(house, "records vanish", "default", 10, mode=LEXICAL)) == []
    found = find(house, "records vanish", "default", 1)
    assert (found.mode, sessions(found)) == (HYBRID, ["s-reader"])
    (hit,) = semantic(house, "vessel", limit=1)
    assert (hit.session_id, hit.project) == ("s-harbour", "/home/ada/harbour")
    assert hit.snippet
    assert hit.score > 0


def test_a_session_is_one_result_and_its_passages_are_several(house: House) -> None:
    hits = semantic(house, "vessel")
    assert len({hit.session_id for hit in hits if hit.entry is None}) == len([h for h in hits if h.entry is None])
    passages = find(house, "boat", "default", 10, mode=HYBRID, by_passage=True).hits
    of_harbour = [(hit.path, hit.turns) for hit in passages if hit.session_id == "s-harbour"]
    assert len(of_harbour) == len(set(of_harbour)) > 1


@pytest.mark.parametrize("mode", MODES)
def test_filters_and_phrases_hold_in_every_mode(house: House, mode: str) -> None:
    def found(query: str, agent: str | None = None) -> set[str | None]:
        return {hit.session_id for hit in find(house, query, agent, 10, mode=mode).hits}

    everything = "boat cat row"
    assert found(everything) == {"s-reader", "s-harbour", "s-cat"}
    assert found(f"{everything} project:zoo") == {"s-cat"}
    assert found(f"{everything} agent:ann") == {"s-cat"}
    assert found(everything, "ann") <= {"s-cat", None}
    assert found(f"{everything} until:2020") == set()
    assert found(f'{everything} "third pier"') == {"s-harbour"}
    assert "s-cat" not in found(f"{everything} -herring -cat")
    kinds = {hit.kind for hit in find(house, f"{everything} kind:summary", None, 10, mode=mode).hits}
    assert kinds == {"summary"}
    assert {hit.kind for hit in find(house, f"{everything} is:session", None, 10, mode=mode).hits} <= {
        "summary",
        "transcript",
    }


def test_a_narrow_filter_is_answered_from_beyond_the_nearest(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lineage.pipeline.finding._NEAREST", 1)
    assert {hit.session_id for hit in semantic(house, "boat project:zoo", None)} == {"s-cat"}


def test_filters_alone_ask_no_model(house: House, served: Endpoint) -> None:
    calls = served.calls
    found = find(house, "project:reader", "default", 10, mode=SEMANTIC)
    assert sessions(found) == ["s-reader"]
    assert served.calls == calls


def test_nothing_private_and_no_trial_is_embedded(house: House, served: Endpoint) -> None:
    end(house, "s-private", transcript=turns("The marmalade is below the roots.", "Noted: marmalade."), private=True)
    end(house, "test-1", transcript=turns("A periscope for a trial.", "Noted."), project=None, cwd=None)
    put(house, "global", "decision", "Wait for the lantern.", shelf="pending")
    embed(house)
    assert not [text for text in served.texts if "marmalade" in text or "periscope" in text or "lantern" in text]
    for query in ("marmalade", "periscope", "lantern"):
        assert all(hit.session_id not in ("s-private", "test-1") for hit in semantic(house, query, None))


def test_what_a_hand_wrote_and_a_query_are_redacted_before_they_are_sent(house: House, served: Endpoint) -> None:
    by_hand(house, "books/global/note.md", f"The key of the harbour is {TOKEN}, says Ada.\n")
    reindex(house)
    embed(house)
    find(house, f"who has {TOKEN}", "default", 5)
    assert any("[REDACTED:github-token]" in text and "harbour" in text for text in served.texts)
    assert served.texts[-1].startswith("who has [REDACTED")
    assert not any(TOKEN in text for text in served.texts)


def test_of_a_removed_session_no_vector_is_left(house: House, tmp_path: Path) -> None:
    talk = turns("We will paint the boat green.", "Decided.")
    outcome = end(house, "s-gone", transcript=talk, project="/home/ada/harbour")
    embed(house)
    gone = blobs(house, outcome.session_token)
    assert gone
    assert all(blob in kept(house) for blob in gone)
    receipt = remove(house, "s-gone", reason="asked for")
    assert receipt.rows > len(gone) // 2
    assert any("127.0.0.1" in place for place in receipt.out_of_reach)
    left = kept(house)
    assert [blob for blob in gone if blob in left] == []
    assert house.vectors is not None
    assert not [path for path in house.vectors.sources() if outcome.session_token in path]


def test_a_session_that_is_removed_while_it_is_embedded_gets_no_vector(
    house: House, served: Endpoint, tmp_path: Path
) -> None:
    outcome = end(house, "s-gone", transcript=turns("We will paint the boat green.", "Decided."))

    def removed(_: object) -> None:
        served.before = lambda _: None
        with house_at(tmp_path / "vault") as other:
            vector_file = tmp_path / "vault" / ".lineage" / "vectors.db"
            remove(other._replace(vector_file=vector_file), "s-gone", reason="asked for")
            ended.append(True)

    ended: list[bool] = []
    served.before = removed
    embed(house)
    assert ended
    assert house.vectors is not None
    assert not [path for path in house.vectors.sources() if outcome.session_token in path]


def test_the_index_may_begin_anew_without_the_vectors(house: House, served: Endpoint, tmp_path: Path) -> None:
    calls = served.calls
    house.index.reset()
    reindex(house)
    done = embed(house)
    assert (served.calls, done.embedded, done.dropped) == (calls, 0, 0)
    assert semantic(house, "vessel", limit=1)[0].session_id == "s-harbour"


def test_what_is_redacted_later_is_embedded_anew(tmp_path: Path, served: Endpoint) -> None:
    with embedding_house(tmp_path / "vault", served) as house:
        token = end(house, "s-1", transcript=TALK).session_token
        embed(house)
        old = blobs(house, token)
        resanitize(house._replace(own_rules=RULES))
        left = kept(house)
        assert any(SECRET in text for text in served.texts)
        assert [blob for blob in old if blob in left] == []
        served.texts.clear()
        embed(house)
        assert served.texts
        assert not any(SECRET in text for text in served.texts)


def test_only_what_is_new_is_embedded_and_each_text_once(house: House, served: Endpoint) -> None:
    assert len(served.texts) == len(set(served.texts))
    served.texts.clear()
    put(house, "project/reader", "decision", "We read files by csv.reader.")
    first = embed(house)
    by_hand(house, "books/project/reader/decision.md", "# First\n\nA word of mine.\n\n" + _read(house))
    reindex(house)
    second = embed(house)
    assert (first.embedded, second.embedded) == (1, 1)
    assert second.reused >= 1
    assert len(served.texts) == 2


def _read(house: House) -> str:
    return house.canon.store.read("books/project/reader/decision.md").data.decode()


def test_a_passage_that_says_something_else_by_now_is_no_result(house: House) -> None:
    put(house, "project/harbour", "decision", "The vessel stays in the harbour.")
    embed(house)
    assert "books/project/harbour/decision.md" in {hit.path for hit in semantic(house, "vessel")}
    by_hand(house, "books/project/harbour/decision.md", "# Mine\n\nThe herring is fresh.\n")
    assert house.vectors is not None
    reindex(house._replace(vector_file=None))
    assert "books/project/harbour/decision.md" not in {hit.path for hit in semantic(house, "vessel")}


def test_it_goes_on_where_it_was_cut_off(tmp_path: Path, served: Endpoint) -> None:
    with embedding_house(tmp_path / "vault", served, batch=2) as house:
        for number in range(5):
            end(house, f"s-{number}", transcript=turns(f"Question {number} on rows?", f"Answer {number}."))
        first = embed(house, most=3)
        assert first.embedded == 4
        assert coverage(house)["files_left"] == first.left > 0
        asked: list[int] = []
        while embed(house, may_go_on=lambda: len(asked.append(1) or asked) % 2 == 1).left:
            assert len(asked) < 100
    assert len(served.texts) == len(set(served.texts))


def test_another_model_is_not_compared_and_embeds_anew(house: House, served: Endpoint, tmp_path: Path) -> None:
    with embedding_house(tmp_path / "vault", served, name="words-2") as other:
        found = find(other, "boat", "default", 5)
        assert found.mode == LEXICAL
        assert "another model" in found.notes[0]
        before = served.calls
        embed(other)
        assert served.calls > before
        assert semantic(other, "vessel", limit=1)[0].session_id == "s-harbour"


def test_a_model_whose_vectors_grow_longer_embeds_anew(house: House, served: Endpoint) -> None:
    served.dimension = 80
    assert "another length" in find(house, "boat", "default", 5).notes[0]
    end(house, "s-new", transcript=turns("A new vessel came.", "Seen."))
    embed(house)
    while embed(house).embedded:
        pass
    assert semantic(house, "boat", limit=3)


@pytest.mark.parametrize("mode", [None, SEMANTIC, HYBRID])
def test_where_the_model_fails_the_words_find(house: House, served: Endpoint, mode: str | None) -> None:
    served.answer = lambda: (503, b"", {})
    found = find(house, "boat", "default", 5, mode=mode)
    assert (found.mode, sessions(found)) == (LEXICAL, ["s-harbour"])
    assert "HTTP 503" in found.notes[0]
    end(house, "s-new", transcript=turns("A new ship.", "Seen."))
    assert embed(house).failed == "HTTP 503"
    counts = house.telemetry.embeddings()
    assert (counts["HTTP 503"], counts["no vector for a query: HTTP 503"]) == (1, 1)


def test_vectors_without_a_direction_are_no_vectors(house: House, served: Endpoint) -> None:
    served.answer = lambda: (200, b'{"data": [{"index": 0, "embedding": [0.0, 0.0]}]}', {})
    assert "unusable" in find(house, "boat", "default", 5).notes[0]


def test_damaged_vectors_cost_the_meaning_and_nothing_else(house: House, served: Endpoint) -> None:
    spoil(house)
    found = find(house, "boat", "default", 5)
    assert sessions(found) == ["s-harbour"]
    assert found.notes
    embed(house)
    assert semantic(house, "vessel", limit=1)[0].session_id == "s-harbour"


def test_a_removal_with_damaged_vectors_is_a_removal(house: House, served: Endpoint, tmp_path: Path) -> None:
    spoil(house)
    remove(house, "s-harbour", reason="asked for")
    assert sessions(find(house, "boat", "default", 5)) == []


@pytest.mark.parametrize("place", ["file"], indirect=True)
def test_a_mode_that_is_asked_for_says_what_it_lacks(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with house_at(tmp_path / "vault") as plain:
        assert find(plain, "boat", "default", 5).mode == LEXICAL
        with pytest.raises(InvalidInput, match="no embedding model"):
            find(plain, "boat", "default", 5, mode=HYBRID)
    monkeypatch.setattr("lineage.index.vectorfile.find_spec", lambda _: None)
    with pytest.raises(ExtraMissing) as caught:
        find(house, "boat", "default", 5, mode=SEMANTIC)
    assert "lineage-memory[semantic]" in caught.value.hint
    assert "lineage-memory[semantic]" in find(house, "boat", "default", 5).notes[0]
    assert embed(house).failed == "not installed"


def test_of_two_that_embed_one_does(house: House, served: Endpoint) -> None:
    end(house, "s-new", transcript=turns("A new ship.", "Seen."))
    with house.canon.spool.store.mutex("embedding"):
        assert embed(house).failed == "another process embeds"
    assert embed(house).embedded > 0
