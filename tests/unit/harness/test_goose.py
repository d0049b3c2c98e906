"""Goose's sessions: a database and an export; tools, thinking and compactions. (harnesses.md, section 9)"""

import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import list_history_roots
from lineage.harness.goose import discover, read
from tests.support.goose import (
    AT,
    NOTE,
    PNG,
    Record,
    T,
    make_assistant_message,
    make_export,
    make_image,
    make_text,
    make_tool_call,
    make_tool_result,
    make_user_message,
    make_visibility,
    write_database,
)

DATA = Path(__file__).parents[2] / "data/goose"
EXPORT = DATA / "export.json"
Reader = Callable[..., Capture]


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Reads messages as an export; they get ids, and times a minute apart, where they have none."""

    def read_messages(*messages: Record, **header: Any) -> Capture:
        path = tmp_path / "export.json"
        path.write_text(json.dumps(make_export(*messages, **header)))
        return read(path)

    return read_messages


SUMMARY = make_visibility(people=False, agent=True)
GO_ON = make_assistant_message(make_text("Your context was compacted. Go on."), **SUMMARY)


def list_texts(capture: Capture) -> list[tuple[str, str]]:
    """Role and text, or the tool's name where a turn has no text."""
    return [(turn.role, turn.text or turn.name) for turn in capture.turns]


# The samples as a whole


def test_the_sample_export_reads_as_it_went() -> None:
    capture = read(EXPORT)
    assert [(turn.role, turn.name, turn.input or turn.text, turn.source_id) for turn in capture.turns] == [
        (USER, "", "Fix the reader", "msg_1"),
        (ASSISTANT, "", "hm", "msg_2"),
        (ASSISTANT, "developer__shell", "cat reader.py", "msg_2#1"),
        (TOOL, "developer__shell", "def read", "msg_3"),
        (SYSTEM, "compaction", "Summary of the earlier conversation ...", "msg_4"),
    ]
    assert [turn.thinking for turn in capture.turns] == [False, True, False, False, False]
    assert capture.compactions == (
        CompactionRecord("Summary of the earlier conversation ...", 4, "2026-10-02T09:00:03.000Z"),
    )
    assert (capture.session_id, capture.title, capture.project) == ("20261002_1", "Fix reader", "/home/ada/demo")
    assert (capture.started_at, capture.ended_at) == (AT, "2026-10-02T09:00:03.000Z")
    assert capture.parent_session is None


def test_nothing_of_the_sample_export_is_skipped() -> None:
    capture = read(EXPORT)
    assert (len(capture.turns), capture.skipped) == (5, {})
    assert PNG[:20] not in repr(capture)


@pytest.mark.parametrize("indent", [None, 2])
def test_an_export_and_a_database_read_the_same(indent: int | None, tmp_path: Path) -> None:
    session = json.loads(EXPORT.read_bytes())
    (tmp_path / "export.json").write_text(json.dumps(session, indent=indent))
    capture = read(write_database(tmp_path / "sessions.db", session), "20261002_1")
    assert capture.models == ("claude-opus-5",)
    assert capture.turns == read(tmp_path / "export.json").turns == read(EXPORT).turns
    assert capture.compactions == read(EXPORT).compactions


# Sessions of a database


def test_a_session_must_be_named_where_there_are_several(tmp_path: Path) -> None:
    path = write_database(tmp_path / "sessions.db", make_export(make_user_message(make_text("one"))))
    assert list_texts(read(path)) == [(USER, "one")]
    path = write_database(
        tmp_path / "two.db",
        make_export(make_user_message(make_text("one"))),
        make_export(make_user_message(make_text("two")), id="20261002_2"),
    )
    assert list_texts(read(path, "20261002_2")) == [(USER, "two")]
    for name in (None, "20261002_9"):
        with pytest.raises(TranscriptError, match="does not hold"):
            read(path, name)


def test_a_sub_agents_session_names_its_parent(tmp_path: Path) -> None:
    path = write_database(
        tmp_path / "sessions.db", make_export(make_user_message(make_text("scan")), parent_session_id="20261002_9")
    )
    assert read(path).parent_session == "20261002_9"


def test_an_older_database_has_fewer_columns(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("""
            CREATE TABLE sessions(id TEXT, description TEXT, working_dir TEXT);
            CREATE TABLE messages(id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content_json TEXT,
                created_timestamp INTEGER);
            INSERT INTO sessions VALUES ('20251002_1', 'Fix reader', '/home/ada/demo');
            INSERT INTO messages VALUES (1, '20251002_1', 'user', '[{"type": "text", "text": "Fix it"}]', 1790931600);
        """)
    capture = read(path)
    assert capture.turns == (Turn(USER, "Fix it", AT),)
    assert (capture.title, capture.models) == ("Fix reader", ())


def test_rows_that_hold_no_contents_are_counted(tmp_path: Path) -> None:
    path = write_database(
        tmp_path / "sessions.db",
        make_export(
            make_user_message(make_text("one")),
            make_user_message(make_text("two")),
            make_user_message(make_text("three")),
        ),
    )
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE messages SET content_json = '{torn' WHERE id = 1")
        connection.execute("UPDATE messages SET role = 'critic' WHERE id = 2")
        connection.commit()
    capture = read(path)
    assert list_texts(capture) == [(USER, "three")]
    assert capture.skipped == {"damaged": 1, "unknown": 1}


def test_a_live_database_is_read_and_keeps_its_files(tmp_path: Path) -> None:
    path = write_database(tmp_path / "sessions.db", make_export(make_user_message(make_text("one"))))
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA journal_mode = wal")
        row = ("m9", "20261002_1", json.dumps([make_text("Done.")]), T)
        writer.execute("INSERT INTO messages VALUES (NULL, ?, ?, 'assistant', ?, ?, NULL)", row)
        writer.commit()
        before = sorted(tmp_path.iterdir())
        assert list_texts(read(path)) == [(USER, "one"), (ASSISTANT, "Done.")]
        assert sorted(tmp_path.iterdir()) == before


def test_a_database_of_something_else_holds_no_session(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "other.db")) as connection:
        connection.execute("CREATE TABLE sessions(id)")
    with pytest.raises(
        TranscriptError, match=r"other\.db: it has another schema, without the tables messages, sessions"
    ):
        read(tmp_path / "other.db", "20261002_1")


def test_a_database_of_another_schema_is_listed_and_an_empty_one_not(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 1")
        assert list(discover(tmp_path)) == []
        connection.execute("CREATE TABLE sessions_v9(id)")
    assert list(discover(tmp_path)) == [SessionLocation(path)]


# Turns


def test_a_content_is_a_turn_with_the_messages_time(reader: Reader) -> None:
    capture = reader(
        make_assistant_message(
            {"type": "thinking", "thinking": "\nHm.\n", "signature": PNG},
            make_text("I look."),
            make_tool_call("read", path="a"),
        ),
        make_user_message(make_tool_result({"content": [make_text("import os")], "isError": False})),
    )
    later = "2026-10-02T09:01:00.000Z"
    assert capture.turns == (
        Turn(ASSISTANT, "Hm.", AT, thinking=True, source_id="m0"),
        Turn(ASSISTANT, "I look.", AT, source_id="m0#1"),
        Turn(ASSISTANT, "", AT, name="read", input="a", source_id="m0#2", call_id="t1"),
        Turn(TOOL, "import os", later, name="read", source_id="m1", call_id="t1"),
    )


def test_an_answer_that_was_streamed_lies_in_messages_of_one_id(reader: Reader) -> None:
    capture = reader(
        make_assistant_message(make_text("One."), id="chat"), make_assistant_message(make_text("Two."), id="chat")
    )
    assert [(turn.text, turn.source_id) for turn in capture.turns] == [("One.", "chat"), ("Two.", "chat#1")]


def test_messages_without_an_id_or_a_time_give_turns_without_one(reader: Reader) -> None:
    capture = reader(make_user_message(make_text("One."), make_text("Two."), id=None, created=None))
    assert [(turn.source_id, turn.at) for turn in capture.turns] == [(None, None)] * 2
    assert (capture.started_at, capture.ended_at) == (None, None)


@pytest.mark.parametrize(
    ("response", "expected", "error"),
    [
        (make_tool_result({"content": [make_text("one"), make_image(), make_text("two")]}), f"one\n{NOTE}\ntwo", False),
        (make_tool_result([make_text("as a list")]), "as a list", False),
        (make_tool_result({"content": [make_text("exit 1")], "isError": True}), "exit 1", True),
        (make_tool_result(None, status="error", error="no such tool"), "no such tool", True),
        (make_tool_result({"content": [{"type": "resource", "resource": {"text": "words"}}]}), "words", False),
        (
            make_tool_result({"content": [{"type": "resource", "resource": {"blob": PNG,
            "mimeType": "application/pdf"}}]}),
            "[file application/pdf, 247 bytes left out]",
            False,
        ),
        (make_tool_result({"content": [{"type": "resource_link", "uri": "file:///a.py"}]}), "[file:///a.py]", False),
        (make_tool_result({"content": [make_text("x\n<system-reminder>y</system-reminder>")]}), "x", False),
        (make_tool_result("words"), "", False),
    ],
)  # fmt: skip
def test_a_result_has_the_name_of_its_call(response: Record, expected: str, error: bool, reader: Reader) -> None:
    capture = reader(make_assistant_message(make_tool_call("shell", command="ls")), make_user_message(response))
    assert [(turn.role, turn.name, turn.text, turn.error) for turn in capture.turns] == [
        (ASSISTANT, "shell", "", False),
        (TOOL, "shell", expected, error),
    ]


def test_a_call_that_could_not_be_read_and_a_result_without_a_call_are_kept(reader: Reader) -> None:
    broken = {"type": "toolRequest", "id": "t1", "toolCall": {"status": "error", "error": "invalid arguments"}}
    capture = reader(make_assistant_message(broken), make_user_message(make_tool_result([make_text("lost")], "t9")))
    assert [(turn.name, turn.text, turn.error) for turn in capture.turns] == [
        ("tool", "invalid arguments", True),
        ("tool", "lost", False),
    ]


def test_what_nobody_said_is_counted(reader: Reader) -> None:
    notes = [{"type": "systemNotification", "msg": "words"}, {"type": "conversationCompacted", "msg": "words"}]
    asking = [
        {"type": "toolConfirmationRequest"},
        {"type": "actionRequired"},
        {"type": "redactedThinking", "data": PNG},
    ]
    capture = reader(
        make_assistant_message(*notes, *asking, {"type": "hologram"}, "loose", make_text(" ")),
        make_user_message(make_text("<lineage-context>\nold\n</lineage-context>")),
        make_user_message(make_text("<lineage-context>\nold\n</lineage-context>\nFix it"), make_image()),
        {"role": "critic", "content": []},
        {"role": "user", "content": "Fix it"},
    )
    assert list_texts(capture) == [(USER, "Fix it"), (USER, NOTE)]
    assert capture.skipped == {"bookkeeping": 4, "harness notes": 3, "unknown": 4}


# Compactions


def test_a_flagged_prompt_is_a_summary_and_what_it_replaced_stays(reader: Reader) -> None:
    old = make_visibility(people=True, agent=False)
    capture = reader(
        make_user_message(make_text("Fix it"), **old), make_assistant_message(make_text("Done."), **old),
        make_user_message(make_text("1. Goal."), **SUMMARY), GO_ON,
        make_user_message(make_text("Test it")),
    )  # fmt: skip
    assert list_texts(capture) == [(USER, "Fix it"), (ASSISTANT, "Done."), (SYSTEM, "1. Goal."), (USER, "Test it")]
    assert capture.compactions == (CompactionRecord("1. Goal.", 2, "2026-10-02T09:02:00.000Z"),)
    assert capture.skipped == {"harness notes": 1}


def test_a_flagged_message_without_words_is_a_note(reader: Reader) -> None:
    capture = reader(make_user_message(**SUMMARY), make_user_message(make_tool_result([make_text("x")]), **SUMMARY))
    assert (capture.turns, capture.compactions, capture.skipped) == ((), (), {"harness notes": 2})


COPY = make_user_message(make_text("Fix it"), created=T + 121)
HIDDEN = make_visibility(people=False, agent=False)
BEFORE = [
    make_user_message(make_text("Fix it")),
    make_assistant_message(make_tool_call("shell")),
    make_user_message(make_text("Test it")),
]
COMPACTED = [
    [*BEFORE[:2], make_user_message(make_text("1. Goal."), **SUMMARY, created=T + 120), GO_ON | {"created": T + 120},
    COPY],
    [
        make_user_message(make_text("Fix it"), **HIDDEN), make_user_message(make_text("1. Goal."), **SUMMARY,
        created=T + 120),
        GO_ON | {"created": T + 120}, COPY,
    ],
]  # fmt: skip


@pytest.mark.parametrize("messages", COMPACTED, ids=["amid a task", "right after the prompt"])
def test_the_copy_of_a_prompt_after_a_compaction_counts_once(messages: list[Record], reader: Reader) -> None:
    capture = reader(*messages, make_assistant_message(make_text("Done.")))
    assert [words for role, words in list_texts(capture) if role != ASSISTANT] == ["Fix it", "1. Goal."]
    assert list_texts(capture)[-1] == (ASSISTANT, "Done.")
    assert capture.skipped == {"harness notes": 1, "replayed": 1}


def test_a_prompt_that_was_taken_from_sight_stays_a_prompt(reader: Reader) -> None:
    capture = reader(make_user_message(make_text("Fix it"), **HIDDEN), make_assistant_message(make_text("Done.")))
    assert (list_texts(capture), capture.compactions) == ([(USER, "Fix it"), (ASSISTANT, "Done.")], ())


@pytest.mark.parametrize(
    "later",
    [
        make_user_message(make_text("Fix it"), created=T + 500),
        make_user_message(make_text("Fix it"), created="soon"),
        make_user_message(make_text("Fix them")),
    ],
)
def test_what_is_typed_after_a_compaction_is_no_copy(later: Record, reader: Reader) -> None:
    capture = reader(*COMPACTED[0][:4], later)
    assert list_texts(capture)[-1] == (USER, later["content"][0]["text"])
    assert capture.skipped == {"harness notes": 1}


def test_a_session_that_is_compacted_twice_only_ever_adds_turns(reader: Reader) -> None:
    """Each compaction takes what came before it from the agent's sight, and the last prompt from people's as well."""
    first = [
        make_user_message(make_text("1. Goal."), **SUMMARY, created=T + 120, id="s1"),
        GO_ON | {"created": T + 120, "id": "g1"},
    ]
    second = [
        make_user_message(make_text("2. Goal."), **SUMMARY, created=T + 300, id="s2"),
        GO_ON | {"created": T + 300, "id": "g2"},
    ]
    start = [make_user_message(make_text("Fix it"), id="p1")]
    copied = [make_user_message(make_text("Fix it"), created=T + 120, id="p2")]
    more = [make_assistant_message(make_text("Done."), id="a1"), make_user_message(make_text("Test it"), id="p3")]
    last = [
        make_user_message(make_text("Test it"), created=T + 300, id="p4"),
        make_assistant_message(make_text("Tested."), id="a2"),
    ]
    unseen = [message | HIDDEN for message in first]
    states = [
        start,
        [*start, *first, *copied],
        [*start, *first, *copied, *more],
        [start[0] | HIDDEN, *unseen, *copied, more[0], more[1] | HIDDEN, *second, *last],
    ]
    whole = reader(*states[-1])
    assert [words for _, words in list_texts(whole)] == [
        "Fix it",
        "1. Goal.",
        "Done.",
        "Test it",
        "2. Goal.",
        "Tested.",
    ]
    for state in states:
        turns = [(turn.role, turn.text, turn.source_id) for turn in reader(*state).turns]
        assert turns == [(turn.role, turn.text, turn.source_id) for turn in whole.turns[: len(turns)]]


# Files


@pytest.mark.parametrize("content", ['{"role": "user", "message": {}}', '{"conversation": []}', "[1]", "{torn"])
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_json_that_is_no_session_is_an_error(content: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"given{suffix}"
    path.write_text(content)
    with pytest.raises(TranscriptError) as caught:
        read(path)
    assert "goose session export" in caught.value.hint


def test_values_that_are_no_messages_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps(
            make_export(make_user_message(make_text("Fix it")))
            | {"conversation": [3, make_user_message(make_text("x"))]}
        )
    )
    assert read(tmp_path / "a.json").skipped == {"damaged": 1}


# Finding


def test_roots_are_where_the_environment_says() -> None:
    home = Path("/home/ada")
    assert list_history_roots("goose", home, {}) == [home / ".local/share/goose/sessions"]
    assert list_history_roots("goose", home, {"XDG_DATA_HOME": "/data"}) == [Path("/data/goose/sessions")]
    assert list_history_roots("goose", home, {"XDG_DATA_HOME": "/data", "GOOSE_PATH_ROOT": "/g"}) == [
        Path("/g/data/sessions")
    ]


def test_found_lists_sessions_with_their_parents_then_files_that_no_database_holds(tmp_path: Path) -> None:
    sessions = [
        make_export(id="20261002_2"),
        make_export(id="20261002_1", session_type="user"),
        make_export(id="20261002_3", parent_session_id="20261002_1", session_type="sub_agent"),
        make_export(id="20261002_4", session_type="sub_agent"),
        make_export(id="20261002_5", session_type="hidden"),
        make_export(id="20261002_6", session_type="scheduled"),
    ]
    path = write_database(tmp_path / "sessions.db", *sessions)
    shutil.copy(EXPORT, tmp_path / "20261002_2.json")
    shutil.copy(EXPORT, tmp_path / "20251002_1.json")
    shutil.copy(EXPORT, tmp_path / "an export.json")
    (tmp_path / "config.json").write_text('{"provider": "anthropic"}')
    assert [item.session for item in discover(tmp_path) if item.parent == "20261002_1"] == ["20261002_3"]
    assert list(discover(tmp_path)) == [
        *(SessionLocation(path, f"20261002_{number}") for number in (1, 2, 3, 6)),
        SessionLocation(tmp_path / "20251002_1.json"),
        SessionLocation(tmp_path / "an export.json"),
    ]
    assert list(discover(EXPORT)) == [SessionLocation(EXPORT)]
    assert [item.session for item in discover(path)] == [f"20261002_{number}" for number in (1, 2, 3, 6)]


def test_a_damaged_database_is_found_so_that_reading_it_says_why(tmp_path: Path) -> None:
    (tmp_path / "sessions.db").write_bytes(b"SQLite format 3\0" * 99)
    (item,) = discover(tmp_path)
    with pytest.raises(TranscriptError):
        read(item.path, item.session)


def test_an_empty_folder_has_no_sessions(tmp_path: Path) -> None:
    assert list(discover(tmp_path)) == []
    assert list(discover(tmp_path / "nowhere")) == []


# A person's words in other records


def test_what_a_person_filled_in_is_said_and_an_interruption_noted(reader: Reader) -> None:
    form = {"actionType": "elicitationResponse", "id": "e", "user_data": {"branch": "main", "force": False}}
    capture = reader(
        make_assistant_message(make_tool_call("developer__shell")),
        make_user_message({"type": "actionRequired", "data": form}),
        make_user_message(make_tool_result(None, status="error", error="Interrupted by the user to make a correction")),
    )
    assert [(turn.role, turn.text) for turn in capture.turns if "#said-" in (turn.source_id or "")] == [
        (USER, "> branch\n\nmain"),
        (USER, "> force\n\nfalse"),
        (SYSTEM, "The user interrupted."),
    ]
