"""Gemini CLI's sessions: the samples, whose files they are, what lies around them, damage. (harnesses.md 3.4)"""

import json
import shutil
from pathlib import Path

import pytest

from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import ASSISTANT, SYSTEM, TOOL, USER
from lineage.errors import TranscriptError
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import list_history_roots
from lineage.harness.gemini import discover, read
from tests.support.gemini import (
    SESSION,
    Reader,
    Record,
    list_messages,
    make_header,
    make_message,
    make_model_message,
    make_user_message,
    write_records,
)

DATA = Path(__file__).parents[2] / "data/gemini"
CHATS = DATA / "tmp/demo/chats"
MAIN = CHATS / "session-2026-10-02T09-00-8fd417af.jsonl"
ORPHAN = CHATS / "session-2026-10-02T10-30-8fd417af.jsonl"
LEGACY = CHATS / "session-2026-03-01T08-00-legacy00.json"
SUB_AGENT = CHATS / SESSION / "3b42e34c-434f-55aa-bf14-4bfb38fbde43.jsonl"
RICH = CHATS / "session-2026-10-04T09-00-071ea8f7.jsonl"


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    """Reads records as a log; a header stands before them where they begin with none."""

    def read_records(*records: Record) -> Capture:
        first = () if records and "sessionId" in records[0] else (make_header(),)
        return read(write_records(tmp_path / "log.jsonl", *first, *records))

    return read_records


# The samples as a whole


@pytest.mark.parametrize(
    ("path", "turns", "skipped"),
    [
        (MAIN, 9, {"bookkeeping": 8, "harness notes": 2, "replayed": 2, "rewound": 1}),
        (ORPHAN, 9, {"bookkeeping": 8, "harness notes": 2, "replayed": 2, "rewound": 1}),
        (LEGACY, 5, {"bookkeeping": 1}),
        (SUB_AGENT, 1, {"bookkeeping": 1}),
        (RICH, 18, {"bookkeeping": 6, "harness notes": 5, "replayed": 5, "rewound": 1}),
        (
            DATA / "damaged/torn.jsonl",
            9,
            {"bookkeeping": 5, "damaged": 1, "harness notes": 2, "replayed": 1, "rewound": 1},
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_every_sample_is_read_and_what_is_no_turn_is_counted(path: Path, turns: int, skipped: dict[str, int]) -> None:
    capture = read(path)
    assert (len(capture.turns), capture.skipped) == (turns, skipped)


def test_no_sample_is_forgotten() -> None:
    assert sorted(path.name for path in DATA.rglob("*.json*")) == sorted(
        ["projects.json", "torn.jsonl", *(path.name for path in (MAIN, ORPHAN, LEGACY, SUB_AGENT, RICH))]
    )


def test_the_sample_session_reads_as_it_went() -> None:
    assert [(turn.role, turn.name, turn.input or turn.text) for turn in read(MAIN).turns] == [
        (USER, "", "Why is the last line lost?"),
        (ASSISTANT, "", "Plan\nread it"),
        (ASSISTANT, "read_file", "reader.py"),
        (TOOL, "read_file", "def read(p): ..."),
        (ASSISTANT, "", "It splits on newline."),
        (USER, "", "never mind this one"),
        (SYSTEM, "compaction", "goal: fix reader"),
        (USER, "", "Now write the test"),
        (ASSISTANT, "", "Done."),
    ]


def test_the_sample_session_says_what_it_was() -> None:
    capture = read(MAIN)
    assert (capture.session_id, capture.parent_session, capture.forked_from) == (SESSION, None, None)
    assert (capture.title, capture.project) == ("Fix reader and add a test", "/home/ada/demo")
    assert (capture.models, capture.branches) == (("gemini-3-pro",), ())
    assert (capture.started_at, capture.ended_at) == ("2026-10-02T09:00:00.000Z", "2026-10-02T09:00:13.481Z")
    assert capture.compactions == (CompactionRecord("goal: fix reader", 6, "2026-10-02T09:00:11.407Z"),)


def test_a_document_of_an_older_version_reads_as_its_messages_stand() -> None:
    capture = read(LEGACY)
    assert list_messages(capture) == [
        (USER, "plain string prompt"),
        (ASSISTANT, "Plan\nread it"),
        (ASSISTANT, "plain answer"),
        (ASSISTANT, "read_file"),
        (TOOL, "def read(p): ..."),
    ]
    assert capture.session_id == "3f999daa-800e-5e13-a35b-c51180d85bfd"
    assert (capture.started_at, capture.ended_at) == ("2026-10-02T09:00:00.000Z", "2026-10-02T09:00:03.111Z")


def test_no_image_and_no_signature_of_the_sample_is_in_a_text() -> None:
    raw, shown = RICH.read_text(encoding="utf-8"), repr(read(RICH))
    for key in ("data", "thoughtSignature"):
        blob = raw.split(f'"{key}":"')[1].split('"')[0]
        assert len(blob) > 100
        assert blob[:40] not in shown


# Whose session it is


def test_a_sub_agents_file_is_a_session_of_its_own_with_a_parent() -> None:
    capture = read(SUB_AGENT)
    assert (capture.session_id, capture.parent_session) == (SUB_AGENT.stem, SESSION)
    assert (list_messages(capture), capture.project) == ([(USER, "explore")], "/home/ada/demo")


def test_a_file_that_a_resume_left_behind_belongs_to_its_session() -> None:
    assert read(ORPHAN) == read(MAIN)


def test_files_of_one_session_are_read_together_in_the_order_of_their_names(tmp_path: Path) -> None:
    first = write_records(
        tmp_path / "session-2026-10-02T09-00-8fd417af.jsonl",
        make_header(),
        make_user_message("q1", "a"),
        make_model_message("g1", "b"),
    )
    second = write_records(
        tmp_path / "session-2026-10-02T10-00-8fd417af.jsonl",
        make_header(),
        make_user_message("q2", "c"),
        make_user_message("q1", "a"),
    )
    assert [turn.text for turn in read(second).turns] == ["a", "b", "c"]
    assert read(first) == read(second)
    assert read(first).skipped == {"bookkeeping": 2, "replayed": 1}


def test_a_rewind_reaches_no_further_than_its_file(tmp_path: Path) -> None:
    write_records(tmp_path / "session-2026-10-02T09-00-8fd417af.jsonl", make_header(), make_user_message("q1", "a"))
    path = write_records(
        tmp_path / "session-2026-10-02T10-00-8fd417af.jsonl",
        make_header(),
        make_user_message("q2", "b"),
        {"$rewindTo": "x"},
    )
    assert read(path).skipped["rewound"] == 1


def test_a_document_and_the_log_that_continues_it_are_one_session(tmp_path: Path) -> None:
    old = shutil.copy(LEGACY, tmp_path / "session-2026-03-01T08-00-3f999daa.json")
    document = json.loads(LEGACY.read_text(encoding="utf-8"))
    messages = document.pop("messages")
    log = write_records(
        tmp_path / "session-2026-03-01T08-00-3f999daa.jsonl", document, *messages, make_user_message("q9", "Go on")
    )
    assert list_messages(read(log))[:-1] == list_messages(read(LEGACY))
    assert [turn.text for turn in read(log).turns][-2:] == ["def read(p): ...", "Go on"]
    assert read(Path(old)) == read(log)


@pytest.mark.parametrize(
    "name",
    [
        "session-2026-10-02T10-00-8fd417ae.jsonl",
        "session-2026-10-02T10-00-8fd417af.jsonl.bak",
        "copy-2026-10-02T10-00-8fd417af.jsonl",
        "below/session-2026-10-02T10-00-8fd417af.jsonl",
    ],
)
def test_other_files_beside_a_session_are_not_read(name: str, tmp_path: Path) -> None:
    main = shutil.copy(MAIN, tmp_path)
    write_records(tmp_path / name, make_header(), make_user_message("q9", "not mine"))
    assert read(Path(main)).turns == read(MAIN).turns


@pytest.mark.parametrize(
    "data", [b"\xff\x00not a log", b"", json.dumps(make_header("8fd417af-other")).encode() + b"\n"]
)
def test_a_namesake_of_another_session_is_not_read(data: bytes, tmp_path: Path) -> None:
    main = shutil.copy(MAIN, tmp_path)
    (tmp_path / "session-2026-10-02T10-00-8fd417af.jsonl").write_bytes(data)
    (tmp_path / "session-2026-10-02T11-00-8fd417af.jsonl").mkdir()
    linked = write_records(tmp_path / "below/log.jsonl", make_header(), make_user_message("q9", "not mine"))
    (tmp_path / "session-2026-10-02T12-00-8fd417af.jsonl").symlink_to(linked)
    alone = read(Path(main))
    assert alone.turns == read(MAIN).turns
    assert alone.skipped["bookkeeping"] == 6


# The project, which no record names


def place_transcript(root: Path, *, noted: str | None = None, registry: str | None = None) -> Path:
    path = write_records(root / "tmp/demo/chats/session-1.jsonl", make_header(), make_user_message("q", "Fix it"))
    if noted is not None:
        (root / "tmp/demo/.project_root").write_text(noted, encoding="utf-8")
    if registry is not None:
        (root / "projects.json").write_text(registry, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("noted", "registry", "project"),
    [
        ("/home/ada/demo\n", '{"projects": {"/other": "demo"}}', "/home/ada/demo"),
        (None, '{"projects": {"/other": "x", "/home/ada/demo": "demo"}}', "/home/ada/demo"),
        (" \n", '{"projects": {"/home/ada/demo": "demo"}}', "/home/ada/demo"),
        (None, '{"projects": {"/other": "x"}}', None),
        (None, '{"projects": ["demo"]}', None),
        (None, "[" * 100_000, None),
        (None, None, None),
    ],
)
def test_the_project_is_what_lies_around_the_file(
    noted: str | None, registry: str | None, project: str | None, tmp_path: Path
) -> None:
    assert read(place_transcript(tmp_path, noted=noted, registry=registry)).project == project


def test_a_file_that_lies_elsewhere_has_no_project(tmp_path: Path) -> None:
    (tmp_path / ".project_root").write_text("/home/ada/demo", encoding="utf-8")
    assert read(Path(shutil.copy(MAIN, tmp_path))).project is None


# Finding


def test_the_history_lies_in_the_harnesss_folder_or_where_it_was_moved() -> None:
    assert list_history_roots("gemini", Path("/home/ada"), {}) == [Path("/home/ada/.gemini/tmp")]
    assert list_history_roots("gemini", Path("/home/ada"), {"GEMINI_CLI_HOME": "/srv/ada"}) == [
        Path("/srv/ada/.gemini/tmp")
    ]


def test_sessions_and_sub_agents_are_found_and_other_files_passed_over(tmp_path: Path) -> None:
    shutil.copytree(DATA / "tmp", tmp_path, dirs_exist_ok=True)
    (tmp_path / "demo/logs.json").write_text("[]", encoding="utf-8")
    main = [tmp_path / path.relative_to(DATA / "tmp") for path in sorted((LEGACY, MAIN, ORPHAN, RICH))]
    found = [(item.path, item.parent) for item in discover(tmp_path)]
    assert found == [*((path, None) for path in main), (tmp_path / SUB_AGENT.relative_to(DATA / "tmp"), SESSION)]
    assert list(discover(SUB_AGENT)) == [SessionLocation(SUB_AGENT)]


# Damage, growth and foreign files


def test_a_torn_last_line_costs_that_line() -> None:
    assert read(DATA / "damaged/torn.jsonl").turns == read(MAIN).turns


@pytest.mark.parametrize("data", ['{"sessionId": "s", "projectHash": "7", "messages": [', "[]", "3", "[" * 100_000])
def test_a_document_that_is_damaged_is_an_error(data: str, tmp_path: Path) -> None:
    path = tmp_path / "session-1.json"
    path.write_text(data, encoding="utf-8")
    with pytest.raises(TranscriptError, match="no Gemini CLI record"):
        read(path)


def test_a_document_may_begin_with_a_byte_order_mark_and_be_empty(tmp_path: Path) -> None:
    path = tmp_path / "session-1.json"
    path.write_bytes(b"\xef\xbb\xbf" + LEGACY.read_bytes().replace(b"\n", b"\r\n"))
    assert read(path).turns == read(LEGACY).turns
    path.write_bytes(b" \n")
    assert read(path) == Capture(turns=())


def test_what_is_no_message_in_a_document_is_counted(reader: Reader) -> None:
    messages = [make_user_message("q", "Fix it"), {"type": "user"}, 3, make_message("f", "future", "x")]
    capture = reader(make_header(messages=messages))
    assert list_messages(capture) == [(USER, "Fix it")]
    assert capture.skipped == {"bookkeeping": 1, "unknown": 3}


@pytest.mark.parametrize(
    "record",
    [make_message("x", "future", "words"), {"type": "user", "content": "no id"}, {"$set": 3}, {"$rewindTo": None}],
)
def test_unknown_records_are_counted_and_the_others_read(record: Record, reader: Reader) -> None:
    capture = reader(make_user_message("q", "Fix it"), record, make_model_message("g", "Done."))
    assert list_messages(capture) == [(USER, "Fix it"), (ASSISTANT, "Done.")]
    assert capture.skipped == {"bookkeeping": 1, "unknown": 1}


@pytest.mark.parametrize(
    "records",
    [
        [{"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix it"}}],
        [{"type": "user", "uuid": "u1", "message": {"role": "user", "parts": [{"text": "Fix it"}]}}],
        [{"type": "session_meta", "payload": {"id": SESSION}}],
        [{"type": "message", "id": "a1", "message": {"role": "user", "content": []}}],
        [{"role": "user", "text": "Fix it"}],
    ],
    ids=["claude-code", "qwen", "codex", "pi", "generic"],
)
def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(records: list[Record], tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="no Gemini CLI record") as caught:
        read(write_records(tmp_path / "log.jsonl", *records))
    assert "--harness" in caught.value.hint
