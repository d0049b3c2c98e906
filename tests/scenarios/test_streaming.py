"""A session of any length: streamed, it is byte for byte what it is when all of it is held; and memory is bounded.

What each guard rests on:
- the same files and rows: `body_of`, `_Pieces`, `_normalized_parts`, `batches`, `_turns_in`, `Spilled`.
- a file that shrinks while it is read: the count in `StreamedTurns`.
- a file that is replaced while it is read: the stamp in `loaded`.
- nothing left behind: the scratch file has no name.
"""

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage.core.format.body import StreamedText
from lineage.core.format.transcript import parse_turns
from lineage.errors import TranscriptError
from lineage.harness.adapters import load_adapter
from lineage.index import SqliteIndex
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.verify import verify
from lineage.store import ConflictError
from lineage.workspace.workspace import Workspace
from tests.support.stream_limits import limit_streams
from tests.support.workspace import end_session, open_test_workspace, read_store

pytestmark = pytest.mark.slow

BOUND = 200
TOKEN = "AKIA" + "QWERTYUIOPASDFGH"
SIZES = st.integers(0, 20) | st.integers(BOUND - 3, BOUND + 3) | st.integers(390, 460)
WORDS = st.sampled_from(
    ("parser ", "line\n", "  \n", "\t", "~~~\n", "é ", "key AKIA" + "QWERTYUIOPASDFGH ", "## 1 · user")
)
TEXTS = st.tuples(WORDS, SIZES).map(lambda drawn: (drawn[0] * (drawn[1] // len(drawn[0]) + 1))[: drawn[1]])
TURNS = st.lists(
    st.tuples(st.sampled_from(("user", "assistant", "tool")), TEXTS | st.sampled_from(("", TOKEN[:9], TOKEN[9:])))
)


def written(folder: Path, turns: Sequence[tuple[str, str]], *, start: int = 0) -> Path:
    path = folder / "session.jsonl"
    with path.open("a", encoding="utf-8") as file:
        for number, (role, text) in enumerate(turns, start):
            at = f"2026-11-20T10:{number % 60:02d}:00Z"
            file.write(json.dumps({"role": role, "text": text, "at": at, "id": f"r{number}", "name": "x"}) + "\n")
    return path


@contextmanager
def workspace(folder: Path) -> Iterator[Workspace]:
    (folder / "workspace").mkdir()
    with open_test_workspace(folder / "workspace") as ws:
        yield ws


def rows(ws: Workspace) -> list[tuple[Any, ...]]:
    """Every row and passage of the index, but for stamps."""
    assert isinstance(ws.index, SqliteIndex)
    import sqlite3

    with closing(sqlite3.connect(ws.index.path)) as database:
        shown = "source_path, source_sha256, content_sha256, title, memory_sentence"
        return [
            *database.execute(f"select {shown} from artifacts order by source_path"),
            *database.execute("select title, sentence, body, turns from search order by title, sentence, turns, body"),
        ]


def told(turns: Sequence[tuple[str, str]], more: Sequence[tuple[str, str]]) -> list[Any]:
    """What two ends of a session leave behind, and what verify and a reindex say of it."""
    with TemporaryDirectory() as name, workspace(Path(name)) as ws:
        path = written(Path(name), turns)
        done = [end_session(ws, transcript_path=str(path)).as_json()]
        written(Path(name), more, start=len(turns))
        done += [end_session(ws, transcript_path=str(path)).as_json() for _ in range(2)]
        found, before = verify(ws), rows(ws)
        assert not [path for path in (Path(name) / "workspace").rglob("*tmp*") if path.is_file()]
        ws.index.reset()
        reindex(ws, confirmed=True)
        return [done, read_store(ws.documents.store), before, rows(ws), found]


@settings(max_examples=min(10, settings().max_examples))
@given(TURNS, TURNS)
def test_what_is_streamed_is_what_it_is_when_it_is_held(
    turns: list[tuple[str, str]], more: list[tuple[str, str]]
) -> None:
    expected = told(turns, more)
    with limit_streams(BOUND):
        assert told(turns, more) == expected


def test_a_long_artifact_is_not_held(tmp_path: Path) -> None:
    with limit_streams(BOUND), workspace(tmp_path) as ws:
        outcome = end_session(ws, transcript_path=str(written(tmp_path, [("user", "parser " * 50)] * 9)))
        artifact = ws.documents.artifacts.get(outcome.transcript_path or "")
        assert artifact
        assert isinstance(artifact.body, StreamedText)
        assert [turn.number for turn in parse_turns(artifact.body)[-2:]] == [8, 9]


def test_an_artifact_that_is_replaced_while_it_is_read_is_a_conflict(tmp_path: Path) -> None:
    with limit_streams(BOUND), workspace(tmp_path) as ws:
        outcome = end_session(ws, transcript_path=str(written(tmp_path, [("user", "parser " * 50)] * 9)))
        artifact = ws.documents.artifacts.get(outcome.transcript_path or "")
        assert artifact
        blob = ws.documents.store.read(artifact.path)
        ws.documents.store.replace(artifact.path, blob.data + b"\n", blob.version)
        with pytest.raises(ConflictError):
            str(artifact.body)


def test_a_transcript_that_shrinks_while_it_is_read_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path, [("user", "parser " * 50)] * 9)
    with limit_streams(BOUND):
        turns = load_adapter("generic").read(path).turns
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
        with pytest.raises(TranscriptError):
            list(turns)


def test_what_a_transcript_gets_while_it_is_read_is_for_the_next_time(tmp_path: Path) -> None:
    path = written(tmp_path, [("user", "parser " * 50)] * 9)
    with limit_streams(BOUND):
        turns = load_adapter("generic").read(path).turns
        written(tmp_path, [("user", "later")], start=9)
        assert (len(list(turns)), len(turns)) == (9, 9)


MEASURED = """
import sys, tracemalloc
from pathlib import Path
from tests.support.workspace import end_session, open_test_workspace
with open_test_workspace(Path(sys.argv[1])) as ws:
    end_session(ws, "warm")
    tracemalloc.start()
    end_session(ws, transcript_path=sys.argv[2], harness="claude-code")
print(tracemalloc.get_traced_memory()[1])
"""


def peak(folder: Path, megabytes: int) -> int:
    """The most memory that Python's objects take while a session of that size ends."""
    folder.mkdir()
    path, dice = folder / "session.jsonl", random.Random(megabytes)
    words = ["".join(dice.choices("abcdefghij", k=dice.randrange(2, 9))) for _ in range(500)]
    with path.open("w", encoding="utf-8") as file:
        number = 0
        while file.tell() < megabytes * 1_000_000:
            number += 1
            role = ("user", "assistant")[number % 2]
            record = {
                "type": role,
                "uuid": f"00000000-0000-4000-8000-{number:012d}",
                "sessionId": "s-1",
                "timestamp": f"2026-11-20T10:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
                "message": {"role": role, "content": " ".join(dice.choices(words, k=250)) + "."},
            }
            file.write(json.dumps(record) + "\n")
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", MEASURED, str(folder / "workspace"), str(path)]
    (folder / "workspace").mkdir()
    return int(subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout)


@pytest.mark.slow
def test_memory_does_not_grow_with_the_text_of_a_session(tmp_path: Path) -> None:
    """What grows is what is known of each record: well below a sixth of it, where holding it once is all of it."""
    small, large = peak(tmp_path / "small", 12), peak(tmp_path / "large", 18)
    assert small < 25_000_000
    assert large - small < 6_000_000 / 6
