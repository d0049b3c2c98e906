"""`vectors.db`: the properties of a file. (lineage/index/vectorfile.py; tests/contracts/test_vectors.py)

Fails without the vacuum in `scrub`, and if damage costs more than the vectors.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from lineage.index.vectorfile import VectorFile
from lineage.index.vectors import VectorsLost, VectorSource
from tests.contracts.test_vectors import ONE, placed, store


@pytest.fixture
def vectors(tmp_path: Path) -> Iterator[VectorFile]:
    with closing(VectorFile(tmp_path / "vectors.db")) as found:
        yield found


def test_after_the_scrub_no_byte_is_left(vectors: VectorFile, tmp_path: Path) -> None:
    rows = [placed(VectorSource(f"memory/{number}.md", "v"), 0, number, 77, 3, -50) for number in range(1, 200)]
    store(vectors, *rows, settled=tuple(row.source for row in rows))
    vectors.prune({row.source.path: None for row in rows[1:]})
    vectors.scrub()
    left = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert rows[0].vector in left
    assert not any(row.vector in left or row.source.path.encode() in left for row in rows[1:])


@pytest.mark.parametrize("data", [b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_damaged_file_is_begun_anew(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "vectors.db"
    path.write_bytes(data)
    with closing(VectorFile(path)) as vectors:
        with pytest.raises(VectorsLost) as caught:
            vectors.count_passages()
        assert "lineage admin embed" in caught.value.hint
        store(vectors, placed(ONE, 0, 1, 0))
        assert vectors.count_passages() == 1


def test_what_is_removed_goes_without_the_extension(vectors: VectorFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sqlite_vec", None)
    store(vectors, placed(ONE, 0, 1, 0), settled=(ONE,))
    assert vectors.prune({ONE.path: None}) == 1
    vectors.scrub()


def test_the_file_is_an_ordinary_database(vectors: VectorFile) -> None:
    store(vectors, placed(ONE, 0, 1, 0))
    vectors.close()
    with closing(sqlite3.connect(vectors.path)) as database:
        assert database.execute("select path, place from passages").fetchall() == [(ONE.path, 0)]
