"""Checkpoints over every store: newest first, once, for seven days; whatever lies there in their place is no error."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.naming import derive_session_token
from lineage.core.base.times import shift_time
from lineage.core.format.checkpoint import (
    MAX_MESSAGES,
    Checkpoint,
    Message,
    build_message,
    parse_checkpoint,
    select_last_messages,
    serialize_checkpoint,
)
from lineage.core.format.turns import Turn
from lineage.documents import Checkpoints
from lineage.errors import FormatError
from lineage.store import LocalStore, Store

NOW = "2026-11-21T12:00:00.000Z"
DEMO = "/home/ada/demo"


def checkpoint(session: str = "s-1", agent: str = "default", **more: Any) -> Checkpoint:
    base = {
        "agent_id": agent,
        "session_id": session,
        "session_token": derive_session_token(agent, session),
        "harness": "generic",
        "project": DEMO,
        "saved_at": NOW,
        "messages": (Message("user", f"Mend {session}.", NOW), Message("assistant", "Mended.")),
    }
    return Checkpoint(**{**base, **more})


def before(days: int = 0, milliseconds: int = 0) -> str:
    return shift_time(NOW, days=-days, milliseconds=-milliseconds)


def test_the_newest_is_given_until_it_was_used(store: Store) -> None:
    found = Checkpoints(store)
    old, new = checkpoint("s-1", saved_at=before(1)), checkpoint("s-2")
    assert [found.put(one) for one in (new, old, old)] == [True, True, False]
    assert found.get("default", NOW) == new
    assert found.mark_used("default", new.session_token, NOW)
    assert not found.mark_used("default", new.session_token, shift_time(NOW, days=1))
    assert found.get("default", NOW) == old
    assert found.mark_used("default", old.session_token, NOW)
    assert found.get("default", NOW) is None


def test_a_used_one_keeps_no_text_and_comes_back_only_with_something_new(store: Store) -> None:
    found, one = Checkpoints(store), checkpoint()
    found.put(one)
    found.mark_used("default", one.session_token, NOW)
    assert [used.messages for used in found.list_for_agent("default")] == [()]
    assert not found.put(one)
    assert found.get("default", NOW) is None
    assert found.put(replace(one, saved_at=shift_time(NOW, milliseconds=1)))
    assert found.get("default", NOW) is not None


@pytest.mark.parametrize(("age", "is_there"), [(before(7), True), (before(7, 1), False), (before(300), False)])
def test_it_is_valid_for_seven_days(store: Store, age: str, is_there: bool) -> None:
    found = Checkpoints(store)
    found.put(checkpoint(saved_at=age))
    assert (found.get("default", NOW) is not None) is is_there
    assert (found.expire(NOW) == []) is is_there
    assert (found.list_for_agent("default") != []) is is_there


def test_neither_a_used_one_nor_one_without_words_is_recovered() -> None:
    assert checkpoint().is_valid(NOW)
    assert not checkpoint(used_at=NOW).is_valid(NOW)
    assert not checkpoint(messages=()).is_valid(NOW)


def test_agents_and_projects_are_told_apart(store: Store) -> None:
    found = Checkpoints(store)
    agents = ("ann", "Ann", "ann.", "con")
    for agent in agents:
        found.put(checkpoint(agent=agent, messages=(Message("user", agent),)))
    assert [one.messages[0].text for agent in agents if (one := found.get(agent, NOW))] == list(agents)
    assert found.get("ann", NOW, lambda one: one.project == DEMO) is not None
    assert found.get("ann", NOW, lambda one: one.project == "/srv/other") is None
    assert found.get("eve", NOW) is None


def test_a_session_is_discarded_whole_readable_or_not(store: Store) -> None:
    found = Checkpoints(store)
    mine, others = [checkpoint("s-1", agent=name) for name in ("ann", "bob")], checkpoint("s-2", agent="ann")
    for one in (*mine, others):
        found.put(one)
    assert found.discard(mine[0].session_token) == [key_of(mine[0])]
    assert found.list_for_agent("ann") == [others]
    assert found.list_for_agent("bob") == [mine[1]]
    store.replace(key_of(others), b"torn", store.read(key_of(others)).version)
    assert found.discard(others.session_token) == [key_of(others)]
    assert found.list_damaged() == []


def test_only_so_many_are_kept_of_an_agent(store: Store) -> None:
    found = Checkpoints(store)
    for number in range(20):
        found.put(checkpoint(f"s-{number}", saved_at=before(milliseconds=number)))
    assert sorted(one.session_id for one in found.list_for_agent("default")) == sorted(
        f"s-{number}" for number in range(16)
    )


def test_what_is_offered_stays_offered_until_there_is_something_new(store: Store) -> None:
    found, one = Checkpoints(store), checkpoint()
    found.put(one)
    assert found.mark_offered("default", one.session_token, NOW)
    assert not found.mark_offered("default", one.session_token, shift_time(NOW, days=1))
    assert found.get("default", NOW) == replace(one, offered_at=NOW)
    found.put(replace(one, saved_at=shift_time(NOW, milliseconds=1)))
    assert [kept.offered_at for kept in found.list_for_agent("default")] == [None]


DAMAGE = {
    "nothing": lambda data: b"",
    "torn": lambda data: data[: len(data) // 2],
    "bytes": lambda data: b"\xff\x00" * 50,
    "list": lambda data: b"[1]",
    "null": lambda data: b"null",
    "deep": lambda data: b"[" * 50_000,
    "newer": lambda data: changed(data, version=2),
    "unknown key": lambda data: changed(data, more=1),
    "another agent": lambda data: changed(data, agent_id="eve"),
    "another session": lambda data: changed(data, session_token="h7k3n4p2m2x6q3r5"),
    "a path": lambda data: changed(data, agent_id="../eve"),
    "no time": lambda data: changed(data, saved_at="yesterday"),
    "a number": lambda data: changed(data, saved_at=5),
    "too many": lambda data: changed(data, messages=[{"role": "user", "text": "x", "at": None}] * 51),
    "too long": lambda data: changed(data, messages=[{"role": "user", "text": "x" * 2001, "at": None}]),
    "a tool": lambda data: changed(data, messages=[{"role": "tool", "text": "x", "at": None}]),
    "no text": lambda data: changed(data, messages=[{"role": "user", "text": None, "at": None}]),
    "no messages": lambda data: changed(data, messages=None),
}


@pytest.mark.parametrize("harm", DAMAGE)
def test_a_damaged_one_is_ignored_and_named_and_never_an_error(store: Store, harm: str) -> None:
    found, one, other = Checkpoints(store), checkpoint("s-1"), checkpoint("s-2", saved_at=before(1))
    found.put(one)
    found.put(other)
    blob = store.read(key_of(one))
    store.replace(key_of(one), DAMAGE[harm](blob.data), blob.version)
    assert found.get("default", NOW) == other
    assert found.list_damaged() == [key_of(one)]
    assert not found.mark_used("default", "h7k3n4p2m2x6q3r5", NOW)
    assert found.expire(NOW) == []
    assert found.put(one)
    assert found.list_damaged() == []


def test_what_else_lies_there_is_ignored(tmp_path: Any) -> None:
    store = LocalStore(tmp_path, private=True)
    found = Checkpoints(store)
    found.put(checkpoint())
    (tmp_path / "checkpoints" / "default" / "note.json").mkdir()
    (tmp_path / "checkpoints" / "default" / "link.json").symlink_to("/etc/passwd")
    (tmp_path / "checkpoints" / "stray.txt").write_text("hello")
    assert found.get("default", NOW) == checkpoint()
    assert found.list_damaged() == ["checkpoints/stray.txt"]


def test_the_last_fifty_messages_are_kept_and_tools_and_thinking_are_not() -> None:
    turns = [
        *(Turn("user", f"u{number}") for number in range(60)),
        Turn("tool", "exit 0", name="Bash"),
        Turn("assistant", "hm", thinking=True),
        Turn("assistant", "", name="Bash"),
        Turn("system", "compacted"),
    ]
    said = select_last_messages(turns)
    assert [turn.text for turn in said] == [f"u{number}" for number in range(10, 60)]
    assert len(said) == MAX_MESSAGES
    assert build_message(said[0], "x" * 3000) == Message("user", "x" * 1998 + " …")


@given(
    st.lists(
        st.builds(Message, st.sampled_from(["user", "assistant"]), st.text(max_size=50), st.just(NOW)), max_size=9
    ),
    st.text(),
    st.sampled_from([None, NOW]),
)
def test_what_is_written_reads_back_equal(messages: list[Message], project: str, used: str | None) -> None:
    one = checkpoint(messages=tuple(messages), project=project, used_at=used)
    assert parse_checkpoint(serialize_checkpoint(one)) == one


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_no_bytes_are_an_unexpected_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        parse_checkpoint(data)


def key_of(one: Checkpoint) -> str:
    return f"checkpoints/{one.agent_id}/{one.session_token}.json"


def changed(data: bytes, **more: Any) -> bytes:
    return json.dumps({**json.loads(data), **more}).encode()
