"""Codex's rollouts: forks, ids, what a file says of its session, and where they lie. (harnesses.md 2.4, 2.7)"""

import json
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, TOOL, USER
from lineage.errors import LineageError, TranscriptError
from lineage.harness.adapters import list_history_roots
from lineage.harness.codex import discover, read
from tests.support.codex import (
    ARCHIVED,
    DATA,
    FORK,
    LOCAL,
    NEWEST,
    PAGED_FORK,
    PARENT,
    REMOTE,
    SUB_AGENT,
    THREAD,
    Reader,
    Record,
    list_ids,
    list_messages,
    make_call,
    make_event,
    make_item,
    make_message,
    make_meta,
    make_part,
    make_result,
    make_turn_start,
    make_user_input,
    read_capture,
)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return partial(read_capture, tmp_path / "rollout-test.jsonl")


# Forks and sub-agents

HISTORY = (
    make_turn_start("t1"),
    make_message("user", "Fix it"),
    make_user_input("Fix it"),
    make_call("exec_command", cmd="ls"),
    make_result("a.py"),
    make_message("assistant", "Done."),
)


def test_the_sample_fork_has_the_ids_of_its_parent_for_what_it_copied() -> None:
    parent, fork = read(LOCAL), read(FORK)
    assert list_ids(fork)[:7] == list_ids(parent)[:7]
    assert fork.turns[7].source_id not in list_ids(parent)
    assert (fork.session_id, fork.forked_from) == ("019f9000-0000-7000-8000-00000000000c", THREAD)


def test_a_legacy_fork_has_its_parents_ids_though_times_and_places_are_other(reader: Reader) -> None:
    parent = reader(make_meta(PARENT), *HISTORY, make_turn_start("t2"), make_user_input("Go on"))
    fork = reader(
        make_meta(forked_from_id=PARENT), make_meta(PARENT), *HISTORY, make_turn_start("t3"), make_user_input("Go on")
    )
    without_copy = reader(make_meta(forked_from_id=PARENT), *HISTORY)
    touched = reader(make_meta(forked_from_id=PARENT), make_meta(PARENT), make_meta(forked_from_id=PARENT), *HISTORY)
    assert list_ids(fork)[:4] == list_ids(parent)[:4] == list_ids(without_copy) == list_ids(touched)
    assert list_ids(fork)[4] != list_ids(parent)[4]
    assert fork.turns[0].at != parent.turns[0].at
    assert (fork.session_id, fork.forked_from, parent.forked_from) == (THREAD, PARENT, None)


def test_a_fork_of_a_fork_has_the_ids_of_the_first(reader: Reader) -> None:
    grandparent = "019f9000-0000-7000-8000-0000000000bb"
    first = reader(make_meta(grandparent), *HISTORY)
    parent = reader(make_meta(PARENT, forked_from_id=grandparent), make_meta(grandparent), *HISTORY)
    fork = reader(
        make_meta(forked_from_id=PARENT),
        make_meta(PARENT, forked_from_id=grandparent),
        make_meta(grandparent),
        *HISTORY,
    )
    assert list_ids(first) == list_ids(parent) == list_ids(fork)


def test_two_sessions_that_say_the_same_share_no_id(reader: Reader) -> None:
    assert not set(list_ids(reader(make_meta(PARENT), *HISTORY))) & set(list_ids(reader(make_meta(THREAD), *HISTORY)))


def test_a_paginated_fork_holds_its_own_turns_only(reader: Reader) -> None:
    base = {"thread_id": PARENT, "end_ordinal_exclusive": 9, "end_byte_offset": 4096}
    fork = reader(make_meta(forked_from_id=PARENT, history_mode="paginated", history_base=base), *HISTORY)
    assert fork.forked_from == PARENT
    assert all((source or "").startswith(THREAD) for source in list_ids(fork))


def test_a_later_session_meta_changes_no_identity(reader: Reader) -> None:
    later = make_meta(PARENT, cwd="/elsewhere", git={"branch": "fix"})
    capture = reader(make_meta(git={"branch": "main"}), make_meta(), *HISTORY, later, make_user_input("Go on"))
    assert (capture.session_id, capture.project, capture.branches) == (THREAD, "/home/ada/demo", ("main", "fix"))
    assert all((source or "").startswith(THREAD) for source in list_ids(capture))


@pytest.mark.parametrize(
    "more",
    [
        {"parent_thread_id": PARENT, "session_id": PARENT},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT, "depth": 1}}}},
    ],
    ids=["its own field", "the source"],
)
def test_a_sub_agent_names_its_parent(more: Record, reader: Reader) -> None:
    capture = reader(make_meta(**more), make_user_input("Explore"))
    assert (capture.session_id, capture.parent_session) == (THREAD, PARENT)
    assert list_messages(capture) == [(USER, "Explore")]


def test_what_a_sub_agent_inherited_is_counted_and_leaves_no_trace(reader: Reader) -> None:
    copied = [{**record, "ordinal": number} for number, record in enumerate(HISTORY, 1)]
    own = [{**make_user_input("Explore"), "ordinal": 7}]
    first = make_meta(parent_thread_id=PARENT, subagent_history_start_ordinal=7)
    capture = reader({**first, "ordinal": 0}, *copied, *own)
    assert list_messages(capture) == [(USER, "Explore")]
    assert capture.skipped == {"bookkeeping": 1, "inherited": 6}


# Ids


def test_ids_are_the_harnesses_own_where_it_has_them(reader: Reader) -> None:
    capture = reader(
        make_part("UserMessage", id="u1", content=[{"type": "text", "text": "Fix it"}]),
        make_item("reasoning", id="r1", summary=[{"type": "summary_text", "text": "Look."}]),
        make_call("exec_command", "c1"),
        make_result("x", "c1"),
        make_message("assistant", "Done.", id="m1"),
    )
    assert list_ids(capture) == [f"{THREAD}/{own}" for own in ("u1", "r1", "c1", "c1/output", "m1")]


def test_records_of_one_id_or_of_the_same_words_have_ids_of_their_own(reader: Reader) -> None:
    capture = reader(
        make_call("a", "c1"),
        make_result("x", "c1"),
        make_call("a", "c1"),
        make_result("x", "c1"),
        make_turn_start("t1"),
        *[make_user_input("Go on")] * 3,
    )
    assert list_ids(capture)[:4] == [f"{THREAD}/{own}" for own in ("c1", "c1/output", "c1#1", "c1/output#1")]
    assert len(set(list_ids(capture))) == 7


def test_without_a_session_id_turns_have_none(reader: Reader) -> None:
    assert list_ids(reader(make_meta(""), *HISTORY)) == [None] * 4


# Title, branches, times


def test_the_name_is_the_one_in_the_rollout_else_the_newest_in_the_list_beside_the_sessions(tmp_path: Path) -> None:
    names = ["First", " Renamed ", "", 7]
    lines = [json.dumps({"id": THREAD, "thread_name": name}) for name in names]
    other = json.dumps({"id": PARENT, "thread_name": f"about {THREAD}"})
    (tmp_path / "session_index.jsonl").write_text("\n".join([*lines, other, f"{{torn {THREAD}"]), encoding="utf-8")
    for folder in ("sessions/2026/10/02", "archived_sessions"):
        path = tmp_path / folder / "rollout-x.jsonl"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(make_meta()), encoding="utf-8")
        assert read(path).title == "Renamed"
        path.write_text("\n".join(map(json.dumps, [make_meta(), make_event("thread_name_updated", thread_name="Own")])))
        assert read(path).title == "Own"


def test_a_rollout_elsewhere_or_without_a_list_has_no_title(tmp_path: Path, reader: Reader) -> None:
    assert reader(make_meta()).title is None
    path = tmp_path / "sessions/rollout-x.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(make_meta()), encoding="utf-8")
    assert read(path).title is None


def test_models_and_branches_are_sets_in_the_order_of_their_first_mention(reader: Reader) -> None:
    capture = reader(
        make_meta(cwd="", git={"branch": "main"}),
        {"type": "turn_context", "payload": {"cwd": "/home/ada/demo/sub", "model": "gpt-6-luna"}},
        {"type": "turn_context", "payload": {"cwd": "/elsewhere", "model": "gpt-6-astra"}},
        {"type": "turn_context", "payload": {"model": "gpt-6-luna"}},
    )
    assert (capture.models, capture.branches) == (("gpt-6-luna", "gpt-6-astra"), ("main",))
    assert capture.project == "/home/ada/demo/sub"


def test_first_and_last_time_are_those_of_the_files_order(reader: Reader) -> None:
    capture = reader(
        {**make_meta(), "timestamp": "2026-10-02T11:00:00+02:00"},
        {**make_user_input("a"), "timestamp": "2026-10-02T07:00:00Z"},
        {**make_event("token_count"), "timestamp": "2026-10-02T08:00:00Z"},
        {"type": "tomorrow", "payload": {}, "timestamp": "2026-10-02T20:00:00Z"},
    )
    assert (capture.started_at, capture.ended_at) == ("2026-10-02T09:00:00.000Z", "2026-10-02T08:00:00.000Z")


# Finding


def test_the_folders_are_codexs_own_or_those_that_the_environment_names(tmp_path: Path) -> None:
    assert list_history_roots("codex", tmp_path, {}) == [
        tmp_path / ".codex/sessions",
        tmp_path / ".codex/archived_sessions",
    ]
    assert list_history_roots("codex", tmp_path, {"CODEX_HOME": "/srv/codex"})[1] == Path(
        "/srv/codex/archived_sessions"
    )
    assert list_history_roots("codex", tmp_path, {"CODEX_HOME": ""}) == list_history_roots("codex", tmp_path, {})


def test_every_rollout_is_found_with_the_parent_of_a_sub_agent_and_no_file_of_another_kind() -> None:
    assert [item.path for item in discover(DATA)] == [ARCHIVED, LOCAL, REMOTE, FORK, PAGED_FORK, SUB_AGENT, NEWEST]
    assert [item.session for item in discover(DATA)] == [None] * 7
    assert {item.path: item.parent for item in discover(DATA) if item.parent} == {
        SUB_AGENT: read(SUB_AGENT).parent_session
    }


def test_a_file_that_is_named_is_taken_whatever_it_is() -> None:
    for path in (SUB_AGENT, DATA / "damaged/meta-only.jsonl"):
        assert [item.path for item in discover(path)] == [path]


def test_a_review_has_no_parent_and_is_passed_over(tmp_path: Path) -> None:
    review = json.dumps(make_meta(source={"subagent": "review"}))
    (tmp_path / "rollout-x.jsonl").write_text(review, encoding="utf-8")
    assert list(discover(tmp_path)) == []


@pytest.mark.parametrize(
    "more",
    [{"parent_thread_id": PARENT}, {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}}],
)
def test_any_thread_with_a_parent_is_a_sub_agents(more: Record, tmp_path: Path) -> None:
    (tmp_path / "rollout-x.jsonl").write_text(json.dumps(make_meta(**more)), encoding="utf-8")
    assert [item.parent for item in discover(tmp_path)] == [PARENT]


def test_a_rollout_that_cannot_be_read_is_found_so_that_somebody_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "rollout-a.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "rollout-b.jsonl").write_text("torn", encoding="utf-8")
    assert len(list(discover(tmp_path))) == 2
    monkeypatch.setattr(Path, "open", deny)
    assert len(list(discover(tmp_path))) == 2


def test_a_compressed_rollout_is_found_unless_it_is_there_unpacked_and_reading_it_says_what_to_do(
    tmp_path: Path,
) -> None:
    packed, plain = tmp_path / "rollout-a.jsonl.zst", tmp_path / "rollout-a.jsonl"
    packed.write_bytes(b"\x28\xb5\x2f\xfd")
    assert [item.path for item in discover(tmp_path)] == [packed]
    with pytest.raises(TranscriptError, match="compressed") as caught:
        read(packed)
    assert "zstd -d" in caught.value.hint
    plain.write_text(json.dumps(make_meta()), encoding="utf-8")
    assert [item.path for item in discover(tmp_path)] == [plain]


# Files of 2025, whose records have no wrapper


def test_bare_records_are_read(reader: Reader) -> None:
    def unwrap(record: Record) -> Record:
        return dict(record["payload"])

    capture = reader(
        {"id": THREAD, "timestamp": "2025-07-01T09:00:00.000Z", "instructions": None, "git": {"branch": "main"}},
        {"record_type": "state"},
        unwrap(make_message("user", "<environment_context>x</environment_context>")),
        unwrap(make_message("user", "Fix it")),
        unwrap(make_item("reasoning", summary=[{"type": "summary_text", "text": "Look."}])),
        unwrap(make_call("shell", command=["ls"])),
        unwrap(make_result('{"output":"a.py","metadata":{"exit_code":0}}')),
        unwrap(make_message("assistant", "Done.")),
        unwrap(make_message("user", "Thanks")),
        bare=True,
    )
    assert list_messages(capture) == [
        (USER, "Fix it"), (ASSISTANT, "Look."), (ASSISTANT, "shell"), (TOOL, "a.py"), (ASSISTANT, "Done."),
        (USER, "Thanks"),
    ]  # fmt: skip
    assert (capture.session_id, capture.branches) == (THREAD, ("main",))
    assert capture.started_at == "2025-07-01T09:00:00.000Z"
    assert len(set(list_ids(capture))) == 6
    assert capture.skipped == {"bookkeeping": 2, "harness notes": 1}


# Foreign files and damage

OTHER_HARNESSES: dict[str, list[Record]] = {
    "claude-code": [
        {"type": "summary", "summary": "Fix", "leafUuid": "u1"},
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Fix it"}},
        {"type": "assistant", "uuid": "u2", "message": {"role": "assistant", "content": []}},
        {"type": "system", "subtype": "turn_duration"},
    ],
    "gemini": [
        {"sessionId": THREAD, "projectHash": "7", "kind": "main"},
        {"id": "q", "type": "user", "content": [{"text": "Fix it"}], "timestamp": "2026-10-02T09:00:00Z"},
    ],
    "pi": [
        {"type": "session", "id": THREAD, "timestamp": "2026-10-02T09:00:00Z", "cwd": "/x"},
        {"type": "message", "id": "a", "message": {"role": "user", "content": []}},
        {"type": "compaction", "id": "b", "summary": "Goal."},
    ],
    "cursor": [{"role": "user", "message": {"content": []}}, {"type": "turn_ended", "status": "success"}],
    "copilot": [{"type": "session.start", "data": {}, "id": "e1", "timestamp": "2026-10-02T09:00:00Z"}],
    "another that uses the same words": [
        {"type": "session", "id": THREAD, "git": {"branch": "main"}, "instructions": None},
        {"type": "message", "id": "a", "content": [{"type": "text", "text": "Fix it"}]},
        {"type": "message", "role": "user", "content": "Fix it"},
        {"type": "reasoning", "summary": "Look."},
        {"type": "function_call", "name": "ls"},
    ],
    "generic": [{"role": "user", "text": "Fix it", "id": "1"}],
}


@pytest.mark.parametrize("harness", OTHER_HARNESSES)
def test_another_harnesss_transcript_is_an_error_that_says_what_to_do(harness: str, reader: Reader) -> None:
    with pytest.raises(TranscriptError, match="no Codex record") as caught:
        reader(*OTHER_HARNESSES[harness], bare=True)
    assert "--harness" in caught.value.hint


def test_unicode_arrives_as_it_was(reader: Reader) -> None:
    words = "日本語 עברית a\u2028b\u0085c 👩‍👩‍👧 é\u0301 \ufeff end"
    assert list_messages(reader(make_user_input(words), make_message("assistant", words))) == [
        (USER, words),
        (ASSISTANT, words),
    ]


def test_arguments_at_the_edge_of_what_can_be_parsed_do_not_end_the_reading(reader: Reader) -> None:
    deep = "[" * 5000 + "]" * 5000
    capture = reader(
        make_item("function_call", name="odd", call_id="c1", arguments=f'{{"x":{deep}}}'),
        make_result(deep),
        make_user_input("Go on"),
    )
    assert list_messages(capture)[2] == (USER, "Go on")


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2)
    | st.text(max_size=3)
    | st.sampled_from(["\ud800", "[{}]", '{"a":1}']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rollouts")


@given(data=st.data())
def test_a_field_of_any_value_is_read_or_refused_and_a_longer_file_still_only_adds(
    data: st.DataObject, folder: Path
) -> None:
    sample = data.draw(st.sampled_from([LOCAL, REMOTE, FORK, NEWEST]))
    lines = [json.loads(line) for line in sample.read_bytes().splitlines()]
    for record in data.draw(st.lists(st.sampled_from(lines), min_size=1, max_size=4)):
        payload = record["payload"]
        inner = payload.get("item") if isinstance(payload, dict) and data.draw(st.booleans()) else payload
        place = inner if isinstance(inner, dict) and inner else record
        place[data.draw(st.sampled_from(sorted(place)))] = data.draw(JSON)
    cut = data.draw(st.integers(0, len(lines)))
    try:
        shorter, longer = (read_given(folder, lines[:count]) for count in (cut, len(lines)))
    except LineageError as error:
        assert error.hint
        return
    assert shorter.turns == longer.turns[: len(shorter.turns)]


def read_given(folder: Path, records: list[Record]) -> Capture:
    path = folder / "given.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return read(path)
