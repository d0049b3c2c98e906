"""What every adapter promises, whatever its harness: errors, emptiness, growth, canonical values, no crash.

A later adapter joins with one line: in `CASES`, where every record of a sample has an id, else in `FILES`. Of those, a
sample of JSON lines is held to what a line promises too. (harnesses.md 0.3, 15)
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.hook_output import CONTEXT_CLOSING, CONTEXT_OPENING
from lineage.core.base.times import to_utc
from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ROLES, TOOL, USER, assign_ids
from lineage.errors import LineageError, TranscriptError
from lineage.harness.adapter import SessionLocation
from lineage.harness.adapters import ADAPTERS, load_adapter
from lineage.harness.json_values import as_mapping
from tests.support.parametrize import each
from tests.support.stream_limits import limit_streams
from tests.support.workspace import end_session, open_memory_workspace

DATA = Path(__file__).parents[1] / "data"


@dataclass(frozen=True)
class Case:
    """An adapter and a sample of its harness; `word` stands somewhere in the sample's texts.

    Of `folders` the last ones lie between a history and its files: some harnesses name a session by them alone.
    """

    harness: str
    sample: Path
    word: bytes = b"reader"
    folders: int = 0

    @property
    def lines(self) -> list[bytes]:
        return self.sample.read_bytes().splitlines(keepends=True)

    def read(self, data: bytes, folder: Path) -> Capture:
        return self.open(self.write(data, folder))

    def write(self, data: bytes, folder: Path) -> Path:
        path = folder / f"given{self.sample.suffix}"
        if self.folders:
            path = folder.joinpath(*self.sample.parts[-self.folders - 1 :])
            path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def open(self, path: Path) -> Capture:
        """The first session that is found in a file, and is no sub-agent's."""
        adapter = ADAPTERS[self.harness]
        item = next((item for item in adapter.discover(path) if not item.parent), SessionLocation(path))
        return adapter.read(item.path, item.session)


CASES = [
    Case("antigravity", next(DATA.glob("antigravity/brain/*/.system_generated/logs/transcript_full.jsonl")), folders=4),
    Case("claude-code", DATA / "claude-code/projects/-home-ada-demo/aa765e29-162b-5be6-8e53-f03014531e0e.jsonl"),
    Case("codex", next(DATA.glob("codex/sessions/2026/10/03/rollout-*.jsonl"))),
    Case("copilot", DATA / "copilot/session-state/ee99248c-46ed-55c0-a61a-8a778fbf68fe/events.jsonl"),
    Case("gemini", DATA / "gemini/tmp/demo/chats/session-2026-10-04T09-00-071ea8f7.jsonl"),
    Case("generic", DATA / "generic/session.jsonl"),
    Case("openclaw", DATA / "openclaw/agents/main/sessions/3c1e9f60-2b7d-5a48-b6a0-9e5d4c3b2a19.jsonl"),
    Case(
        "pi",
        DATA / "pi/sessions/--home-ada-demo--/2026-10-02T09-00-00-000Z_5d0c1a52-7f0e-5f3a-9d51-0c7a35b1c0de.jsonl",
    ),
    Case("qwen", DATA / "qwen/projects/-home-ada-demo/chats/1a46b76c-3b4d-5460-9668-518f120efcef.jsonl"),
]

FILES = [
    Case("aider", DATA / "aider/.aider.chat.history.md"),
    Case("cursor", next(DATA.glob("cursor/projects/home-ada-demo/agent-transcripts/*/*613ea.jsonl")), folders=3),
    Case("goose", DATA / "goose/export.json"),
    Case("opencode", DATA / "opencode/opencode-v1.db"),
    Case("opencode", DATA / "opencode/opencode-v2.db"),
    Case("opencode", DATA / "opencode/export-v1.json"),
]

LINES = [case for case in CASES + FILES if case.sample.suffix == ".jsonl"]
"""What is read line by line, with ids or without."""

RELATED = {("openclaw", "pi"), ("pi", "openclaw")}
"""Whose format is whose: OpenClaw keeps its sessions as pi does, of which it is made."""

FOREIGN = {
    "every byte": bytes(range(256)) * 4,
    "an image": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(64),
    "a database": b"SQLite format 3\x00" + bytes(84),
    "other records": b'{"level": "info", "msg": "started"}\n' * 3,
    "a JSON document": b'{\n  "name": "lineage",\n  "version": 1\n}\n',
    "prose": "Nothing here is a record.\nReally.\n".encode("utf-16"),
    "JSON values": b'1\n"two"\n[3]\nnull\n',
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["", "\ud800", "9999-99"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)

each_adapter = each("case", CASES, ids=lambda case: case.harness)
each_line_reader = each("case", LINES, ids=lambda case: case.harness)
each_file = each("case", CASES + FILES, ids=lambda case: f"{case.harness} {case.sample.name[:24]}")
a_line_reader = pytest.mark.parametrize("case", LINES, ids=lambda case: case.harness)
a_file = pytest.mark.parametrize("case", CASES + FILES, ids=lambda case: f"{case.harness} {case.sample.name[:24]}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("transcripts")


def refused(read: Callable[[], object]) -> LineageError:
    with pytest.raises(TranscriptError) as caught:
        read()
    assert caught.value.hint
    return caught.value


def test_every_adapter_is_held_to_the_contract() -> None:
    names = [case.harness for case in CASES]
    assert names == sorted(set(names)), "CASES is in the order of the alphabet, each harness once"
    missing = sorted(set(ADAPTERS) - {case.harness for case in CASES + FILES})
    assert not missing, f"add a line to FILES or CASES of {__file__}: CONTRIBUTING, How to add a harness, 4"
    unknown = sorted({case.harness for case in CASES + FILES} - set(ADAPTERS))
    assert not unknown, "enter it in HARNESSES of lineage/harness/registry.py: CONTRIBUTING, How to add a harness, 3"


@each("case", [one for one in CASES + FILES if one.sample.suffix != ".db"], ids=lambda case: case.harness)
def test_what_lineage_told_a_session_is_never_read_back(case: Case, tmp_path: Path) -> None:
    """Beside the word that each sample has in a prompt, an answer or a result: memory isn't learned from memory."""
    block = f"{CONTEXT_OPENING} the wombat is in the shed {CONTEXT_CLOSING} ".encode()
    turns = case.read(case.sample.read_bytes().replace(case.word, block + case.word), tmp_path).turns
    assert any(case.word.decode() in turn.text for turn in turns)
    assert [turn.text for turn in turns if turn.role in (USER, TOOL) and "wombat" in turn.text] == []


def test_a_harness_without_an_adapter_is_refused_with_the_names_of_those_that_have_one() -> None:
    with pytest.raises(LineageError) as caught:
        load_adapter("typewriter")
    assert all(name in caught.value.hint for name in ADAPTERS)


@each_adapter
def test_the_sample_says_something_of_everyone(case: Case) -> None:
    roles = {turn.role for turn in ADAPTERS[case.harness].read(case.sample).turns}
    assert roles == set(ROLES)


@each_file
def test_a_missing_file_is_an_error_that_names_it(case: Case, folder: Path) -> None:
    missing = folder / "no-such-file.jsonl"
    assert str(missing) in refused(lambda: ADAPTERS[case.harness].read(missing)).message


@each_file
def test_a_directory_is_an_error(case: Case, folder: Path) -> None:
    refused(lambda: ADAPTERS[case.harness].read(folder))


@each_file
def test_a_pipe_is_an_error_and_not_waited_for(case: Case, tmp_path: Path) -> None:
    pipe = tmp_path / f"{case.harness} {case.sample.name}"
    os.mkfifo(pipe)
    refused(lambda: ADAPTERS[case.harness].read(pipe))


@each_file
def test_an_unreadable_file_is_an_error(case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sample = Path(shutil.copy(case.sample, tmp_path))

    def denied(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    assert "Permission denied" in refused(lambda: ADAPTERS[case.harness].read(sample)).message


@each_file
def test_a_path_that_cannot_exist_is_an_error(case: Case) -> None:
    refused(lambda: ADAPTERS[case.harness].read(Path("a\0b.jsonl")))


@each_line_reader
@each("data", [b"", b"\n\n", b"\xef\xbb\xbf", b"\r\n \n", bytes(512)], ids=repr)
def test_a_file_that_holds_nothing_has_no_turns(case: Case, data: bytes, folder: Path) -> None:
    assert case.read(data[:20], folder).turns == ()
    assert case.read(data, folder).skipped == {}


@each_file
@each("kind", FOREIGN)
def test_what_is_no_transcript_is_an_error(case: Case, kind: str, folder: Path) -> None:
    refused(lambda: case.read(FOREIGN[kind], folder))


@each_file
def test_reading_twice_gives_the_same_capture(case: Case) -> None:
    assert case.open(case.sample) == case.open(case.sample)


@each_file
def test_no_harness_takes_another_one_s_file_for_its_own(case: Case) -> None:
    """Generic takes any file of turns or text, so it isn't asked; what it refuses may be a broken turn to it."""
    taken = {}
    for harness in ADAPTERS.keys() - {case.harness, "generic"}:
        if (harness, case.harness) not in RELATED:
            try:
                taken[harness] = replace(case, harness=harness).open(case.sample).turns
            except TranscriptError:
                continue
    assert not taken, f"count in `recognized_count` only what no other harness writes: {[*taken]} read {case.sample}"


@each_line_reader
def test_a_growing_file_only_ever_adds_turns(case: Case, folder: Path) -> None:
    whole = case.open(case.sample).turns
    seen = 0
    for count in range(len(case.lines) + 1):
        turns = case.read(b"".join(case.lines[:count]), folder).turns
        assert turns == whole[: len(turns)]
        assert len(turns) >= seen
        seen = len(turns)
    assert seen == len(whole)


@pytest.mark.slow
@each_line_reader
@each("where", [0.1, 0.5, 0.99])
def test_a_torn_last_line_waits_for_the_next_reading(case: Case, where: float, folder: Path) -> None:
    for count in range(1, len(case.lines)):
        before = b"".join(case.lines[:count])
        line = case.lines[count].rstrip()
        torn = line[: int((len(line) - 1) * where)]
        capture = case.read(before + torn, folder)
        assert capture.turns == case.read(before, folder).turns
        assert capture.skipped["damaged"] == 1


@each_adapter
def test_turns_have_the_ids_of_their_records_and_no_two_the_same(case: Case) -> None:
    ids = [turn.source_id for turn in ADAPTERS[case.harness].read(case.sample).turns]
    assert all(ids)
    assert len(set(ids)) == len(ids)


@each_file
def test_no_two_turns_have_the_same_id(case: Case) -> None:
    ids = [turn.id for turn in tuple(assign_ids(case.open(case.sample).turns, "token"))]
    assert ids
    assert len(set(ids)) == len(ids)


@each_file
def test_roles_are_known_and_every_turn_says_something(case: Case) -> None:
    for turn in case.open(case.sample).turns:
        assert turn.role in ROLES
        assert turn.text or turn.name


@each_file
def test_times_are_canonical_utc(case: Case) -> None:
    capture = case.open(case.sample)
    times = [turn.at for turn in capture.turns] + [capture.started_at, capture.ended_at]
    times += [compacted.at for compacted in capture.compactions]
    assert all(time is None or time == to_utc(time) for time in times)


@each_adapter
def test_every_turn_has_the_time_of_its_record(case: Case) -> None:
    capture = ADAPTERS[case.harness].read(case.sample)
    assert all(turn.at for turn in capture.turns)
    assert all(compacted.at for compacted in capture.compactions)
    assert capture.started_at
    assert capture.ended_at


@each_file
def test_no_text_holds_an_encoded_blob(case: Case) -> None:
    capture = case.open(case.sample)
    texts = [text for turn in capture.turns for text in (turn.text, turn.input)]
    assert [text for text in texts if re.search(r"[A-Za-z0-9+/]{40}", text)] == []


@each_line_reader
def test_what_is_skipped_is_counted_by_reason(case: Case, folder: Path) -> None:
    skipped = case.read(case.sample.read_bytes() + b"{torn\n[]\n", folder).skipped
    assert skipped["damaged"] == 2
    assert all(isinstance(reason, str) and type(count) is int and count > 0 for reason, count in skipped.items())


@a_line_reader
def test_a_lone_surrogate_reaches_memory_as_a_replacement_character(case: Case, tmp_path: Path) -> None:
    path = case.write(case.sample.read_bytes().replace(case.word, rb"\ud83d"), tmp_path)
    with open_memory_workspace(tmp_path) as ws:
        outcome = end_session(ws, harness=case.harness, transcript_path=str(path))
        assert outcome.status == "captured"
        assert "\ufffd" in ws.documents.store.read(outcome.transcript_path or "").data.decode()


@a_file
@given(data=st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(case: Case, data: bytes, folder: Path) -> None:
    try:
        case.read(data, folder)
    except LineageError as error:
        assert error.hint


@a_line_reader
@each("value", [[], 7], ids=repr)
def test_a_member_of_another_type_is_read_or_refused(case: Case, value: Any, folder: Path) -> None:
    """Each member that the sample has, in all of its records at once: what a few random ones may leave out."""
    records = [json.loads(line) for line in case.lines]
    for place in sorted({place for record in records for place in list_places(record)}):
        changed = [put_value(json.loads(line), place, value) for line in case.lines]
        try:
            case.read("\n".join(map(json.dumps, changed)).encode(), folder)
        except LineageError as error:
            assert error.hint
        except Exception as error:
            error.add_note(f"The member: {'.'.join(place)}")
            raise


def list_places(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The keys that lead to each value at any depth. `*` stands for every item of a list."""
    for key in ["*"] if value and isinstance(value, list) else value if isinstance(value, dict) else ():
        yield (*place, key)
        for inner in value if key == "*" else [value[key]]:
            yield from list_places(inner, (*place, key))


def put_value(record: Any, place: tuple[str, ...], value: Any) -> Any:
    """A record with a value at a place, where it has that place."""
    key, *rest = place
    keys = range(len(record)) if isinstance(record, list) and key == "*" else [key] if key in as_mapping(record) else []
    for one in keys:
        record[one] = put_value(record[one], tuple(rest), value) if rest else value
    return record


@a_line_reader
@given(data=st.data())
def test_a_record_with_any_value_anywhere_is_read_or_refused(case: Case, data: st.DataObject, folder: Path) -> None:
    records = [json.loads(line) for line in case.lines]
    record = data.draw(st.sampled_from(records))
    for _ in range(data.draw(st.integers(1, 3))):
        replace_somewhere(record, data)
    try:
        case.read("\n".join(map(json.dumps, records)).encode(), folder)
    except LineageError as error:
        assert error.hint


def replace_somewhere(value: Any, data: st.DataObject) -> None:
    """Puts any JSON value in place of one that lies at any depth of a record."""
    key = data.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    if isinstance(value[key], dict | list) and value[key] and data.draw(st.booleans()):
        replace_somewhere(value[key], data)
    else:
        value[key] = data.draw(JSON)


@each_file
def test_turns_that_are_not_held_are_the_same(case: Case) -> None:
    """Fails where a reader's answer depends on turns that it has found before."""
    expected = case.open(case.sample)
    with limit_streams(1):
        found = case.open(case.sample)
        assert replace(found, turns=tuple(found.turns)) == expected
        assert (len(found.turns), found.turns[-1]) == (len(expected.turns), expected.turns[-1])
