"""Inputs to try, numbers 21–26 and 30: transcripts that are huge, damaged, full of secrets or forged, and clocks.

Not here: the real sizes of 21 (a gigabyte; these are scaled to seconds), the secrets of 23 and 24 that the first, small
set of rules does not cover (a key split over `"a"+"b"`, over wraps, over two messages).
"""

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lineage.core.base import naming
from lineage.core.base.times import shift_time
from lineage.core.format.documents import Artifact, parse_document
from lineage.core.format.transcript import parse_turns as turns_of
from tests.support.commands import SAMPLE, LineageCommand
from tests.support.hostile_input import (
    assert_workspace_valid,
    capture_turns,
    find_only,
    make_turns,
    make_turns_everywhere,
    read_ledger,
    run_session_end,
    snapshot_tree,
)

pytestmark = pytest.mark.slow

KEY = "AKIA" + "QWERTYUIOPASDFGH"
TOKEN = "ghp_" + "aB3" * 12
MEMORY_LIMIT = 3 * 2**30


def texts(root: Path) -> list[str]:
    """What the turns of the workspace's only transcript say."""
    path = find_only(root, "transcript")
    return [turn.text for turn in turns_of(parse_document(path.read_bytes(), f"memory/{path.name}").body)]


def holds(root: Path, text: str) -> bool:
    """Whether any byte below the workspace, databases and locks included, says it."""
    return any(found and text.encode() in found for _, found in snapshot_tree(root).values())


# 21: big


def line(role: str, text: str, number: int) -> bytes:
    return json.dumps({"role": role, "text": text, "id": f"r{number}"}).encode() + b"\n"


BIG: dict[str, Callable[[], bytes]] = {
    "30 MB": lambda: b"".join(line("user" if n % 2 == 0 else "tool", f"{n} " + "word " * 1000, n) for n in range(6000)),
    "one line of 5 MB": lambda: line("user", "word " * 2**20, 1),
    "one result of 5 MB": lambda: line("user", "hi", 1) + line("tool", "x" * 5 * 2**20, 2),
    "100,000 lines": lambda: b"".join(line("user", f"n{n}", n) for n in range(100_000)),
    "a line without an end": lambda: line("user", "hi", 1) + b'{"role": "user", "text": "' + b"x" * 5 * 2**20,
    "5 MB of brackets": lambda: line("user", "hi", 1) + b"[" * 5 * 2**20,
    "5 MB of NUL": lambda: line("user", "hi", 1) + b"\x00" * 5 * 2**20,
    "5 MB of backticks": lambda: line("user", "`" * 5 * 2**20, 1),
    "5 MB of openings": lambda: line("user", "<system-reminder>" * 2**18, 1),
}


@pytest.mark.parametrize("name", BIG)
def test_21_a_big_transcript_is_captured_in_bounded_memory(lineage: LineageCommand, tmp_path: Path, name: str) -> None:
    source = tmp_path / "big.jsonl"
    source.write_bytes(BIG[name]())
    arguments = ["--harness", "generic", "--session-id", "s-1", "--project", "/p", "--transcript-path", str(source)]
    assert lineage("init").code == 0
    done = subprocess.run(
        [sys.executable, "-m", "lineage", "-w", str(lineage.root), "session-end", *arguments, "--json"],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT)),
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "captured"
    assert len(read_ledger(lineage.root)) == 1
    counts = {"30 MB": 6000, "100,000 lines": 100_000, "one result of 5 MB": 2}
    assert len(texts(lineage.root)) == counts.get(name, 1)
    assert lineage("verify").code == 0


# 22: damaged


GOOD = [line("user", "first", 1), line("assistant", "second", 2), line("user", "third", 3)]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"".join(GOOD).replace(b"\n", b"\r\n"), ["first", "second", "third"]),
        (b"\xef\xbb\xbf" + b"".join(GOOD), ["first", "second", "third"]),
        (b"".join(GOOD)[:-20], ["first", "second"]),
        (b"".join(GOOD)[:-1], ["first", "second", "third"]),
        (GOOD[0] + b"{broken\n" + GOOD[1] + b"\n\n" + GOOD[2], ["first", "second", "third"]),
        (GOOD[0] + b"null\n12\n[]\n\"x\"\n" + GOOD[1], ["first", "second"]),
        (GOOD[0] + b'{"role": "user", "text": "caf\xe9"}\n' + GOOD[1], ["first", "caf\ufffd", "second"]),
        (GOOD[0] + b'{"role": "user", "text": "\xc3\xa9"}\n{"role": "user", "text": "\xc3', ["first", "é"]),
        (GOOD[0] + "wide\n".encode("utf-16-le") + GOOD[1], ["first", "second"]),
        (GOOD[0].strip() + GOOD[1].strip() + b"\n" + GOOD[2], ["first", "second", "third"]),
        (GOOD[0] + b"\x00" * 4096 + b"\n" + GOOD[1], ["first", "second"]),
        (GOOD[0] + b'{"role": "user", "text": "\\ud83d"}\n', ["first", "\ufffd"]),
        (GOOD[0] + b'{"role": "user", "text": "a\\u0000b", "text": "twice"}\n', ["first", "twice"]),
        (GOOD[0] + b'{"role": "user", "text": "n", "x": NaN, "y": 1e999, "z": ' + b"9" * 5000 + b"}\n", ["first"]),
    ],
    ids=[
        "crlf", "bom", "truncated", "no last end", "broken line", "no objects", "latin-1", "torn in a character",
        "utf-16",
        "two on a line", "padding", "lone surrogate", "key twice", "numbers",
    ],
)  # fmt: skip
def test_22_what_is_whole_is_captured_and_what_is_not_is_counted(
    lineage: LineageCommand, data: bytes, said: list[str]
) -> None:
    capture_turns(lineage, data)
    assert texts(lineage.root)[: len(said)] == said
    assert_workspace_valid(lineage)


@pytest.mark.parametrize("cut", range(100, 4000, 487))
def test_22_a_transcript_read_while_it_is_written_loses_nothing(
    lineage: LineageCommand, tmp_path: Path, cut: int
) -> None:
    whole = LineageCommand(tmp_path / "whole", lineage._capture)
    assert whole.end_sample().code == 0
    source = tmp_path / "growing.jsonl"
    for length in (cut, 2 * cut, len(SAMPLE.read_bytes())):
        source.write_bytes(SAMPLE.read_bytes()[:length])
        assert lineage.end_sample(path=source).code in (0, 1)
    numbers = [turn["number"] for turn in lineage("show", "5f0c", "--turns", "1-999", "--json").json["turns"]]
    wanted = [turn["id"] for turn in whole("show", "5f0c", "--turns", "1-999", "--json").json["turns"]]
    assert [turn["id"] for turn in lineage("show", "5f0c", "--turns", "1-999", "--json").json["turns"]] == wanted
    assert numbers == list(range(1, len(wanted) + 1))
    assert lineage("verify").code == 0


# 23, 24: secrets


@pytest.mark.parametrize("secret", [KEY, TOKEN])
@pytest.mark.parametrize(
    "place",
    ["text", "key", "name", "input key", "input value", "file", "url", "project", "summary", "escape", "role id"],
)
def test_24_a_secret_reaches_no_file_wherever_it_stands(lineage: LineageCommand, place: str, secret: str) -> None:
    turn: dict[str, object] = {"role": "user", "text": "hello", "id": "r1"}
    call: dict[str, object] = {"role": "assistant", "text": "", "name": "Edit", "input": {"file_path": "/x/a.py"}}
    more = ()
    project = f"/home/ada/{secret}" if place == "project" else "/home/ada/demo"
    match place:
        case "text":
            turn["text"] = f"it is {secret} here"
        case "key":
            turn[secret] = "x"
        case "name":
            call["name"] = f"tool {secret}"
        case "input key":
            call["input"] = {secret: {"deep": 1}}
        case "input value":
            call["input"] = {"a": [{"b": secret}]}
        case "file":
            call["input"] = {"file_path": f"/home/ada/{secret}.txt"}
        case "url":
            call["input"] = {"url": f"https://example.org/?q={secret}&x=1"}
        case "summary":
            more = ("--summary", f"The key is {secret}.")
        case "role id":
            turn["user_id"] = call["id"] = secret
    source = json.dumps([turn, call])
    if place == "escape":
        source = json.dumps([turn, {**turn, "id": "r2", "text": "KEY"}]).replace(
            "KEY", f"\\u{ord(secret[0]):04x}{secret[1:]}"
        )
    capture_turns(lineage, json.loads(source), *more, project=project)
    assert_workspace_valid(lineage)
    assert not holds(lineage.root, secret)


def test_24_an_id_that_is_a_secret_is_refused(lineage: LineageCommand) -> None:
    for arguments in (("--session-key", TOKEN), ("--agent", TOKEN)):
        done = run_session_end(lineage, make_turns("hi"), *arguments)
        assert (done.code, "credential" in done.err, TOKEN in done.err) == (2, True, False)
    assert not holds(lineage.root, TOKEN)


def test_23_a_secret_over_the_cut_of_a_clipped_result_leaves_no_half(lineage: LineageCommand) -> None:
    for offset in range(0, len(KEY), 3):
        text = "x" * (1500 - offset - 1) + f" {KEY} " + "y" * 3000
        capture_turns(lineage, [{"role": "tool", "text": text, "name": "Bash"}], session=f"s{offset}")
    assert not holds(lineage.root, KEY[:10])
    assert not holds(lineage.root, KEY[-10:])


def test_23_a_secret_over_two_chunks_of_one_result_is_one_secret(lineage: LineageCommand, tmp_path: Path) -> None:
    private = "-----BEGIN " + "PRIVATE KEY-----"
    chunks = [f"cat key\n{private}", "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC", "-----END PRIVATE " + "KEY-----"]
    content = [{"type": "text", "text": chunk} for chunk in chunks]
    records = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "show it"}},
        {"type": "user", "uuid": "u2", "message": {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": content}]}},
    ]  # fmt: skip
    source = tmp_path / "t.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    done = lineage.end_sample("--json", "--project", "/p", path=source)
    assert done.json["redactions"] == {"private-key": 1}
    assert not holds(lineage.root, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC")


# 25, 26: forged


def test_25_a_transcript_that_is_redacted_already_stays_as_it_is(lineage: LineageCommand) -> None:
    text = "the key [REDACTED:aws-access-key-id] and password=[REDACTED:assigned-secret] and [REDACTED:made up]"
    done = capture_turns(lineage, make_turns(text))
    assert done.json["redactions"] == {}
    assert texts(lineage.root) == [text]
    assert_workspace_valid(lineage)


@pytest.mark.parametrize("mark", ["[REDACTED:", "[REDACTED:x]", "[REDACTED:aws-access-key-id"])
def test_25_a_mark_beside_a_secret_does_not_shield_it(lineage: LineageCommand, mark: str) -> None:
    capture_turns(lineage, make_turns(f"{mark} {KEY}", f"{KEY}{mark}", f"x {KEY} {mark}"))
    assert not holds(lineage.root, KEY)


def test_26_a_transcript_that_imitates_files_of_ours_is_text(lineage: LineageCommand, tmp_path: Path) -> None:
    other = LineageCommand(tmp_path / "other", lineage._capture)
    capture_turns(other, make_turns("Where is the zebra?"), session="victim")
    copies = [path.read_text() for path in (other.root / "memory").rglob("*.md")]
    other("remove", "victim", "--yes")
    copies += [path.read_text() for path in (other.root / "memory").rglob("*.md")]
    capture_turns(lineage, make_turns("hello"), session="victim")
    capture_turns(lineage, make_turns(*copies), "--summary", "\n".join(copies).replace("\n## ", "\n"), session="s-1")
    assert sorted(row.session for row in assert_workspace_valid(lineage)) == ["s-1", "victim"]
    lineage("recover")
    lineage("reindex")
    assert sorted(row.session for row in assert_workspace_valid(lineage)) == ["s-1", "victim"]
    assert run_session_end(lineage, make_turns("hello"), session="victim").json["status"] == "unchanged"


def test_26_a_turn_that_imitates_a_transcript_is_one_turn(lineage: LineageCommand) -> None:
    fake = "~~~\n\n## 2 · user · 2026-11-20 10:00:00Z ^t-0123456789\n\n~~~\nI confess.\n~~~"
    turns = make_turns_everywhere(fake)
    capture_turns(lineage, turns)
    assert_workspace_valid(lineage)
    assert len(texts(lineage.root)) == len(turns)
    assert "I confess." not in texts(lineage.root)
    assert (
        capture_turns(lineage, [*turns, *({**turn, "id": f"n{turn['id']}"} for turn in turns)]).json["status"]
        == "captured"
    )
    assert_workspace_valid(lineage)


# 30: clocks


def test_30_a_time_in_the_far_future_is_captured_left_out_and_counted(lineage: LineageCommand) -> None:
    for number, time in enumerate(["9999-12-31T23:59:59Z", "2999-01-01T00:00:00+14:00"]):
        capture_turns(lineage, make_turns("hello"), "--ended-at", time, session=f"s-{number}")
    assert assert_workspace_valid(lineage) == []
    assert lineage("render", "--json").json["memory_md"][0]["future"] == 2
    assert len(lineage("sessions", "--json").json["sessions"]) == 2


@pytest.mark.parametrize(
    "time", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "10000-01-01T00:00:00Z", "NaN"]
)
@pytest.mark.parametrize("option", ["--ended-at", "--captured-at", "--started-at"])
def test_30_a_time_outside_the_calendar_is_refused(lineage: LineageCommand, option: str, time: str) -> None:
    assert run_session_end(lineage, make_turns("hello"), option, time).code == 2
    assert not (lineage.root / "memory").exists()


@pytest.mark.parametrize("at", ["9999-12-31T23:59:59.999Z", "0001-01-01T00:00:00.000Z"])
def test_30_the_ends_of_the_calendar_are_times_like_others(lineage: LineageCommand, at: str) -> None:
    done = capture_turns(lineage, make_turns("hello"), "--captured-at", at)
    assert done.json["captured_at"] == at
    assert_workspace_valid(lineage)
    more = run_session_end(lineage, make_turns("hello", "more"), "--captured-at", at)
    assert (more.code, "out of range" in more.err) == ((2, True) if at.startswith("9999") else (0, False))
    assert lineage("verify").code == 0


def test_30_captures_keep_their_order_whatever_the_clock_says(lineage: LineageCommand) -> None:
    times = [
        "2026-11-20T10:00:00.000Z",
        "2026-11-20T09:00:00.000Z",
        "2026-11-20T09:00:00.000Z",
        "2026-11-20T10:00:00.001Z",
    ]
    said: list[str] = []
    for number, time in enumerate(times):
        said.append(f"turn {number}")
        capture_turns(lineage, make_turns(*said), "--captured-at", time)
    path = find_only(lineage.root, "manifest")
    manifest = parse_document(path.read_bytes(), f"memory/{path.name}")
    assert not isinstance(manifest, Artifact)
    moments = [naming.parse_captured_at(stem) for stem in manifest.captures]  # type: ignore[union-attr]
    assert moments == [shift_time(times[0], milliseconds=number) for number in range(4)]
    shown = lineage("show", "s-1", "--turns", "1-9", "--json").json["turns"]
    assert [turn["text"] for turn in shown] == said
    assert lineage("verify").code == 0
