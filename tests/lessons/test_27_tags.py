"""Lessons, 27: "Tag `auto-extract` reads back as `auto`. Updating an entry drops its tags."

Fails where tags are read by a pattern of word characters, and where an edit makes the entry anew.
"""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base.links import to_one_line
from lineage.core.books.entry import new_entry, parse_entry, render_entry
from tests.support.commands import LineageCommand

TAGS = ["auto-extract", "auto", "a b", "ns/sub", "#hash", "日本", 'q"uo,te', "--", "]]"]


def tags(lineage: LineageCommand, scope: str, kind: str) -> list[str]:
    (entry,) = lineage("book", "show", scope, kind, "--json").json["entries"]
    found: list[str] = entry["tags"]
    return found


@pytest.mark.slow
def test_tags_read_back_as_they_were_given(lineage: LineageCommand) -> None:
    lineage("init")
    given_tags = [word for tag in TAGS for word in ("--tag", tag)]
    identifier = lineage("remember", "--kind", "task", "Write the notes", *given_tags, "--json").json["id"]
    assert tags(lineage, "agent/default", "task") == TAGS
    for change in (["edit", identifier, "Write the release notes"], ["done", identifier], ["pin", identifier]):
        assert lineage("book", *change).code == 0
        assert tags(lineage, "agent/default", "task") == TAGS
    lineage("book", "demote", identifier, "project/demo")
    assert tags(lineage, "project/demo", "task") == TAGS


def test_tags_outlive_an_edit_by_hand_and_an_archive(lineage: LineageCommand) -> None:
    lineage("init")
    lineage("remember", "--project", "demo", "Some words of mine.", "--tag", "auto-extract")
    path: Path = lineage.root / "books/project/demo/note.md"
    path.write_text(path.read_text().replace("Some words", "Other words"))
    assert tags(lineage, "project/demo", "note") == ["auto-extract"]
    path.rename(path.with_name("note.archive-2026.md"))
    (entry,) = lineage("book", "show", "project/demo", "note", "--archive", "2026", "--json").json["entries"]
    assert (entry["tags"], entry["text"]) == (["auto-extract"], "Other words of mine.")
    lineage("reindex")


@given(st.lists(st.text(), max_size=5))
def test_any_tags_survive_the_file(texts: list[str]) -> None:
    entry = new_entry("global", "note", "x", at="2026-03-28T22:34:06.792Z", source="manual", tags=tuple(texts))
    comment = render_entry(entry).split("\n")[0]
    read = parse_entry(comment.removeprefix("<!-- lineage:entry ").removesuffix(" -->"))
    assert read is not None
    assert read.tags == entry.tags == tuple(dict.fromkeys(filter(None, map(to_one_line, texts))))
