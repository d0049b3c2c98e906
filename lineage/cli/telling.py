"""`context` as a command: what it takes, and how it prints what a new session is told."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage.cli.output import plain, say, say_json, warn
from lineage.cli.plain import JSON, Command, Option

if TYPE_CHECKING:
    from lineage.pipeline.house import House
    from lineage.pipeline.knowledge.context import Asked
    from lineage.projection import Block, Spent


def run(root: Path, given: dict[str, Any]) -> int:
    """Prints the block, or what it costs, and on stderr the books that could not be read. The exit code: 0."""
    from lineage.app import with_house
    from lineage.pipeline.knowledge.context import Asked

    as_json, explain = given.pop(JSON.name), given.pop(_EXPLAIN.name)
    asked = Asked(**given)
    block, unread = with_house(root, lambda house: _told(house, asked))
    if as_json:
        say_json(_as_json(block, unread))
        return 0
    if explain:
        _explain(block)
    elif block.text:
        say(block.text, end="")
    else:
        warn("nothing is remembered yet, or nothing fits: see `lineage context --explain`")
    for path in unread:
        warn(f"can't be read, and is left out: {plain(path)}")
    return 0


_EXPLAIN = Option(
    "explain", "What each section cost, may cost, and what was cut, not the text.", default=False, is_flag=True
)
COMMANDS: dict[str, Command] = {
    "context": Command(
        (
            Option("agent_id", "The agent.", ("--agent",), metavar="ID", default="default"),
            Option("project", "Its project: a folder of it, or its name.", metavar="PATH"),
            Option("query", "What it is about: decides which decisions and lessons are shown.", metavar="TEXT"),
            Option("session", "The running session, by token or id: what it found is shown, too.", metavar="SESSION"),
            Option("budget", "The most it may cost; 2000, or as set.", metavar="TOKENS", least=0),
            _EXPLAIN,
            JSON,
        ),
        run,
    )
}


def _told(house: "House", asked: "Asked") -> "tuple[Block, list[str]]":
    """The block, and the books that could not be read."""
    from lineage.pipeline.knowledge.context import context
    from lineage.pipeline.knowledge.said import Knowledge

    knowledge = Knowledge(house)
    return context(house, asked, knowledge), knowledge.unread


def _as_json(block: "Block", unread: list[str]) -> dict[str, Any]:
    sections = [spent._asdict() for spent in block.sections]
    told = {"text": block.text, "tokens": block.tokens, "budget": block.budget, "sections": sections}
    return {**told, "unread": unread}


def _explain(block: "Block") -> None:
    say(f"{'section':14}{'tokens':>7}{'at most':>9}  shown")
    for spent in block.sections:
        say(f"{spent.name:14}{spent.tokens:7}{spent.cap:9}  {_shown(spent)}")
    say(f"{'in all':14}{block.tokens:7}{block.budget:9}")


def _shown(spent: "Spent") -> str:
    if spent.dropped:
        return f"0 of {spent.of}: dropped, there is no room for it"
    return f"{spent.shown} of {spent.of}" + (": cut" if spent.cut else "") if spent.of else "-"
