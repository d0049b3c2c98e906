"""Lessons, 34: "*read* The flush that writes memory is off by default and its threshold can't be reached: nothing is
ever written."

Fails where `knowledge.extract` is off by default, where `Step.KNOWLEDGE` is not planned for every capture, and where
what was learned is not what a later session is told.
"""

from lineage.config import Settings
from tests.support.commands import LineageCommand

TALK = "User: Why is the last line lost?\nAssistant: We decided to keep splitlines in reader.py."


def test_one_short_session_in_a_fresh_workspace_is_enough(lineage: LineageCommand) -> None:
    """No setting, no model, no threshold: one exchange, ended as a harness ends it."""
    assert Settings().knowledge.extract
    assert lineage("init").code == 0
    given = ("--harness", "generic", "--session-id", "s-1", "--project", "/home/ada/demo", "--transcript", TALK)
    assert lineage("session-end", *given, "--json").json["learned"]["kept"] == 1
    shown = lineage("book", "show", "project/demo", "decision").out
    assert "We decided to keep splitlines in reader.py." in shown
    assert "We decided to keep splitlines in reader.py." in lineage("context", "--project", "/home/ada/demo").out
    found = lineage("search", "splitlines", "--json").json["results"]
    assert "entry" in {result["kind"] for result in found}


def test_what_waits_comes_into_use_with_one_word_of_the_user_s(lineage: LineageCommand) -> None:
    lineage("init")
    talk = "User: In all projects I prefer tabs over spaces."
    given = ("--harness", "generic", "--session-id", "s-1", "--transcript", talk)
    assert lineage("session-end", *given, "--json").json["learned"]["pending"] == 1
    elsewhere = ("context", "--project", "/home/ada/elsewhere")
    assert "tabs" not in lineage(*elsewhere).out
    (waiting,) = lineage("book", "show", "global", "preference", "--pending", "--json").json["entries"]
    assert lineage("book", "confirm", waiting["id"], "--yes").code == 0
    assert "I prefer tabs over spaces." in lineage(*elsewhere).out
    assert "I prefer tabs over spaces." in (lineage.root / "MEMORY.md").read_text()
