"""`lineage hook` never fails its harness, whatever fails. (law 5; harnesses.md 0.1)"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lineage.core.base.context_blocks import ContextFile
from lineage.documents import ContextCache
from lineage.store import LocalStore
from tests.support.concurrency import run_unprivileged
from tests.support.hook_process import (
    NO_WORKER,
    build_environment,
    hook_command,
    list_spooled_paths,
    make_payload,
    read_hook_log,
    run_hook,
)

pytestmark = pytest.mark.slow

SECRET = "what-nobody-may-read"
BLOCK = "Earlier sessions in this project:\n- “Mended the reader.”\n"
POSIX = pytest.mark.skipif(os.name == "nt", reason="pipes, links and descriptors as POSIX has them")


def prepare(root: Path, folder: Path | str, text: str = BLOCK, agent: str = "default") -> None:
    state = root / ".lineage"
    ContextCache(LocalStore(state, locks=state / "locks", private=True)).put(agent, str(folder), ContextFile(text=text))


@pytest.mark.parametrize("words", [(), ("--unknown", "x"), ("claude-code", "codex"), ("claude-code", "--workspace")])
def test_a_wrong_command_line_is_logged(home: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lineage", "hook", *words],
        input=json.dumps(make_payload()).encode(),
        capture_output=True,
        env=build_environment(**NO_WORKER),
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "one harness is to be named" in read_hook_log(home / ".agents")


@pytest.mark.parametrize("words", [("hook",), ("hook", "--what", "claude-code"), ("hook", "claude-code")])
def test_options_before_the_command_are_no_hindrance(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lineage", "--workspace", str(tmp_path), *words],
        input=json.dumps(make_payload()).encode(),
        capture_output=True,
        env=build_environment(**NO_WORKER),
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert len(list_spooled_paths(tmp_path)) == (len(words) == 2)


def test_the_workspace_may_be_named_by_a_variable(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "lineage", "hook", "codex"],
        input=json.dumps(make_payload()).encode(),
        env=build_environment(**NO_WORKER, LINEAGE_WORKSPACE=str(tmp_path / "w")),
        check=True,
    )
    assert len(list_spooled_paths(tmp_path / "w")) == 1


@POSIX
def test_a_workspace_that_cannot_be_written_fails_nobody(tmp_path: Path) -> None:
    root = tmp_path / "w"
    root.mkdir(mode=0o555)
    tmp_path.chmod(0o755)
    said = run_unprivileged(
        "import io, json, os, sys\nfrom lineage.cli import hook_entry",
        "os.environ['LINEAGE_NO_WORKER'] = '1'\n"
        'reading, writing = os.pipe()\nos.write(writing, b\'{"session_id": "s"}\')\nos.dup2(reading, 0)\n'
        f"print(hook_entry.run(['claude-code', '--workspace', {str(root)!r}]))",
        Path("/"),
    )
    assert said == "0\n"
    assert list(root.iterdir()) == []


@POSIX
@pytest.mark.parametrize("part", [".lineage", ".lineage/spool", ".lineage/spool/signals"])
def test_links_are_not_followed(tmp_path: Path, part: str) -> None:
    root, elsewhere = tmp_path / "w", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (root / part).parent.mkdir(parents=True)
    (root / part).symlink_to(elsewhere)
    done = run_hook(root, make_payload())
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("part", ["", ".lineage", ".lineage/spool", ".lineage/spool/signals", ".lineage/log"])
def test_a_file_in_a_folders_place_fails_nobody(tmp_path: Path, part: str) -> None:
    root = tmp_path / "w"
    (root / part).parent.mkdir(parents=True, exist_ok=True)
    (root / part).write_text("")
    done = run_hook(root, make_payload() if part != ".lineage/log" else b"")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_a_session_is_told_what_is_known_where_nothing_can_be_written(tmp_path: Path) -> None:
    root, folder = tmp_path / "w", tmp_path / "demo"
    folder.mkdir()
    prepare(root, folder)
    (root / ".lineage" / "spool").mkdir(exist_ok=True)
    (root / ".lineage" / "spool" / "signals").write_text("")
    done = run_hook(root, make_payload(hook_event_name="SessionStart", source="startup", cwd=str(folder)))
    assert (done.returncode, done.stderr) == (0, b"")
    assert "Mended the reader." in done.stdout.decode()
    assert read_hook_log(root)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
@pytest.mark.parametrize("call", ["fsync:error=EIO", "write:error=ENOSPC", "?rename,?renameat:error=EROFS"])
def test_a_disk_that_fails_leaves_nothing_and_fails_nobody(tmp_path: Path, call: str) -> None:
    root = tmp_path / "w"
    done = subprocess.run(
        ["strace", "-f", "-o", os.devnull, "-e", f"inject={call}", *hook_command(root)],
        input=json.dumps(make_payload()).encode(),
        capture_output=True,
        env=build_environment(**NO_WORKER),
        check=False,
    )
    if b"strace:" in done.stderr:
        pytest.skip("NO FAULT INJECTION: strace cannot attach to a process here")
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list_spooled_paths(root) == []


@POSIX
@pytest.mark.parametrize("redirection", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", "</dev/null >/dev/full"])
def test_closed_descriptors_fail_nobody(tmp_path: Path, redirection: str) -> None:
    prepare(tmp_path / "w", tmp_path)
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *hook_command(tmp_path / "w")],
        input=json.dumps(make_payload("SessionStart", cwd=str(tmp_path))).encode(),
        capture_output=True,
        env=build_environment(**NO_WORKER),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(list_spooled_paths(tmp_path / "w")) == ("<" not in redirection)


@POSIX
def test_a_reader_that_is_gone_fails_nobody(tmp_path: Path) -> None:
    prepare(tmp_path / "w", tmp_path)
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        hook_command(tmp_path / "w"),
        input=json.dumps(make_payload("SessionStart", cwd=str(tmp_path))).encode(),
        stdout=writing,
        stderr=subprocess.PIPE,
        env=build_environment(**NO_WORKER),
        check=False,
    )
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "BrokenPipeError" in read_hook_log(tmp_path / "w")


def test_a_failure_is_logged_without_a_value_of_the_payload(tmp_path: Path) -> None:
    (tmp_path / ".lineage").mkdir()
    (tmp_path / ".lineage/spool").write_text("")
    run_hook(tmp_path, make_payload(session=SECRET, reason=SECRET))
    run_hook(tmp_path, b'{"session_id": "' + SECRET.encode())
    lines = read_hook_log(tmp_path).splitlines()
    assert len(lines) == 2
    assert all(line[:2] == "20" and "Error" in line for line in lines)
    assert SECRET not in read_hook_log(tmp_path)


def test_the_log_does_not_grow_for_ever(tmp_path: Path) -> None:
    (tmp_path / ".lineage/log").mkdir(parents=True)
    (tmp_path / ".lineage/log/hook.log").write_text("x" * 300_000)
    run_hook(tmp_path, b"")
    assert len(read_hook_log(tmp_path)) < 200
    run_hook(tmp_path, b"")
    assert read_hook_log(tmp_path).count("\n") == 2
