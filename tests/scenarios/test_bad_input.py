"""Bad input: a clear error, the next command to type, a stable exit code, and nothing lost or half-written.

Each test names what is wrong and looks at the whole workspace afterwards.
"""

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from lineage.cli.main import run
from tests.support.commands import SAMPLE, LineageCommand, run_process


def files(root: Path) -> list[str]:
    """Everything canonical, temp files included."""
    return (
        sorted(p.relative_to(root).as_posix() for p in (root / "memory").rglob("*") if p.is_file())
        if root.exists()
        else []
    )


def says(err: str, *parts: str) -> bool:
    """Whether stderr is one message with a hint under it, holding all parts."""
    lines = err.rstrip("\n").split("\n")
    return (
        len(lines) == 2
        and lines[0].startswith("lineage: ")
        and lines[1].startswith("  ")
        and all(p in err for p in parts)
    )


def test_a_missing_transcript_is_named_and_nothing_is_written(lineage: LineageCommand) -> None:
    done = lineage.end_sample(path=Path("/nowhere/x.jsonl"))
    assert done.code == 1
    assert says(done.err, "/nowhere/x.jsonl", "No such file")
    assert files(lineage.root) == []


def test_a_foreign_transcript_is_refused_with_the_way_out(lineage: LineageCommand, tmp_path: Path) -> None:
    foreign = tmp_path / "rollout.jsonl"
    foreign.write_text('{"timestamp": "2026-10-02T09:00:00Z", "type": "session_meta", "payload": {}}\n')
    done = lineage.end_sample(path=foreign)
    assert done.code == 1
    assert says(done.err, "no Claude Code record", "--harness")
    assert files(lineage.root) == []


def test_a_picture_is_no_transcript(lineage: LineageCommand, tmp_path: Path) -> None:
    picture = tmp_path / "x.png"
    picture.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8)
    for harness in ("claude-code", "generic"):
        done = lineage("session-end", "--harness", harness, "--session-id", "s", "--transcript-path", str(picture))
        assert done.code == 1, harness
        assert says(done.err, "x.png")
    assert files(lineage.root) == []


def test_an_empty_transcript_is_unchanged_with_reason_empty(lineage: LineageCommand, tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    done = lineage.end_sample("--json", path=empty)
    assert done.code == 0
    assert (done.json["status"], done.json["reason"]) == ("unchanged", "empty")
    assert files(lineage.root) == []


def test_a_truncated_transcript_captures_what_is_whole_and_counts_the_rest(
    lineage: LineageCommand, tmp_path: Path
) -> None:
    torn = tmp_path / "torn.jsonl"
    torn.write_bytes(SAMPLE.read_bytes()[:3000])
    done = lineage.end_sample("--json", path=torn)
    assert done.code == 0
    assert done.json["status"] == "captured"
    assert done.json["skipped"]["damaged"] == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("payload", "named"),
    [
        ({}, "harness"),
        ({"harness": "generic"}, "session_id"),
        ({"harness": "generic", "session_id": "  ", "transcript": "x"}, "session_id"),
        ({"harness": "generic", "session_id": 7, "transcript": "x"}, "session_id"),
        ({"harness": "generic", "session_id": "a\nb", "transcript": "x"}, "session_id"),
        ({"harness": "generic", "session_id": "x" * 300, "transcript": "x"}, "session_id"),
        ({"harness": "generic", "session_id": "s"}, "transcript"),
        ({"harness": "generic", "session_id": "s", "transcript": "x", "transcript_path": "y"}, "transcript_path"),
        ({"harness": "generic", "session_id": "s", "transcript": 7}, "transcript"),
        ({"harness": "emacs", "session_id": "s", "transcript": "x"}, "emacs"),
        ({"harness": "generic", "session_id": "s", "transcript": "x", "agent_id": "a:b"}, "agent"),
        ({"harness": "generic", "session_id": "s", "transcript": "x", "agent_id": "../x"}, "agent"),
        ({"harness": "generic", "session_id": "s", "transcript": "x", "ended_at": "2026-11-20T10:00:00"}, "zone"),
        ({"harness": "generic", "session_id": "s", "transcript": "x", "captured_at": "yesterday"}, "time"),
        ({"harness": "generic", "session_id": "s", "transcript": "x", "started_at": 12}, "started_at"),
        ({"harness": "generic", "session_id": "s", "transcript": [{"role": "boss", "text": "x"}]}, "turn 0"),
        ({"harness": "generic", "session_id": "s", "transcript": [{"role": "user", "at": "10:00"}]}, "time"),
        ({"harness": "generic", "session_id": "s", "transcript": "x", "sesion_key": "k"}, "session_key"),
        ({"harness": "generic", "session_id": "s", "transcript": "x", "private": "yes"}, "private"),
        ({"harness": "generic", "session_id": "AKIA" + "QWERTYUIOPASDFGH", "transcript": "x"}, "credential"),
    ],
)  # fmt: skip
def test_a_bad_payload_is_a_usage_error_that_names_the_field(
    tmp_path: Path, payload: dict[str, object], named: str
) -> None:
    done = run_process(tmp_path / "vault", "session-end", "--stdin", stdin=json.dumps(payload).encode())
    assert done.code == 2, done.err
    assert says(done.err, named)
    assert files(tmp_path / "vault") == []


@pytest.mark.slow
@pytest.mark.parametrize("stdin", [b"", b"not json", b"[]", b"\xff\xfe", b"[" * 50_000])
def test_a_stdin_that_is_no_object_is_a_usage_error(tmp_path: Path, stdin: bytes) -> None:
    done = run_process(tmp_path / "vault", "session-end", "--stdin", stdin=stdin)
    assert done.code == 2
    assert says(done.err, "stdin holds no JSON")


@pytest.mark.parametrize("is_there", [False, True])
def test_typing_makes_no_workspace(tmp_path: Path, capsys: pytest.CaptureFixture[str], is_there: bool) -> None:
    """Neither of a missing folder nor of one that is somebody's: only `init` does, and a harness's hook."""
    root, session = tmp_path / "folder", ["--harness", "generic", "--session-id", "s", "--transcript", "User: x"]
    if is_there:
        root.mkdir()
        (root / "notes.md").write_text("mine\n")
    for command in (
        ["status"], ["sessions"], ["search", "x"], ["show", "x"], ["reindex"], ["render"], ["verify"], ["recover"],
        ["remember", "x"], ["session-end", *session], ["compaction", *session, "--summary", "x"], ["work"], ["sweep"],
        ["import", "all"], ["upgrade"], ["context"], ["book", "list"], ["doctor"], ["mirror", str(tmp_path / "other")],
        ["watch"], ["serve"], ["remove", "x", "--yes"], ["resanitize"], ["archive", "--before", "2026-01-01"],
    ):  # fmt: skip
        code = run(["--workspace", str(root), *command])
        assert code == 1, command
        assert says(capsys.readouterr().err, "no workspace at", "lineage init"), command
    assert [path.name for path in root.glob("*")] == (["notes.md"] if is_there else [])
    assert not (tmp_path / "other").exists()
    assert run(["--workspace", str(root), "init"]) == run(["--workspace", str(root), "session-end", *session]) == 0


@pytest.mark.parametrize("command", [["context"], ["session-end", "--harness", "generic"], ["status"]])
def test_the_home_of_somebody_who_is_not_there_is_an_error(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    done = LineageCommand(Path("~nobody-is-here/x"), capsys)(*command)
    assert (done.code, says(done.err, "no home folder", "name the folder")) == (1, True)


def test_a_file_in_the_home_of_somebody_who_is_not_there_is_none(lineage: LineageCommand) -> None:
    lineage("init")
    for command in (["bundle", "import", "~nobody-is-here/x"], ["book", "migrate", "~nobody-is-here/x"]):
        done = lineage(*command)
        assert (done.code in (1, 2), "unexpected" in done.err) == (True, False), (command, done)


def test_a_workspace_that_is_a_file_is_an_error(lineage: LineageCommand) -> None:
    lineage.root.write_text("not a folder")
    done = lineage.end_sample()
    assert done.code == 1
    assert done.err.startswith("lineage: ")
    assert lineage.root.read_text() == "not a folder"


@pytest.mark.slow
@pytest.mark.skipif(
    os.geteuid() == 0 and shutil.which("setpriv") is None, reason="root writes everywhere, and setpriv is missing"
)
def test_a_workspace_that_is_not_writable_is_an_error() -> None:
    drop = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] if os.geteuid() == 0 else []
    root = Path(tempfile.mkdtemp()) / "vault"
    root.mkdir()
    (root / "lineage.toml").touch()
    root.parent.chmod(0o755)
    root.chmod(0o555)
    code = f"import sys; sys.path[:0] = {sys.path!r}; from lineage.cli.main import run; sys.exit(run(sys.argv[1:]))"
    arguments = [
        "-w",
        str(root),
        "session-end",
        "--harness",
        "generic",
        "--session-id",
        "s",
        "--transcript",
        "User: hi",
    ]
    done = subprocess.run(
        [*drop, sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        env={**os.environ, "HOME": "/"},
    )
    if done.returncode not in (0, 1, 2, 3):
        pytest.skip("no interpreter for another user here")
    if "Permission denied" in done.stderr and not done.stderr.startswith("lineage: "):
        pytest.skip("the interpreter cannot be read by another user here")
    assert done.returncode == 1, done.stderr
    assert says(done.stderr, os.strerror(errno.EACCES))
    assert f"{root} can't be written" in done.stderr
    assert f"`ls -ld {root}`" in done.stderr
    assert list(root.iterdir()) == [root / "lineage.toml"]
    shutil.rmtree(root.parent)


@pytest.mark.slow
def test_a_disk_that_fills_up_loses_nothing_and_the_next_run_finishes(tmp_path: Path) -> None:
    """A file size limit makes every larger write fail half-way, as a full disk does."""
    root, big = tmp_path / "vault", tmp_path / "big.txt"
    assert run_process(root, "init").code == 0
    big.write_text("".join(f"User: line {n} of a long story\n" for n in range(8_000)))
    arguments = ["session-end", "--harness", "generic", "--session-id", "s", "--transcript-path", str(big), "--json"]
    limit = 200_000
    done = subprocess.run(
        [sys.executable, "-m", "lineage", "-w", str(root), *arguments],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 1, done.stderr
    assert says(done.stderr, "File too large")
    assert [path for path in files(root) if not path.startswith("memory/claims/")] == []
    again = run_process(root, *arguments)
    assert (again.code, again.json["status"]) == (0, "captured")
    assert run_process(root, "verify").code == 0


@pytest.mark.parametrize("damage", [b"", b"not a database at all, but long enough to be looked at" * 40, None])
def test_a_corrupt_or_missing_index_is_rebuilt(lineage: LineageCommand, damage: bytes | None) -> None:
    lineage.end_sample()
    before = lineage("search", "csv", "--json").json
    memory = (lineage.root / "MEMORY.md").read_bytes()
    database = lineage.root / ".lineage" / "index.db"
    for suffix in ("-wal", "-shm"):
        database.with_name(database.name + suffix).unlink(missing_ok=True)
    if damage is None:
        database.unlink()
    else:
        database.write_bytes(damage)
    assert lineage("search", "csv", "--json").json == before
    assert lineage("verify").code == 0
    assert (lineage.root / "MEMORY.md").read_bytes() == memory


def test_an_index_torn_in_the_middle_is_rebuilt(lineage: LineageCommand) -> None:
    lineage.end_sample()
    before = lineage("search", "csv", "--json").json
    database = lineage.root / ".lineage" / "index.db"
    data = bytearray(database.read_bytes())
    data[4096:] = b"\xee" * (len(data) - 4096)
    database.write_bytes(data)
    assert lineage("search", "csv", "--json").json == before


def test_a_corrupt_telemetry_database_is_set_aside_and_said(lineage: LineageCommand) -> None:
    lineage.end_sample()
    database = lineage.root / ".lineage" / "runtime.db"
    database.write_bytes(b"no database " * 500)
    done = lineage("status")
    assert done.code == 0
    assert "runtime.db.damaged" in done.out
    assert (lineage.root / ".lineage" / "runtime.db.damaged").read_bytes().startswith(b"no database")


@pytest.mark.leaves_findings
def test_an_unknown_setting_is_a_warning_and_a_wrong_value_an_error(lineage: LineageCommand) -> None:
    lineage("init")
    (lineage.root / "lineage.toml").write_text("[ledger]\nmax_byte = 10000\n")
    done = lineage("status")
    assert done.code == 0
    assert "did you mean 'ledger.max_bytes'?" in done.err
    (lineage.root / "lineage.toml").write_text('[ledger]\nrow_style = "wide"\n')
    assert lineage("status").code == 2


def test_a_reference_to_nothing_or_to_many_is_an_error(lineage: LineageCommand) -> None:
    for session in ("abc-1", "abc-2"):
        lineage.end_sample(session=session)
    assert says(lineage("show", "zzz").err, "zzz", "lineage list")
    many = lineage("show", "abc")
    assert many.code == 1
    assert says(many.err, "ambiguous", "abc-1", "abc-2")
    assert lineage("show", "abc-1").code == 0


def test_a_sudden_loss_stops_the_reindex_until_confirmed(lineage: LineageCommand) -> None:
    lineage.end_sample()
    moved = lineage.root.parent / "elsewhere"
    (lineage.root / "memory").rename(moved)
    done = lineage("reindex")
    assert done.code == 1
    assert says(done.err, "3 of 3", "lineage reindex --yes")
    moved.rename(lineage.root / "memory")
    assert lineage("reindex", "--json").json["unchanged"] == 3
    shutil.rmtree(lineage.root / "memory")
    assert lineage("reindex", "--yes", "--json").json["dropped"] == 3


@pytest.mark.leaves_findings
def test_a_damaged_artifact_is_reported_and_the_rest_is_indexed(lineage: LineageCommand) -> None:
    lineage.end_sample()
    summary = next((lineage.root / "memory").glob("*--summary.md"))
    summary.chmod(0o644)
    summary.write_text("---\nkind: summary\n---\nnothing else\n")
    report = lineage("reindex", "--json").json
    assert [problem["path"] for problem in report["problems"]] == [f"memory/{summary.name}"]
    done = lineage("verify", "--json")
    assert done.code == 4
    assert {finding["level"] for finding in done.json["findings"]} >= {"MUST"}


def test_an_unexpected_failure_ends_with_code_3_and_a_report_without_content(
    lineage: LineageCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("secret " + "content")

    monkeypatch.setattr("lineage.cli.capture_commands.run_capture", broken)
    done = lineage.end_sample()
    assert done.code == 3
    report = Path(done.err.split("report ")[1].strip())
    text = report.read_text()
    report.unlink()
    assert "Traceback" not in done.err
    assert "broken" in text
    assert "secret content" not in text + done.err


def test_terminal_sequences_never_come_from_content(lineage: LineageCommand, tmp_path: Path) -> None:
    nasty = tmp_path / "t.json"
    nasty.write_text(json.dumps([{"role": "user", "text": "\x1b]0;owned\x07\x1b[31mred\x9b31m \u202eevil\u202c csv"}]))
    lineage("session-end", "--harness", "generic", "--session-id", "s\u202e1"[:1], "--transcript-path", str(nasty))
    for command in (["sessions"], ["search", "csv"], ["show", "s"], ["show", "s", "--kind", "transcript"]):
        out = lineage(*command).out
        assert not set(out) & {"\x1b", "\x07", "\x9b", "\u202e"}, command


def test_an_interrupt_ends_with_130(lineage: LineageCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    class Interrupts:
        __set_name__ = interrupted

    def make_class(*_: object) -> None:
        type("Made", (), {"it": Interrupts()})  # Python 3.11 raises a RuntimeError from the interruption

    for stopped in (interrupted, make_class):
        monkeypatch.setattr("lineage.cli.capture_commands.run_capture", stopped)
        done = lineage.end_sample()
        assert done.code == 130
        assert says(done.err.lstrip("\n"), "interrupted")
