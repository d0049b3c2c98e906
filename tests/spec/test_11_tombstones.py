"""Spec, test 11: a removed session stays removed, whatever is lost, brought back or signalled again.

Fails without the check of `removed` in `_diff` of pipeline/upkeep/reindexing.py, in `_by_token` of
pipeline/upkeep/recovery.py and in `_surveyed` of pipeline/upkeep/verification.py, without `tombstones.has` in either
flow, when `_paths` of pipeline/upkeep/removal.py takes names of ours alone, and without `read_removed_turns` in the
flows or in the tombstone.
"""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import CommandResult, LineageCommand
from tests.support.dead_processes import delete_databases, delete_machine_state, find_holders, read_workspace_files
from tests.support.workspace import make_turns

MOMENT = "2026-11-21T12:00:00.000Z"
SECRETIVE = "wombat"
TALK = make_turns("Where does the wombat hide its ledger?", "The wombat hides it in burrow.py, below the roots.")
OTHER = make_turns("Why does reader.py drop the last line?", "It splits on newline; fixed in reader.py.")


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> LineageCommand:
    """A workspace with two sessions, of which `s-1` was removed; `.brought` beside it holds the files it had."""
    monkeypatch.setattr("lineage.app.clock.now", lambda: MOMENT)
    lineage = LineageCommand(tmp_path / "vault", capsys)
    assert ended(lineage, "s-1", TALK, tmp_path).code == 0
    assert ended(lineage, "s-2", OTHER, tmp_path).code == 0
    shutil.copytree(lineage.root / "memory", tmp_path / "brought")
    assert lineage("remove", "s-1", "--reason", "asked for", "--yes").code == 0
    return lineage


def ended(lineage: LineageCommand, session: str, talk: list[dict[str, Any]], folder: Path, *more: str) -> CommandResult:
    source = folder / f"{session}.json"
    source.write_text(json.dumps(talk))
    arguments = ("--harness", "generic", "--session-id", session, "--transcript-path", str(source), "--json")
    return lineage("session-end", *arguments, "--project", "/home/ada/demo", *more)


def token_of(lineage: LineageCommand) -> str:
    (tombstone,) = (lineage.root / "memory" / "tombstones").iterdir()
    return tombstone.stem


def brought_back(lineage: LineageCommand, renamed: Callable[[str], str] = str) -> list[str]:
    """A sync client brings the removed session's files back, under other names perhaps; which."""
    token, brought = token_of(lineage), lineage.root.parent / "brought"
    found = []
    for path in sorted(brought.rglob(f"*{token}*")):
        target = lineage.root / "memory" / path.relative_to(brought).parent / renamed(path.name)
        shutil.copy(path, target)
        found.append(target.relative_to(lineage.root).as_posix())
    assert len(found) == 4
    return found


def stays_removed(lineage: LineageCommand) -> None:
    """No way leads to the session: no list, no search, no projection."""
    assert [row["session_id"] for row in lineage("sessions", "--agent", "all", "--json").json["sessions"]] == ["s-2"]
    assert lineage("search", SECRETIVE, "--agent", "all", "--json").json["results"] == []
    for reference in ("s-1", token_of(lineage), token_of(lineage)[:8]):
        assert lineage("show", reference).code == 1
    assert SECRETIVE not in (lineage.root / "MEMORY.md").read_text()


def test_it_stays_removed_after_a_reindex(lineage: LineageCommand) -> None:
    assert lineage("reindex").code == 0
    stays_removed(lineage)
    assert find_holders(lineage.root, SECRETIVE) == []


@pytest.mark.leaves_findings
@pytest.mark.parametrize("lose", [delete_databases, delete_machine_state])
def test_it_stays_removed_after_the_loss_of_every_database(
    lineage: LineageCommand, lose: Callable[[Path], None]
) -> None:
    """Lesson 7: deleting the database lost the tombstones, and the session came back."""
    brought_back(lineage)
    lose(lineage.root)
    assert lineage("reindex").code == 0
    stays_removed(lineage)
    lose(lineage.root)
    assert lineage("recover").code == 0
    stays_removed(lineage)


@pytest.mark.leaves_findings
@pytest.mark.parametrize("command", ["reindex", "recover", "render"])
def test_files_that_a_sync_brings_back_are_ignored(lineage: LineageCommand, command: str) -> None:
    brought_back(lineage)
    assert lineage(command).code == 0
    stays_removed(lineage)


@pytest.mark.leaves_findings
def test_recovery_makes_nothing_anew_of_a_part_that_came_back(lineage: LineageCommand) -> None:
    """A transcript alone would be an unfinished capture, were it not for the tombstone."""
    for path in brought_back(lineage):
        if not path.endswith("--transcript.md"):
            (lineage.root / path).unlink()
    before = read_workspace_files(lineage.root)
    assert lineage("recover", "--json").json["finished"] == []
    assert read_workspace_files(lineage.root) == before


SYNC_NAMES = {
    "the same name": str,
    "Syncthing": lambda name: name.replace(".md", ".sync-conflict-20261121-120000-ABCDEFG.md"),
    "Dropbox": lambda name: name.replace(".md", " (conflicted copy 2026-11-21).md"),
    "iCloud": lambda name: name.replace(".md", " 2.md"),
    "a backup": lambda name: name + ".bak",
}


@pytest.mark.slow
@pytest.mark.parametrize("renamed", SYNC_NAMES.values(), ids=SYNC_NAMES)
def test_files_that_come_back_are_reported_and_deleted_on_demand(
    lineage: LineageCommand, renamed: Callable[[str], str]
) -> None:
    back, mend = brought_back(lineage, renamed), f"lineage remove {token_of(lineage)} --again"
    assert lineage("reindex").code == 0
    stays_removed(lineage)
    checked = lineage("verify", "--json")
    assert checked.code == 4
    assert {(f["level"], f["path"], f["mend"]) for f in checked.json["findings"]} == {
        ("MUST", path, mend) for path in back
    }
    assert lineage("remove", token_of(lineage), "--again", "--yes").code == 0
    assert find_holders(lineage.root, SECRETIVE) == []
    assert lineage("verify").code == 0


@pytest.mark.leaves_findings
def test_reindex_names_the_files_that_came_back(lineage: LineageCommand) -> None:
    back = [path for path in brought_back(lineage) if "claims" not in path]
    assert lineage("reindex", "--json").json["buried"] == back


@pytest.mark.slow
@pytest.mark.parametrize("moment", [MOMENT, "2026-11-21T18:00:00.000Z", "2026-11-20T09:00:00.000Z"])
@pytest.mark.parametrize("flow", ["session-end", "compaction"])
def test_a_capture_of_it_is_refused_whatever_its_clock_says(
    lineage: LineageCommand, tmp_path: Path, moment: str, flow: str
) -> None:
    """Lesson 7: a re-capture recreated files and rows."""
    before = read_workspace_files(lineage.root)
    payload = {"harness": "generic", "session_id": "s-1", "transcript_path": str(tmp_path / "s-1.json")}
    summary = ("--summary", "The wombat was found.") if flow == "compaction" else ()
    options = [part for key, value in payload.items() for part in (f"--{key.replace('_', '-')}", value)]
    done = lineage(flow, *options, *summary, "--captured-at", moment, "--json")
    assert (done.code, done.json["status"], done.json["reason"]) == (1, "refused", "removed")
    assert read_workspace_files(lineage.root) == before
    assert find_holders(lineage.root, SECRETIVE) == []


def test_a_capture_is_refused_on_another_machine_that_only_got_the_tombstone(
    lineage: LineageCommand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = LineageCommand(tmp_path / "other", capsys)
    shutil.copytree(lineage.root / "memory" / "tombstones", other.root / "memory" / "tombstones")
    assert ended(other, "s-1", TALK, tmp_path).json["status"] == "refused"
    assert find_holders(other.root, SECRETIVE) == []


def test_a_tombstone_that_a_sync_brings_buries_the_session_here(
    lineage: LineageCommand, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = LineageCommand(tmp_path / "other", capsys)
    ended(other, "s-1", TALK, tmp_path)
    ended(other, "s-2", OTHER, tmp_path)
    assert SECRETIVE in (other.root / "MEMORY.md").read_text()
    shutil.copytree(lineage.root / "memory" / "tombstones", other.root / "memory" / "tombstones")
    assert other("reindex").code == 0
    stays_removed(other)
    assert other("remove", "s-1", "--again", "--yes").code == 0
    assert find_holders(other.root, SECRETIVE) == []


def test_a_fork_that_was_not_captured_brings_only_its_own_turns(lineage: LineageCommand, tmp_path: Path) -> None:
    """It copies the removed session's records, ids and all, under an id of its own."""
    own = {"role": "user", "text": "Now sort the harvest by weight.", "at": "2026-11-20T11:00:00Z", "id": "own"}
    done = ended(lineage, "fork", [*TALK, own], tmp_path)
    assert done.json["status"] == "captured"
    assert "harvest" in (lineage.root / done.json["transcript_path"]).read_text()
    assert find_holders(lineage.root, SECRETIVE) == []
    assert ended(lineage, "fork-without-own", TALK, tmp_path).json["reason"] == "empty"
    assert find_holders(lineage.root, SECRETIVE) == []


def test_the_tombstone_says_what_the_spec_asks_for_and_holds_no_text(lineage: LineageCommand) -> None:
    import yaml

    (path,) = (lineage.root / "memory" / "tombstones").iterdir()
    text = path.read_text()
    fields = yaml.safe_load(text.split("---\n")[1])
    assert fields["agent_id"] == "default"
    assert fields["session_token"] == path.stem
    assert fields["reason"] == "asked for"
    assert fields["removed_at"] == MOMENT
    assert len(fields["removed_paths"]) == 4
    assert all(path.stem in removed for removed in fields["removed_paths"])
    assert SECRETIVE not in text
