"""Values of decoded JSON in the needed type."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.times import to_utc
from lineage.harness.json_values import as_list, as_mapping, as_string, format_media_note, parse_epoch
from tests.support.parametrize import each

VALUES = [None, True, 0, 1.5, "", "words", [], [1], {}, {"a": 1}]


@each("value", VALUES, ids=repr)
def test_a_value_of_another_type_is_an_empty_one(value: Any) -> None:
    assert as_string(value) == (value if isinstance(value, str) else "")
    assert as_mapping(value) == (value if isinstance(value, dict) else {})
    assert as_list(value) == (value if isinstance(value, list) else [])


@pytest.mark.parametrize(
    ("value", "time"),
    [
        (1790931600, "2026-10-02T09:00:00.000Z"),
        (1790931600.25, "2026-10-02T09:00:00.250Z"),
        (1790931600001, "2026-10-02T09:00:00.001Z"),
        (-1, "1969-12-31T23:59:59.000Z"),
        (0, "1970-01-01T00:00:00.000Z"),
    ],
)
def test_a_time_is_in_seconds_or_milliseconds(value: float, time: str) -> None:
    assert parse_epoch(value) == time


@each("value", [None, True, False, "1790931600", [], {}, float("nan"), float("inf"), 10**400], ids=str)
def test_what_is_no_time_is_none(value: Any) -> None:
    assert parse_epoch(value) is None


@given(value=st.one_of(st.integers(), st.floats()))
def test_any_number_is_a_canonical_time_or_none(value: float) -> None:
    time = parse_epoch(value)
    assert time is None or time == to_utc(time)


def test_a_medium_is_noted_with_its_decoded_size() -> None:
    assert format_media_note("image/png", "QUJD") == "[image image/png, 3 bytes left out]"
    assert format_media_note("application/pdf", "QQ==") == "[file application/pdf, 1 bytes left out]"
    assert format_media_note("", "") == "[file, 0 bytes left out]"
