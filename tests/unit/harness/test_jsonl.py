"""Reading JSONL that is damaged or still being written. (harnesses.md 0.3; test matrix 15.5–15.7)"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.errors import TranscriptError
from lineage.harness.jsonl import DAMAGED, read_bytes, read_records

TEXT = st.text('aé日🧵\u2028\u0085\x1c\n\r\0\ufeff"\\{}') | st.text()


def read(data: bytes, folder: Path) -> tuple[list[dict[str, Any]], int]:
    """The records of a file with these bytes, and how many were damaged."""
    path = folder / "transcript.jsonl"
    path.write_bytes(data)
    skipped: Counter[str] = Counter()
    found = list(read_records(path, skipped))
    assert set(skipped) <= {DAMAGED}
    return found, skipped[DAMAGED]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b'\xef\xbb\xbf{"n":1}\n{"n":2}\n', id="byte order mark"),
        pytest.param(b'{"n":1}\r\n{"n":2}\r\n', id="CRLF"),
        pytest.param(b'\n\n{"n":1}\n \t\n{"n":2}\n\n', id="blank lines"),
        pytest.param(b'{"n":1}\n{"n":2}', id="no newline at the end"),
        pytest.param(b'{"n":1}{"n":2}\n', id="two records on one line"),
        pytest.param(b'{"n":1} \t\x00{"n":2}\n', id="blanks and NUL between two records"),
        pytest.param(b'{"n":1}\n' + bytes(64) + b'\n{"n":2}\n', id="a line of NUL"),
        pytest.param(b'{"n":1}\n' + bytes(64) + b'{"n":2}\n', id="NUL before a record"),
        pytest.param(b'{"n":1}\n{"n":2}\n' + bytes(4096), id="NUL to the end of the block"),
    ],
)
def test_harmless_damage_costs_nothing(data: bytes, tmp_path: Path) -> None:
    assert read(data, tmp_path) == ([{"n": 1}, {"n": 2}], 0)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"n":', id="torn"),
        pytest.param('{"text":"日'.encode()[:-1], id="torn inside a character"),
        pytest.param(b"[1]", id="a list"),
        pytest.param(b'"text"', id="a string"),
        pytest.param(b"12", id="a number"),
        pytest.param(b"null", id="null"),
        pytest.param(b"not JSON", id="prose"),
        pytest.param(b"[" * 100_000, id="deeply nested"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="a deeply nested object"),
        pytest.param(b'{"n":' + b"9" * 5000 + b"}", id="a number too long to be one"),
    ],
)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_damaged_line_is_counted_and_the_others_are_read(line: bytes, place: int, tmp_path: Path) -> None:
    lines = [b'{"n":1}', b'{"n":2}']
    lines.insert(place, line)
    assert read(b"\n".join(lines), tmp_path) == ([{"n": 1}, {"n": 2}], 1)


def test_a_record_before_damage_on_its_line_is_kept(tmp_path: Path) -> None:
    assert read(b'{"n":1}{"n":\n{"n":2}\n', tmp_path) == ([{"n": 1}, {"n": 2}], 1)


def test_bytes_that_are_not_utf8_become_replacement_characters(tmp_path: Path) -> None:
    assert read(b'{"text":"a\xffb"}\n', tmp_path) == ([{"text": "a\ufffdb"}], 0)


@pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\u0085", "\x0c"])
def test_only_a_newline_ends_a_line(separator: str, tmp_path: Path) -> None:
    text = f'{{"text":"a{separator}b"}}'.replace("\x0c", "\\f")
    assert read(text.encode() + b"\n", tmp_path) == ([{"text": f"a{separator}b"}], 0)


def test_a_line_of_a_megabyte_is_one_record(tmp_path: Path) -> None:
    record = {"text": "x" * 1_000_000}
    assert read(json.dumps(record).encode() + b'\n{"n":2}\n', tmp_path) == ([record, {"n": 2}], 0)


def test_a_lone_surrogate_is_read(tmp_path: Path) -> None:
    assert read(rb'{"text":"\ud83d"}', tmp_path) == ([{"text": "\ud83d"}], 0)


def test_what_is_appended_while_reading_is_left_for_the_next_time(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    path.write_bytes(b'{"n":1}\n{"n":2}\n')
    seen = []
    for record in read_records(path, Counter()):
        seen.append(record["n"])
        if len(seen) == 1:
            with path.open("ab") as file:
                file.write(b'{"n":3}\n')
    assert seen == [1, 2]


def test_a_line_that_was_torn_when_the_reading_began_stays_torn(tmp_path: Path) -> None:
    path = tmp_path / "growing.jsonl"
    path.write_bytes(b'{"n":1}\n' * 20_000 + b'{"n":')
    skipped: Counter[str] = Counter()
    reading = read_records(path, skipped)
    next(reading)
    with path.open("ab") as file:
        file.write(b'2}\n{"n":3}\n')
    assert {record["n"] for record in reading} == {1}
    assert skipped == {DAMAGED: 1}


def test_a_file_that_cannot_be_read_is_an_error_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(TranscriptError, match="No such file"):
        list(read_records(tmp_path / "none.jsonl", Counter()))
    with pytest.raises(TranscriptError, match="not a file") as caught:
        read_bytes(tmp_path)
    assert "check the path" in caught.value.hint


@given(data=st.binary(max_size=300))
def test_any_bytes_give_objects_only(data: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    found, _ = read(data, tmp_path_factory.getbasetemp())
    assert all(isinstance(record, dict) for record in found)


@given(objects=st.lists(st.dictionaries(TEXT, TEXT | st.integers() | st.none(), max_size=3), max_size=6))
def test_whatever_was_written_is_read_back(
    objects: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    data = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects).encode()
    assert read(data, tmp_path_factory.getbasetemp()) == (objects, 0)
