"""OpenCode's sessions: where they lie, in which forms, and which of them there are. (harnesses.md 4.2)"""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER
from lineage.errors import TranscriptError
from lineage.harness import opencode
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import list_history_roots
from lineage.harness.opencode import discover, read
from lineage.harness.sqlite import read_database
from tests.support.opencode import (
    AT,
    V2_TABLES,
    Record,
    T,
    list_messages,
    make_export,
    make_text,
    make_user_message,
    write_database,
    write_tree,
)

DATA = Path(__file__).parents[2] / "data/opencode"
V1, V2, EXPORT = (DATA / name for name in ("opencode-v1.db", "opencode-v2.db", "export-v1.json"))
# The samples as a whole


def test_a_session_reads_the_same_from_the_database_the_export_and_the_tree(tmp_path: Path) -> None:
    capture = read(V1, "ses_main01")
    assert [(turn.role, turn.name, turn.input or turn.text) for turn in capture.turns] == [
        (USER, "", "Fix the reader"),
        (TOOL, "attachment", "Called the Read tool ..."),
        (USER, "", "[image image/png, 70 bytes left out]"),
        (ASSISTANT, "", "Look first."),
        (ASSISTANT, "read", "reader.py"),
        (TOOL, "read", "def read(p): ..."),
        (ASSISTANT, "bash", "false"),
        (TOOL, "bash", "exit 1"),
        (ASSISTANT, "task", "explore"),
        (ASSISTANT, "", "Patched."),
        (SYSTEM, "compaction", "Goal: fix reader. Done: patch."),
    ]
    assert [turn.text for turn in capture.turns if turn.thinking] == ["Look first."]
    assert [turn.text for turn in capture.turns if turn.error] == ["exit 1"]
    assert capture.skipped == {"bookkeeping": 4}
    assert read(EXPORT) == capture
    assert read(write_tree(tmp_path, json.loads(EXPORT.read_bytes()))) == capture


def test_the_sample_session_says_what_it_was() -> None:
    capture = read(V1, "ses_main01")
    assert (capture.session_id, capture.title, capture.project) == ("ses_main01", "Fix reader", "/home/ada/demo")
    assert (capture.started_at, capture.ended_at) == (AT, "2026-10-02T09:00:02.500Z")
    assert (capture.models, capture.branches) == (("claude-opus-5",), ())
    assert (capture.parent_session, capture.forked_from) == (None, None)
    summary = "Goal: fix reader. Done: patch."
    assert capture.compactions == (CompactionRecord(summary, 10, "2026-10-02T09:00:02.001Z", "auto"),)


def test_the_sample_of_the_second_schema_reads_as_it_went() -> None:
    capture = read(V2, "ses_v2main")
    assert [(turn.role, turn.input or turn.text, turn.source_id) for turn in capture.turns] == [
        (USER, "Fix the reader", "evt_000"),
        (ASSISTANT, "look", "evt_001#0"),
        (ASSISTANT, "reader.py", "evt_001#1"),
        (TOOL, "def read", "evt_001#1#result"),
        (ASSISTANT, "Patched.", "evt_001#2"),
        (SYSTEM, "Goal: fix reader.", "evt_002"),
    ]
    assert capture.compactions == (CompactionRecord("Goal: fix reader.", 5, "2026-10-02T09:00:00.002Z", "auto"),)
    assert (capture.title, capture.project, capture.models) == ("Fix reader", "/home/ada/demo", ("claude-opus-5",))
    assert capture.skipped == {"bookkeeping": 1, "harness notes": 1}


@pytest.mark.parametrize(
    ("path", "session", "turns", "skipped"),
    [
        (V1, "ses_main01", 11, {"bookkeeping": 4}),
        (V1, "ses_child01", 0, {}),
        (V2, "ses_v2main", 6, {"bookkeeping": 1, "harness notes": 1}),
        (EXPORT, None, 11, {"bookkeeping": 4}),
    ],
)
def test_what_each_sample_holds(path: Path, session: str | None, turns: int, skipped: Record) -> None:
    capture = read(path, session)
    assert (len(capture.turns), capture.skipped) == (turns, skipped)
    assert "iVBORw0KGgo" not in repr(capture)


# Sessions of a database


def test_a_sub_agents_session_names_its_parent() -> None:
    assert read(V1, "ses_child01").parent_session == "ses_main01"


def test_a_session_must_be_named_where_there_are_several(tmp_path: Path) -> None:
    one = write_database(tmp_path / "one.db", make_export(make_user_message(make_text("Fix it"))))
    assert list_messages(read(one)) == list_messages(read(one, "ses_1")) == [(USER, "Fix it")]
    for name in (None, "ses_nowhere"):
        with pytest.raises(TranscriptError, match="does not hold") as caught:
            read(V1, name)
        assert str(V1) in caught.value.message


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ("", "does not hold"),
        ("CREATE TABLE notes(id)", "another schema"),
        ("CREATE VIEW session AS SELECT 'ses_1' AS id", "does not hold"),
    ],
)
def test_a_database_of_something_else_holds_no_session(script: str, what: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.executescript(script)
    with pytest.raises(TranscriptError, match=what):
        read(tmp_path / "other.db", "ses_1")


def test_messages_are_in_the_order_of_their_times_then_ids(tmp_path: Path) -> None:
    session = make_export(
        make_user_message(make_text("second"), id="msg_b"),
        make_user_message(make_text("first"), id="msg_a"),
        make_user_message(make_text("third"), id="msg_c"),
    )
    assert [words for _, words in list_messages(read(write_database(tmp_path / "a.db", session)))] == [
        "first",
        "second",
        "third",
    ]
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        connection.execute("UPDATE message SET time_created = 1 WHERE id = 'msg_c'")
        connection.commit()
    assert [words for _, words in list_messages(read(tmp_path / "a.db"))] == ["third", "first", "second"]


def test_rows_that_hold_no_object_are_counted(tmp_path: Path) -> None:
    path = write_database(
        tmp_path / "a.db",
        make_export(make_user_message(make_text("one"), make_text("two")), make_user_message(make_text("three"))),
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE part SET data = '{torn' WHERE id = 'prt_1_2'")
        connection.execute("UPDATE message SET data = NULL WHERE id = 'msg_2'")
        connection.commit()
    capture = read(path)
    assert list_messages(capture) == [(USER, "one")]
    assert capture.skipped == {"damaged": 2}


def test_what_is_read_again_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that changes while it is read is read again."""
    path = write_database(tmp_path / "a.db", make_export(make_user_message(make_text("one"), make_text("two"))))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE part SET data = '{torn' WHERE id = 'prt_1_2'")
        connection.commit()
    monkeypatch.setattr(opencode, "read_database", lambda path, read: [read_database(path, read) for _ in range(2)][1])
    assert read(path).skipped == {"damaged": 1}


def test_of_a_session_in_both_schemas_the_newer_is_read(tmp_path: Path) -> None:
    path = write_database(
        tmp_path / "both.db",
        make_export(make_user_message(make_text("old"))),
        make_export(make_user_message(make_text("kept", id="prt_2"), id="msg_2"), id="ses_2"),
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(V2_TABLES)
        connection.execute("INSERT INTO session_v2 VALUES ('ses_1', NULL, 'ses_0', '/home/ada', 'New')")
        for seq, words in ((2, "newer"), (1, "new")):
            row = (f"evt_{words}", seq, T, json.dumps(make_text(words)))
            connection.execute("INSERT INTO session_message VALUES (?, 'ses_1', 'user', ?, ?, ?)", row)
        connection.commit()
    capture = read(path, "ses_1")
    assert list_messages(capture) == [(USER, "new"), (USER, "newer")]
    assert (capture.forked_from, capture.title, capture.project) == ("ses_0", "New", "/home/ada")
    assert list_messages(read(path, "ses_2")) == [(USER, "kept")]


def test_a_live_database_is_read_and_keeps_its_files(tmp_path: Path) -> None:
    path = write_database(tmp_path / "opencode.db", make_export(make_user_message(make_text("Fix it"))))
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        row = ("prt_9", "msg_1", "ses_1", json.dumps(make_text("And test it")))
        writer.execute("INSERT INTO part VALUES (?, ?, ?, ?)", row)
        writer.commit()
        before = sorted(tmp_path.iterdir())
        assert [item.session for item in discover(tmp_path)] == ["ses_1"]
        assert list_messages(read(path, "ses_1")) == [(USER, "Fix it"), (USER, "And test it")]
        assert sorted(tmp_path.iterdir()) == before
    assert sorted(tmp_path.iterdir()) == [path]


# Files


@pytest.mark.parametrize("content", ["{torn", "[1]", "{}", '{"id": "ses_1"}', '{"messages": []}', "[" * 100_000])
def test_json_that_is_no_session_is_an_error(content: str, tmp_path: Path) -> None:
    (tmp_path / "given.json").write_text(content)
    with pytest.raises(TranscriptError) as caught:
        read(tmp_path / "given.json")
    assert "opencode export" in caught.value.hint


def test_an_empty_file_has_no_turns(tmp_path: Path) -> None:
    (tmp_path / "given.json").write_text("\ufeff\n\0")
    assert read(tmp_path / "given.json") == Capture(turns=())


def test_messages_of_the_tree_are_in_the_order_of_their_times(tmp_path: Path) -> None:
    late = make_user_message(make_text("second"), id="msg_a", time={"created": T + 1})
    path = write_tree(
        tmp_path,
        make_export(
            late,
            make_user_message(make_text("first"), id="msg_b"),
            make_user_message(make_text("third"), id="msg_c", time={}),
        ),
    )
    assert [words for _, words in list_messages(read(path))] == ["third", "first", "second"]
    (path.parent / "ses_other.json").write_bytes(path.read_bytes())
    with pytest.raises(TranscriptError, match="no OpenCode session"):
        read(path.parent / "ses_other.json")


def test_damaged_files_of_the_tree_are_counted(tmp_path: Path) -> None:
    path = write_tree(
        tmp_path,
        make_export(make_user_message(make_text("one"), make_text("two")), make_user_message(make_text("three"))),
    )
    (tmp_path / "storage/part/msg_1/prt_1_2.json").write_text("{torn")
    (tmp_path / "storage/message/ses_1/msg_2.json").write_text("[]")
    capture = read(path)
    assert list_messages(capture) == [(USER, "one")]
    assert capture.skipped == {"damaged": 2}


def test_values_that_are_no_messages_are_counted(tmp_path: Path) -> None:
    document = make_export(
        make_user_message(make_text("Fix it")), make_user_message(make_text("x"), role="critic"), {"type": "hologram"}
    )
    document["messages"][0]["parts"].append("loose")
    document["messages"].append(3)
    (tmp_path / "given.json").write_text(json.dumps(document | {"info": None}))
    capture = read(tmp_path / "given.json")
    assert list_messages(capture) == [(USER, "Fix it")]
    assert capture.skipped == {"damaged": 1, "unknown": 3}
    assert (capture.session_id, capture.project, capture.title) == (None, None, None)


# Finding


def test_roots_are_the_data_folder_and_the_database_that_the_environment_names() -> None:
    home, data = Path("/home/ada"), Path("/home/ada/.local/share/opencode")
    assert list_history_roots("opencode", home, {}) == [data]
    assert list_history_roots("opencode", home, {"XDG_DATA_HOME": "/data"}) == [Path("/data/opencode")]
    assert list_history_roots("opencode", home, {"OPENCODE_DB": "/elsewhere/mine.db"}) == [
        data,
        Path("/elsewhere/mine.db"),
    ]
    assert list_history_roots("opencode", home, {"OPENCODE_DB": "mine.sqlite"}) == [data, data / "mine.sqlite"]
    for inside in (":memory:", "opencode-dev.db", str(data / "opencode.db")):
        assert list_history_roots("opencode", home, {"OPENCODE_DB": inside}) == [data]


def test_found_lists_sessions_of_databases_then_of_the_tree_and_exports(tmp_path: Path) -> None:
    shutil.copy(V1, tmp_path / "opencode.db")
    shutil.copy(V2, tmp_path / "opencode-dev.db")
    shutil.copy(V1, tmp_path / "somebody-elses.db")
    shutil.copy(EXPORT, tmp_path / "an export.json")
    old = write_tree(tmp_path, make_export(make_user_message(make_text("old")), id="ses_old"))
    write_tree(tmp_path, make_export(make_user_message(make_text("stale"), id="msg_s"), id="ses_main01"))
    child = write_tree(
        tmp_path, make_export(make_user_message(make_text("child"), id="msg_c"), id="ses_child02", parentID="ses_old")
    )
    (tmp_path / "auth.json").write_text('{"anthropic": {"key": "made up"}}')
    (tmp_path / "storage/session/proj/torn.json").write_text("{torn")
    assert list(discover(tmp_path)) == [
        SessionLocation(tmp_path / "opencode-dev.db", "ses_v2main"),
        SessionLocation(tmp_path / "opencode.db", "ses_child01"),
        SessionLocation(tmp_path / "opencode.db", "ses_main01"),
        SessionLocation(tmp_path / "an export.json"),
        SessionLocation(child),
        SessionLocation(old),
    ]
    assert [item.parent for item in discover(tmp_path)] == [None, "ses_main01", None, None, "ses_old", None]
    assert list_messages(read(old)) == [(USER, "old")]
    assert list(discover(tmp_path / "somebody-elses.db")) == [
        SessionLocation(tmp_path / "somebody-elses.db", name) for name in ("ses_child01", "ses_main01")
    ]
    assert list(discover(EXPORT)) == [SessionLocation(EXPORT)]


def test_a_damaged_database_is_found_so_that_reading_it_says_why(tmp_path: Path) -> None:
    (tmp_path / "opencode.db").write_bytes(b"SQLite format 3\0" * 99)
    (item,) = discover(tmp_path)
    with pytest.raises(TranscriptError):
        read(item.path, item.session)


def test_an_empty_folder_has_no_sessions(tmp_path: Path) -> None:
    assert list(discover(tmp_path)) == []
    assert list(discover(tmp_path / "nowhere")) == []
