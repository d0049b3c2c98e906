"""What waits is shown to the user with the words it came from, and put in force. (format: Books; reliability: poisoned
memory)"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lineage.core import naming, transcript
from lineage.core.book_paths import PENDING, BookRef
from lineage.core.documents import Artifact
from lineage.core.entry import Entry
from lineage.core.turns import Turn
from lineage.errors import InvalidInput, NotFoundError
from lineage.harness.callers import Caller
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.bookkeeping import Place, found, refuse_agents, settled
from lineage.pipeline.knowledge.keeping import quote_of
from lineage.pipeline.reading import readable_at

_LINK = re.compile(r"\[\[([^\]|#]+)(?:#\^(t-[0-9a-f]{10}))?(?:\|[^\]]*)?\]\]")


@dataclass(frozen=True, slots=True)
class Evidence:
    """An entry that waits: the words that it was made of, who said them in which file (a wikilink) and when, and the
    texts of the entries that it would take the place of. What isn't known is None."""

    place: Place
    quote: str
    link: str | None
    role: str | None
    said_at: str | None
    replaces: tuple[str, ...]


def evidence(house: House, prefixes: Sequence[str]) -> list[Evidence]:
    """What the user has to see of each entry before confirming it. Raises NotFoundError for one that isn't there,
    InvalidInput for one that doesn't wait."""
    return [_evidence(house, _waiting(house, prefix)) for prefix in dict.fromkeys(prefixes)]


def confirm(house: House, seen: Sequence[Evidence], caller: Caller | None = None) -> list[Place]:
    """Puts in force what the user has seen. Raises LineageError from inside a harness, InvalidInput where an entry was
    changed since it was shown: it is confirmed as it was seen or not at all."""
    refuse_agents(caller, "confirm what waits for the user")
    for one in seen:
        _check_unchanged(house, one.place)
    for one in seen:
        _confirm(house, one.place)
    settled(house, (one.place.ref for one in seen))
    return [found(house, one.place.entry.id) for one in seen]


def _check_unchanged(house: House, place: Place) -> None:
    if _waiting(house, place.entry.id).entry != place.entry:
        raise InvalidInput(
            f"{place.entry.id} was changed since it was shown", hint=f"lineage book confirm {place.entry.id}"
        )


def _confirm(house: House, place: Place) -> None:
    scope, kind = place.ref.scope, place.ref.kind
    forgotten = house.canon.books.get(scope, kind).forgotten
    if place.entry.id in forgotten:
        raise InvalidInput(
            f"{place.entry.id} was forgotten in {kind} of {scope}",
            hint=f"delete its `lineage:forgotten` line in {BookRef(scope, kind).path}, or forget it again",
        )
    house.canon.books.confirm(scope, kind, place.entry.id, house.now)
    house.canon.books.roll_over(scope, kind)


def _waiting(house: House, prefix: str) -> Place:
    try:
        return found(house, prefix, PENDING)
    except NotFoundError:
        place = found(house, prefix)
    raise InvalidInput(
        f"{place.entry.id} doesn't wait: it stands in {place.ref.path}", hint="`lineage book list --pending`"
    )


def _evidence(house: House, place: Place) -> Evidence:
    turn = _turn(house, place.entry)
    in_force = house.canon.books.get(place.ref.scope, place.ref.kind).entries
    return Evidence(
        place,
        quote=quote_of(place.entry),
        link=place.entry.origin,
        role=turn.role if turn else None,
        said_at=turn.at if turn else None,
        replaces=tuple(entry.body for entry in in_force if entry.id in place.entry.supersedes),
    )


def _turn(house: House, entry: Entry) -> Turn | None:
    """The turn that the entry's link points at, None where there is none (any more)."""
    match = _LINK.fullmatch(entry.origin or "")
    document = readable_at(house, match[1]) if match and match[2] and naming.parse_path(match[1]) else None
    if match is None or not isinstance(document, Artifact):
        return None
    return next((turn for turn in transcript.parsed(document.body) if turn.id == match[2]), None)
