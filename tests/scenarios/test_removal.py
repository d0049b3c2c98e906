"""Removal as a person sees it: what goes, what stays, what is said about it, and that it cannot be cut off for good.

Fails without any of these lines of pipeline/maintenance/remove.py: the deletion of `list_session_paths`,
`spool.discard`, `index.delete_session`, `publish_all`, `index.scrub`, `store.collect_garbage`; without `spool.put`
in `remove` (a removal that is cut off), without the Sanitizer there, without the `dry_run` branch, and without
"optimize" or "vacuum" in the scrub.
"""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from lineage.app.locations import STATE_FOLDER
from lineage.core.base.naming import derive_session_token
from lineage.core.books.entry import CONFIRMED
from lineage.errors import AmbiguousError
from lineage.index import SqliteIndex
from lineage.pipeline.maintenance.recover import recover
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import RemovalReceipt, remove
from lineage.pipeline.maintenance.verify import verify
from lineage.store.temporaries import TEMP_PREFIX
from lineage.workspace.book_folders import resolve_project_folder
from lineage.workspace.lookup import show_file
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.commands import SAMPLE, LineageCommand
from tests.support.crash_flows import read_everything
from tests.support.dead_processes import (
    find_holders,
    link_workspace,
    list_mutating_calls,
    list_spool_paths,
    read_all_files,
    read_workspace_files,
    run_until_crash,
)
from tests.support.faults import CrashPoint
from tests.support.terminals import run_on_terminal
from tests.support.workspace import compact_session, end_session, make_turns, open_test_workspace, search_sessions

TALK: list[dict[str, Any]] = [
    *make_turns("Where does the wombat hide its ledger?", "The wombat hides it below the roots."),
    {"role": "assistant", "text": "", "name": "Bash", "input": {"command": "dig --deep burrow.py"}, "id": "r2"},
    {"role": "tool", "text": "found: 17 marmalade jars", "name": "Bash", "id": "r3"},
    {
        "role": "assistant",
        "text": "",
        "name": "Edit",
        "input": {"file_path": "/home/ada/quokka/lantern.py"},
        "id": "r4",
    },
    {"role": "user", "text": "Thanks for the periscope, it is done.", "id": "r5"},
]
PROJECT = "/home/ada/quokka"
DISTINCTIVE = (
    "wombat", "below the roots", "burrow.py", "marmalade", "lantern.py", "quokka", "periscope", "thistle", "zeppelin",
)  # fmt: skip
OTHERS = make_turns("Why does reader.py drop the last line?", "It splits on newline; fixed in reader.py.")


def filled(ws: Workspace) -> None:
    """Two captures and a compaction of `s-1`, and another session of the same project of whose rows telemetry knows."""
    end_session(ws, "s-2", transcript=OTHERS)
    show_file(ws, "s-2", "summary")
    end_session(ws, "s-1", transcript=TALK[:4], project=PROJECT)
    end_session(ws, "s-1", transcript=TALK, project=PROJECT, summary="The thistle was asked about.")
    compact_session(ws, "s-1", transcript=TALK, project=PROJECT, summary="Goal: the zeppelin.")


def workspace(root: Path) -> Path:
    with open_test_workspace(root) as ws:
        filled(ws)
    return root


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return workspace(tmp_path / "vault")


def removed(root: Path, reference: str = "s-1", **options: Any) -> RemovalReceipt:
    with open_test_workspace(root) as ws:
        return remove(ws, reference, **{"reason": "asked for", **options})


def test_a_scrub_that_is_due_is_done_by_the_next_command(
    lineage: LineageCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine that was cut off while it dropped what another one had removed. Fails without `finish_scrub`."""
    root = workspace(lineage.root)
    lineage("reindex")
    shutil.copytree(root / STATE_FOLDER, root.with_name("of this machine"))
    removed(root)
    shutil.rmtree(root / STATE_FOLDER)
    shutil.copytree(root.with_name("of this machine"), root / STATE_FOLDER)
    with monkeypatch.context() as patched:
        patched.setattr(SqliteIndex, "scrub", interrupted)
        lineage("sessions")
    assert find_holders(root, *DISTINCTIVE) != []
    lineage("sessions")
    assert find_holders(root, *DISTINCTIVE) == []


def interrupted(_: object) -> None:
    raise InterruptedError


def test_after_a_removal_no_byte_of_the_workspace_tells_of_the_session(root: Path) -> None:
    assert {text for _, text in find_holders(root, *DISTINCTIVE)} == set(DISTINCTIVE)
    asked = ("Where does the wombat hide its ledger?", "Thanks for the periscope, it is done.")
    assert {text for path, text in find_holders(root, *asked) if path.endswith("index.db")} == set(asked)
    sentence = next(row for row in (root / "MEMORY.md").read_text().split("\n") if "| session=s-1 |" in row)
    receipt = removed(root)
    assert find_holders(root, *DISTINCTIVE, *asked, sentence, "s-1") == []
    assert {path for path, _ in find_holders(root, receipt.session_token)} == {
        f"memory/tombstones/{receipt.session_token}.md"
    }


def test_text_in_a_database_that_is_still_open_elsewhere_goes_too(root: Path) -> None:
    """The write-ahead log is there while the removal runs, and the other reader's snapshot is over."""
    with open_test_workspace(root) as reader:
        assert search_sessions(reader, "wombat", None, 5)
        removed(root)
        assert find_holders(root, *DISTINCTIVE) == []
        assert search_sessions(reader, "wombat", None, 5) == []


def test_what_lies_in_the_spool_and_in_temporary_files_goes_too(root: Path) -> None:
    half = root / "memory" / f"{TEMP_PREFIX}0123456789abcdef"
    half.write_text("half a file about the wombat")
    source = SAMPLE.with_name("gone.json")
    with open_test_workspace(root) as ws:
        from lineage.core.format.job import Job

        token = ws.index.list_sessions(None, reference="s-1")[0].session_token
        payload = {"harness": "generic", "session_id": "s-1", "transcript_path": str(source), "summary": "A wombat."}
        job = Job(
            flow="session-end", token=token, captured_at=ws.now, sentence="wombat.", quality="ok", payload=payload
        )
        ws.documents.spool.put(job)
    (root / ".lineage" / "spool" / f"2026-11-21T10-00-00.000Z--{token}--session-end.json").write_text("{wombat")
    receipt = removed(root)
    assert len(receipt.spool_files) == 2
    assert find_holders(root, *DISTINCTIVE) == []
    assert list_spool_paths(root) == []


def test_a_session_that_only_the_spool_holds_can_be_removed(root: Path, tmp_path: Path) -> None:
    asked = tmp_path / "later.json"
    asked.write_text(json.dumps(make_turns("The narwhal", "Yes.")))
    assert run_until_crash(
        root, lambda ws: end_session(ws, "s-9", transcript_path=str(asked), summary="narwhal"), CrashPoint(2)
    )
    asked.unlink()
    assert len(list_spool_paths(root)) == 1
    receipt = removed(root, "s-9")
    assert find_holders(root, "narwhal") == []
    assert receipt.removed_paths == []
    with open_test_workspace(root) as ws:
        assert end_session(ws, "s-9").status == "refused"


@pytest.mark.parametrize("is_claimed", [True, False], ids=["claimed", "without its claim"])
def test_a_session_that_a_sync_brought_since_the_last_reindex_can_be_removed(root: Path, is_claimed: bool) -> None:
    with open_test_workspace(root) as ws:
        session = ws.index.list_sessions(None, reference="s-1")[0]
        manifest = root / session.manifest_path
        if not is_claimed:
            (root / "memory" / "claims" / f"{session.session_token}.md").unlink()
        data = manifest.read_bytes()
        manifest.unlink()
        reindex(ws, confirmed=True)
        manifest.write_bytes(data)
    removed(root)
    assert find_holders(root, *DISTINCTIVE) == []


@pytest.mark.leaves_findings
def test_an_ambiguous_id_removes_nothing(root: Path) -> None:
    with open_test_workspace(root) as ws:
        end_session(ws, "s-1", agent_id="reviewer")
        with pytest.raises(AmbiguousError):
            remove(ws, "s-1", reason="mistake")
        tokens = [row.session_token for row in ws.index.list_sessions(None, reference="s-1")]
        before = {path: path.read_bytes() for token in tokens for path in (root / "memory").rglob(f"*{token}*")}
        for path in before:
            path.unlink()
        reindex(ws, confirmed=True)
        for path, data in before.items():
            path.write_bytes(data)
        with pytest.raises(AmbiguousError):
            remove(ws, "s-1", reason="mistake")
    assert len(tokens) == 2 and all(path.read_bytes() == data for path, data in before.items())


def test_a_note_of_the_owner_s_that_quotes_the_session_is_named_wherever_it_lies(root: Path) -> None:
    note = root / "Daily" / "2026-11-21.md"
    note.parent.mkdir()
    note.write_text(f"It said: {TALK[0]['text']}\n")
    assert removed(root).elsewhere == ["Daily/2026-11-21.md"]
    assert note.is_file()


def test_a_removed_session_cannot_be_resolved_shown_or_found(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = removed(root).session_token
    lineage = LineageCommand(root, capsys)
    for reference in ("s-1", token, token[:6]):
        for command in (("show", reference), ("show", reference, "--turns", "1-3"), ("remove", reference, "--yes")):
            said = lineage(*command)
            assert (said.code, "was removed" in said.err) == (1, reference != token[:6]), said
            assert ("of 1 removed session only a whole id is known" in said.err) == (reference == token[:6]), said
    assert lineage("search", "wombat", "--agent", "all", "--json").json["results"] == []
    assert [row["session_id"] for row in lineage("sessions", "--json").json["sessions"]] == ["s-2"]


def test_other_sessions_stay_as_they_were_and_so_does_their_telemetry(root: Path) -> None:
    with open_test_workspace(root) as ws:
        kept = ws.index.list_sessions(None, reference="s-2")[0]
        files = {path: data for path, data in read_workspace_files(root).items() if kept.session_token in path}
        row = next(line for line in (root / "MEMORY.md").read_text().split("\n") if "| session=s-2 |" in line)
    assert len(files) == 4
    removed(root)
    assert files.items() <= read_workspace_files(root).items()
    assert row in (root / "MEMORY.md").read_text().split("\n")
    with open_test_workspace(root) as ws:
        assert ws.telemetry.read_counters() == {
            "captures": 1, "compactions": 0, "turns": 2, "redactions": 0, "shown": 1,
        }  # fmt: skip
        assert [hit.session_id for hit in search_sessions(ws, "newline", None, 5)] == ["s-2"]
        assert verify(ws) == []


def test_a_session_of_the_same_project_stays_whole(root: Path) -> None:
    with open_test_workspace(root) as ws:
        end_session(ws, "s-3", transcript=OTHERS, project=PROJECT)
    removed(root)
    assert {path.split("--")[-1] for path, _ in find_holders(root, "quokka") if path.startswith("memory/")} == {
        "manifest.md", "summary.md", "transcript.md",
    }  # fmt: skip
    assert "quokka" in (root / "MEMORY.md").read_text()


def test_a_dry_run_changes_no_byte_and_shows_what_would_go(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lineage = LineageCommand(root, capsys)
    lineage("status")
    before = read_all_files(root)
    shown = lineage("remove", "s-1", "--dry-run", "--json").json
    assert read_workspace_files(root) == {
        path: data for path, data in before.items() if not path.startswith(".lineage/")
    }
    assert {p: d for p, d in read_all_files(root).items() if not p.endswith(".lock")} == {
        p: d for p, d in before.items() if not p.endswith(".lock")
    }
    assert "would be removed" in lineage("remove", "s-1", "--dry-run").out
    done = lineage("remove", "s-1", "--yes", "--json").json
    differing = {"dry_run", "rows", "removed_at", "checked_files"}
    assert {k: v for k, v in shown.items() if k not in differing} == {
        k: v for k, v in done.items() if k not in differing
    }
    assert (shown["dry_run"], done["dry_run"]) == (True, False)


def test_the_receipt_says_what_went_what_was_checked_and_what_is_out_of_reach(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lineage = LineageCommand(root, capsys)
    gone = [path for path in read_workspace_files(root) if path.startswith("memory/")]
    receipt = lineage("remove", "s-1", "--reason", "asked for", "--yes", "--json").json
    assert set(receipt) == {
        "session_token", "session_id", "agent_id", "harness", "reason", "removed_at", "dry_run", "removed_paths",
        "spool_files", "rows", "turns", "entries", "checked_files", "elsewhere", "naming_project", "out_of_reach",
        "sub_agents",
    }  # fmt: skip
    assert receipt["removed_paths"] == [path for path in gone if receipt["session_token"] in path]
    assert (receipt["session_id"], receipt["agent_id"], receipt["turns"]) == ("s-1", "default", 6)
    assert receipt["rows"] > len(receipt["removed_paths"]) - 1
    assert any("git" in place for place in receipt["out_of_reach"])
    assert any("exports" in place for place in receipt["out_of_reach"])
    lineage.end_sample()
    text = lineage("remove", "5f0c2f7e", "--yes").out
    assert "~/.claude/projects/" in text
    assert "stays: memory/tombstones/" in text


def test_a_copy_in_any_text_file_and_the_project_where_it_stays_are_named(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = TALK[0]["text"]
    (root / "Board.canvas").write_text(json.dumps({"nodes": [{"type": "text", "text": line}]}))
    (root / "notes").write_text(f"{line}\n")
    (root / "picture.png").write_bytes(b"\0\1" + line.encode())
    (root / "plan.txt").write_text(f"Look into {PROJECT}/lantern.py\n")
    (root / "quokka").mkdir()
    (root / "quokka" / "idea.txt").write_text("Of its own.\n")
    lineage = LineageCommand(root, capsys)
    shown = lineage("remove", "s-1", "--dry-run").out
    receipt = lineage("remove", "s-1", "--yes", "--json").json
    assert receipt["elsewhere"] == ["Board.canvas", "notes"]
    assert receipt["naming_project"] == ["plan.txt", "quokka/idea.txt"]
    assert "its project is named in 2 files that stay: plan.txt, quokka/idea.txt" in shown


def test_only_the_books_of_its_own_project_are_named(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Another project may have the plain name for its folder, and this one the name with a hash."""
    with open_test_workspace(root) as ws:
        other = resolve_project_folder(ws, "/somewhere/else/shop", claim=True)
        end_session(ws, "s-9", project="/srv/shop", transcript=make_turns("Where do we sell?", "In the shop."))
        own = resolve_project_folder(ws, "/srv/shop", claim=True)
    assert (other, own != other) == ("shop", True)
    for name in ("shop", own):
        (root / f"books/project/{name}").mkdir(parents=True, exist_ok=True)
        (root / f"books/project/{name}/words.txt").write_text("By hand.\n")
    named = LineageCommand(root, capsys)("remove", "s-9", "--dry-run", "--json").json["naming_project"]
    assert f"books/project/{own}/words.txt" in named
    assert [path for path in named if path.startswith("books/project/shop/")] == []


@pytest.mark.slow
def test_a_terminal_gets_three_names_of_files_that_share_lines(root: Path) -> None:
    for number in range(5):
        (root / f"copy-{number}.txt").write_text(TALK[0]["text"])
    seen = run_on_terminal(root, "remove", "s-1", "--dry-run")
    assert "5 files of other sessions hold lines that it had" in seen.text
    assert [line.strip() for line in seen.lines if "copy-" in line] == [f"copy-{number}.txt" for number in range(3)]
    assert "and 2 more: --json lists them" in seen.text


@pytest.mark.slow
@pytest.mark.parametrize("is_shared", [False, True])
def test_a_receipt_says_whether_its_text_is_gone(root: Path, is_shared: bool) -> None:
    if is_shared:
        (root / "copy.txt").write_text(TALK[0]["text"])
    planned = run_on_terminal(root, "remove", "s-1", "--dry-run").text
    assert "its text is gone" not in planned and "nothing else of its text" not in planned
    done = run_on_terminal(root, "remove", "s-1", "--yes").text
    assert ("its text is gone" in done, "nothing else of its text is left" in done) == (not is_shared, is_shared)


@pytest.mark.slow
@pytest.mark.parametrize("options", [["--dry-run"], []])
def test_the_entries_that_go_are_named_before_the_question(root: Path, options: list[str]) -> None:
    token = derive_session_token("default", "s-1")
    with open_test_workspace(root) as ws:
        origin = f"[[memory/x--{token}--transcript.md#^t-1]]"
        write_entry(ws, "project/quokka", "lesson", "The lantern needs oil.", origin=origin)
        mine = write_entry(ws, "project/quokka", "decision", "We dig by day.", origin=origin, source=CONFIRMED)
        write_entry(ws, "project/quokka", "decision", "Another's stays.")
        publish_all(ws)
    seen = run_on_terminal(root, "remove", "s-1", *options, keys=b"n\n")
    assert f"{mine.id[:8]}  decision of project/quokka, edited or confirmed by you\n      “We dig by day.”" in seen.text
    assert "lesson of project/quokka\n      “The lantern needs oil.”" in seen.text
    assert "Another's stays" not in seen.text


@pytest.mark.slow
def test_nobody_is_asked_about_a_session_that_is_not_there(root: Path) -> None:
    unknown = run_on_terminal(root, "remove", "9999aaaa", keys=b"n\n")
    assert (unknown.code, "for good?" in unknown.text) == (1, False), unknown.text
    removed(root)
    gone = run_on_terminal(root, "remove", "s-1", keys=b"n\n")
    assert (gone.code, "for good?" in gone.text, "was removed already" in gone.text) == (1, False, True), gone.text


def test_a_removal_is_not_done_unasked(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = read_workspace_files(root)
    done = LineageCommand(root, capsys)("remove", "s-1")
    assert done.code == 2
    assert "--dry-run" in done.err
    assert read_workspace_files(root) == before


def test_a_secret_in_the_reason_is_redacted(root: Path) -> None:
    secret = "AKIA" + "QWERTYUIOPASDFGH"
    receipt = removed(root, reason=f"the key {secret} was in it\nand more")
    assert receipt.reason == "the key [REDACTED:aws-access-key-id] was in it and more"
    assert find_holders(root, secret) == []


def test_text_that_others_hold_too_is_named_and_stays(root: Path) -> None:
    line = TALK[5]["text"]
    (root / "AGENT_MEMORY.md").write_text(f"# Mine\n\n{line}\n")
    with open_test_workspace(root) as ws:
        other = end_session(ws, "s-4", transcript=make_turns(f"Somebody wrote: {line}", "So they did."))
    before = {path: data for path, data in read_workspace_files(root).items() if other.session_token in path}
    receipt = removed(root)
    assert "AGENT_MEMORY.md" in receipt.elsewhere
    assert other.transcript_path in receipt.elsewhere
    assert line in (root / "AGENT_MEMORY.md").read_text()
    assert before.items() <= read_workspace_files(root).items()


def test_again_deletes_what_came_back_and_keeps_the_first_tombstone(root: Path) -> None:
    brought = {path: data for path, data in read_workspace_files(root).items() if path.startswith("memory/")}
    token = removed(root).session_token
    tombstone = f"memory/tombstones/{token}.md"
    first = read_workspace_files(root)[tombstone]
    for path, data in brought.items():
        if token in path:
            (root / path).write_bytes(data)
    with open_test_workspace(root, now="2026-11-22T00:00:00.000Z") as ws:
        receipt = remove(ws, token, reason="again", again=True)
    assert len(receipt.removed_paths) == 7
    assert find_holders(root, *DISTINCTIVE) == []
    assert read_workspace_files(root)[tombstone] == first


def cut_off(ws: Workspace) -> None:
    remove(ws, "s-1", reason="asked for")


POINTS = 40
"""More mutating calls than a removal makes."""


@pytest.mark.slow
@pytest.mark.parametrize("finish", ["recover", "another session's end", "reindex", "an end of the session itself"])
def test_a_removal_that_was_cut_off_anywhere_is_finished_by_the_next_run(tmp_path: Path, finish: str) -> None:
    """Before and after each call. A death after a call and one before the next mostly leave the same: it is told once.

    Same are two workspaces that have every byte and row in common.
    """
    whole = workspace(tmp_path / "whole")
    calls = list_mutating_calls(whole, cut_off)
    assert 10 < len(calls) < POINTS
    seen: set[tuple[object, ...]] = set()
    for point, after in itertools.product(range(1, len(calls) + 1), (False, True)):
        root = tmp_path / f"point-{point}-{after}"
        link_workspace(whole, root)
        assert run_until_crash(root, cut_off, CrashPoint(point, after))
        begun = after or point > 1
        left = (begun, *read_everything(root))
        if left not in seen:
            seen.add(left)
            _assert_finished(root, finish, begun, calls[point - 1])
        shutil.rmtree(root)
    assert len(seen) > 10


def _assert_finished(root: Path, finish: str, begun: bool, call: str) -> None:
    from lineage.core.capture.request import SESSION_END, parse_request
    from lineage.pipeline.maintenance.finish_pending import finish_pending, run_capture

    with open_test_workspace(root, now="2026-11-21T13:00:00.000Z") as ws:
        session = "s-1" if "itself" in finish else "s-5"
        payload = {
            "harness": "generic",
            "session_id": session,
            "transcript": TALK[:1] if session == "s-1" else "hi",
        }
        if finish == "recover":
            recover(ws)
        elif finish == "reindex":
            finish_pending(ws)
            reindex(ws)
        else:
            outcome = run_capture(ws, parse_request(SESSION_END, payload, agent_id=None, now=ws.now))
            assert (outcome.status == "refused") == (session == "s-1" and begun)
    assert (find_holders(root, *DISTINCTIVE) == []) == begun, call
    assert list_spool_paths(root) == []
    with open_test_workspace(root, now="2026-11-21T13:00:00.000Z") as ws:
        assert verify(ws) == []
        before = read_workspace_files(root)
        recover(ws)
    assert read_workspace_files(root) == before


def test_an_agent_removes_no_session(lineage: LineageCommand, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_test_workspace(lineage.root) as ws:
        filled(ws)
    with monkeypatch.context() as inside:
        inside.setenv("CLAUDECODE", "1")
        done = lineage("remove", "s-1", "--yes")
        assert (done.code, "an agent can't remove a session" in done.err) == (1, True)
        assert lineage("remove", "s-1", "--dry-run").code == 0
    assert lineage("remove", "s-1", "--yes").code == 0
