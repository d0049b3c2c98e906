"""A book command that dies anywhere is finished by the next run of anything; the same command again says so. (law 2)

Every command dies before and after each of its mutating calls. Where it had left a job, the next run of anything makes
the state of an uninterrupted one; where it had not, nothing has happened. The command again changes no more, and says
that the work is done. What was forgotten is in no file of the workspace and no page of its databases.

Fails without `spool.put` in `change_books`, without BOOKS in `_finish_job`, without `scrub`, and without the message
of `find_entry` for forgotten ids.
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from lineage.core.base.book_paths import PENDING
from lineage.errors import LineageError, NotFoundError
from lineage.extraction.admission_policy import HEURISTIC, Admission, Provenance
from lineage.harness.detect_caller import Caller
from lineage.pipeline.maintenance.finish_pending import finish_pending
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory import books
from lineage.pipeline.memory.entry_writer import write_entries
from lineage.pipeline.memory.migrate_notes import MigrationRequest, migrate_notes
from lineage.pipeline.memory.relearn import relearn_books
from lineage.pipeline.memory.remember import Memo, remember
from lineage.pipeline.memory.waiting_entries import confirm_entries, load_evidence
from lineage.workspace.workspace import Workspace
from tests.support.dead_processes import (
    copy_workspace,
    find_holders,
    list_mutating_calls,
    list_spool_paths,
    read_workspace_files,
    run_until_crash,
)
from tests.support.faults import CrashPoint
from tests.support.workspace import end_session, make_turns, open_test_workspace

pytestmark = [pytest.mark.slow, pytest.mark.in_folder]

BEFORE, FIRST, SECOND = (f"2026-11-21T{hour}:00:00.000Z" for hour in ("09", "10", "11"))
WORD = "quokka"
NOTE = Memo(text=f"The {WORD} server is rebuilt every night at four.")
TASK = Memo(text="Write the release notes of spring.", kind="task", scope="project/demo")
AGENT = Caller("claude-code")
_WRITE_TIME = re.compile(rb"^updated_at: .*\n", re.MULTILINE)


def prepare(ws: Workspace) -> None:
    remember(ws, NOTE)
    remember(ws, TASK)
    remember(ws, Memo(text="Releases are cut on every second Tuesday."), AGENT)
    turns = make_turns("Please always run the linter before a commit.", "Done, I ran it.")
    capture = end_session(ws, transcript=turns, project="/home/ada/demo")
    found = Admission("decision", "Let me run it.", "project/demo", False, Provenance(HEURISTIC, "", "", "", "", ""))
    write_entries(ws, [found], at=ws.now, origin=capture.transcript_path, tags=("heuristic",))


def find(ws: Workspace, text: str, shelf: str | None = None) -> str:
    locations = (place for ref in ws.documents.books.list() for place in books.read_contents(ws, ref).entries)
    return next(p.entry.id for p in locations if text in p.entry.text and shelf in (None, p.ref.shelf))


@dataclass(frozen=True)
class BookCommand:
    """A command on the entry with this text. `again` is what it says of work that is done, "" for the same again."""

    entry: str
    run: Callable[[Workspace, str], object]
    again: str = ""


def migrate(ws: Workspace, _: str) -> object:
    notes = Path(__file__).parents[2] / "CHANGELOG.md"
    return migrate_notes(ws, MigrationRequest(paths=(notes,), root=Path("/nowhere")))


COMMANDS = {
    "remember": BookCommand("", lambda ws, _: remember(ws, Memo(text="Backups are taken on every Sunday evening."))),
    "edit": BookCommand(WORD, lambda ws, entry: books.edit_entry(ws, entry, "It is rebuilt every morning at six.")),
    "done": BookCommand("release notes", books.set_task_done),
    "pin": BookCommand(WORD, books.pin_entry),
    "pin globally": BookCommand("release notes", lambda ws, entry: books.pin_globally(ws, entry, "decision")),
    "demote": BookCommand(WORD, lambda ws, entry: books.move_entry(ws, entry, "project/demo"), "was moved: it is"),
    "forget": BookCommand(WORD, books.forget_entry, "forgotten already"),
    "confirm": BookCommand(
        "second Tuesday",
        lambda ws, entry: confirm_entries(ws, load_evidence(ws, [entry])),
        "doesn't wait",
    ),
    "migrate": BookCommand("", migrate),
    "relearn": BookCommand("", lambda ws, _: relearn_books(ws)),
}


def read_state(root: Path) -> dict[str, bytes]:
    return {path: _WRITE_TIME.sub(b"", data) for path, data in read_workspace_files(root).items()}


@pytest.mark.leaves_findings
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_dies_anywhere_is_finished_by_the_next_run(tmp_path: Path, name: str) -> None:
    template, command = tmp_path / "template", COMMANDS[name]
    with open_test_workspace(template, now=BEFORE) as ws:
        prepare(ws)
        entry = find(ws, command.entry, PENDING if name == "confirm" else None) if command.entry else ""

    def flow(ws: Workspace) -> object:
        return command.run(ws, entry)

    untouched, whole = read_state(template), tmp_path / "whole"
    copy_workspace(template, whole)
    with open_test_workspace(whole, now=FIRST) as ws:
        flow(ws)
    finished = read_state(whole)
    assert finished != untouched
    calls = list_mutating_calls(template, flow, now=FIRST)
    assert len(calls) > 3
    for number, after in ((number, after) for number in range(1, len(calls) + 1) for after in (False, True)):
        root = tmp_path / "cut off"
        copy_workspace(template, root)
        assert run_until_crash(root, flow, CrashPoint(number, after), now=FIRST)
        had_promised = bool(list_spool_paths(root))
        with open_test_workspace(root, now=SECOND) as ws:
            finish_pending(ws)
            is_done = had_promised or read_state(root) != untouched
            assert read_state(root) == (finished if is_done else untouched), (calls[number - 1], after)
            assert not list_spool_paths(root)
            assert verify(ws) == []
            if is_done:
                _run_again(ws, command, flow)
                assert read_state(root) == finished
                assert verify(ws) == []
        if name == "forget" and is_done:
            assert [path for path, _ in find_holders(root, WORD)] == []
        shutil.rmtree(root)


def _run_again(ws: Workspace, command: BookCommand, flow: Callable[[Workspace], object]) -> None:
    try:
        flow(ws)
        assert not command.again
    except LineageError as error:
        assert command.again, error
        assert command.again in error.message


def test_a_job_is_left_to_the_command_that_is_at_work(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path / "w", now=BEFORE) as ws:
        prepare(ws)
        entry, finished = find(ws, WORD), []
        genuine = type(ws.documents.spool).put

        def put(spool: object, job: object) -> None:
            genuine(spool, job)  # type: ignore[arg-type]
            with open_test_workspace(tmp_path / "w", now=SECOND) as other:
                finished.append(finish_pending(other).finished)
                assert list_spool_paths(tmp_path / "w")

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(type(ws.documents.spool), "put", put)
            books.forget_entry(ws, entry)
        assert finished == [[]]
        with pytest.raises(NotFoundError, match="forgotten already"):
            books.find_entry(ws, entry)
