"""The generated corpus: the same files for the same seed in however many processes; copies leave it as it is."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import pytest
from benchmarks import corpus, transcripts, written
from benchmarks.corpus import copied
from benchmarks.words import Prose

from lineage.core import naming
from lineage.core.window import Window
from lineage.pipeline.upkeep.reindexing import synchronize

pytestmark = pytest.mark.slow

_LATEST = "2026-11-20T00:00:00.000Z"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def files(folder: Path) -> dict[str, str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest() for path in found}


def test_the_same_seed_gives_the_same_files(tmp_path: Path) -> None:
    made = [tmp_path / name for name in ("one", "again", "other")]
    for folder, seed in zip(made, (8, 8, 9), strict=True):
        written.write(folder, 4, seed, _LATEST, jobs=1)
    one, again, other = map(files, made)
    assert one == again and len(one) == 16
    assert not set(one.values()) & set(other.values())


def test_a_session_is_made_of_its_number_alone() -> None:
    alone = list(written.documents(8, 3, _LATEST))
    assert list(written.documents(8, 3, _LATEST)) == alone != list(written.documents(8, 4, _LATEST))


def test_how_many_processes_write_does_not_show(tmp_path: Path) -> None:
    for jobs in (1, 3):
        written.write(tmp_path / str(jobs), 250, 8, _LATEST, jobs)
    assert files(tmp_path / "1") == files(tmp_path / "3")


def test_a_transcript_is_of_its_size_and_of_no_time_to_come(tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("one.jsonl", "again.jsonl")]
    for path in paths:
        transcripts.write(path, 100_000, Prose(8), _LATEST)
    assert files(tmp_path)["one.jsonl"] == files(tmp_path)["again.jsonl"]
    assert 100_000 <= paths[0].stat().st_size < 200_000
    last = paths[0].read_text("utf-8").splitlines()[-1]
    assert last.partition('"timestamp": "')[2][:10] < _LATEST[:10]


def test_a_copy_is_indexed_and_what_is_done_to_it_leaves_the_kept_one_as_it_was() -> None:
    with copied(9) as first:
        before = files(first.memory)
        with first.opened() as house:
            assert synchronize(house).unchanged == 9
            assert len(list(house.index.ledger("default", Window.ending(house.now)).entries)) == 3
        for path in first.memory.glob(f"*{naming.MANIFEST}.md"):
            path.unlink()
        with first.opened() as house:
            assert synchronize(house).dropped == 3
    with copied(9) as second, second.opened() as house:
        assert files(second.memory) == before
        assert synchronize(house).unchanged == 9
    corpus.clean()


@pytest.mark.parametrize(
    "change", ["pragma application_id = 1", "pragma user_version = 0", "create table another (of_a_schema)"]
)
def test_an_index_of_another_schema_is_made_again_without_the_files(change: str) -> None:
    with copied(9) as first:
        before = {path: path.stat().st_ino for path in corpus.cache().rglob("*.md")}
        made = first.index.stat().st_size
    (kept,) = corpus.cache().rglob("index.db")
    with closing(sqlite3.connect(kept)) as connection:
        connection.execute(change)
    with copied(9) as second, second.opened() as house:
        assert not house.index.is_new
        assert synchronize(house).unchanged == 9
        assert second.index.stat().st_size == made
    assert {path: path.stat().st_ino for path in corpus.cache().rglob("*.md")} == before
    corpus.clean()


def test_a_corpus_of_another_day_goes(tmp_path: Path) -> None:
    old = corpus.cache() / "seed-8-artifacts-9-2020-01-01-00000000"
    old.mkdir()
    with copied(9):
        assert not old.exists()
    corpus.clean()
    assert list(tmp_path.iterdir()) == []
