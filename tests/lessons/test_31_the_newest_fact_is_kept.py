"""Lessons, 31: "A cap keeps head and tail of curated + daily notes joined: the newest curated fact is what is cut."

Fails where `curated` of pipeline/knowledge/context.py ranks by place alone, where daily notes share the room of
AGENT_MEMORY.md, and where a section keeps the first of its items instead of those of the lowest rank.
"""

import pytest

from tests.support.commands import LineageCommand

pytestmark = pytest.mark.slow

NEWEST = "The staging server has moved to Lisbon."
OLD = "".join(f"- Old fact {number} about the demo and its many readers and writers.\n" for number in range(400))
PLACES = ["top", "middle", "end"]


@pytest.fixture
def vault(lineage: LineageCommand) -> LineageCommand:
    """A long AGENT_MEMORY.md, with long daily notes."""
    lineage("init")
    (lineage.root / "AGENT_MEMORY.md").write_text(OLD, encoding="utf-8")
    for number in range(60):
        assert lineage("remember", "--daily", f"Note {number} of the day: the readers were looked after.").code == 0
    return lineage


def lines_of(vault: LineageCommand, *arguments: str) -> list[str]:
    text: str = vault("context", *arguments).out
    return text.partition("(authoritative)\n")[2].partition("\n\n## ")[0].split("\n")


@pytest.mark.parametrize("budget", ["400", "2000", "4000"])
def test_the_newest_entry_is_kept(vault: LineageCommand, budget: str) -> None:
    assert vault("remember", "--curated", NEWEST).code == 0
    lines = lines_of(vault, "--budget", budget)
    assert any(line.startswith("> - [user-stated]") and line.endswith(NEWEST) for line in lines)
    assert lines[-1].startswith("> … cut: ")


@pytest.mark.parametrize("place", PLACES)
def test_the_newest_entry_is_kept_wherever_a_hand_has_moved_it(vault: LineageCommand, place: str) -> None:
    path = vault.root / "AGENT_MEMORY.md"
    assert vault("remember", "--curated", NEWEST).code == 0
    entry = path.read_text(encoding="utf-8").removeprefix(OLD).lstrip("\n")
    half = len(OLD) // 2
    half += OLD[half:].index("\n") + 1
    cut = {"top": 0, "middle": half, "end": len(OLD)}[place]
    path.write_text(OLD[:cut] + entry + OLD[cut:], encoding="utf-8")
    assert vault("reindex").code == 0
    assert any(line.endswith(NEWEST) for line in lines_of(vault))


def test_of_what_is_written_by_hand_both_ends_are_kept(vault: LineageCommand) -> None:
    path = vault.root / "AGENT_MEMORY.md"
    path.write_text(f"- I am Ada.\n{OLD}- {NEWEST}\n", encoding="utf-8")
    assert vault("reindex").code == 0
    lines = lines_of(vault)
    assert (lines[0], lines[-2]) == ("> - I am Ada.", f"> - {NEWEST}")
    assert not any("fact 200 " in line for line in lines)


def test_daily_notes_have_a_room_of_their_own(vault: LineageCommand) -> None:
    assert vault("remember", "--curated", NEWEST).code == 0
    notes = vault("context").out.partition("## Notes of today and yesterday\n")[2].split("\n")
    assert notes[0].endswith("Note 59 of the day: the readers were looked after.")
    assert 1 < len(notes) < 60
