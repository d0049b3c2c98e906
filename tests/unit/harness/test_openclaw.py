"""OpenClaw's sessions: pi's entries, with what its gateway adds, in folders by agent. (harnesses.md, section 8)"""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER
from lineage.errors import TranscriptError
from lineage.harness import pi
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import list_history_roots
from lineage.harness.openclaw import discover, read
from tests.support.openclaw import add_session, create_database, read_entries

DATA = Path(__file__).parents[2] / "data/openclaw/agents"
ID = "3c1e9f60-2b7d-5a48-b6a0-9e5d4c3b2a19"
MAIN = DATA / f"main/sessions/{ID}.jsonl"
TOPIC = MAIN.with_name(f"{ID}-topic-42.jsonl")
GATEWAY = {"provider": "openclaw", "model": "delivery-mirror"}

Record = dict[str, Any]
Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    def read_messages(*messages: Record) -> Capture:
        path = tmp_path / f"{ID}.jsonl"
        lines = [{"type": "session", "id": ID}] + [
            {"type": "message", "id": f"e{number}", "message": message} for number, message in enumerate(messages)
        ]
        path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        return read(path)

    return read_messages


def make_assistant(words: str, **more: Any) -> Record:
    return {"role": "assistant", "content": [{"type": "text", "text": words}], **more}


@pytest.mark.parametrize(
    ("path", "turns", "skipped"),
    [(MAIN, 8, {"bookkeeping": 4, "replayed": 1}), (TOPIC, 2, {"bookkeeping": 1})],
    ids=["session", "topic"],
)
def test_every_sample_reads_and_says_what_was_left_out(path: Path, turns: int, skipped: dict[str, int]) -> None:
    capture = read(path)
    assert len(capture.turns) == turns
    assert capture.skipped == skipped


def test_the_sample_session_reads_as_it_went() -> None:
    assert [(turn.role, turn.name, turn.input or turn.text) for turn in read(MAIN).turns] == [
        (USER, "", "Look at the reader and tell me in the chat.\n[image image/jpeg, 700 bytes left out]"),
        (ASSISTANT, "", "I look."),
        (ASSISTANT, "exec", "cat reader.py"),
        (TOOL, "exec", "def read(path): ..."),
        (ASSISTANT, "", "It splits on the wrong character."),
        (ASSISTANT, "", "Your morning report: nothing broke."),
        (SYSTEM, "compaction", "The reader splits on the wrong character."),
        (USER, "", "Thanks"),
    ]


def test_the_sample_session_says_what_it_was() -> None:
    capture = read(MAIN)
    assert capture.session_id == ID
    assert capture.project == "/home/ada/.openclaw/workspace"
    assert capture.models == ("claude-opus-5",)
    summary = "The reader splits on the wrong character."
    assert capture.compactions == (CompactionRecord(summary, 6, "2026-10-02T09:10:00.000Z"),)


def test_it_is_pis_format() -> None:
    assert read(MAIN) == pi.read(MAIN)


def test_a_delivery_that_repeats_the_agent_is_a_replay_and_any_other_a_turn(reader: Reader) -> None:
    capture = reader(
        make_assistant("Done."),
        make_assistant("Done.", **GATEWAY),
        make_assistant("Report.", **GATEWAY),
        make_assistant("Report.", **GATEWAY),
        make_assistant("Done."),
    )
    assert [turn.text for turn in capture.turns] == ["Done.", "Report.", "Done."]
    assert capture.skipped == {"bookkeeping": 1, "replayed": 2}


def test_the_gateway_is_no_model(reader: Reader) -> None:
    assert reader(make_assistant("Report.", **GATEWAY), make_assistant("Hi.", model="gpt-6")).models == ("gpt-6",)


def test_a_topic_of_a_chat_is_a_session_of_its_own() -> None:
    """Its header says the id of the chat's session."""
    assert read(TOPIC).session_id == f"{ID}-topic-42"


def test_a_copy_under_another_name_keeps_its_id(tmp_path: Path) -> None:
    copy = tmp_path / "saved.jsonl"
    copy.write_bytes(MAIN.read_bytes())
    assert read(copy).session_id == ID


def test_a_file_without_header_has_no_id(tmp_path: Path) -> None:
    path = tmp_path / "None-topic-1.jsonl"
    path.write_text(json.dumps({"type": "message", "message": make_assistant("Hi.")}), encoding="utf-8")
    assert read(path).session_id is None


def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    path.write_text(json.dumps({"role": "user", "text": "Fix it"}), encoding="utf-8")
    with pytest.raises(TranscriptError, match="no OpenClaw entry") as caught:
        read(path)
    assert "--harness" in caught.value.hint


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "/home/ada/.openclaw/agents"),
        ({"OPENCLAW_STATE_DIR": ""}, "/home/ada/.openclaw/agents"),
        ({"OPENCLAW_STATE_DIR": "/srv/claw"}, "/srv/claw/agents"),
    ],
)
def test_the_history_lies_where_the_environment_says(environment: dict[str, str], expected: str) -> None:
    assert list_history_roots("openclaw", Path("/home/ada"), environment) == [Path(expected)]


def test_the_sessions_of_all_agents_are_found_and_copies_passed_over(tmp_path: Path) -> None:
    names = (
        f"coder/sessions/{ID}.jsonl",
        f"main/sessions/{ID}-topic-42.jsonl",
        f"main/sessions/{ID}.checkpoint.0d3b6f1e-9a8c-5b47-8e21-7f6a5c4d3b2e.jsonl",
        f"main/sessions/{ID}.jsonl",
        f"main/sessions/{ID}.jsonl.bak-1790000000000",
        f"main/sessions/{ID}.jsonl.deleted.2026-10-01T04-00-00.000Z",
        f"main/sessions/{ID}.jsonl.reset.2026-10-01T04-00-00.000Z",
        f"main/sessions/{ID}.trajectory.jsonl",
        "main/sessions/sessions.json",
    )
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(MAIN.read_bytes())
    assert [item.path for item in discover(tmp_path)] == [tmp_path / names[index] for index in (0, 1, 3)]


def test_a_copy_that_is_named_itself_is_taken(tmp_path: Path) -> None:
    copy = tmp_path / f"{ID}.checkpoint.1.jsonl"
    copy.write_bytes(MAIN.read_bytes())
    assert [item.path for item in discover(copy)] == [copy]


# The database


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return create_database(tmp_path / "agents/main/agent/openclaw-agent.sqlite")


def make_message(number: int, text: str, role: str = "user") -> Record:
    content = [{"type": "text", "text": text}]
    at = f"2026-10-02T10:{number:02d}:00.000Z"
    return {"type": "message", "id": f"dd{number}", "timestamp": at, "message": {"role": role, "content": content}}


def test_the_database_gives_what_the_file_gave(database: Path) -> None:
    """Sessions of before were moved into it: their turns keep their ids."""
    add_session(database, ID, read_entries(MAIN))
    (location,) = discover(database.parents[2])
    assert location == SessionLocation(database, ID)
    assert read(location.path, location.session) == replace(read(MAIN), lane="agent:main:main")


def test_a_session_that_goes_on_there_only_adds_turns(database: Path) -> None:
    add_session(database, ID, read_entries(MAIN))
    add_session(database, ID, [make_message(1, "And then?"), {"type": "reset", "id": "r"}])
    capture = read(database, ID)
    assert capture.turns[:-1] == read(MAIN).turns
    assert capture.turns[-1].text == "And then?"
    assert "unknown" not in capture.skipped


def test_long_entries_are_compressed_and_read_whole(database: Path) -> None:
    words = "Mend the reader. " * 500
    add_session(database, "s-1", [make_message(1, words), make_message(2, "short")])
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT event_json IS NULL, length(event_zstd) FROM transcript_events").fetchall()
    assert rows[0][0] and rows[0][1] < 200
    assert [turn.text for turn in read(database, "s-1").turns] == [words.strip(), "short"]


def test_sessions_of_one_chat_are_told_apart(database: Path) -> None:
    add_session(database, "s-1", [make_message(1, "one")], label="The reader")
    add_session(database, "s-2", [make_message(2, "two")], previous_session_id="s-1", reason="reset")
    assert [item.session for item in discover(database)] == ["s-1", "s-2"]
    assert [turn.text for turn in read(database, "s-2").turns] == ["two"]
    assert (read(database, "s-2").title, read(database, "s-2").forked_from) == ("The reader", None)
    with pytest.raises(TranscriptError, match="does not hold one session but 2"):
        read(database)


def test_a_sub_agents_session_names_the_one_that_started_it(database: Path) -> None:
    for number, session in enumerate(("before", "parent", "after")):
        add_session(database, session, [], created_at=number * 10)
    add_session(
        database, "child", [make_message(1, "Scan")], "agent:main:sub", spawned_by="agent:main:main", created_at=15
    )
    assert read(database, "child").parent_session == "parent"
    assert read(database, "parent").parent_session is None


@pytest.mark.parametrize(
    ("window", "origin"),
    [
        ({"reason": "fork", "fork_source_session_id": "s-0"}, "s-0"),
        ({"reason": "compaction", "previous_session_id": "s-1"}, "s-1"),
        ({"reason": "reset", "previous_session_id": "s-1"}, None),
    ],
)
def test_a_fork_names_its_origin(database: Path, window: Record, origin: str | None) -> None:
    add_session(database, "s-2", [make_message(1, "two")], **window)
    assert read(database, "s-2").forked_from == origin


def test_entries_that_were_archived_are_counted(database: Path) -> None:
    add_session(database, "s-1", [])
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO session_transcript_cold_archives VALUES ('s-1', 'a.zst', 40)")
    assert (read(database, "s-1").turns, read(database, "s-1").skipped) == ((), {"in OpenClaw's archive": 40})


def test_a_database_in_use_is_read_and_nothing_of_it_changed(database: Path) -> None:
    with closing(sqlite3.connect(database)) as writer:
        add_session(database, "s-1", [make_message(1, "one")])
        writer.execute("BEGIN IMMEDIATE")
        before = sorted(database.parent.iterdir())
        assert [turn.text for turn in read(database, "s-1").turns] == ["one"]
        assert sorted(database.parent.iterdir()) == before


def test_a_locked_database_is_named_and_read_afterwards(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_session(database, "s-1", [make_message(1, "one")])
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, timeout=0))
    with closing(sqlite3.connect(database, isolation_level=None)) as writer:
        writer.execute("PRAGMA journal_mode = delete")
        writer.execute("PRAGMA locking_mode = exclusive")
        writer.execute("BEGIN EXCLUSIVE")
        writer.execute("CREATE TABLE other(id)")
        assert list(discover(database)) == [SessionLocation(database)]
        with pytest.raises(TranscriptError, match=r"openclaw-agent\.sqlite: database is locked") as caught:
            read(database, "s-1")
        assert "tried again" in caught.value.hint
        writer.execute("ROLLBACK")
    assert [turn.text for turn in read(database, "s-1").turns] == ["one"]


@pytest.mark.parametrize("damage", ["torn", "schema", "other"])
def test_a_damaged_or_foreign_database_is_listed_and_refused(database: Path, damage: str) -> None:
    add_session(database, "s-1", [make_message(1, "one")])
    if damage == "torn":
        data = database.read_bytes()
        database.write_bytes(data[: len(data) // 2])
    elif damage == "other":
        database.write_bytes(b"no database at all" * 100)
    else:
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("ALTER TABLE transcript_events RENAME TO transcript_entries")
    assert list(discover(database.parents[2])) == [SessionLocation(database)]
    with pytest.raises(TranscriptError, match=r"openclaw-agent\.sqlite"):
        read(database, "s-1")


@pytest.mark.parametrize(
    "assignment",
    [
        "event_zstd = x'28b52ffd0000', event_json = NULL, navigation_json = '{}'",
        "event_zstd = substr(event_zstd, 1, 60)",
        "event_zstd = x'6e6f206672616d65'",
        "event_zstd = NULL, event_json = '{\"type\":'",
    ],
)
def test_a_damaged_entry_is_counted_and_the_others_read(database: Path, assignment: str) -> None:
    add_session(database, "s-1", [make_message(1, "long " * 900), make_message(2, "two")])
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute(f"UPDATE transcript_events SET {assignment} WHERE seq = 0")
    capture = read(database, "s-1")
    assert [turn.text for turn in capture.turns] == ["two"]
    assert capture.skipped == {"damaged": 1}


def test_without_the_library_a_compressed_session_is_refused_whole(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else what came later would lie before what is captured, and be lost."""
    add_session(database, "s-1", [make_message(1, "long " * 900), make_message(2, "two")])
    add_session(database, "s-2", [make_message(3, "three")], "agent:main:other")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(TranscriptError, match="`zstandard` is not installed") as caught:
        read(database, "s-1")
    assert "pip install zstandard" in caught.value.hint
    assert [turn.text for turn in read(database, "s-2").turns] == ["three"]


def test_the_library_is_loaded_where_a_compressed_entry_is_read() -> None:
    code = "import sys, lineage.harness.openclaw, lineage.__main__; print('zstandard' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
