"""Lessons, 32: "Only today's and yesterday's notes are indexed; older ones can't be found. Hand edits need a restart."

Fails where a book's kind or age decides whether it has rows; without `index_changed_books` in a reindex; where
`is_hint` doesn't know books or AGENT_MEMORY.md.
"""

from pathlib import Path

import pytest

from tests.scenarios.test_watch import NEVER, eventually, running
from tests.support.commands import LineageCommand, run_process
from tests.support.workspace import end_session, open_test_workspace


def found(root: Path, word: str) -> list[str]:
    return sorted(hit["path"] for hit in run_process(root, "search", word, "--json").json["results"])


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def daily(day: str) -> str:
    return f"books/agent/default/daily/{day}.md"


def test_daily_notes_are_found_however_old_they_are(lineage: LineageCommand) -> None:
    lineage("init")
    days = ["2019-01-01", "2024-02-29", "2026-03-27", "2026-03-28"]
    for day in days:
        write(lineage.root, daily(day), f"Had zebras on {day}.\n")
    assert lineage("reindex", "--json").json["books"] == 4
    assert sorted(hit["path"] for hit in lineage("search", "zebras", "--json").json["results"]) == list(
        map(daily, days)
    )
    assert lineage("search", "zebras", "2019").out.count("daily/2019-01-01") == 1


@pytest.mark.slow
def test_a_note_that_lineage_wrote_and_a_hand_changed_is_found_by_its_new_words(lineage: LineageCommand) -> None:
    lineage("init")
    lineage("remember", "The cache lives in Redis.")
    path = lineage.root / "books" / "global" / "note.md"
    path.write_text(path.read_text().replace("Redis", "Valkey"))
    assert found(lineage.root, "Valkey") == []
    assert lineage("reindex", "--json").json["books"] == 1
    assert (found(lineage.root, "Redis"), found(lineage.root, "Valkey")) == ([], ["books/global/note.md"])
    assert lineage("reindex", "--json").json["books"] == 0
    path.unlink()
    lineage("reindex")
    assert found(lineage.root, "Valkey") == []


@pytest.mark.slow
def test_a_running_watch_finds_hand_edits_without_a_restart(tmp_path: Path) -> None:
    root = tmp_path / "vault"
    with open_test_workspace(root) as ws:
        end_session(ws)
    with running(root, "--every", NEVER) as watch:
        write(root, daily("2024-02-29"), "Saw zebras.\n")
        eventually(lambda: found(root, "zebras") == [daily("2024-02-29")])
        write(root, "AGENT_MEMORY.md", "# Rules\n\nNever feed the okapi.\n")
        eventually(lambda: found(root, "okapi") == ["AGENT_MEMORY.md"])
        write(root, daily("2024-02-29"), "Saw gnus.\n")
        eventually(lambda: found(root, "gnus") == [daily("2024-02-29")])
        assert found(root, "zebras") == []
        (root / daily("2024-02-29")).unlink()
        eventually(lambda: found(root, "gnus") == [])
        assert (watch.ended(), watch.err) == (0, "")
