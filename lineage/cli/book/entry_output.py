"""Output of entries and of their changes, for people and as JSON."""

from lineage.cli.output import print_json, print_text
from lineage.pipeline.memory.books import EntryLocation


def print_entry(place: EntryLocation) -> None:
    """Print an entry: a head line, then its text, indented."""
    entry = place.entry
    tags = "".join(f" #{tag}" for tag in entry.tags)
    print_text(f"{entry.id}  {entry.at[:10] or 'by hand   '}  {entry.trust}  {place.state}{tags}")
    for line in entry.body.split("\n"):
        print_text(f"    {line}".rstrip())


def print_change(place: EntryLocation, action: str, *, as_json: bool) -> int:
    """Print the change of an entry and return the exit code."""
    if as_json:
        print_json({"entry": place.as_json()})
    else:
        print_text(f"{action}: {place.entry.id}, {place.ref.kind} of {place.ref.scope} ({place.ref.path})")
    return 0
