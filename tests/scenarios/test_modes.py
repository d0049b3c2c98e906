"""Who may read a workspace: its owner alone or, where that was asked for, its group; whatever the umask.

Fails where a file is made by a library's own mode (SQLite's, `mkdir -p`'s), made wide and narrowed afterwards, or where
`init`, `doctor` or `upgrade` look past what others may read.
"""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.commands import SAMPLE, SAMPLE_ID, LineageCommand
from tests.support.strace import require_strace
from tests.support.web_client import serve_workspace

pytestmark = pytest.mark.slow

SESSION = ("--harness", "claude-code", "--session-id", SAMPLE_ID, "--transcript-path", str(SAMPLE))
LIFE: tuple[Sequence[str], ...] = (
    ("init",),
    ("session-end", *SESSION),
    ("compaction", *SESSION, "--summary", "Goal: read the last line."),
    ("hook", "claude-code"),
    ("work",),
    ("remember", "The parser keeps the last line."),
    ("book", "list"),
    ("search", "parser"),
    ("context",),
    ("show", SAMPLE_ID),
    ("sessions",),
    ("status",),
    ("bundle", "export", SAMPLE_ID, "-o", "{root}/session.lineage.zip"),
    ("hooks", "install", "claude-code"),
    ("import", "claude-code", str(SAMPLE)),
    ("reindex",),
    ("resanitize",),
    ("archive", "--before", "2026-01-01"),
    ("render",),
    ("verify",),
    ("sweep",),
    ("recover",),
    ("doctor",),
    ("watch", "--once"),
    ("mirror", "{root}-mirror", "--once"),
    ("serve", "--port", "0", "--check"),
    ("migrate-store", "{root}", "{root}-2"),
    ("hooks", "uninstall", "claude-code"),
    ("remove", SAMPLE_ID, "--yes"),
)
CALLS = "openat,?mkdir,mkdirat,?chmod,fchmod,fchmodat,?link,linkat,?rename,renameat,renameat2"
_CALL = re.compile(r"^\d+ +(\w+)\((.*)\) += (?!-1 )")
_MODE = re.compile(r", (0\d*)$")


@pytest.fixture(autouse=True)
def wide_umask(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LINEAGE_NO_WORKER", "1")
    before = os.umask(0)
    (home / ".claude").mkdir(mode=0o700)
    yield
    os.umask(before)


def list_open(*places: Path, allowed: int = 0) -> list[str]:
    """What others than the owner may read, write or list below the places; `allowed` are the group's permissions."""
    paths = [path for place in places for path in (place, *place.rglob("*")) if path.exists()]
    modes = ((path, stat.S_IMODE(path.stat().st_mode)) for path in paths)
    return [f"{path} {mode:o}" for path, mode in modes if mode & 0o077 & ~allowed]


def iter_wide(trace: Sequence[str], there: set[str], places: tuple[str, ...]) -> Iterator[str]:
    """Yield the calls that made something with a mode that lets others in, or gave it one."""
    for line in trace:
        match = _CALL.match(line)
        paths = re.findall(r'"([^"]*)"', match[2]) if match else []
        if match is None or (paths and not paths[-1].startswith(places)):
            continue
        # Of a file that is there already the mode of an opening means nothing.
        is_new = match[1] != "openat" or ("O_CREAT" in match[2] and paths[-1] not in there)
        mode = _MODE.search(match[2])
        if is_new and mode and int(mode[1], 8) & 0o077:
            yield line
        there.update(paths[-1:])


def fill_in(arguments: Sequence[str], root: Path) -> list[str]:
    return [argument.replace("{root}", str(root)) for argument in arguments]


def test_no_command_leaves_anything_that_others_can_read(
    lineage: LineageCommand, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = lineage.root
    for arguments in LIFE:
        if arguments[0] != "hook":  # reads stdin: below, as a process
            done = lineage(*fill_in(arguments, root))
            assert done.code == 0, (arguments, done)
        assert list_open(root, Path(f"{root}-2"), Path(f"{root}-mirror"), home / ".claude") == [], arguments


@pytest.mark.slow
def test_no_command_makes_anything_wider_even_for_a_moment(tmp_path: Path, home: Path) -> None:
    require_strace()
    root, trace = tmp_path / "vault", tmp_path / "trace"
    payload = {"hook_event_name": "SessionEnd", "session_id": SAMPLE_ID, "transcript_path": str(SAMPLE), "cwd": "/w"}
    for arguments in LIFE:
        there = {str(path) for path in tmp_path.rglob("*")}
        subprocess.run(
            ["strace", "-f", "-qq", "-o", trace, "-e", f"trace={CALLS}", sys.executable, "-m", "lineage",
             "--workspace", str(root), *fill_in(arguments, root)],
            input=json.dumps(payload), text=True, capture_output=True, check=True,
        )  # fmt: skip
        assert list(iter_wide(trace.read_text().splitlines(), there, (str(tmp_path), str(home)))) == [], arguments
        if arguments[0] == "init":
            assert trace.read_text().count("O_CREAT") > 20
        assert list_open(root, Path(f"{root}-2"), Path(f"{root}-mirror"), home / ".claude") == [], arguments


@pytest.mark.slow
def test_what_the_page_writes_is_its_owner_s_alone(lineage: LineageCommand) -> None:
    lineage("init")
    turns = [{"role": "user", "text": "Why does the reader lose a line?"}]
    payload = {"harness": "generic", "session_id": "s-1", "project": "/home/ada/demo", "transcript": turns}
    with serve_workspace(lineage.root) as client:
        assert client.send_json("/api/session-end", payload).json["status"] == "captured"
        assert client.get("/").status == 200
        assert list_open(lineage.root) == []


def test_a_shared_workspace_is_its_group_s_to_read_and_nobody_s_else(lineage: LineageCommand) -> None:
    assert lineage("init", "--shared").code == 0
    lineage.end_sample()
    os.umask(0o077)
    lineage("remember", "The parser keeps the last line.")
    assert list_open(lineage.root, allowed=0o050) == []
    assert list_open(lineage.root / ".lineage") == []
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (lineage.root, *lineage.root.rglob("*"))}
    shown = {path: mode for path, mode in modes.items() if ".lineage" not in path.parts}
    assert {mode for path, mode in shown.items() if path.is_dir()} == {0o750}
    assert {mode for path, mode in shown.items() if path.is_file()} == {0o640, 0o440}


def test_a_workspace_that_others_can_read_is_a_finding_until_it_is_upgraded(lineage: LineageCommand) -> None:
    lineage("init")
    lineage.end_sample()
    assert lineage("doctor").code == 0
    for path in (lineage.root, *lineage.root.rglob("*")):
        path.chmod(stat.S_IMODE(path.stat().st_mode) | 0o055)
    done = lineage("doctor")
    assert (done.code, "lineage admin upgrade" in done.out) == (4, True)
    count = len(lineage("upgrade", "--dry-run", "--json").json["modes"])
    assert lineage("doctor").code == 4
    assert len(lineage("upgrade", "--json").json["modes"]) == count > 0
    assert lineage("doctor").code == 0
    assert lineage("upgrade", "--json").json["modes"] == []


def test_a_vault_s_other_notes_keep_their_modes(lineage: LineageCommand) -> None:
    lineage.root.mkdir(mode=0o777)
    note = lineage.root / "Journal.md"
    note.write_text("mine")
    assert lineage("init").code == 0
    assert (stat.S_IMODE(note.stat().st_mode), stat.S_IMODE(lineage.root.stat().st_mode)) == (0o666, 0o755)
    assert [path for path in list_open(lineage.root) if "Journal" not in path and ".obsidian" not in path] == [
        f"{lineage.root} 755"
    ]
    assert lineage("doctor").code == 0
