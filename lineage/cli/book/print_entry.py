"""The output of an entry of a book, and of the words that it came from."""

from lineage.cli.output import format_when, is_terminal, print_text
from lineage.core.base.naming import find_tokens
from lineage.core.books.entry import Entry
from lineage.core.books.sightings import count_sightings
from lineage.pipeline.memory import books
from lineage.pipeline.memory.waiting_entries import Evidence, explain_waiting

SHORT_ENTRY_ID = 8
"""An entry's id is 16 letters of a hash: the first eight tell it from all others of a workspace."""


def print_entry(place: books.EntryLocation) -> None:
    """Print an entry: a head line, then its text, indented."""
    entry = place.entry
    tags = "".join(f" #{tag}" for tag in entry.tags)
    count = count_sightings(entry)["seen"]
    seen = f"  seen {count}" if count > 1 else ""
    name, at = (entry.id[:SHORT_ENTRY_ID], format_when(entry.at)) if is_terminal() else (entry.id, entry.at[:10])
    print_text(f"{name}  {at or 'by hand   '}  {entry.trust}  {describe_state(place)}{tags}{seen}")
    if entry.about:
        print_text(f"    about {', '.join(subject.partition(':')[2] for subject in entry.about)}")
    if new := place.successor:
        print_text(f"    superseded on {new.at[:10]} by {new.id}")
    for line in entry.body.split("\n"):
        print_text(f"    {line}".rstrip())


def describe_state(place: books.EntryLocation) -> str:
    """Return an entry's state, and that it is pinned where another state hides that."""
    return f"{place.state}, pinned" if place.entry.pinned and place.state != books.PINNED else place.state


def describe_origin(entry: Entry, turn: int = 0) -> str:
    """Return the command that shows the session, and the turn if it is known, that an entry came from; "" for none."""
    tokens = find_tokens(entry.origin or "")
    turns = f" --turns {turn}" if turn else ""
    return f"from `lineage show {tokens[0]}{turns}`" if tokens else ""


def print_evidence(evidence: Evidence) -> None:
    """Print an entry that waits, why it does, the words it came from and a link to them."""
    entry, ref = evidence.location.entry, evidence.location.ref
    print_text(f"{entry.id}  {ref.kind} of {ref.scope}, {entry.at[:10]}")
    print_text(f"  waits: {explain_waiting(evidence.location)}")
    print_indented("says", entry.body)
    print_indented("came from", evidence.quote)
    link = evidence.link or "no file: an agent asked for it by `lineage remember`"
    speaker = " ".join(filter(None, (evidence.role, evidence.turn_at)))
    print_text(f"  in: {link}" + (f" ({speaker})" if speaker else ""))
    for text in evidence.replaces:
        print_indented("takes the place of", text)


def print_indented(label: str, text: str) -> None:
    """Print a text below its label, a bar before each line."""
    print_text(f"  {label}:")
    for line in text.split("\n"):
        print_text(f"    | {line}".rstrip())
