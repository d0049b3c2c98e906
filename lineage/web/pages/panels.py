"""Panels of memory: entries by where they hold, as one can look through them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lineage.core.book_paths import GLOBAL, BookRef
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.bookkeeping import Overview, Place, opened, overview

MOST_SHOWN = 200

_FINDING = "finding"
_SESSION = "session/"


@dataclass(frozen=True, slots=True)
class Filter:
    """What is looked for: words that an entry has, its trust in brackets, its state; "" for any."""

    words: str = ""
    trust: str = ""
    state: str = ""

    def takes(self, place: Place) -> bool:
        said = " ".join((place.entry.body, place.ref.kind, place.ref.scope, *place.entry.tags)).lower()
        return (
            all(word in said for word in self.words.lower().split())
            and self.trust in ("", place.entry.trust)
            and self.state in ("", place.state)
        )


@dataclass(frozen=True, slots=True)
class Panel:
    """Some entries under one name; `hidden` counts those that are too many to be shown."""

    name: str
    title: str
    about: str
    places: tuple[Place, ...]
    hidden: int


def of_workspace(house: House, wanted: Filter) -> list[Panel]:
    """What waits, what holds everywhere, in projects and for agents and people, in sessions, and findings."""
    books = overview(house)
    waiting = [place for book in books for place in book.waiting]
    in_use = _in_use(house, books)
    findings = [place for place in in_use if place.ref.kind == _FINDING]
    others = [place for place in in_use if place.ref.kind != _FINDING]
    everywhere = [place for place in others if place.ref.scope == GLOBAL]
    sessions = [place for place in others if place.ref.scope.startswith(_SESSION)]
    elsewhere = [place for place in others if place.ref.scope != GLOBAL and place not in sessions]
    return [
        _panel("pending", "Waits for you", "Proposed by an agent; not in force until you confirm it.", waiting, wanted),
        _panel("global", "Everywhere", "What every session is told.", everywhere, wanted),
        _panel("scoped", "Projects, agents and people", "What holds there.", elsewhere, wanted),
        _panel("session", "Sessions", "What stays in its session.", sessions, wanted),
        _panel("findings", "Findings", "What was found in data.", findings, wanted),
    ]


def of_session(house: House, scope: str) -> list[Panel]:
    """What one session's own books say."""
    books = overview(house, scope)
    waiting = [place for book in books for place in book.waiting]
    in_use = _in_use(house, books)
    findings = [place for place in in_use if place.ref.kind == _FINDING]
    others = [*waiting, *(place for place in in_use if place.ref.kind != _FINDING)]
    return [
        _panel("session", "Session memory", "What stays in this session.", others, Filter()),
        _panel("findings", "Findings", "What was found in its data.", findings, Filter()),
    ]


def scopes(house: House) -> list[str]:
    """The scopes that there are books of, and `global`: where an entry can be moved to."""
    return sorted({GLOBAL, *(book.ref.scope for book in overview(house))})


def _in_use(house: House, books: Iterable[Overview]) -> list[Place]:
    refs = (BookRef(book.ref.scope, book.ref.kind) for book in books)
    return [place for ref in refs for place in opened(house, ref).places]


def _panel(name: str, title: str, about: str, places: Sequence[Place], wanted: Filter) -> Panel:
    """The pinned ones first, then the newest."""
    found = [place for place in places if wanted.takes(place)]
    newest = sorted(found, key=lambda place: (place.entry.pinned, place.entry.updated or place.entry.at), reverse=True)
    return Panel(name, title, about, tuple(newest[:MOST_SHOWN]), max(0, len(newest) - MOST_SHOWN))
