"""Antigravity's sessions: steps in two logs, whole and cut, with the harness's words around a person's."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, assign_ids
from lineage.errors import TranscriptError
from lineage.harness.adapters import list_history_roots
from lineage.harness.antigravity import discover, read

DATA = Path(__file__).parents[2] / "data/antigravity"
ID = "7a4e2d10-5b6c-4f3a-8d9e-1c2b3a4f5e60"
LOGS = DATA / f"brain/{ID}/.system_generated/logs"
WHOLE, CUT = LOGS / "transcript_full.jsonl", LOGS / "transcript.jsonl"

Step = dict[str, Any]
Reader = Callable[..., Capture]


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / f"antigravity/brain/{ID}/.system_generated/logs"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def reader(logs: Path) -> Reader:
    """Reads steps, numbered where they have no number."""

    def read_steps(*steps: Step) -> Capture:
        numbered = [
            {"step_index": number, "created_at": "2026-09-04T09:00:00Z", **step} for number, step in enumerate(steps)
        ]
        path = logs / "transcript_full.jsonl"
        path.write_text("".join(json.dumps(step) + "\n" for step in numbered), encoding="utf-8")
        return read(path)

    return read_steps


def make_prompt(text: str) -> Step:
    return {"source": "USER_EXPLICIT", "type": "USER_INPUT", "content": text}


def make_answer(text: str = "", *calls: tuple[str, Any]) -> Step:
    tool_calls = [{"name": name, "args": arguments} for name, arguments in calls]
    return {"source": "MODEL", "type": "PLANNER_RESPONSE", "content": text, "tool_calls": tool_calls}


def make_result(text: str, kind: str = "GENERIC", **more: Any) -> Step:
    return {"source": "MODEL", "type": kind, "content": text, **more}


def make_note(kind: str, text: str | None = None) -> Step:
    return {"source": "SYSTEM", "type": kind, "content": text}


def list_ids(capture: Capture) -> list[str]:
    return [turn.id for turn in assign_ids(capture.turns, "token")]


def test_the_sample_session_reads_as_it_went() -> None:
    capture = read(CUT)
    assert [(turn.role, turn.name, (turn.input or turn.text)[:40]) for turn in capture.turns if not turn.thinking] == [
        (USER, "", "Why does the reader drop the last line?"),
        (ASSISTANT, "", "I look at the reader and run its test."),
        (ASSISTANT, "view_file", "/home/ada/demo/reader.py"),
        (ASSISTANT, "run_command", "pytest -q"),
        (TOOL, "view_file", "File Path: `file:///home/ada/demo/reader"),
        (TOOL, "run_command", "The command exited with code 1.\nOutput:\n"),
        (ASSISTANT, "", "The reader splits on the wrong character"),
        (ASSISTANT, "replace_file_content", "/home/ada/demo/reader.py"),
        (TOOL, "replace_file_content", "The following changes were made by the r"),
        (SYSTEM, "compaction", "{{ CHECKPOINT 0 }}\nThe reader splits on "),
        (USER, "", "Thanks. Never use splitlines here."),
        (ASSISTANT, "", "Noted."),
    ]
    assert capture.skipped == {"harness notes": 3}
    assert capture.session_id == ID
    assert capture.models == ("Gemini 3.7 Pro (High)",)
    assert capture.project == "/home/ada/demo"
    assert [compacted.turns_before for compacted in capture.compactions] == [10]


def test_texts_are_whole_whichever_log_is_named() -> None:
    assert "<truncated" in CUT.read_text()
    assert read(CUT) == read(WHOLE)
    assert not any("<truncated" in turn.text for turn in read(CUT).turns)


def test_the_cut_log_alone_gives_the_same_turns_with_what_it_holds(logs: Path) -> None:
    shutil.copy(CUT, logs)
    capture = read(logs / CUT.name)
    assert [turn.source_id for turn in capture.turns] == [turn.source_id for turn in read(CUT).turns]
    assert [turn.parts for turn in capture.turns] == [turn.parts for turn in read(CUT).turns]
    assert any("<truncated" in turn.text for turn in capture.turns)


def test_steps_that_the_whole_log_lacks_come_from_the_cut_one(logs: Path) -> None:
    lines = WHOLE.read_text().splitlines(keepends=True)
    (logs / WHOLE.name).write_text(lines[-1])
    shutil.copy(CUT, logs)
    assert list_ids(read(logs / WHOLE.name)) == list_ids(read(CUT))


def test_an_older_editors_log_reads_too(logs: Path) -> None:
    shutil.copy(CUT, logs / "overview.txt")
    assert list_ids(read(logs / "overview.txt")) == list_ids(read(CUT))


def test_results_belong_to_the_calls_before_them_also_where_one_was_refused(reader: Reader) -> None:
    """The step of a refused call is missing."""
    calls = (("view_file", {"AbsolutePath": "/a"}), ("run_command", {"CommandLine": "ls"}), ("list_dir", {}))
    capture = reader(
        make_answer("", *calls),
        {"step_index": 2, **make_result("Created At: now\nCompleted At: now\nlisted")},
        {"step_index": 3, **make_result("found", "LIST_DIRECTORY")},
        {"step_index": 9, **make_result("alone", "SEARCH_WEB")},
    )
    turns = list(assign_ids(capture.turns, "token"))
    assert [(turn.name, turn.text, turn.call) for turn in turns[3:]] == [
        ("run_command", "listed", 2),
        ("list_dir", "found", 3),
        ("search_web", "alone", 0),
    ]


@pytest.mark.parametrize(
    ("text", "status", "failed"),
    [
        ("The command exited with code 0.\nOutput:\n", "DONE", False),
        ("The command exited with code 127.\n", "DONE", True),
        ("It said: The command exited with code 1.", "DONE", False),
        ("", "ERROR", True),
    ],
)
def test_a_result_says_whether_it_failed(reader: Reader, text: str, status: str, failed: bool) -> None:
    capture = reader(make_answer("", ("run_command", {})), make_result(text, status=status))
    assert capture.turns[-1].error is failed


@pytest.mark.parametrize(
    ("content", "typed"),
    [
        ("<USER_REQUEST>\nMend it.\n</USER_REQUEST>\n<ADDITIONAL_METADATA>\nnow\n</ADDITIONAL_METADATA>", "Mend it."),
        ("<USER_REQUEST>Say </USER_REQUEST> twice.</USER_REQUEST>", "Say </USER_REQUEST> twice."),
        ("<USER_REQUEST>\nMend <ADDITIONAL_METADATA>{}</ADDITIONAL_METADATA></USER_REQUEST>", "Mend "),
        ("<USER_REQUEST>\nlong\n<truncated 10359 bytes>", "long\n<truncated 10359 bytes>"),
        ("plain", "plain"),
    ],
)
def test_a_persons_words_stand_without_what_the_harness_adds(reader: Reader, content: str, typed: str) -> None:
    assert [turn.text for turn in reader(make_prompt(content)).turns] == [typed.rstrip()]


def test_a_step_of_an_unknown_kind_is_counted_and_a_new_tools_result_read(reader: Reader) -> None:
    capture = reader(make_prompt("Hi"), make_note("MOOD", "x"), make_note("SYSTEM_MESSAGE"), {"source": "MOON"})
    assert capture.skipped == {"harness notes": 1, "unknown": 2}
    assert reader(make_result("done", "FLY")).turns[0].name == "fly"


def test_the_project_is_what_the_caches_say(logs: Path) -> None:
    shutil.copy(WHOLE, logs)
    cache = logs.parents[3] / "cache"
    cache.mkdir()
    (cache / "last_conversations.json").write_text(json.dumps({"/home/ada/other": "x", "/home/ada/cli": ID}))
    assert read(logs / WHOLE.name).project == "/home/ada/cli"
    noted = {"conversations": {ID: {"summary": {"WorkspaceURIs": ["file:///home/ada/my%20demo"]}}}}
    (cache / "conversation_metadata.json").write_text(json.dumps(noted))
    assert read(logs / WHOLE.name).project == "/home/ada/my demo"
    (cache / "conversation_metadata.json").write_text('{"conversations": [')
    assert read(logs / WHOLE.name).project == "/home/ada/cli"


def test_each_session_is_found_once_and_no_database_is_opened(logs: Path) -> None:
    for name in ("transcript_full.jsonl", "transcript.jsonl", "overview.txt", "chunks/transcript_full/0.jsonl"):
        (logs / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(WHOLE, logs / name)
    root = logs.parents[3]
    whole = root / "brain/b/.system_generated/logs/transcript_full.jsonl"
    whole.parent.mkdir(parents=True)
    shutil.copy(WHOLE, whole)
    (root / "conversations").mkdir()
    (root / f"conversations/{ID}.db").write_bytes(b"no database")
    shutil.copy(WHOLE, root / "transcript.jsonl")
    assert [item.path for item in discover(root)] == [logs / "transcript.jsonl", whole]


def test_the_histories_are_those_of_the_editor_and_of_the_command_line() -> None:
    assert [str(path) for path in list_history_roots("antigravity", Path("/home/ada"), {})] == [
        "/home/ada/.gemini/antigravity/brain",
        "/home/ada/.gemini/antigravity-cli/brain",
        "/home/ada/.gemini/antigravity-ide/brain",
    ]


def test_another_harnesss_transcript_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "transcript.jsonl"
    path.write_text('{"type": "user", "message": {}}\n')
    with pytest.raises(TranscriptError, match="no Antigravity step"):
        read(path)
