"""What a person or an agent asks for: words, phrases, what must not be there, and filters. (format: Commands)

Any text is a query; only what is documented here means something else than its words.
"""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage.core.base.times import shift_time
from lineage.core.search import language, segmentation
from lineage.errors import InvalidInput

MAX_QUERY_WORDS = 64
_MAX_PHRASES = 8
_MAX_CHARACTERS = 20_000  # characters
_MAX_PHRASE_CHARACTERS = 1_000

_TOKEN = re.compile(
    r"""(?P<filter>(?<!\S)(?P<key>project|agent|kind|since|until|is):(?P<value>"[^"]*"|[^\s"]+))
      | "(?P<phrase>[^"]*)"
      | (?<!\S)-(?P<without>[^\W\d_]\w{2,})
      | (?P<word>\w(?:[\w./\\:@+-]*\w)?)""",
    re.VERBOSE,
)
_PART = re.compile(r"[^\W_]+")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_AGO = re.compile(r"(\d{1,4})([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_FIRST, _LAST = "0000-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"

SESSION, ENTRY, OPEN, DONE, PINNED, SUPERSEDED, ARCHIVED = (
    "session", "entry", "open", "done", "pinned", "superseded", "archived",
)  # fmt: skip
_STATES = (SESSION, ENTRY, OPEN, DONE, PINNED, SUPERSEDED, ARCHIVED)
_BOOKS = ("decision", "task", "lesson", "preference", "fact", "context", "finding", "note", "handoff")


class Filters(NamedTuple):
    """What a result has to be. `since` and `until` are canonical times, both included; `kinds` are of artifacts or of
    books, of which a result has one; `states` are those of `is:`, all of which it has."""

    project: str | None = None
    agent: str | None = None
    kinds: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None


class Query(NamedTuple):
    """A query taken apart. `words` rank: any of them finds, each is looked up as it stands, one with signs within as a
    phrase. `phrases` have to be there, `without` must not. `language` is None where nothing tells it."""

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded_words: tuple[str, ...] = ()
    filters: Filters = Filters()
    language: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it asks for nothing: what must not be there alone finds nothing."""
        return not self.words and not self.phrases and self.filters == Filters()


def parse_query(text: str, now: str = _LAST) -> Query:
    """The query that a text is. `now` is what `since:7d` counts from.

    Raises InvalidInput for a time that is none and for an `is:` that nothing is.

    >>> parse_query('why "last row" lost is:decision -draft').words
    ('lost',)
    >>> parse_query("project:demo TypeError in src/app.py").words
    ('TypeError', 'src/app.py', 'src', 'app', 'py')
    """
    found = list(_TOKEN.finditer(text[:_MAX_CHARACTERS]))
    phrases = [
        match["phrase"][:_MAX_PHRASE_CHARACTERS] for match in found if match["phrase"] and _PART.search(match["phrase"])
    ]
    words, tongue = _select_words(match["word"] for match in found if match["word"])
    return Query(
        words=words,
        phrases=tuple(dict.fromkeys(phrases))[:_MAX_PHRASES],
        excluded_words=tuple(dict.fromkeys(match["without"] for match in found if match["without"]))[:_MAX_PHRASES],
        filters=_build_filters([(match["key"], match["value"].strip('"')) for match in found if match["filter"]], now),
        language=tongue,
    )


def strip_operators(text: str) -> str:
    """A query without its filters and what must not be there: what it is about, as it was typed.

    >>> strip_operators('project:demo why is the "last row" lost -draft')
    'why is the last row lost'
    """

    def kept(match: re.Match[str]) -> str:
        return "" if match["filter"] or match["without"] else match["phrase"] or match["word"] or ""

    return " ".join(_TOKEN.sub(kept, text[:_MAX_CHARACTERS]).split())


def extract_words(text: str) -> tuple[str, ...]:
    """The words of a text that is no query but a matter: nothing in it is a filter."""
    return _select_words(match[0] for match in re.finditer(r"\w(?:[\w./\\:@+-]*\w)?", text[:_MAX_CHARACTERS]))[0]


def _select_words(words: Iterable[str]) -> tuple[tuple[str, ...], str | None]:
    """The words that say something (all, where none does) with their parts, and the language they are in."""
    asked = list(dict.fromkeys(words))
    tongue = language.detect_language(asked)
    kept = [word for word in asked if not language.is_stop_word(word, tongue)] or asked
    found: dict[str, str] = {}
    for part in (part for word in kept for part in _lookup_terms(word, tongue)):
        found.setdefault(part.lower(), part)
    return tuple(found.values())[:MAX_QUERY_WORDS], tongue


def _lookup_terms(word: str, tongue: str | None) -> Iterator[str]:
    """What a word is looked up by: an identifier or a path whole and by its parts, a dense run by pairs."""
    parts = _PART.findall(word)
    if not parts:
        return
    if len(parts) > 1 or not segmentation.is_unspaced(word):
        plain = [run for part in parts for run in segmentation.split_runs(part)]
        if len(plain) > 1:
            yield word
            plain = [one for one in plain if len(one) > 1 and not language.is_stop_word(one, tongue)]
        parts = plain
    for part in parts:
        for run in segmentation.split_runs(part):
            yield from segmentation.split_bigrams(run) if segmentation.is_unspaced(run) else (run,)


def _build_filters(given: Iterable[tuple[str, str]], now: str) -> Filters:
    one: dict[str, str] = {}
    kinds: list[str] = []
    states: list[str] = []
    for key, value in given:
        if key == "kind":
            kinds.append(value.lower())
        elif key == "is":
            name = value.lower()
            if name not in (*_STATES, *_BOOKS):
                raise InvalidInput(f"nothing is {name[:40]!r}", hint=f"is: takes {', '.join((*_STATES, *_BOOKS))}")
            (kinds if name in _BOOKS else states).append(name)
        else:
            one[key] = value
    return Filters(
        project=one.get("project"),
        agent=one.get("agent"),
        kinds=tuple(dict.fromkeys(kinds)),
        states=tuple(dict.fromkeys(states)),
        since=_parse_time(one["since"], now, _FIRST) if "since" in one else None,
        until=_parse_time(one["until"], now, _LAST) if "until" in one else None,
    )


def _parse_time(value: str, now: str, rest: str) -> str:
    """A day, month or year, filled up as `rest` is, or so long ago."""
    if _DATE.fullmatch(value):
        return value + rest[len(value) :]
    ago = _AGO.fullmatch(value)
    if ago is None:
        raise InvalidInput(
            f"not a time: {value[:40]!r}", hint="give a date such as 2026-11-20 or 2026-11, or 7d, 2w, 3m"
        )
    return shift_time(now, days=-int(ago[1]) * _DAYS[ago[2]])
