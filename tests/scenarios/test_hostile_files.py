"""Inputs to try, numbers 15–20, 27–29, 33 and 34: paths, links, modes and files that somebody else changed.

Not here: 18 and the bundle's part of 15 (test_hostile_18_bundle.py), the crash at every step of a removal (28: it has a
sweep of its own), a full and a read-only disk (33: among the bad input), a world-writable workspace (20: git and sync
tools change modes, so only what is raw is held to its own).
"""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lineage.cli.main import run
from lineage.core.base import naming
from lineage.core.base.naming import derive_session_token
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from lineage.store import LocalStore
from tests.support import workspace
from tests.support.commands import CommandResult, LineageCommand, run_process
from tests.support.hostile_input import (
    assert_workspace_valid,
    capture_turns,
    edit_file,
    find_only,
    make_turns,
    read_ledger,
    run_session_end,
    snapshot_tree,
    verify_findings,
)

pytestmark = pytest.mark.slow

PATHS = [
    "../../escape", "/etc/lineage-escape", "C:\\escape", "C:escape", "\\\\server\\share\\escape", "//server/share",
    "CON", "con.md", "NUL", "COM1", "aux", "x.", "x ", "..", ".", "~root", "$HOME/x", "a/b", "a\\b", "a:b", "%2e%2e%2f",
]  # fmt: skip
STRANGER = "memory/2026-11-20T10-00-00.000Z--aaaaaaaaaaaaaaaa--manifest.md"
SECRET = "AKIA" + "QWERTYUIOPASDFGH"
COMMANDS = (
    ["status"], ["sessions"], ["search", "hello"], ["show", "s-1"], ["verify"], ["render"], ["reindex"], ["recover"],
    ["compaction", "--harness", "generic", "--session-id", "s-1", "--summary", "Goal: x."],
    ["session-end", "--harness", "generic", "--session-id", "s-2", "--transcript", "User: hello again"],
    ["remove", "s-1", "--yes"], ["recover"], ["init"],
)  # fmt: skip


def is_clear(done: CommandResult) -> bool:
    """Done, findings, or one message with a hint under it."""
    return done.code in (0, 4) or (done.code in (1, 2) and done.err.startswith("lineage: ") and "\n  " in done.err)


# 15: paths


@pytest.mark.parametrize("path", PATHS)
def test_15_a_session_that_is_a_path_stays_inside(
    lineage: LineageCommand, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")  # what "." means, wherever the tests run: a temporary folder's sessions are in no ledger
    before = set(snapshot_tree(tmp_path)) | {"transcript.json", "vault"}
    capture_turns(lineage, make_turns("hi"), "--session-key", f"{path}/key", session=path, project=path)
    (row,) = assert_workspace_valid(lineage)
    assert row.session == path.strip()
    assert {name for name in snapshot_tree(tmp_path) if not name.startswith("vault/")} == before
    assert all(naming.parse_path(f"memory/{found.name}") for found in (lineage.root / "memory").glob("*.md"))
    assert not Path("/etc/lineage-escape").exists()


@pytest.mark.parametrize("path", PATHS)
def test_15_an_agent_is_a_folder_of_its_own_or_refused(lineage: LineageCommand, tmp_path: Path, path: str) -> None:
    done = run_session_end(lineage, make_turns("hi"), "--agent", path)
    assert is_clear(done)
    if done.code == 0:
        (row,) = assert_workspace_valid(lineage, path)
        assert row.session == "s-1"
        (folder,) = (lineage.root / "agents").iterdir()
        assert folder.name.split(".")[0].lower() not in ("con", "nul", "com1", "aux")
        assert not folder.name.endswith(".")
    else:
        assert (done.code, (lineage.root / "memory").exists()) == (2, False)
    assert sorted(found.name for found in tmp_path.iterdir()) in (["transcript.json", "vault"], ["transcript.json"])


@pytest.mark.parametrize(
    "path", [*PATHS, "memory/x--manifest.md", "../memory/2026-11-20T10-00-00.000Z--aaaaaaaaaaaaaaaa--manifest.md"]
)
@pytest.mark.parametrize("kind", ["transcript", "summary"])
def test_15_a_manifest_path_that_leads_away_is_a_finding(
    lineage: LineageCommand, tmp_path: Path, kind: str, path: str
) -> None:
    capture_turns(lineage, make_turns("hello"))
    file = find_only(lineage.root, kind)
    manifest = find_only(lineage.root, "manifest").name
    edit_file(file, f'manifest_path: "memory/{manifest}"', f"manifest_path: '{path}'")
    before = {name: found for name, found in snapshot_tree(tmp_path).items() if not name.startswith("vault/")}
    assert ("MUST", f"memory/{file.name}") in verify_findings(lineage)
    for command in COMMANDS:
        assert is_clear(lineage(*command)), command
    assert {name: found for name, found in snapshot_tree(tmp_path).items() if not name.startswith("vault/")} == before


@pytest.mark.leaves_findings
@pytest.mark.parametrize("field", ["summary_path", "transcript_path", "memory_md_refs", "captures"])
@pytest.mark.parametrize("path", ["../../x", "/etc/passwd", "memory/../../x--summary.md", "MEMORY.md#2026-01-01]] [[x"])
def test_15_a_manifest_that_names_what_is_not_its_own_is_a_finding(
    lineage: LineageCommand, field: str, path: str
) -> None:
    capture_turns(lineage, make_turns("hello"))
    file = find_only(lineage.root, "manifest")
    line = next(line for line in file.read_text().split("\n") if line.startswith(f"{field}: "))
    is_list = line.endswith("]")
    edit_file(file, line, f'{field}: ["{path}"]' if is_list else f'{field}: "{path}"')
    assert ("MUST", f"memory/{file.name}") in verify_findings(lineage)
    edited = file.read_bytes()
    assert run_session_end(lineage, make_turns("hello", "more")).code == 1
    assert file.read_bytes() == edited


@pytest.mark.leaves_findings
@pytest.mark.parametrize("path", ["../../x", "/etc/x", "x"])
def test_15_a_claim_that_leads_away_is_refused(lineage: LineageCommand, tmp_path: Path, path: str) -> None:
    capture_turns(lineage, make_turns("hello"))
    (claim,) = (lineage.root / "memory" / "claims").iterdir()
    stem = find_only(lineage.root, "manifest").name.removesuffix("--manifest.md")
    edit_file(claim, f'stem: "{stem}"', f'stem: "{path}"')
    before = snapshot_tree(tmp_path)
    done = run_session_end(lineage, make_turns("hello", "more"))
    assert (done.code, claim.name in done.err) == (1, True)
    assert {name for name in snapshot_tree(tmp_path) if "--" in name} == {name for name in before if "--" in name}


# 16: names that are one name to some file systems


@pytest.mark.parametrize("agent", ["a:b", "", " ", "é", "e\u0301", "a/b", "a\nb", "-x", ".x", "a" * 65, "\u212a"])
def test_16_an_agent_that_is_no_agent_id_is_refused(lineage: LineageCommand, agent: str) -> None:
    done = run_session_end(lineage, make_turns("hi"), "--agent-id", agent)
    if agent:
        assert (done.code, "agent" in done.err) == (2, True)
        assert not (lineage.root / "memory").exists()
    else:
        assert done.code == 0


def test_16_agents_that_differ_in_case_have_a_memory_each_where_case_is_ignored_too(lineage: LineageCommand) -> None:
    agents = ["ann", "Ann", "ANN", "Default", "DEFAULT", "con", "CON", "con.x", "ann.", "ann..", "com1"]
    for agent in agents:
        capture_turns(lineage, make_turns(f"I am {agent}"), "--agent", agent, session=f"of {agent}")
    for agent in agents:
        assert [row.session for row in assert_workspace_valid(lineage, agent)] == [f"of {agent}"]
    folders = [path.name for path in (lineage.root / "agents").iterdir()]
    assert len({name.casefold().rstrip(".") for name in folders}) == len(agents)
    assert not {name.split(".")[0].casefold() for name in folders} & {"con", "com1"}
    assert (lineage.root / "agents" / "ann" / "MEMORY.md").is_file()
    assert sorted(filter(None, (naming.parse_agent(f"agents/{name}/MEMORY.md") for name in folders))) == sorted(agents)


def test_16_sessions_that_differ_in_case_or_composition_are_different_sessions(lineage: LineageCommand) -> None:
    twins = ["S-1", "s-1", "caf\u00e9", "cafe\u0301"]
    for session in twins:
        capture_turns(lineage, make_turns(f"I am {session}"), session=session)
    assert sorted(row.session for row in assert_workspace_valid(lineage)) == sorted(twins)
    names = [path.name.casefold() for path in (lineage.root / "memory").rglob("*.md")]
    assert len(set(names)) == len(names) == 4 * 4


# 17, 29: files edited by hand


@pytest.mark.leaves_findings
@pytest.mark.parametrize(
    ("old", "new"),
    [('session_id: "s-1"', 'session_id: "s-9"'), ('agent_id: "default"', 'agent_id: "ann"'),
     ("session_key: null", 'session_key: "k"'), ('captured_at: "2', 'captured_at: "1')],
)  # fmt: skip
@pytest.mark.parametrize("kind", ["transcript", "summary", "manifest"])
def test_17_an_identity_that_does_not_recompute_is_a_finding_and_no_row(
    lineage: LineageCommand, kind: str, old: str, new: str
) -> None:
    capture_turns(lineage, make_turns("hello"))
    capture_turns(lineage, make_turns("hello"), session="s-9")
    path = next(
        p for p in (lineage.root / "memory").glob(f"*--{kind}.md") if derive_session_token("default", "s-1") in p.name
    )
    edit_file(path, old, new)
    report = lineage("reindex", "--json").json
    assert [problem["path"] for problem in report["problems"]] == [f"memory/{path.name}"]
    assert ("MUST", f"memory/{path.name}") in verify_findings(lineage)
    assert lineage("show", "s-9").code == 0
    assert [row.session for row in read_ledger(lineage.root)].count("s-9") == 1


@pytest.mark.leaves_findings
@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("summary", "## Outcome", "## Upshot"),
        ("transcript", "hello", "hullo"),
        ("manifest", "# hello", "# hullo"),
        ("summary", "memory_sentence: \"In", "memory_sentence: \"At"),
        ("transcript", 'title: "hello"', 'title: "hullo"'),
        ("summary", "private: false", "private: true"),
        ("summary", "tags: [", 'cssclass: "wide"\ntags: ['),
    ],
)  # fmt: skip
def test_29_an_edited_file_is_a_finding_even_after_a_reindex_of_its_body(
    lineage: LineageCommand, kind: str, old: str, new: str
) -> None:
    capture_turns(lineage, make_turns("hello"))
    path = find_only(lineage.root, kind)
    edit_file(path, old, new)
    assert f"memory/{path.name}" in [where for _, where in verify_findings(lineage)]
    edited = path.read_bytes()
    lineage("reindex")
    assert path.read_bytes() == edited


# 19: links, pipes, hard links


PIPES = [
    "MEMORY.md", "lineage.toml", "memory/x.md", "memory/.lineage-tmp-0123456789abcdef", ".lineage/spool/x.json",
    STRANGER.replace("manifest", "summary"), ".lineage/locks/session-iy.lock",
]  # fmt: skip
LINKED = [
    "memory", "memory/claims", "memory/tombstones", "agents", ".lineage", ".lineage/locks", ".lineage/spool",
    "MEMORY.md", "lineage.toml", "AGENT_MEMORY.md", ".lineage/index.db", ".lineage/runtime.db", ".lineage/index.db-wal",
    ".lineage/locks/memory-md-default.lease", ".lineage/locks/guard-memory-md-default.lock",
    ".lineage/locks/session-iy.lock", "memory/.lineage-tmp-0123456789abcdef", ".lineage/spool/.lineage-tmp-01",
]  # fmt: skip


@pytest.mark.leaves_findings
@pytest.mark.parametrize("target", ["full", "empty", "nowhere"])
@pytest.mark.parametrize("place", LINKED)
def test_19_nothing_is_written_or_deleted_behind_a_link(
    lineage: LineageCommand, tmp_path: Path, place: str, target: str
) -> None:
    outside, path = tmp_path / "outside", lineage.root / place
    is_folder = (not Path(place).suffix and ".lineage-tmp" not in place) or place == ".lineage"
    capture_turns(lineage, make_turns("hello"))
    lineage("recover")
    if target == "nowhere":
        outside.mkdir()
    elif is_folder and path.exists() and target == "full":
        path.rename(outside)
    elif is_folder:
        outside.mkdir()
    else:
        outside.mkdir()
        (outside / "canary").write_bytes(b"" if target == "empty" else b"not yours\n")
    path.parent.mkdir(exist_ok=True)
    if path.is_dir():
        path.rename(tmp_path / "was")
    else:
        path.unlink(missing_ok=True)
    led = outside if is_folder else outside / "canary"
    path.symlink_to(outside / "nowhere" if target == "nowhere" else led)
    before = snapshot_tree(outside)
    for command in COMMANDS:
        done = lineage(*command)
        assert is_clear(done), (command, done)
        assert snapshot_tree(outside) == before, command


@pytest.mark.leaves_findings
@pytest.mark.parametrize("kind", ["transcript", "summary", "manifest"])
def test_19_an_artifact_that_is_a_link_is_none(lineage: LineageCommand, tmp_path: Path, kind: str) -> None:
    capture_turns(lineage, make_turns("hello"))
    path = find_only(lineage.root, kind)
    outside = tmp_path / "outside.md"
    path.rename(outside)
    path.symlink_to(outside)
    before = outside.read_bytes()
    assert verify_findings(lineage)
    for command in COMMANDS:
        assert is_clear(lineage(*command)), command
        assert outside.read_bytes() == before


def run_forked(root: Path, *arguments: str) -> CommandResult:
    """The command line in a child of this process; who waits for a minute is ended by SIGALRM."""
    said = [root.with_name(name) for name in ("out", "err")]
    if not (child := os.fork()):
        code = 99
        try:
            for number, path in enumerate(said, 1):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", closefd=False) for number in (1, 2))
            signal.alarm(60)
            code = run(["-w", str(root), *arguments])
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return CommandResult(code, *(path.read_text() for path in said))


@pytest.mark.leaves_findings
@pytest.mark.parametrize("place", PIPES)
def test_19_a_pipe_is_waited_for_by_nobody(tmp_path: Path, place: str) -> None:
    root = tmp_path / "vault"
    end = ["session-end", "--harness", "generic", "--session-id", "s-1", "--transcript", "User: hello"]
    assert run_forked(root, "init").code == run_forked(root, *end).code == 0
    path = root / place
    path.unlink(missing_ok=True)
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    for arguments in (["recover"], ["verify"], [*end[:-1], "User: hello\nAgent: yes"], ["remove", "s-1", "--yes"]):
        done = run_forked(root, *arguments)
        assert is_clear(done), (arguments, done)
    assert path.is_fifo()


def test_19_what_is_hard_linked_outside_stays_there(lineage: LineageCommand, tmp_path: Path) -> None:
    capture_turns(lineage, make_turns("hello"))
    kept = {}
    for path in (*(lineage.root / "memory").rglob("*.md"), lineage.root / "MEMORY.md"):
        twin = tmp_path / f"twin-{path.name}"
        os.link(path, twin)
        kept[twin] = twin.read_bytes()
    capture_turns(lineage, make_turns("hello", "more"))
    assert_workspace_valid(lineage)
    assert lineage("remove", "s-1", "--yes").code == 0
    assert {twin: twin.read_bytes() for twin in kept} == kept


# 20: modes


@pytest.mark.leaves_findings
@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_20_the_machine_s_own_is_its_owner_s_alone_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with workspace.open_test_workspace(tmp_path / "vault") as ws:
            workspace.end_session(ws)
            ws.documents.spool.store.create("spool/x.json", b"{}")
    finally:
        os.umask(before)
    state = tmp_path / "vault" / ".lineage"
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "spool").stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "locks").stat().st_mode) == 0o700
    assert stat.S_IMODE((state / "spool" / "x.json").stat().st_mode) == 0o600


@pytest.mark.leaves_findings
def test_20_a_spool_that_others_can_read_is_a_finding(lineage: LineageCommand) -> None:
    capture_turns(lineage, make_turns("hello"))
    job = lineage.root / ".lineage" / "spool" / "x.json"
    job.parent.mkdir(exist_ok=True)
    job.write_text("raw")
    job.chmod(0o644)
    job.parent.chmod(0o755)
    assert ("MUST", ".lineage/spool/x.json") in verify_findings(lineage)
    job.parent.chmod(0o700)
    assert ("MUST", ".lineage/spool/x.json") not in verify_findings(lineage)


# 27, 28: tombstones


def test_27_a_forged_tombstone_deletes_nothing_and_is_said(lineage: LineageCommand) -> None:
    token = capture_turns(lineage, make_turns("hello")).json["session_token"]
    before = snapshot_tree(lineage.root / "memory")
    stone = lineage.root / "memory" / "tombstones" / f"{token}.md"
    stone.parent.mkdir(exist_ok=True)
    stone.write_text("forged")
    for command in (["reindex", "--yes"], ["recover"], ["render"]):
        assert is_clear(lineage(*command))
    assert len([where for level, where in verify_findings(lineage) if level == "MUST" and token in where]) >= 3
    assert {name: found for name, found in snapshot_tree(lineage.root / "memory").items() if name in before} == before
    stone.unlink()
    lineage("reindex")
    assert [row.session for row in assert_workspace_valid(lineage)] == ["s-1"]


def test_27_a_deleted_tombstone_brings_nothing_back_by_itself(lineage: LineageCommand) -> None:
    token = capture_turns(lineage, make_turns("Where is the zebra?")).json["session_token"]
    assert lineage("remove", "s-1", "--yes").code == 0
    (lineage.root / "memory" / "tombstones" / f"{token}.md").unlink()
    for command in (["reindex"], ["recover"], ["render"]):
        assert lineage(*command).code == 0
    assert assert_workspace_valid(lineage) == []
    assert not any(found and b"zebra" in found for _, found in snapshot_tree(lineage.root).values())


@pytest.mark.parametrize(
    "reason", [f"the key {SECRET} was in it", "---\nkind: manifest", "a\nb]] [[x", "\ud800\u2028", "x" * 5000]
)
def test_27_a_reason_is_sanitized_and_stays_in_its_field(lineage: LineageCommand, reason: str) -> None:
    capture_turns(lineage, make_turns("hello"))
    done = lineage("remove", "s-1", "--yes", "--json", "--reason", reason)
    assert done.code == 0, done.err
    assert assert_workspace_valid(lineage) == []
    assert SECRET not in done.out
    assert not any(found and SECRET.encode() in found for _, found in snapshot_tree(lineage.root).values())


@pytest.mark.parametrize("form", ["{}", "{} 2", "{}.sync-conflict-20261120-101010-ABCDEFG", "{} (conflicted copy)"])
def test_28_files_that_a_sync_client_brings_back_are_ignored_reported_and_deleted_again(
    lineage: LineageCommand, form: str
) -> None:
    token = capture_turns(lineage, make_turns("Where is the zebra?")).json["session_token"]
    saved = {path: path.read_bytes() for path in (lineage.root / "memory").glob("*.md")}
    assert lineage("remove", "s-1", "--yes").code == 0
    for path, data in saved.items():
        path.with_name(form.format(path.stem) + ".md").write_bytes(data)
    for command in (["reindex"], ["recover"], ["render"]):
        assert lineage(*command).code == 0
    assert lineage("search", "zebra", "--json").json["results"] == []
    assert read_ledger(lineage.root) == []
    assert len([where for _, where in verify_findings(lineage) if token in where]) == 3
    done = run_session_end(lineage, make_turns("Where is the zebra?"))
    assert (done.code, done.json["status"]) == (1, "refused")
    assert lineage("remove", token, "--again", "--yes").code == 0
    assert assert_workspace_valid(lineage) == []
    assert not any(found and b"zebra" in found for _, found in snapshot_tree(lineage.root).values())


class Meddling(LocalStore):
    """A store where something happens right after a file was read, once."""

    meddle: Callable[[], object] | None = None

    def read(self, key: str) -> Any:
        blob = super().read(key)
        self._meddled(key)
        return blob

    @contextmanager
    def open(self, key: str) -> Iterator[Any]:
        with super().open(key) as found:
            self._meddled(key)
            yield found

    def _meddled(self, key: str) -> None:
        if self.meddle and key.endswith("--transcript.md"):
            meddle, self.meddle = self.meddle, None
            meddle()


def test_28_a_removal_during_a_reindex_leaves_neither_row_nor_text(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    store = Meddling(root)
    with workspace.open_test_workspace(root, store=store) as ws, workspace.open_test_workspace(root) as other:
        workspace.end_session(ws, "s-1", transcript=workspace.make_turns("Where is the zebra?", "There."))
        workspace.end_session(ws, "s-2")
        token = derive_session_token("default", "s-1")
        ws.index.delete_paths([path for path, kind in ws.index.list_session_files(token) if kind == naming.TRANSCRIPT])
        store.meddle = lambda: remove(other, token, reason="asked for")
        reindex(ws)
        assert store.meddle is None
        assert [row["session_id"] for row in workspace.read_rows(ws)] == ["s-2"] * 3
        assert verify(ws) == []
    assert not any(found and b"zebra" in found for _, found in snapshot_tree(root).values())


# 33, 34: what the system does not give


def test_33_too_few_descriptors_are_a_clear_error_and_the_next_run_finishes(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    captured_once = ["--harness", "generic", "--session-id", "s-1", "--transcript", "User: hello\nAgent: yes", "--json"]
    script = (
        "import os, resource, sys\nfrom lineage.cli.main import run, MODULES\n"
        "from importlib import import_module\n"
        "[import_module('lineage.cli.' + place.partition(':')[0]) for place in MODULES.values()]\n"
        "import lineage.pipeline.maintenance.recover, lineage.pipeline.maintenance.verify\n"
        "import lineage.index, lineage.telemetry, re2\n"
        "import lineage.app.redaction, lineage.app.models, lineage.cli.capture_commands, lineage.config.machine\n"
        "import sqlite_utils\n"
        "import contextlib, io, json, encodings.idna, tempfile, traceback, lineage.core.format.frontmatter\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        "    for words in (['init'], sys.argv[4:]):\n"
        "        run(['-w', sys.argv[1] + '/warm', *words])\n"
        "    run([*sys.argv[2:4], 'init'])\n"
        "for limit in range(3, 24):\n"
        "    if not (child := os.fork()):\n"
        "        for number, name in ((1, 'out'), (2, 'err')):\n"
        "            written = os.open(f'{sys.argv[1]}/{limit}.{name}', os.O_WRONLY | os.O_CREAT)\n"
        "            os.dup2(written, number)\n"
        "            os.close(written)\n"
        "        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))\n"
        "        sys.exit(run(sys.argv[2:]))\n"
        "    print(limit, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)"
    )
    command = [sys.executable, "-c", script, str(tmp_path), "-w", str(root), "session-end", *captured_once]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ended = [tuple(map(int, line.split())) for line in told.splitlines()]
    assert [limit for limit, _ in ended] == list(range(3, 24))
    codes = [code for _, code in ended]
    for limit, code in ended:
        done = CommandResult(code, *((tmp_path / f"{limit}.{name}").read_text() for name in ("out", "err")))
        assert done.code in (0, 1), (limit, done.err)
        assert done.code == 0 or is_clear(done), (limit, done.err)
    assert set(codes) == {0, 1}
    assert run_process(root, "recover").code == 0
    assert run_process(root, "verify").code == 0
    assert len(list((root / "memory").glob("*--transcript.md"))) == 1


@pytest.mark.parametrize("length", [300, 5000])
def test_34_a_path_that_is_too_long_is_a_clear_error(lineage: LineageCommand, tmp_path: Path, length: int) -> None:
    long = "x" * length
    for arguments in (
        ["-w", str(tmp_path / long), "session-end", "--harness", "generic", "--session-id", "s", "--transcript", "x"],
        ["-w", str(tmp_path / long), "status"],
        ["session-end", "--harness", "generic", "--session-id", "s", "--transcript-path", str(tmp_path / long)],
        ["session-end", "--harness", "claude-code", "--session-id", "s", "--transcript-path", str(tmp_path / long)],
        ["init", str(tmp_path / long)],
    ):
        done = lineage(*arguments)
        assert (done.code, is_clear(done)) == (1, True), (arguments[:2], done)
    assert not (lineage.root / "memory").exists()


def test_34_long_names_in_a_session_make_no_long_file_names(lineage: LineageCommand) -> None:
    long = "ü" * 256
    capture_turns(
        lineage, make_turns("hi"), "--session-key", long, "--agent", "a" * 64, session=long, project="/p/" + "é" * 3000
    )
    (row,) = assert_workspace_valid(lineage, "a" * 64)
    assert row.session == long
    assert max(len(path.name.encode()) for path in lineage.root.rglob("*")) < 100
