"""Lessons, 21: ""User prefers Python over Go" is dropped as a duplicate of "User prefers Go over Python" (token Jaccard
1.0); so is a change of region (0.54)."

Fails where what is remembered is compared by its words without their order, or by how much it resembles.
"""

import pytest

from tests.support.commands import LineageCommand

PAIRS = [
    ("User prefers Go over Python.", "User prefers Python over Go."),
    ("We deploy to eu-west-1 from the main branch.", "We deploy to eu-west-2 from the main branch."),
    ("Use C++ for the engine.", "Use C# for the engine."),
    ("The limit is 10 requests.", "The limit is 100 requests."),
    ("Log every request.", "Log not every request."),
    ("テストを先に書きます。", "先にテストを書きます。"),
]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_a_change_of_mind_is_kept_beside_the_old(lineage: LineageCommand, old: str, new: str) -> None:
    lineage("init")
    for text in (old, new):
        assert lineage("remember", "--kind", "decision", text, "--json").json["status"] == "remembered"
    entries = lineage("book", "show", "global", "decision", "--json").json["entries"]
    assert [(entry["text"], entry["state"]) for entry in entries] == [(old, "standing"), (new, "standing")]


@pytest.mark.parametrize(("old", "new"), PAIRS)
def test_it_takes_the_old_one_s_place_where_it_says_so(lineage: LineageCommand, old: str, new: str) -> None:
    lineage("init")
    identifier = lineage("remember", "--kind", "preference", old, "--json").json["id"]
    lineage("remember", "--kind", "preference", "--supersedes", identifier, new)
    entries = lineage("book", "show", "global", "preference", "--json").json["entries"]
    assert [(entry["text"], entry["state"]) for entry in entries] == [(old, "superseded"), (new, "standing")]
    assert [bool(entry["superseded"]) for entry in entries] == [True, False]
    assert entries[0]["superseded"]["text"] == new


def test_the_same_words_are_the_same(lineage: LineageCommand) -> None:
    lineage("init")
    lineage("remember", "User prefers Go over Python.")
    assert lineage("remember", "user prefers  Go over Python", "--json").json["status"] == "known"
