"""Spool jobs: written and read back, and anything else refused."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.format.job import Job, parse_job, serialize_job
from lineage.errors import FormatError
from tests.support.parametrize import each
from tests.support.strategies import TIME, draw_texts

JOB = Job(flow="session-end", token="t" * 16, captured_at=TIME, sentence="s", quality="ok", payload={"a": [1]})


AS_RECEIVED = draw_texts().map(lambda text: json.loads(json.dumps(text)))


@given(AS_RECEIVED, st.dictionaries(AS_RECEIVED, AS_RECEIVED | st.booleans() | st.none()))
def test_a_job_reads_back_equal_whatever_it_carries(sentence: str, payload: dict[str, Any]) -> None:
    job = Job(flow="f", token="t", captured_at=TIME, sentence=sentence, quality="ok", payload=payload)
    assert parse_job(serialize_job(job)) == job


def test_what_a_payload_says_is_in_no_message_about_the_job() -> None:
    assert "hunter" not in repr(replace(JOB, payload={"transcript": "hunter"}))


def test_a_jobs_name_sorts_by_time_and_holds_the_token() -> None:
    assert JOB.name == f"2026-03-28T22-34-06.792Z--{'t' * 16}--session-end.json"


def changed(**values: Any) -> bytes:
    return json.dumps({**json.loads(serialize_job(JOB)), **values}).encode()


@each(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"{",
        b"[1]",
        b"5",
        b"[" * 100_000,
        serialize_job(JOB)[:-20],
        changed(more=1),
        changed(payload=[]),
        changed(captured_at=None),
        changed(sentence=5),
        changed(version=True),
    ],
)
def test_anything_else_is_no_job(data: bytes) -> None:
    with pytest.raises(FormatError, match="not a spool job"):
        parse_job(data)


def test_a_job_of_a_newer_version_asks_for_an_upgrade() -> None:
    with pytest.raises(FormatError, match="version 2") as caught:
        parse_job(changed(version=2))
    assert caught.value.hint == "upgrade lineage"
