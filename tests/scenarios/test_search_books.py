"""`lineage search` over sessions and books, as a person and as a script: what is found, what is said of it, what isn't.

What each guard rests on: the columns of `_entry` in cli/search.py; `_told` there; `_RANKED` in index/searching.py.
"""

from pathlib import Path

import pytest

from lineage.core.base.book_paths import BookRef
from lineage.core.books.entry import ASSISTANT_TURN
from lineage.workspace.lookup import resolve_session
from tests.support.books import AT, write_entry
from tests.support.commands import SAMPLE_ID, LineageCommand
from tests.support.workspace import end_session, make_turns, open_test_workspace

pytestmark = pytest.mark.slow

SESSION_KEYS = [
    "session_id", "session_token", "agent_id", "kind", "path", "turns", "score", "snippet", "project",
    "membership_ts", "memory_sentence", "title", "outcome", "superseded", "changed_since",
]  # fmt: skip
ENTRY_KEYS = ["id", "scope", "book", "shelf", "trust", "source", "from", "tags", "about", "standing", "done"]


def results(lineage: LineageCommand, *query: str) -> list[dict[str, object]]:
    found: list[dict[str, object]] = lineage("search", *query, "--json").json["results"]
    return found


def test_an_entry_is_a_result_with_the_keys_of_the_others_and_its_own(lineage: LineageCommand) -> None:
    lineage.end_sample()
    said = lineage(
        "remember", "--kind", "preference", "--tag", "csv", "--about", "read.py", "Split on newline only.", "--json"
    ).json
    found = results(lineage, "newline")
    (entry,) = [hit for hit in found if hit.get("source") == "manual"]
    (session,) = [hit for hit in found if hit["kind"] != "entry"]
    assert list(session) == [*SESSION_KEYS, "passages"]
    assert list(entry) == [*SESSION_KEYS, "passages", *ENTRY_KEYS]
    assert session["session_id"] == SAMPLE_ID
    assert {key: entry[key] for key in ("kind", "id", "scope", "book", "path", "trust", "tags", "about")} == {
        "kind": "entry", "id": said["id"], "scope": "global", "book": "preference",
        "path": "books/global/preference.md", "trust": "[user-stated]", "tags": ["csv"], "about": ["file:read.py"],
    }  # fmt: skip
    assert [
        entry[key] for key in ("session_id", "turns", "project", "memory_sentence", "title", "outcome", "done")
    ] == [None] * 7
    assert (entry["standing"], entry["snippet"]) == (True, "Split on newline only.")


def test_the_text_says_how_far_an_entry_is_to_be_trusted_and_where_it_is(lineage: LineageCommand) -> None:
    lineage("init")
    identifier = lineage("remember", "--kind", "decision", "Use apples.", "--json").json["id"]
    lineage("remember", "--kind", "decision", "Use pears.", "--supersedes", identifier)
    old = next(line for line in lineage("search", "apples").out.splitlines() if identifier in line)
    assert "  [user-stated]  global  decision  " in old
    assert old.endswith("  superseded")
    assert "superseded" not in lineage("search", "pears").out
    (lineage.root / "AGENT_MEMORY.md").write_text("Never feed the okapi.\n")
    lineage("reindex")
    assert lineage("search", "okapi").out.startswith("by hand  [user-stated]  global  curated  ")


def test_archives_are_found_and_marked_and_what_waits_is_not(lineage: LineageCommand) -> None:
    with open_test_workspace(lineage.root) as ws:
        end_session(ws)
        write_entry(ws, "agent/default", "decision", "archived apples", shelf="2025", source=ASSISTANT_TURN, at=AT)
        write_entry(ws, "global", "note", "waiting apples", shelf="pending", source=ASSISTANT_TURN)
    (hit,) = results(lineage, "apples")
    assert (hit["shelf"], hit["trust"], hit["path"]) == (
        "2025", "[derived]", BookRef("agent/default", "decision", "2025").path,
    )  # fmt: skip
    assert "  archived 2025\n" in lineage("search", "apples").out


def test_what_is_confirmed_is_found_and_what_is_forgotten_no_more(lineage: LineageCommand) -> None:
    with open_test_workspace(lineage.root) as ws:
        waiting = write_entry(ws, "global", "note", "waiting apples", shelf="pending", source=ASSISTANT_TURN)
    assert results(lineage, "apples") == []
    assert lineage("book", "confirm", waiting.id, "--yes").code == 0, lineage("book", "confirm", waiting.id).err
    assert [hit["id"] for hit in results(lineage, "apples")] == [waiting.id]
    assert lineage("book", "forget", waiting.id).code == 0
    assert results(lineage, "apples") == []


def test_another_agent_s_books_are_found_with_all_and_with_its_name(lineage: LineageCommand) -> None:
    lineage("init")
    for scope in ("global", "agent/ann", "agent/default", "project/demo"):
        assert lineage("remember", "--scope", scope, f"apples of {scope}").code == 0
    scopes = {"default": {"agent/default"}, "ann": {"agent/ann"}, "all": {"agent/ann", "agent/default"}, "eve": set()}
    for agent, own in scopes.items():
        found = {hit["scope"] for hit in results(lineage, "apples", "--agent", agent)}
        assert found == own | {"global", "project/demo"}, agent


def test_a_private_session_s_own_book_is_found_by_nobody_else(lineage: LineageCommand) -> None:
    with open_test_workspace(lineage.root) as ws:
        end_session(ws, "secretive", private=True, transcript=make_turns("A private reader", "Yes."))
        end_session(ws, "open", transcript=make_turns("An open reader", "Yes."))
        for session in ("secretive", "open"):
            token = resolve_session(ws, session).session_token
            write_entry(ws, f"session/{token}", "note", f"apples of {session}")
    assert [hit["snippet"] for hit in results(lineage, "apples", "--agent", "all")] == ["apples of open"]
    assert [hit["session_id"] for hit in results(lineage, "apples")] == ["open"]


def test_no_content_of_an_entry_moves_the_cursor(lineage: LineageCommand) -> None:
    (lineage.root / "books" / "global").mkdir(parents=True)
    (lineage.root / "books" / "global" / "note.md").write_text("apples \x1b[2J\x1b]8;;http://x\x07 \u202e end\n")
    lineage("reindex")
    out = lineage("search", "apples").out
    assert "apples" in out
    assert not set("\x1b\x07\u202e") & set(out)


@pytest.mark.leaves_findings
def test_a_curated_file_that_is_a_link_is_a_problem_and_no_failure(lineage: LineageCommand, tmp_path: Path) -> None:
    lineage.end_sample()
    (tmp_path / "elsewhere.md").write_text("apples\n")
    lineage("reindex")
    (lineage.root / "AGENT_MEMORY.md").unlink(missing_ok=True)
    (lineage.root / "AGENT_MEMORY.md").symlink_to(tmp_path / "elsewhere.md")
    done = lineage("reindex", "--json")
    assert done.code == 0, done.err
    assert [problem["path"] for problem in done.json["problems"]] == ["AGENT_MEMORY.md"]
    assert results(lineage, "apples") == []
    assert "AGENT_MEMORY.md" in {finding["path"] for finding in lineage("verify", "--json").json["findings"]}


def test_init_in_a_workspace_that_is_there_shelves_what_it_makes(lineage: LineageCommand) -> None:
    lineage.end_sample()
    lineage("init")
    assert lineage("verify").code == 0
    assert results(lineage, "authoritative") == [], "headings and comments alone say nothing"
