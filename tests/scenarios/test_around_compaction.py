"""Around a compaction: what the person stated is kept before it, and told behind it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lineage.app import clock
from lineage.core.base.naming import derive_session_token
from lineage.core.books.entry import Entry
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.verify import verify
from tests.support.hook_process import (
    NO_WORKER,
    append_transcript,
    build_environment,
    drain_spool,
    enqueue_in_process,
    list_captured,
    list_spooled_paths,
    list_worker_pids,
    make_end_payload,
    make_payload,
    run_hook,
    run_sweep,
    wait_until,
)
from tests.support.workspace import end_session, open_test_workspace

pytestmark = pytest.mark.slow
RULE = "Always moor the wombat at berth nine."
SECRET = "AKIA" + "QWERTYUIOPASDFGH"
TOKEN = derive_session_token("default", "s-1")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "w"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return append_transcript(tmp_path / "s-1.jsonl", "Repaint the harbour wall.", RULE)


def before(root: Path, path: Path, home: Path) -> None:
    """The harness is about to compact, and the worker has done its work."""
    enqueue_in_process(root, make_payload("PreCompact", path.stem, transcript_path=str(path), trigger="auto"))
    done = drain_spool(root, home, clock.now())
    assert (done.put_off, done.given_up, dict(done.outcomes)) == ([], [], {})


def ends(root: Path, path: Path, home: Path) -> None:
    enqueue_in_process(root, make_end_payload(path))
    drain_spool(root, home, clock.now())


def told(root: Path, session: str = "s-1", source: str = "compact", **variables: str) -> str:
    text = run_hook(root, make_payload("SessionStart", session, source=source), **variables).stdout.decode()
    for signal in list_spooled_paths(root):
        signal.unlink()
    return text


def entries(root: Path) -> list[tuple[str, Entry]]:
    """Every entry of every shelf, with its scope."""
    with open_test_workspace(root) as ws:
        return [
            (ref.scope, entry) for ref in ws.documents.books.list() for entry in ws.documents.books.read(ref).entries
        ]


def test_a_session_is_told_behind_a_compaction_what_its_person_stated(root: Path, path: Path, home: Path) -> None:
    with path.open("a") as file:
        for said in ("We should always paint the wombat green.", "Decision: the wombat stays, because it likes ships."):
            message = {"role": "assistant", "content": [{"type": "text", "text": said}]}
            file.write(json.dumps({"type": "assistant", "uuid": said[:9], "message": message}) + "\n")
    before(root, path, home)
    ((scope, entry),) = entries(root)
    assert (scope, entry.body, entry.trust, entry.origin) == (f"session/{TOKEN}", RULE, "[user-stated]", None)
    assert list_captured(root) == []
    with open_test_workspace(root) as ws:
        assert [one.messages[-1].text for one in ws.documents.checkpoints.list_for_agent(None)] != []
        assert verify(ws) == []
        assert "wombat" not in (root / "MEMORY.md").read_text() if (root / "MEMORY.md").exists() else True
    assert f"[user-stated] preference, {entry.at[:10]}: {RULE}" in told(root)
    assert "> - [user-stated]" not in told(root, "s-2", "startup")


def test_a_fork_of_a_private_session_keeps_nothing_before_a_compaction(root: Path, path: Path, home: Path) -> None:
    with open_test_workspace(root, now=clock.now()) as ws:
        end_session(ws, "s-1", harness="claude-code", transcript_path=str(path), private=True)
    fork = append_transcript(path.with_name("s-2.jsonl"), "Always feed the quokka at noon.")
    records = [json.loads(line) for line in fork.read_text().splitlines()]
    lines = [json.dumps(record | {"forkedFrom": {"sessionId": "s-1"}}) for record in records]
    fork.write_text("\n".join(lines) + "\n")
    before(root, fork, home)
    assert not any("quokka" in entry.body for _, entry in entries(root))


def test_the_next_capture_takes_their_place_with_links(root: Path, path: Path, home: Path) -> None:
    before(root, path, home)
    before(root, append_transcript(path, "Never feed the quokka after dark."), home)
    assert sorted(entry.body for _, entry in entries(root)) == [RULE, "Never feed the quokka after dark."]
    ends(root, path, home)
    found = entries(root)
    assert sorted(entry.body for _, entry in found) == [RULE, "Never feed the quokka after dark."]
    assert all("transcript.md#^t-" in (entry.origin or "") for _, entry in found)
    with open_test_workspace(root) as ws:
        assert verify(ws) == []
    assert not [file for file in (root / ".lineage/context").iterdir() if "session s-1" in file.read_text()]


def test_what_a_capture_in_between_holds_is_told_too(root: Path, path: Path, home: Path) -> None:
    enqueue_in_process(root, make_payload("Stop", "s-1", transcript_path=str(path)))
    drain_spool(root, home, clock.now())
    assert run_sweep(root, home, clock.now()).captured == [TOKEN]
    before(root, append_transcript(path, "Never feed the quokka after dark."), home)
    assert RULE in told(root) and "quokka" in told(root)
    assert "> - [user-stated]" not in told(root, "s-2", "startup")


def test_what_a_person_forgot_or_changed_meanwhile_is_not_learned_again(root: Path, path: Path, home: Path) -> None:
    before(root, append_transcript(path, "Never feed the quokka after dark."), home)
    with open_test_workspace(root) as ws:
        scope = f"session/{TOKEN}"
        ids = {entry.body: entry.id for _, entry in entries(root)}
        ws.documents.books.forget(scope, "preference", ids[RULE])
    (book,) = (root / "books/session" / TOKEN).glob("*.md")
    book.write_text(book.read_text().replace("after dark", "before noon"))
    before(root, path, home)
    ends(root, path, home)
    assert [entry.body for _, entry in entries(root)] == ["Never feed the quokka before noon."]


@pytest.mark.parametrize("why", ["private", "removed", "temporary"])
def test_nothing_is_kept_of_some(root: Path, path: Path, home: Path, why: str) -> None:
    with open_test_workspace(root, now=clock.now()) as ws:
        if why in ("private", "removed"):
            talk: Any = [{"role": "user", "text": "Hello."}]
            end_session(ws, "s-1", harness="claude-code", transcript=talk, private=why == "private")
        if why == "removed":
            remove(ws, "s-1", reason="a test")
    cwd = {"cwd": "/tmp/scratch"} if why == "temporary" else {}
    enqueue_in_process(root, make_payload("PreCompact", "s-1", transcript_path=str(path), trigger="auto", **cwd))
    drain_spool(root, home, clock.now())
    assert entries(root) == []
    assert RULE not in told(root)
    if why in ("private", "removed"):
        kept = [file for file in (root / ".lineage").rglob("*") if file.is_file()]
        assert not [file for file in kept if b"wombat" in file.read_bytes()]


def test_a_removal_before_any_capture_takes_them(root: Path, path: Path, home: Path) -> None:
    before(root, path, home)
    assert RULE in told(root)
    with open_test_workspace(root, now=clock.now()) as ws:
        remove(ws, TOKEN, reason="a test")
    assert entries(root) == []
    files = [file for file in root.rglob("*") if file.is_file() and b"wombat" in file.read_bytes()]
    assert files == []


def test_no_secret_comes_into_book_or_block(root: Path, tmp_path: Path, home: Path) -> None:
    before(
        root, append_transcript(tmp_path / "s-1.jsonl", f"Always use the key {SECRET} for the wombat's bucket."), home
    )
    assert "for the wombat's bucket" in told(root)
    assert not [file for file in root.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]


def test_the_hook_waits_for_the_worker_and_not_for_ever(root: Path, path: Path, home: Path) -> None:
    ends(root, append_transcript(path.with_name("s-0.jsonl"), "The harbour is told to everybody."), home)
    enqueue_in_process(root, make_payload("PreCompact", "s-1", transcript_path=str(path)))
    code = "import sys; from lineage.cli import hook_context, hook_entry; hook_context.WAIT_SECONDS = 0.1"
    code += "; hook_entry.run(sys.argv[1:])"
    payload = make_payload("SessionStart", "s-1", source="compact")
    command = [sys.executable, "-c", code, "claude-code", "-w", str(root)]
    told_without = subprocess.run(
        command, input=json.dumps(payload).encode(), capture_output=True, env=build_environment(**NO_WORKER), check=True
    ).stdout.decode()
    assert "harbour is told" in told_without and RULE not in told_without
    run_hook(root, make_payload("PreCompact", "s-1", transcript_path=str(path)), LINEAGE_NO_WORKER="")
    wait_until(lambda: RULE in told(root), "the worker's block")
    wait_until(lambda: not list_worker_pids(root) and not list((root / ".lineage/spool").glob("*.json")), "its end")


@pytest.mark.parametrize("source", ["resume", "compact"])
def test_a_session_that_goes_on_is_not_told_its_own_summary(root: Path, path: Path, home: Path, source: str) -> None:
    ends(root, append_transcript(path.with_name("s-0.jsonl"), "Paint the quokka's boat."), home)
    ends(root, path, home)
    assert "harbour" in told(root, "s-2", "startup")
    again = told(root, "s-1", source)
    assert "harbour" not in again and "quokka" in again
    assert "quokka" not in told(root, "s-0", source) and "harbour" in told(root, "s-0", source)
