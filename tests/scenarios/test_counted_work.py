"""Speed without a clock: what each flow opens, lists, reads, flushes and asks, and that it does not grow.

Fails with any import on the way of a hook, without the short helps in cli/main.py, when a capture lists `memory/`,
reads an artifact that is not its own or parses what it has just written, and when it looks for what it may learn a
second time.
"""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.naming import derive_session_token, parse_path
from lineage.core.format import clipping, documents, tool_overlap, transcript
from lineage.core.format.turns import ASSISTANT, TOOL, USER, Turn, assign_ids
from lineage.extraction import features
from lineage.extraction.candidates import extract_candidates
from lineage.pipeline.capture.linking import link_session
from tests.support.work_counts import WorkCounts, count_work, list_imported_modules
from tests.support.workspace import end_session, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

STARTED = {"lineage", "lineage.__main__", "lineage.cli", "lineage.core", "lineage.core.base"}
HOOK = STARTED | {
    f"lineage.{name}" for name in ("cli.hook_entry", "cli.hook_files", "core.base.hook_protocol", "core.base.scan_json")
}
HOOK |= {"lineage.processes", "lineage.harness", "lineage.harness.registry", "lineage.harness.spec"}
HELP = {"lineage", "lineage.__main__", "lineage.cli", "lineage.errors", "lineage.distribution"} | {
    f"lineage.cli.{name}" for name in ("main", "lazy", "output")
}
DEAR = {
    "argparse", "asyncio", "ctypes", "dataclasses", "http", "importlib.metadata", "inspect", "logging",
    "multiprocessing", "socket", "subprocess", "tempfile", "uuid", "zipfile",
}  # fmt: skip
END = ("session-end", "--harness", "generic", "--project", "/home/ada/demo", "--session-id")
TALK = "User: mend parser.py\nAgent: The parser is mended."


def foreign(modules: set[str]) -> set[str]:
    """The packages that are neither ours nor Python's."""
    return {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - {"lineage"}


def own(modules: set[str]) -> set[str]:
    return {name for name in modules if name.partition(".")[0] == "lineage"}


def test_a_hook_imports_five_small_modules_and_not_even_json(tmp_path: Path) -> None:
    payload = b'{"hook_event_name": "SessionEnd", "session_id": "s-1", "transcript_path": "/tmp/none.jsonl"}'
    modules = list_imported_modules(
        "hook", "claude-code", "-w", str(tmp_path / "w"), stdin=payload, LINEAGE_NO_WORKER="1"
    )
    assert own(modules) == HOOK
    assert foreign(modules) == set()
    assert not modules & {"json", "re", "pathlib", "hashlib", "sqlite3", "typing", *DEAR}
    assert len(list((tmp_path / "w" / ".lineage" / "spool" / "signals").iterdir())) == 1


def test_help_imports_no_command() -> None:
    modules = list_imported_modules("--help")
    assert own(modules) == HELP
    assert foreign(modules) <= {"click"}
    assert not modules & {"asyncio", "sqlite3", "subprocess", "zipfile"}


@pytest.mark.parametrize("command", [["sessions"], ["search", "parser"], ["context"], ["render"]])
def test_reading_imports_no_engine_of_redaction_and_no_optional_one(tmp_path: Path, command: list[str]) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "s-1", transcript=make_turns("why does the parser stop?", "It drops the last line."))
    modules = foreign(list_imported_modules("-w", str(tmp_path), *command))
    assert not modules & {"re2", "watchdog", "starlette", "mcp", "numpy", "psycopg", "obstore", "llm"}
    assert "sqlite_utils" not in modules


def captured(root: Path, sessions: int) -> WorkCounts:
    """The work of a session's end in a workspace with so many sessions, its locks and folders being there."""
    with open_test_workspace(root) as ws:
        for number in range(sessions):
            end_session(ws, f"s-{number}", transcript=make_turns(f"please mend reader{number}.py", "It is mended."))
    count_work(root, *END, "first", "--transcript", TALK)
    return count_work(root, *END, "second", "--transcript", TALK)


def linked(root: Path, sessions: int, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """The rows that the index gives, and the files that are read, while the last of so many sessions is linked."""
    rows = reads = 0
    with open_test_workspace(root) as ws:
        for number in range(sessions):
            at = f"2026-11-10T{number // 60 + 1:02}:{number % 60:02}:00Z"
            edit = {"file_path": "/home/ada/demo/reader.py", "old_string": "a", "new_string": f"b{number}"}
            turns = [
                {"role": "user", "text": f"please mend reader {number}"},
                {"role": "assistant", "text": "", "name": "Edit", "input": edit},
                {"role": "assistant", "text": "It is mended."},
            ]
            end_session(ws, f"s-{number}", transcript=turns, project="/home/ada/demo", captured_at=at)
        select, read = type(ws.index)._select, type(ws.documents.store).read

        def count_rows(index: Any, sql: str, **values: object) -> Any:
            nonlocal rows
            for row in select(index, sql, **values):
                rows += 1
                yield row

        def count_reads(store: Any, *arguments: Any) -> Any:
            nonlocal reads
            reads += 1
            return read(store, *arguments)

        with monkeypatch.context() as counting:
            counting.setattr(type(ws.index), "_select", count_rows)
            counting.setattr(type(ws.documents.store), "read", count_reads)
            link_session(ws, derive_session_token("default", f"s-{sessions - 1}"))
    return rows, reads


CHANGING = re.compile(
    r"[0-9a-f]{16}$|\d{4}-\d\d-\d\dT[\d-]+\.\d+Z|(?<=swap-)\d+"
    r"|[0-9a-f]{16}(-\d+-[0-9a-f]{16}){2}(?=:)"  # a file that trades places names the contents of both
)


CLIPPED = re.compile(r"MEMORY\.md$|(^|:)(days|projects)[/:]")


def names(paths: Any) -> list[str]:
    """Paths without what is different each time: random names, times, contents, the shards of locks."""
    return sorted(CHANGING.sub("*", path) for path in paths)


def test_a_capture_does_not_grow_with_the_folder(tmp_path: Path) -> None:
    few, many = captured(tmp_path / "few", 10), captured(tmp_path / "many", 200)
    assert many.shape() == few.shape()
    assert names(many.opens.elements()) == names(few.opens.elements())
    assert names(many.listings.elements()) == names(few.listings.elements())
    # MEMORY.md is the window's, which is clipped; it trades places with its next version. So do the notes of day,
    # project and month, which list so many sessions and no more.
    read = [sum(n for path, n in work.bytes_read.items() if not CLIPPED.search(path)) for work in (few, many)]
    assert abs(read[1] - read[0]) <= 20  # digits of the lease's generation
    assert sum(n for path, n in many.bytes_read.items() if CLIPPED.search(path) and "MEMORY" not in path) < 200_000


def test_linking_sessions_that_share_a_file_does_not_grow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An import links each session once it has captured all: what one costs, three hundred cost three hundred times."""
    few = linked(tmp_path / "few", 60, monkeypatch)
    assert linked(tmp_path / "many", 240, monkeypatch) == few
    assert few[0] > 50  # the sessions before it were looked at


def test_what_a_capture_does(tmp_path: Path) -> None:
    """Counted once, to be lowered; a figure that goes up needs a reason."""
    work = captured(tmp_path, 3)
    artifacts = [path for path in work.opens if parse_path(path)]
    assert len(artifacts) == 3, "its own transcript, summary and manifest, nobody else's"
    assert "memory" not in work.listings and "" not in work.listings
    # six for the notes of the day, the project and its month: a person's words stand in them
    assert work.flushes <= 23
    assert len(work.statements) <= 57  # seven for the notes
    assert work.bytes_read["MEMORY.md"] <= 3 * (tmp_path / "MEMORY.md").stat().st_size
    assert all(work.bytes_read[path] <= 2 * (tmp_path / path).stat().st_size for path in artifacts)


@pytest.mark.slow
def test_a_second_end_of_the_same_session_flushes_nothing(tmp_path: Path) -> None:
    count_work(tmp_path, "init")
    count_work(tmp_path, *END, "s-1", "--transcript", TALK)
    again = count_work(tmp_path, *END, "s-1", "--transcript", TALK)
    assert again.flushes == 0


def test_a_capture_parses_none_of_what_it_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    original = documents.parse_document
    monkeypatch.setattr(documents, "parse_document", lambda data, path: parsed.append(path) or original(data, path))
    monkeypatch.setattr(transcript, "extract_texts", lambda body: parsed.append("what it says"))
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "s-1", transcript=make_turns("please mend reader.py", "It is mended."))
    assert [path for path in parsed if not path.endswith("--manifest.md")] == []


def test_a_capture_looks_for_what_it_may_learn_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    original = features._read_turn
    monkeypatch.setattr(features, "_read_turn", lambda turn, place: looked.append(turn.id) or original(turn, place))
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "s-1", transcript=make_turns(*(f"Decision: we take reader number {n}." for n in range(20))))
    assert len(looked) == 20


def test_only_results_that_may_be_repeated_are_taken_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    original = tool_overlap.tokenize_folded
    monkeypatch.setattr(tool_overlap, "tokenize_folded", lambda plain: taken.append(plain) or original(plain))
    results = [Turn(TOOL, text) for text in ("all 312 passed", "it drops every second line", "no such file")]
    tool_overlap.ToolEvidence(results).find_tools([tool_overlap.Statement(3, "It drops every second line.")])
    assert [text for text in taken if text in {result.text for result in results}] == ["it drops every second line"]


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=40) | st.sampled_from(
    ["We decided to keep the reader.", "Lesson: it drops lines.", "~~~\nx\n~~~", "## 1 · user · – ^t-0123456789"]
)


@given(st.lists(st.tuples(st.sampled_from([USER, ASSISTANT, TOOL]), texts), max_size=12))
def test_what_is_learned_is_the_same_from_the_turns_and_from_their_file(said: list[tuple[str, str]]) -> None:
    """The run that captures learns from its turns, whoever finishes it after a crash from the transcript."""
    shown = (clipping.clip_turn(Turn(role, text), clipping.ClipLimits()) for role, text in said)
    captured_turns = tuple(assign_ids([turn for turn in shown if turn.text], "t" * 16))
    body = transcript.render_turns("[[a]]", captured_turns)
    assert extract_candidates(transcript.parse_turns(body)) == extract_candidates(captured_turns)
    assert transcript.find_first_number(body) == (1 if captured_turns else None)
