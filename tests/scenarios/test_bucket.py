"""A memory in a bucket, by the command line: two machines, a server that goes away, what a bucket can't do.

What each guard rests on:
- addresses: `resolve_bucket_folder` in `app.locations` and in `hook_entry`, which must agree; `folder_to_address` in
  `open_store`.
- a store that breaks a promise: `_check_promises` in init.
- what another machine removed: `drop_removed_sessions` in `_ensure_indexed`.
- a server that is away: the job is in the spool before the first artifact; who finds it away already puts one there
  (app/spooling.py); `_away` in `status`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from lineage.app.locations import format_location, is_bucket, open_store, resolve_workspace_root
from lineage.cli import hook_entry as bell
from lineage.cli.main import run
from lineage.errors import InvalidInput, format_extra_hint
from lineage.store import objects
from tests.support import engines
from tests.support.commands import SAMPLE, SAMPLE_ID, CommandResult
from tests.support.concurrency import PROJECT
from tests.support.dead_processes import find_holders
from tests.support.hook_process import make_payload
from tests.support.proxies import CUT, FaultyProxy, run_proxy
from tests.support.stores import hurry_leases

pytestmark = pytest.mark.slow

Machine = Callable[..., CommandResult]

slow = pytest.mark.slow
END = ("session-end", "--harness", "claude-code", "--transcript-path", str(SAMPLE), "--session-id")


def configure(home: Path, settings: dict[str, str], head: str = "") -> None:
    file = home / ".config" / "lineage" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [head, "[bucket]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
    file.write_text("\n".join(lines))


@pytest.fixture
def url() -> str:
    return f"{engines.start_object_store().url}/{uuid4().hex}"


@pytest.fixture
def machine(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Machine]:
    """Makes a machine with a home of its own, whose command line works in the bucket."""

    def made(name: str = "one", settings: dict[str, str] | None = None) -> Machine:
        home = tmp_path / name
        configure(home, settings or engines.start_object_store().settings())

        def lineage(*arguments: str) -> CommandResult:
            monkeypatch.setenv("HOME", str(home))
            capsys.readouterr()
            code = run(["--workspace", url, *arguments])
            printed = capsys.readouterr()
            return CommandResult(code, printed.out, printed.err)

        return lineage

    return made


@pytest.fixture
def proxy() -> Iterator[FaultyProxy]:
    with run_proxy(engines.start_object_store().port) as proxy:
        yield proxy


@contextmanager
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        defaults = objects.BucketStore.__init__.__defaults__
        patch.setattr(objects.BucketStore.__init__, "__defaults__", (*(defaults or ())[:-1], 0.2))
        yield


# addresses


def test_an_address_names_a_folder_of_this_machine_s_state(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = resolve_workspace_root("s3://Team/notes/", {})
    assert root == home / ".local" / "state" / "lineage" / "s3%3a%2f%2f%54eam%2fnotes"
    assert (format_location(root), is_bucket(root)) == ("s3://Team/notes", True)
    assert resolve_workspace_root(str(root), {}) == root, "hooks name the folder"
    assert resolve_workspace_root(None, {"LINEAGE_WORKSPACE": "gs://b", "XDG_STATE_HOME": "/var/state"}) == Path(
        "/var/state/lineage/gs%3a%2f%2fb"
    )
    assert not is_bucket(home)


@pytest.mark.parametrize("named", ["ftp://b", "s3://", "s3://b/../c", "s3://b/" + "x" * 300, "file:///etc"])
def test_what_is_no_address_is_refused_and_makes_no_folder(named: str, home: Path) -> None:
    with pytest.raises(InvalidInput, match="not an address"):
        resolve_workspace_root(named, {})
    assert list(home.iterdir()) == []


def test_the_machine_s_configuration_names_a_workspace_for_want_of_another(home: Path) -> None:
    configure(home, {}, 'workspace = "s3://team/notes"')
    assert format_location(resolve_workspace_root(None, {})) == "s3://team/notes"
    assert resolve_workspace_root(None, {"LINEAGE_WORKSPACE": "/elsewhere"}) == Path("/elsewhere")
    assert resolve_workspace_root("/here", {}) == Path("/here")


@pytest.mark.parametrize("address", ["s3://team", "gs://Team/nötes/", "az://c/a b"])
def test_the_hook_finds_the_same_folder(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert bell._resolve_root(address) == str(resolve_workspace_root(address, {}))
    monkeypatch.setenv("LINEAGE_WORKSPACE", address)
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    assert bell._resolve_root(None) == str(resolve_workspace_root(None, dict(os.environ)))


def test_a_hook_with_an_address_of_an_unknown_kind_logs_it_and_exits_0(home: Path) -> None:
    assert bell.run(["claude-code", "--workspace", "ftp://host"]) == 0
    assert "no address" in (home / ".agents" / ".lineage" / "log" / "hook.log").read_text()
    assert not list(home.rglob("spool"))


# two machines


@slow
def test_two_machines_share_a_memory_and_each_keeps_its_own_state(
    machine: Callable[..., Machine], tmp_path: Path
) -> None:
    one, two = machine("one"), machine("two")
    assert one("init").code == 0
    assert one(*END, SAMPLE_ID).code == 0
    assert [row["session_id"] for row in two("sessions", "--json").json["sessions"]] == [SAMPLE_ID]
    assert two(*END, SAMPLE_ID, "--json").json["status"] == "unchanged"
    assert two(*END, "another", "--json").json["status"] == "captured"
    one("reindex")
    assert len(one("sessions", "--json").json["sessions"]) == 2
    for lineage in (one, two):
        assert lineage("verify").code == 0
    kept = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("index.db")}
    assert kept == {"one", "two"}
    assert not list(tmp_path.rglob("*.md"))


@slow
def test_what_one_machine_removes_no_other_brings_back(machine: Callable[..., Machine]) -> None:
    one, two = machine("one"), machine("two")
    one("init")
    two(*END, SAMPLE_ID)
    receipt = one("remove", SAMPLE_ID, "--yes", "--json").json
    assert any("versions" in place for place in receipt["out_of_reach"])
    assert not any("Obsidian" in place for place in receipt["out_of_reach"])
    assert two(*END, SAMPLE_ID, "--json").json["status"] == "refused"
    two("reindex", "--yes")
    assert two("sessions", "--json").json["sessions"] == []
    assert two("verify").code == 0


@slow
@pytest.mark.parametrize("asked", [["search", "quokka4711"], ["context", "--project", "/home/ada/demo"]])
def test_what_one_machine_removes_no_other_shows_any_more(
    machine: Callable[..., Machine], tmp_path: Path, asked: list[str]
) -> None:
    """From the next command on, whichever it is; and no byte of it is kept there."""
    one, two = machine("one"), machine("two")
    one("init")
    said = ("--harness", "generic", "--project", "/home/ada/demo", "--transcript")
    one("session-end", *said, "User: Decision: the quokka4711 sleeps in the lair.", "--session-id", "gone")
    one("session-end", *said, "User: Decision: the reader splits on newline.", "--session-id", "kept")
    assert "quokka4711" in two(*asked).out
    one("remove", "gone", "--yes")
    assert "quokka4711" not in two(*asked).out
    assert [row["session_id"] for row in two("sessions", "--json").json["sessions"]] == ["kept"]
    assert find_holders(tmp_path / "two", "quokka4711") == []


@slow
def test_many_machines_at_once_lose_nothing_and_double_nothing(
    machine: Callable[..., Machine], url: str, tmp_path: Path
) -> None:
    """Six machines, each capturing a session of its own and one that all of them saw end."""
    lineage = machine("one")
    lineage("init")
    going = []
    for number in range(6):
        home = tmp_path / f"machine-{number}"
        configure(home, engines.start_object_store().settings())
        for session in (f"own-{number}", SAMPLE_ID):
            command = [sys.executable, "-m", "lineage", "--workspace", url, *END, session]
            environment = {**os.environ, "HOME": str(home), "PYTHONPATH": str(PROJECT)}
            going.append(subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT))
    ended = [(process.communicate()[0].decode(), process.returncode) for process in going]
    assert [said for said, code in ended if code] == []
    lineage("reindex")
    sessions = [row["session_id"] for row in lineage("sessions", "--json").json["sessions"]]
    assert sorted(sessions) == sorted([SAMPLE_ID, *(f"own-{number}" for number in range(6))])
    keys = [entry.key for entry in open_store(resolve_workspace_root(url)).list("memory/") if "--" in entry.key]
    assert len(keys) == 7 * 3, "a session was captured twice"
    done = lineage("verify")
    assert (done.code, done.out) == (0, "no problems found\n")


@slow
def test_hooks_ring_into_a_bucket(
    machine: Callable[..., Machine], url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lineage = machine("one")
    lineage("init")
    monkeypatch.setenv("LINEAGE_NO_WORKER", "1")
    monkeypatch.setenv("LINEAGE_WORKSPACE", url)
    bell.enqueue(
        bell._resolve_root(None), "claude-code", "default", make_payload(session=SAMPLE_ID, transcript_path=str(SAMPLE))
    )
    assert lineage("status", "--json").json["workspace"] == url
    assert lineage("work").code == 0
    assert [row["session_id"] for row in lineage("sessions", "--json").json["sessions"]] == [SAMPLE_ID]


@slow
def test_hooks_are_installed_for_a_bucket(machine: Callable[..., Machine], url: str, tmp_path: Path) -> None:
    lineage = machine("one")
    lineage("init")
    assert lineage("hooks", "install", "claude-code", "--json").json["workspace"] == url
    settings = (tmp_path / "one" / ".claude" / "settings.json").read_text()
    assert resolve_workspace_root(url).name in settings
    assert "hooks capture into" not in lineage("doctor").out


@slow
@pytest.mark.parametrize(
    "command",
    [("watch", "--once"), ("archive", "--before", "2000-01-01"), ("recover",), ("render",), ("doctor",), ("context",)],
)
def test_commands_of_a_folder_work_in_a_bucket(machine: Callable[..., Machine], command: tuple[str, ...]) -> None:
    lineage = machine()
    lineage("init")
    lineage(*END, SAMPLE_ID)
    done = lineage(*command)
    assert (done.code, done.err) == (0, "")
    assert lineage("verify").code == 0


@slow
def test_what_needs_a_file_says_so(machine: Callable[..., Machine], monkeypatch: pytest.MonkeyPatch) -> None:
    lineage = machine()
    lineage("init")
    added = lineage("book", "add", "global", "note", "Prefers tabs over spaces in Makefiles.", "--json").json
    monkeypatch.setenv("EDITOR", "true")
    done = lineage("book", "edit", added["id"])
    assert (done.code, "in a bucket" in done.err) == (2, True)
    assert lineage("book", "edit", added["id"], "Prefers spaces over tabs in Makefiles.").code == 0
    done = lineage("init", "--folder", "notes")
    assert (done.code, "no vault" in done.err) == (2, True)


# bad days


@slow
def test_a_server_that_goes_away_in_the_middle_leaves_the_job_in_the_spool(
    machine: Callable[..., Machine], proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurry_leases(monkeypatch)  # who recovers waits until the lease of who was cut off is over
    lineage = machine("one", engines.start_object_store().settings(proxy.port))
    lineage("init")
    assert lineage(*END, "first").code == 0  # which also makes the project's books, as none after it does
    start = len(proxy.requests)
    assert lineage(*END, "whole").code == 0
    requests = [request.split("?")[0] for request in proxy.requests[start:]]

    def find(method: str, ending: str) -> int:
        return next(n for n, one in enumerate(requests) if one.startswith(method) and one.endswith(ending))

    with impatient(monkeypatch):
        for number in (find("PUT", "--transcript.md"), find("GET", "/books/global/note.md"), find("PUT", "/MEMORY.md")):
            session = f"cut-{number}"
            proxy.fail_after(number, CUT)
            failed = lineage(*END, session)
            assert (failed.code, "does not answer" in failed.err) == (1, True)
            told = lineage("status")
            assert told.code == 1
            assert "does not answer" in told.out
            assert "unfinished session-end" in told.out
            proxy.fail_after(10**9, CUT)
            assert lineage("recover").code == 0
            state = lineage("status", "--json").json
            assert state["unfinished"] == []
    sessions = {row["session_id"] for row in lineage("sessions", "--json").json["sessions"]}
    assert len(sessions) == 5
    assert lineage("verify").code == 0


@slow
@pytest.mark.parametrize("flow", [("session-end",), ("compaction", "--summary", "Goal: count the quokkas.")])
def test_what_is_asked_while_the_server_is_away_waits_too(
    machine: Callable[..., Machine], proxy: FaultyProxy, monkeypatch: pytest.MonkeyPatch, flow: tuple[str, ...]
) -> None:
    """Once, however often it is asked for; and nothing waits of what is no request."""
    lineage = machine("one", engines.start_object_store().settings(proxy.port))
    lineage("init")
    asked = (*flow, "--harness", "generic", "--session-id", "s-1", "--transcript", "User: How many quokkas?")
    proxy.fail_always(CUT)
    with impatient(monkeypatch):
        for _ in range(2):
            failed = lineage(*asked)
            assert (failed.code, "waits in the spool" in failed.err, "lineage admin recover" in failed.err) == (
                1,
                True,
                True,
            )
        assert lineage(*flow, "--harness", "generic").code == 2
        assert [job["flow"] for job in lineage("status", "--json").json["unfinished"]] == [flow[0]]
        proxy.fail_after(10**9, CUT)
        assert lineage("recover").code == 0
    assert "quokkas" in lineage("search", "quokkas").out
    assert lineage("status", "--json").json["unfinished"] == []
    assert lineage("verify").code == 0


@slow
def test_signals_wait_while_the_server_is_away(
    machine: Callable[..., Machine], proxy: FaultyProxy, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lineage = machine("one", engines.start_object_store().settings(proxy.port))
    lineage("init")
    monkeypatch.setenv("LINEAGE_NO_WORKER", "1")
    proxy.fail_always(CUT)
    with impatient(monkeypatch):
        bell.enqueue(
            bell._resolve_root(url),
            "claude-code",
            "default",
            make_payload(session=SAMPLE_ID, transcript_path=str(SAMPLE)),
        )
        assert lineage("work").code == 1
        told = lineage("status", "--json")
        assert (told.code, len(told.json["signals"]), "does not answer" in told.json["away"]) == (1, 1, True)
        proxy.fail_after(10**9, CUT)
        assert lineage("work").code == 0
    assert [row["session_id"] for row in lineage("sessions", "--json").json["sessions"]] == [SAMPLE_ID]


@slow
def test_wrong_credentials_and_a_missing_bucket_are_told_apart(
    machine: Callable[..., Machine], url: str, home: Path
) -> None:
    settings = engines.start_object_store().settings()
    refused = machine("wrong", {**settings, "secret_access_key": "wrong"})("status")
    assert (refused.code, "refuses access: 403" in refused.out, "wrong" in refused.out) == (1, True, False)
    assert "config.toml" in refused.out
    nothing = machine("right")("status")
    assert (nothing.code, f"no workspace at {url}" in nothing.err, f"lineage init {url}" in nothing.err) == (
        1,
        True,
        True,
    )


@slow
def test_what_is_asked_with_credentials_that_ran_out_waits_for_others(
    machine: Callable[..., Machine], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often a worker tries meanwhile: it would give a signal up after five failures of its own."""
    settings = engines.start_object_store().settings()
    machine()("init")
    lineage = machine("one", {**settings, "secret_access_key": "wrong"})
    monkeypatch.setenv("LINEAGE_NO_WORKER", "1")
    bell.enqueue(
        bell._resolve_root(url), "claude-code", "default", make_payload(session=SAMPLE_ID, transcript_path=str(SAMPLE))
    )
    asked = lineage("session-end", "--harness", "generic", "--session-id", "s-1", "--transcript", "User: How many?")
    assert (asked.code, "refuses access: 403" in asked.err, "waits in the spool" in asked.err) == (1, True, True)
    for _ in range(6):
        assert lineage("work").code == 1
    told = lineage("status", "--json").json
    assert (len(told["signals"]), len(told["unfinished"]), told["given_up"]) == (1, 1, [])
    lineage = machine("one", settings)
    assert (lineage("recover").code, lineage("work").code) == (0, 0)
    assert {row["session_id"] for row in lineage("sessions", "--json").json["sessions"]} == {SAMPLE_ID, "s-1"}


@slow
def test_a_store_that_breaks_a_promise_is_refused(
    machine: Callable[..., Machine], proxy: FaultyProxy, url: str, tmp_path: Path
) -> None:
    settings = engines.start_object_store().settings(proxy.port)
    unsigned = {"region": settings["region"], "endpoint": settings["endpoint"], "skip_signature": "true"}
    lineage = machine("one", unsigned)
    kept = lineage("store", "check", url, "--processes", "4", "--json")
    assert (kept.code, kept.json["usable"], len(kept.json["promises"])) == (0, True, 7)
    proxy.without = frozenset({"if-none-match"})
    broken = lineage("store", "check", url, "--processes", "4")
    assert (broken.code, "broken  a key is created once" in broken.out) == (4, True)
    assert "a key is created once" in broken.err
    refused = lineage("init")
    assert (refused.code, "a key is created once" in refused.err) == (4, True)
    proxy.without = frozenset()
    assert not open_store(resolve_workspace_root(url)).exists()
    folder = lineage("store", "check", str(tmp_path / "folder"), "--processes", "2")
    assert (folder.code, "broken" in folder.out) == (0, False)


def test_without_the_extra_a_bucket_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "lineage.store.objects", None)
    assert run(["--workspace", "s3://bucket", "status"]) == 1
    assert format_extra_hint("bucket") in capsys.readouterr().err
