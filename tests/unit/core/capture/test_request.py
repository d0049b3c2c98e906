"""The payload at the door: what is converted, what is refused, and that the error says what was meant."""

from typing import Any

import pytest

from lineage.core.capture.request import COMPACTION, SESSION_END, Request, parse_request
from lineage.errors import InvalidInput
from tests.support.parametrize import each

NOW = "2026-03-28T22:34:06.792Z"
BASE: dict[str, Any] = {"harness": "generic", "session_id": "s-1", "transcript": "text"}


def asked(flow: str = SESSION_END, agent_id: str | None = None, **values: Any) -> Request:
    return parse_request(flow, {**BASE, **values}, agent_id=agent_id, now=NOW)


def test_a_small_payload_is_enough() -> None:
    made = asked()
    assert (made.captured_at, made.project, made.private, made.identity.agent_id) == (NOW, None, False, "default")
    assert made.token == made.identity.token


def test_what_a_payload_says_is_in_no_message_about_the_request() -> None:
    payload = {"harness": "generic", "session_id": "s-1", "transcript": "User: hunter"}
    assert "hunter" not in repr(parse_request(SESSION_END, payload, agent_id=None, now=NOW))


def test_times_are_converted_to_utc_at_the_door() -> None:
    made = asked(captured_at="2026-03-29T08:00:00+14:00", started_at="2026-03-28T17:00:00Z", ended_at="")
    assert (made.captured_at, made.started_at, made.ended_at) == (
        "2026-03-28T18:00:00.000Z", "2026-03-28T17:00:00.000Z", None,
    )  # fmt: skip


def test_the_payloads_agent_goes_before_the_options() -> None:
    assert asked(agent_id="b").identity.agent_id == "b"
    assert parse_request(SESSION_END, {**BASE, "agent_id": "a"}, agent_id="b", now=NOW).identity.agent_id == "a"


def test_a_lane_makes_a_key_for_each_of_its_sessions() -> None:
    made = asked(lane="chat", session_key="ignored")
    assert made.identity.session_key == "chat#s-1"


def test_lesson_9_a_newline_in_the_project_makes_no_second_line() -> None:
    assert asked(project="/home/ada\n# Heading\n- row").project == "/home/ada # Heading - row"
    assert asked(cwd="/home/ada/x").project == "/home/ada/x"
    assert asked(project="\n").project is None


@each(
    ("values", "named"),
    [
        ({"harness": None}, "harness"),
        ({"session_id": ""}, "session_id"),
        ({"session_id": "a\nb"}, "session_id"),
        ({"session_key": "a\x00"}, "session_key"),
        ({"lane": "a\nb"}, "lane"),
        ({"agent_id": "a:b"}, "agent"),
        ({"agent_id": "../a"}, "agent"),
        ({"project": 5}, "project"),
        ({"private": "yes"}, "private"),
        ({"captured_at": "2026-03-28T22:34:06"}, "zone"),
        ({"ended_at": 5}, "ended_at"),
        ({"transcript": None}, "transcript"),
        ({"transcript_path": "x"}, "both"),
        ({"sesion_key": "x"}, "sesion_key"),
    ],
    ids=str,
)
def test_what_is_missing_or_malformed_is_named(values: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidInput, match=named):
        asked(**values)


def test_an_unknown_key_is_answered_with_the_nearest_known_one() -> None:
    with pytest.raises(InvalidInput) as caught:
        asked(sesion_key="x")
    assert "'session_key'" in caught.value.hint


def test_a_compaction_needs_a_summary_and_no_transcript() -> None:
    with pytest.raises(InvalidInput, match="summary"):
        asked(COMPACTION, summary="  \n")
    assert asked(COMPACTION, transcript=None, summary=" done \n").summary == "done"
