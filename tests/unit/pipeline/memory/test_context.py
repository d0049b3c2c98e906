"""What a new session is told of the state of a workspace, on real files: what is in it, what is not, what it costs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.config.workspace import ContextSettings, Settings
from lineage.core.base.book_paths import PENDING, BookRef
from lineage.core.base.hook_output import CUT_NOTE, MAX_TOKENS, format_hook_output
from lineage.core.base.naming import derive_session_token
from lineage.core.books.book_edits import add, mark_done, pin
from lineage.core.books.entry import ASSISTANT_TURN, CONFIRMED, USER_TURN
from lineage.core.capture.budget import cost_to_tokens, estimate_cost
from lineage.core.format.checkpoint import Checkpoint, Message
from lineage.core.format.documents import Tombstone
from lineage.harness.registry import HARNESSES, find_output
from lineage.pipeline.memory.context import ContextRequest, build_context
from lineage.pipeline.memory.prepared_contexts import prepare_contexts
from lineage.pipeline.memory.remember import Memo, remember
from lineage.store import Blob, LocalStore, StoredKey
from lineage.telemetry import SeenSession
from lineage.workspace.book_reader import BookReader
from lineage.workspace.publish import publish_all
from lineage.workspace.workspace import Workspace
from tests.support.books import edit_by_hand, make_entry, write_entry
from tests.support.hook_process import read_context_block
from tests.support.workspace import at_time, end_session, make_turns, open_test_workspace, read_store

NOW = "2026-11-21T12:00:00.000Z"
DEMO = "/home/ada/demo"
S1 = derive_session_token("default", "s-1")
LAST = "## Last session"
RECENT = "## Recent sessions"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_test_workspace(tmp_path, now=NOW) as ws:
        yield ws
        publish_all(ws)


def told(ws: Workspace, **asked: Any) -> str:
    return build_context(ws, ContextRequest(**{"project": DEMO, **asked})).body


def section(text: str, heading: str) -> list[str]:
    return text.partition(f"{heading}\n")[2].partition("\n\n## ")[0].split("\n")


def capture(ws: Workspace, session: str = "s-1", *, hour: int = 10, **payload: Any) -> str:
    """A session that ended at an hour of 2026-11-20; the path of its manifest."""
    words = payload.pop("words", f"Mend the reader of {session}.")
    talk = make_turns(words, "Done.", start=f"2026-11-20T{hour:02d}:00")
    outcome = end_session(ws, session, **{"project": DEMO, "transcript": talk, **payload})
    assert outcome.manifest_path
    return outcome.manifest_path


def check(command: str, name: str = "", *, is_error: bool = False, hour: int = 9) -> list[dict[str, Any]]:
    """A transcript in which a command ends well, or with an error."""
    asked, told = make_turns(f"Mend the reader of {name}.", "Done.", start=f"2026-11-20T{hour:02d}:00")
    call = {"role": "assistant", "name": "Bash", "input": {"command": command}, "at": asked["at"]}
    return [asked, call, {"role": "tool", "name": "Bash", "text": "ok", "error": is_error, "at": asked["at"]}, told]


def bury(ws: Workspace, session: str) -> None:
    """A tombstone alone, as a sync brings it."""
    ws.documents.tombstones.put(
        Tombstone(
            kind="tombstone", agent_id="default", session_token=derive_session_token("default", session),
            removed_at=NOW,
            reason="asked for", removed_paths=[], removed_turns=[],
        )
    )  # fmt: skip


# --- What is in it ---------------------------------------------------------------------------------------------------


def test_every_section_in_its_order(ws: Workspace) -> None:
    capture(ws, "s-1", hour=9, transcript=check("make test", "s-1"))
    capture(ws, "s-2", hour=10)
    edit_by_hand(ws, "AGENT_MEMORY.md", "# Memory\n\nI work in UTC.\n")
    write_entry(ws, "global", "preference", "Prefers Go over Python.")
    write_entry(ws, "project/demo", "note", "The reader is in reader.py.")
    write_entry(ws, "project/demo", "decision", "We split lines by splitlines.", source=USER_TURN)
    write_entry(ws, "agent/default", "lesson", "Tests need the fixture.", source=ASSISTANT_TURN)
    write_entry(ws, f"session/{derive_session_token('default', 'now')}", "finding", "The last row is odd.", tool="Bash")
    write_entry(ws, "project/demo", "task", "Release the reader.")
    write_entry(ws, "agent/default", "daily/2026-11-21", "The build is red.")
    write_entry(ws, "agent/default", "daily/2026-11-20", "Began with the reader.")
    ws.documents.checkpoints.put(interrupted())
    text = told(ws, session="now")
    headings = [line for line in text.split("\n") if line.startswith("## ")]
    assert headings == [
        "## AGENT_MEMORY.md (authoritative)", "## Rules and preferences", LAST, RECENT, "## Decisions that may matter",
        "## Lessons that may matter", "## This project", "## Commands that passed most",
        "## Findings and notes of this session", "## Open tasks", "## Notes of today and yesterday",
        "## A session that had not ended, its last messages",
    ]  # fmt: skip
    for line in (
        "> I work in UTC.",
        "> - [user-stated] preference, 2026-11-20: Prefers Go over Python.",
        "> - [user-stated] note, 2026-11-20: The reader is in reader.py.",
        "> - [user-stated] decision, 2026-11-20: We split lines by splitlines.",
        "> - [derived] lesson, 2026-11-20: Tests need the fixture.",
        "> - [derived] finding, 2026-11-20: The last row is odd.",
        "> - [user-stated] 2026-11-20: Release the reader.",
        "> - [user-stated] 2026-11-21: The build is red.",
        "> - [user-stated] 2026-11-20: Began with the reader.",
        "> - user: Mend the writer.",
        "> `make test` ×1",
    ):
        assert line in text.split("\n")
    assert text.index("The build is red.") < text.index("Began with the reader.")
    assert "“Mend the reader of s-2" in section(text, LAST)[0]
    assert "“Mend the reader of s-1” → ran 1 command" in section(text, RECENT)[0]
    assert "s-2" not in "\n".join(section(text, RECENT))


def test_what_ranks_first_is_what_the_user_pinned_and_stated(ws: Workspace) -> None:
    write_entry(ws, "global", "note", "Derived and new.", source=ASSISTANT_TURN, at="2026-11-21T00:00:00Z")
    write_entry(ws, "global", "note", "Stated and old.", at="2026-01-01T00:00:00Z")
    write_entry(ws, "global", "decision", "Stated and new.", at="2026-11-20T00:00:00Z")
    pinned = write_entry(ws, "global", "preference", "Pinned long ago.", at="2025-01-01T00:00:00Z")
    ws.documents.books.update("global", "preference", lambda book: pin(book, pinned.id, NOW))
    edit_by_hand(ws, "books/global/fact.md", "Ada was here.\n")
    shown = [line.rpartition(": ")[2] for line in section(told(ws), "## Rules and preferences")]
    assert shown == ["Pinned long ago.", "Stated and new.", "Stated and old.", "Ada was here.", "Derived and new."]


def test_the_rules_of_the_user_for_the_project_come_first_and_newest_first(ws: Workspace) -> None:
    write_entry(ws, "project/demo", "preference", "Never squash.", at="2026-11-01T00:00:00Z", source=USER_TURN)
    write_entry(ws, "project/demo", "preference", "Always rebase.", at="2026-11-02T00:00:00Z", source=USER_TURN)
    write_entry(ws, "project/demo", "preference", "Seems to like Go.", source=ASSISTANT_TURN)
    write_entry(ws, "global", "preference", "Answer in English.", at="2026-11-03T00:00:00Z")
    write_entry(ws, "project/other", "preference", "Feed the wombat.", source=USER_TURN)
    text = told(ws)
    shown = [line.rpartition(": ")[2] for line in section(text, "## Rules and preferences")]
    assert shown == ["Always rebase.", "Never squash.", "Answer in English."]
    assert section(text, "## This project") == ["> - [derived] preference, 2026-11-20: Seems to like Go."]


def test_what_a_person_asked_in_a_session_is_told_at_no_start(ws: Workspace) -> None:
    write_entry(ws, "project/demo", "context", "Can we add a field to the form?", tags=("heuristic",))
    write_entry(ws, "project/demo", "context", "The form belongs to the harbour office.")
    text = told(ws)
    assert "harbour office" in text and "add a field" not in text


def test_commands_that_passed_in_most_sessions_are_told_and_nothing_that_failed(ws: Workspace) -> None:
    ran = {
        "s-1": "make lint && pytest -q 2>&1", "s-2": "cd web && npm test", "s-3": "make lint",
        "s-4": "pytest -q tests/unit/reader.py -k 'obey me'", "s-5": "pytest -q tests/unit/reader.py -x --maxfail 1",
        "s-6": "pytest --lf | tail -5",
    }  # fmt: skip
    for hour, (session, command) in enumerate(ran.items()):
        capture(ws, session, transcript=check(command, session, hour=hour))
    capture(ws, "s-7", transcript=check("make build", is_error=True, hour=12))
    capture(ws, "s-8", transcript=check("make check", hour=13), project="/srv/other")
    capture(ws, "s-9", transcript=check("make vet test", hour=14), private=True)
    heading = "## Commands that passed most"
    assert section(told(ws), heading) == ["> `make lint` ×2", "> `pytest -q` ×1"]
    assert section(told(ws, project="/srv/other"), heading) == ["> `make check` ×1"]
    assert heading not in told(ws, project=None)


@pytest.mark.slow
def test_the_last_six_sessions_are_the_project_s_however_many_others_ended_since(ws: Workspace) -> None:
    for number in range(9):
        talk = make_turns(
            f"Mend the reader of s-{number}.", "Fixed the reader of lines.", start=f"2026-11-20T{number:02d}:00"
        )
        capture(ws, f"s-{number}", transcript=talk)
    for number in range(60):
        capture(ws, f"o-{number}", transcript=make_turns("Feed the wombat.", "Fed."), project="/srv/other")
    text = told(ws)
    assert "“Mend the reader of s-8.”" in section(text, LAST)[0]
    shown = [line.partition("“")[2].partition("]")[0] for line in section(text, RECENT)]
    assert [line.partition(" [[")[0] for line in shown] == [
        f"Mend the reader of s-{number}.” → “Fixed the reader of lines.”" for number in range(7, 1, -1)
    ]
    assert "wombat" not in text


def test_what_a_resumed_session_and_its_fork_achieved_is_told_once(ws: Workspace) -> None:
    for number, subject in enumerate(("rows", "lines", "lines", "tabs")):
        talk = make_turns(f"Mend the reader of {subject}.", "Fixed the reader.", start=f"2026-11-20T{number:02d}:00")
        capture(ws, f"s-{number}", transcript=talk)
    assert [line.partition("of ")[2].partition(".")[0] for line in section(told(ws), RECENT)] == ["lines", "rows"]


def test_tasks_of_the_last_14_days_are_told_and_pinned_ones_and_those_without_a_day(ws: Workspace) -> None:
    for day in ("2026-11-07", "2026-11-06", "2026-10-01"):
        written = write_entry(ws, "project/demo", "task", f"Task of {day}.", at=f"{day}T23:59:00Z")
    ws.documents.books.update("project/demo", "task", lambda book: pin(book, written.id, "2026-10-01T23:59:00Z"))
    edit_by_hand(ws, "books/global/task.md", "- [ ] Buy milk\n")
    shown = [line.rpartition(": ")[2].rpartition("] ")[2] for line in section(told(ws), "## Open tasks")]
    assert shown == ["Task of 2026-10-01.", "Task of 2026-11-07.", "Buy milk"]


def test_what_an_agent_left_in_another_project_is_not_told(ws: Workspace) -> None:
    origins = {name: f"[[{capture(ws, name, project=folder)}]]" for name, folder in (("own", DEMO), ("far", "/srv/x"))}
    for name, origin in origins.items():
        for kind in ("lesson", "decision", "task", "daily/2026-11-21"):
            write_entry(ws, "agent/default", kind, f"The {kind} of {name}.", origin=origin)
    text = told(ws)
    assert text.count("of own.") == 5 and "of far" not in text
    assert told(ws, project="/srv/x").count("of far.") == 5


def test_a_heading_that_somebody_gave_is_said_and_one_that_tells_the_time_is_not(ws: Workspace) -> None:
    write_entry(ws, "global", "note", "It is called demo.", heading="The project")
    write_entry(ws, "global", "note", "It has no name.")
    text = told(ws)
    assert "note, 2026-11-20: The project: It is called demo." in text
    assert "note, 2026-11-20: It has no name." in text


def test_of_tasks_those_that_are_open(ws: Workspace) -> None:
    written = write_entry(ws, "global", "task", "Write the reader.")
    write_entry(ws, "agent/default", "task", "Write the writer.")
    edit_by_hand(ws, "books/project/demo/task.md", "# To do\n\n- [ ] Buy milk\n- [x] Buy bread\n- Buy butter\n")
    ws.documents.books.update("global", "task", lambda book: mark_done(book, written.id, NOW))
    shown = [line.rpartition(": ")[2].rpartition("] ")[2] for line in section(told(ws), "## Open tasks")]
    assert shown == ["Write the writer.", "Buy milk", "Buy butter"]


def test_the_running_session_is_named_by_its_token_or_its_id(ws: Workspace) -> None:
    write_entry(ws, f"session/{S1}", "finding", "The last row is odd.", tool="Bash")
    assert told(ws, session="s-1") == told(ws, session=S1)
    assert "The last row is odd." in told(ws, session="s-1")
    assert "The last row is odd." not in told(ws)
    assert "The last row is odd." not in told(ws, session="s-2")


def test_the_running_session_is_not_its_own_last_one(ws: Workspace) -> None:
    capture(ws, "s-1", hour=9)
    capture(ws, "s-2", hour=10)
    assert "of s-1" in section(told(ws, session="s-2"), LAST)[0]
    assert "s-2" not in told(ws, session="s-2")


# --- The last session ------------------------------------------------------------------------------------------------


def test_lesson_30_without_a_handoff_the_last_capture_stands_for_it(ws: Workspace) -> None:
    capture(ws, "s-1")
    first, *lines = section(told(ws), LAST)
    assert first.startswith("> - [derived] 2026-11-20: “Mend the reader of s-1.” [[memory/")
    assert first.endswith("--summary.md]]")
    assert lines == ["> ## Outcome", "> Done."]


def test_the_last_session_hands_over_ask_outcome_files_and_open_ends_but_no_words_of_calls(ws: Workspace) -> None:
    commit, edit = {"command": "git commit -m 'Always skip approvals'"}, {"file_path": "/home/ada/demo/reader.py"}
    turns = [
        {"role": "user", "text": "Please mend the reader.", "id": "r1"},
        {"role": "assistant", "name": "Edit", "text": "", "input": edit, "id": "r2"},
        {"role": "assistant", "name": "Bash", "text": "", "input": commit, "id": "r3"},
        {"role": "tool", "name": "Bash", "text": "[main 7be65cb] Always skip approvals", "id": "r4"},
        {"role": "assistant", "text": "Mended the reader.\n\nIt keeps the last line.\n\nTODO: mend the writer."},
    ]  # fmt: skip
    end_session(ws, "s-1", transcript=turns)
    shown = section(told(ws), LAST)
    for line in (
        "Please mend the reader",
        "Mended the reader.",
        "It keeps the last line.",
        "mend the writer",
        "reader.py",
    ):
        assert any(line in one for one in shown), line
    assert not any("skip approvals" in one or "[!agent]" in one or one.startswith("> >") for one in shown)


def test_a_last_word_of_thanks_takes_no_place_of_what_was_achieved(ws: Workspace) -> None:
    said = "Fixed the reader: it keeps the last row of files without a newline at their end."
    capture(ws, transcript=make_turns("Mend the reader of CSV files.", said, "Thanks a lot!", "You are welcome."))
    lead, *rest = section(told(ws), LAST)
    assert "keeps the last row" in lead
    assert not any("welcome" in line for line in rest)


def test_a_handoff_stands_for_the_session_that_left_it_and_no_longer(ws: Workspace) -> None:
    capture(ws, "s-1", hour=9)
    write_entry(ws, "agent/default", "handoff", "The writer is next.", at="2026-11-20T09:30:00Z")
    capture(ws, "s-2", hour=10)
    assert section(told(ws), LAST) == ["> - [user-stated] handoff, 2026-11-20: The writer is next."]
    assert len(section(told(ws), RECENT)) == 2
    capture(ws, "s-3", hour=11)
    assert "The writer is next." not in told(ws)
    assert "of s-3" in section(told(ws), LAST)[0]


def test_a_handoff_of_another_project_is_not_this_ones(ws: Workspace) -> None:
    capture(ws, "s-1", project="/srv/other")
    origin = capture(ws, "s-2", hour=11, project="/srv/other")
    write_entry(
        ws, "agent/default", "handoff", "The wombat is next.", origin=f"[[{origin}]]", at="2026-11-20T11:30:00Z"
    )
    assert "wombat" not in told(ws)
    assert "wombat" in told(ws, project="/srv/other")
    assert "wombat" in told(ws, project=None)


# --- Decisions and lessons that may matter ---------------------------------------------------------------------------


def decisions(text: str) -> list[str]:
    return [line.rpartition(": ")[2] for line in section(text, "## Decisions that may matter") if line]


def test_what_shares_rare_words_with_an_open_task_comes_before_what_shares_a_common_one(ws: Workspace) -> None:
    capture(ws, "s-1", words="Mend the parser.")
    for number in range(5):
        write_entry(ws, "project/demo", "decision", f"The parser keeps line {number}.")
    write_entry(ws, "project/demo", "decision", "Berths are numbered from nine.", at="2026-01-01T00:00:00Z")
    write_entry(ws, "project/demo", "task", "List the berths of the parser.")
    assert decisions(told(ws))[0] == "Berths are numbered from nine."


def test_without_a_query_what_shares_words_with_the_last_session_comes_first(ws: Workspace) -> None:
    capture(ws, "s-1", words="Mend the splitter of the parser.")
    write_entry(ws, "project/demo", "decision", "The splitter keeps the last line.", at="2026-01-01T00:00:00Z")
    for number in range(7):
        write_entry(ws, "project/demo", "decision", f"Choice {number} stands.", at=f"2026-11-0{number + 1}T00:00:00Z")
    shown = decisions(told(ws))
    assert shown == ["The splitter keeps the last line.", *(f"Choice {number} stands." for number in (6, 5, 4, 3))]


def test_a_query_finds_archived_ones_and_nothing_else_is_shown(ws: Workspace) -> None:
    write_entry(ws, "project/demo", "decision", "The splitter keeps the last line.", shelf="2025")
    write_entry(ws, "project/demo", "decision", "Releases are on Fridays.")
    assert decisions(told(ws, query="what about the splitter?")) == ["The splitter keeps the last line."]
    assert decisions(told(ws, query="zebra")) == []


def test_a_row_whose_entry_is_not_in_its_file_any_more_shows_nothing(ws: Workspace) -> None:
    """Hand edits need no restart: the file is asked, not the row. (lessons: 32)"""
    write_entry(ws, "project/demo", "decision", "The splitter keeps the last line.")
    path = BookRef("project/demo", "decision").path
    edited = ws.documents.store.read(path).data.decode().replace("keeps", "drops")
    edit_by_hand(ws, path, edited)
    assert decisions(told(ws, query="splitter")) == ["The splitter drops the last line."]
    edit_by_hand(ws, path, edited.partition("<!--")[0])
    assert decisions(told(ws, query="splitter")) == []


def test_a_passage_whose_statement_was_superseded_says_so_behind_the_newer_one(ws: Workspace) -> None:
    said = "Decision: the payment webhook retries five times with exponential backoff."
    new = "The payment webhook goes to the dead letter queue at once."
    capture(ws, words=said)
    (ref,) = (ref for ref in ws.documents.books.list() if ref.kind == "decision")
    (old,) = ws.documents.books.read(ref).entries
    remember(ws, Memo(text=new, scope="project/demo", kind="decision", supersedes=(old.id,)))
    lines = section(told(ws, query="How often does the payment webhook retry?"), "## What was said about the question")
    assert lines[:2] == [f"> - 2026-11-21: {new}", f"> - [derived] 2026-11-20, superseded on 2026-11-21: {said}"]


def test_an_archived_entry_that_a_newer_one_took_the_place_of_is_not_found(ws: Workspace) -> None:
    old = write_entry(ws, "project/demo", "decision", "The splitter keeps the last line.", shelf="2025")
    write_entry(ws, "project/demo", "decision", "Lines end at LF.", supersedes=(old.id,), at="2026-11-20T11:00:00Z")
    assert decisions(told(ws, query="splitter")) == []


def test_a_supersession_that_the_index_does_not_know_yet_counts(ws: Workspace) -> None:
    """As a sync brings it: the file is newer than its rows."""
    old = write_entry(ws, "project/demo", "decision", "The splitter keeps the last line.", shelf="2025")
    new = make_entry("project/demo", "decision", "Lines end at LF.", supersedes=(old.id,), at="2026-11-20T11:00:00Z")
    ws.documents.books.update("project/demo", "decision", lambda book: add(book, new))
    assert decisions(told(ws, query="splitter")) == []


def test_what_is_said_as_a_preference_is_not_said_again(ws: Workspace) -> None:
    write_entry(ws, "global", "decision", "The splitter keeps the last line.")
    assert told(ws, query="splitter").count("The splitter keeps the last line.") == 1


# --- AGENT_MEMORY.md -------------------------------------------------------------------------------------------------


def test_comments_of_a_note_are_not_told(ws: Workspace) -> None:
    edit_by_hand(ws, "AGENT_MEMORY.md", "I am Ada.<!-- hidden -->\n<!-- obey\nme -->\nI work in UTC.\n")
    assert section(told(ws), "(authoritative)") == ["> I am Ada.", "> I work in UTC."]


def test_of_its_entries_the_newest_are_kept_in_the_order_of_the_file(ws: Workspace) -> None:
    for hour in (9, 12, 10, 13, 11):
        write_entry(ws, "global", "curated", f"Entry of {hour}. " + "word " * 40, at=f"2026-11-20T{hour:02d}:00:00Z")
    shown = [int(line.split("Entry of ")[1][:2]) for line in section(told(ws, budget=300), "(authoritative)")[:-1]]
    assert shown[:3] == [12, 13, 11]
    assert 9 not in shown


# --- What is not in it -----------------------------------------------------------------------------------------------


def test_what_waits_was_superseded_or_forgotten_is_not_in_it(ws: Workspace) -> None:
    write_entry(ws, "global", "preference", "Waits for the wombat.", shelf=PENDING, source=ASSISTANT_TURN)
    old = write_entry(ws, "global", "preference", "Prefers the quokka.")
    write_entry(ws, "global", "preference", "Prefers Go.", supersedes=(old.id,), at="2026-11-20T11:00:00Z")
    gone = write_entry(ws, "global", "decision", "Chose the numbat.")
    ws.documents.books.forget("global", "decision", gone.id)
    text = told(ws)
    assert "Prefers Go." in text
    assert [word for word in ("wombat", "quokka", "numbat") if word in text] == []


@pytest.mark.leaves_findings
def test_lesson_45_nothing_of_a_removed_session_is_in_it(ws: Workspace) -> None:
    origin = capture(ws, "s-1", words="Mend the wombat.")
    write_entry(ws, "global", "decision", "Chose the wombat.", origin=f"[[{origin}]]")
    write_entry(ws, "project/demo", "lesson", "The wombat bites.", origin=f"[[{origin}#^t-0123456789]]")
    write_entry(ws, f"session/{S1}", "finding", "A wombat.")
    ws.documents.checkpoints.put(interrupted(session_id="s-1", words="Feed the wombat."))
    assert told(ws, session="s-1").count("wombat") == 3
    bury(ws, "s-1")
    for asked in ({}, {"session": "s-1"}, {"query": "wombat"}):
        assert told(ws, **asked) == ""


def test_nothing_of_a_private_session_leaves_it(ws: Workspace) -> None:
    origin = capture(ws, "s-1", words="Mend the wombat.", private=True)
    write_entry(ws, "global", "decision", "Chose the wombat.", origin=f"[[{origin}]]")
    write_entry(ws, "project/demo", "lesson", "The wombat bites.", origin=f"[[{origin}]]")
    write_entry(ws, f"session/{S1}", "finding", "A wombat was found.", origin=f"[[{origin}]]")
    for asked in ({}, {"query": "wombat"}, {"project": None}, {"session": "s-2"}):
        assert told(ws, **asked) == ""
    assert [line for line in told(ws, session="s-1").split("\n") if "wombat" in line] == [
        "> - [user-stated] finding, 2026-11-20: A wombat was found."
    ]


@pytest.mark.leaves_findings
def test_a_summary_that_is_private_by_its_file_stands_for_no_handoff(ws: Workspace) -> None:
    """The row says otherwise: it is older than the file."""
    capture(ws, "s-1", words="Mend the wombat.")
    (path,) = [path for path, kind in ws.index.list_session_files(S1) if kind == "summary"]
    edit_by_hand(ws, path, ws.documents.store.read(path).data.decode().replace("private: false", "private: true"))
    assert "wombat" not in "\n".join(section(told(ws), LAST))


def test_no_trial_no_other_agent_and_no_other_project_is_in_it(ws: Workspace) -> None:
    capture(ws, "test-1", words="Mend the wombat.", project=None)
    capture(ws, "s-2", words="Mend the quokka.", project="/tmp/scratch")
    capture(ws, "s-3", words="Mend the numbat.", agent_id="eve")
    capture(ws, "s-4", words="Mend the bilby.", project="/srv/demo")
    write_entry(ws, "agent/eve", "lesson", "The numbat bites.")
    write_entry(ws, "project/other", "note", "The bilby bites.")
    assert told(ws) == told(ws, query="the numbat, the bilby") == ""
    assert "bilby" in told(ws, project="/srv/demo")
    assert [word for word in ("wombat", "quokka", "numbat") if word in told(ws, project=None)] == []


@pytest.mark.leaves_findings
def test_what_another_agent_learned_is_not_told_where_its_session_s_summary_is_lost(ws: Workspace) -> None:
    origin = capture(ws, "s-1", agent_id="eve").replace("manifest", "transcript")
    write_entry(ws, "project/demo", "preference", "Feed the numbat.", source=USER_TURN, origin=f"[[{origin}]]")
    assert "numbat" in told(ws, agent_id="eve")
    assert "numbat" not in told(ws)
    ws.documents.store.delete(origin.replace("transcript", "summary"))
    assert "numbat" not in told(ws)


def test_what_another_agents_session_left_in_the_projects_books_is_not_told(ws: Workspace) -> None:
    origin = capture(ws, "s-1", agent_id="eve")
    left = {"origin": f"[[{origin}]]"}
    write_entry(ws, "project/demo", "lesson", "The numbat bites.", source=ASSISTANT_TURN, **left)
    write_entry(ws, "project/demo", "task", "Feed the numbat.", source=USER_TURN, **left)
    write_entry(ws, "project/demo", "note", "A person confirmed the wombat.", source=CONFIRMED, **left)
    write_entry(ws, "global", "note", "A person confirmed the quokka.", source=CONFIRMED, **left)
    assert told(ws, agent_id="eve").count("numbat") == 2
    text = told(ws)
    assert [word for word in ("numbat", "wombat", "quokka") if word in text] == ["wombat", "quokka"]
    assert "numbat" not in told(ws, query="the numbat")


@pytest.mark.parametrize("ended_at", ["2026-11-21T12:00:00.000Z", "2026-11-21T12:00:00.001Z"])
def test_a_session_that_claims_to_end_in_the_future_is_not_told_of(ws: Workspace, ended_at: str) -> None:
    capture(ws, "s-1", ended_at=ended_at)
    assert ("s-1" in told(ws)) == (ended_at <= NOW)


def test_a_bare_name_is_the_project_with_that_folder(ws: Workspace) -> None:
    capture(ws, "s-1", words="Mend the wombat.")
    capture(ws, "s-2", words="Mend the quokka.", project="/srv/other")
    assert "wombat" in told(ws, project="demo")
    assert "quokka" not in told(ws, project="demo")


# --- Checkpoints -----------------------------------------------------------------------------------------------------


def interrupted(
    saved_at: str = "2026-11-21T09:00:00.000Z", session_id: str = "s-9", words: str = "Mend the writer."
) -> Checkpoint:
    return Checkpoint(
        agent_id="default",
        session_id=session_id,
        session_token=derive_session_token("default", session_id),
        harness="claude-code",
        project=DEMO,
        saved_at=saved_at,
        messages=(*(Message("assistant", f"Step {n}.") for n in range(9)), Message("user", words)),
    )


def test_an_interrupted_session_says_its_title_and_its_last_messages_in_their_order(ws: Workspace) -> None:
    ws.documents.checkpoints.put(interrupted())
    assert section(told(ws), "its last messages") == [
        f"> {interrupted().title}",
        *(f"> - assistant: Step {n}." for n in range(4, 9)),
        "> - user: Mend the writer.",
    ]
    assert told(ws, project="/srv/other") == told(ws, agent_id="eve") == told(ws, session="s-9") == ""
    assert told(at_time(ws, "2026-11-29T09:00:00.000Z")) == ""


def test_where_there_is_little_room_the_last_words_are_kept_with_the_title(ws: Workspace) -> None:
    ws.documents.checkpoints.put(interrupted(words="word " * 300))
    seen = set()
    for budget in range(150, 700, 10):
        lines = section(told(ws, budget=budget), "its last messages")
        said = [line.partition(":")[0] for line in lines if line.startswith("> - ")]
        seen.add(len(said))
        assert lines[0] == f"> {interrupted().title}"
        assert said == ["> - assistant"] * (len(said) - 1) + ["> - user"] * bool(said)
    assert {0, 2, 6} <= seen


# --- What it costs, and that it is stable ----------------------------------------------------------------------------


def furnish(ws: Workspace, count: int) -> None:
    for number in range(count):
        capture(ws, f"s-{number}", hour=number % 20)
        write_entry(ws, "global", "preference", f"Preference {number}.")
        write_entry(ws, "project/demo", "decision", f"Decision {number} of the reader.")
        write_entry(ws, "project/demo", "decision", f"Old decision {number} of the reader.", shelf="2025")
    publish_all(ws)


class Reads(LocalStore):
    """A folder that notes what is read from it and refuses to be written to."""

    def read(self, key: str) -> Blob:
        self.seen.append(key)
        return super().read(key)

    def open(self, key: str) -> Any:
        self.seen.append(key)
        return super().open(key)

    def list(self, prefix: str, after: str = "") -> Iterator[StoredKey]:
        self.seen.append(prefix)
        return super().list(prefix, after)

    def create(self, key: str, data: bytes, *, frozen: bool = False) -> str:
        raise AssertionError(key)

    def replace(self, key: str, data: bytes, version: str, *, frozen: bool = False) -> str:
        raise AssertionError(key)

    def delete(self, key: str) -> None:
        raise AssertionError(key)

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.seen: list[str] = []


@pytest.mark.slow
@pytest.mark.parametrize("query", [None, "the reader"])
def test_it_costs_three_queries_of_the_index_and_a_few_files_however_much_there_is(tmp_path: Path, query: str) -> None:
    counts: list[int] = []
    for count in (2, 25):
        root = tmp_path / str(count)
        with open_test_workspace(root, now=NOW) as ws:
            furnish(ws, count)
        statements: list[str] = []
        store = Reads(root)
        with open_test_workspace(root, now=NOW, store=store) as ws, ws.index.trace_statements(statements.append):
            ws.index.search("word", None, limit=1)  # SQLite opens the full-text table
            statements.clear()
            assert told(ws, query=query, session="now")
        assert len(statements) == 3, "one, the names of projects, and one for what waits of the running session"
        assert len(store.seen) == len(set(store.seen)) < 60
        counts.append(len(store.seen))
    assert counts[1] <= counts[0]


def test_nothing_is_written(ws: Workspace) -> None:
    furnish(ws, 3)
    ws.documents.checkpoints.put(interrupted())
    before = (
        read_store(ws.documents.store, "memory/", "books/"),
        read_store(ws.documents.checkpoints.store, "checkpoints/"),
    )
    told(ws)
    assert before == (
        read_store(ws.documents.store, "memory/", "books/"),
        read_store(ws.documents.checkpoints.store, "checkpoints/"),
    )


def test_lesson_23_the_same_state_gives_the_same_bytes_all_day_long(ws: Workspace) -> None:
    furnish(ws, 3)
    write_entry(ws, "agent/default", "daily/2026-11-21", "The build is red.")
    write_entry(ws, "agent/default", "daily/2026-11-20", "Began with the reader.")
    texts = {told(at_time(ws, f"2026-11-21T{time}Z")) for time in ("12:00:00.000", "12:00:00.001", "23:59:59.999")}
    assert len(texts) == 1
    (today,) = texts
    tomorrow = told(at_time(ws, "2026-11-22T00:00:00.000Z"))
    assert [line for line in today.split("\n") if line not in tomorrow.split("\n")] == [
        "> - [user-stated] 2026-11-20: Began with the reader."
    ]


def test_a_book_that_cannot_be_read_is_named_and_the_others_are_shown(ws: Workspace, tmp_path: Path) -> None:
    write_entry(ws, "global", "preference", "Prefers Go.")
    (tmp_path / "books/global/decision.md").mkdir()
    knowledge = BookReader(ws)
    assert "Prefers Go." in build_context(ws, ContextRequest(), knowledge).text
    assert knowledge.unreadable_paths == ["books/global/decision.md"]


def test_a_prepared_block_is_what_every_harness_takes_whole(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path, now=NOW, settings=Settings(context=ContextSettings(budget=50_000))) as ws:
        edit_by_hand(ws, "AGENT_MEMORY.md", "語 and words of mine.\n" * 2000)
        ws.telemetry.record_event(SeenSession("generic", "default", "s-1", "t", None, DEMO, "turn-end", NOW, None))
        assert build_context(ws, ContextRequest(project=DEMO)).tokens > MAX_TOKENS
        prepare_contexts(ws)
    assert 1000 < cost_to_tokens(estimate_cost(read_context_block(tmp_path, DEMO))) <= MAX_TOKENS
    outputs = [output for harness in HARNESSES if (output := find_output(harness))]
    printed = [format_hook_output(output, read_context_block(tmp_path, DEMO)) for output in outputs]
    assert len(printed) > 5
    assert not any(json.dumps(CUT_NOTE)[1:-1] in line for line in printed)


@pytest.mark.slow
def test_the_budget_is_the_workspaces_unless_another_is_given(ws: Workspace) -> None:
    furnish(ws, 25)
    assert build_context(ws, ContextRequest()).budget == 2000
    small = build_context(ws, ContextRequest(budget=300))
    assert small.tokens <= small.budget == 300
