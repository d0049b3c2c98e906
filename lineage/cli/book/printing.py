"""How entries are printed, for people and as JSON."""

from typing import TYPE_CHECKING

from lineage.cli.output import say, say_json

if TYPE_CHECKING:
    from lineage.pipeline.knowledge.bookkeeping import Place


def say_entry(place: "Place") -> None:
    """Its head line, then what it says, indented."""
    entry = place.entry
    tags = "".join(f" #{tag}" for tag in entry.tags)
    say(f"{entry.id}  {entry.at[:10] or 'by hand   '}  {entry.trust}  {place.state}{tags}")
    for line in entry.body.split("\n"):
        say(f"    {line}".rstrip())


def report(place: "Place", done: str, *, as_json: bool) -> int:
    """Prints what became of an entry; the exit code."""
    if as_json:
        say_json({"entry": place.as_json()})
    else:
        say(f"{done}: {place.entry.id}, {place.ref.kind} of {place.ref.scope} ({place.ref.path})")
    return 0
