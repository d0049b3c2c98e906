"""Search queries: words, phrases, exclusions and filters; any text is a valid query (format: Commands)."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from lineage.core.base.book_paths import KINDS, resolve_kind
from lineage.core.base.times import shift_time, to_utc_or_none
from lineage.core.search.words import MAX_CHARACTERS, select_words
from lineage.errors import InvalidInput

_MAX_PHRASES = 8
_MAX_PHRASE_CHARACTERS = 1_000

_TOKEN = re.compile(
    r"""(?P<filter>(?<!\S)(?P<key>project|path|agent|kind|since|until|is):(?P<value>"[^"]*"|[^\s"]+))
      | (?<!\S)-(?:"(?P<without_phrase>[^"]*)"|(?P<without>[^\W\d_]\w{2,}))
      | "(?P<phrase>[^"]*)"
      | (?P<word>\w(?:[\w./\\:@+-]*\w)?)""",
    re.VERBOSE,
)
_QUOTED = re.compile(r'"[^"]*"')
_LIKE_FILTER = re.compile(r"(?<!\S)([a-z]+):(?=[^\s/])")
_MISTAKEN = {
    "before": "until", "to": "until", "after": "since", "from": "since", "repo": "project", "folder": "path",
    "dir": "path", "type": "kind",
}  # fmt: skip
_PART = re.compile(r"[^\W_]+")
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_AGO = re.compile(r"(\d{1,4})([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}
_FIRST, _LAST = "0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"

SESSION, ENTRY, OPEN, DONE, PINNED, SUPERSEDED, ARCHIVED = (
    "session", "entry", "open", "done", "pinned", "superseded", "archived",
)  # fmt: skip
_STATES = (SESSION, ENTRY, OPEN, DONE, PINNED, SUPERSEDED, ARCHIVED)


@dataclass(frozen=True, slots=True)
class Filters:
    """A result's conditions: any of `kinds`, all of `states`, UTC times from `since` to `until` inclusive.

    Results of the projects `project_keys`, and of these books, are of the `project`, too. `path` is a folder below the
    root of a project.
    """

    project: str | None = None
    agent: str | None = None
    kinds: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    project_keys: tuple[str, ...] = ()
    path: str | None = None


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: any of `words` (punctuated ones as phrases), all `phrases`, nothing of what is `excluded`."""

    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    filters: Filters = Filters()
    language: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the query has no words, phrases or filters: what it excludes alone finds nothing."""
        return not self.words and not self.phrases and self.filters == Filters()


def parse_query(text: str, now: str = _LAST) -> Query:
    """Return the query in a text. Times such as `since:7d` count from `now`.

    Raises InvalidInput for an invalid time and for an unknown `is:`.

    >>> parse_query('why "last row" lost is:decision -draft').words
    ('lost',)
    >>> parse_query("project:demo TypeError in src/app.py").words
    ('TypeError', 'src/app.py', 'src', 'app', 'py')
    """
    tokens = list(_TOKEN.finditer(text[:MAX_CHARACTERS]))
    phrases = (t["phrase"][:_MAX_PHRASE_CHARACTERS] for t in tokens if t["phrase"] and _PART.search(t["phrase"]))
    without = (token["without"] or token["without_phrase"] or "" for token in tokens)
    excluded = (text[:_MAX_PHRASE_CHARACTERS] for text in without if _PART.search(text))
    words, word_language = select_words(token["word"] for token in tokens if token["word"])
    return Query(
        words=words,
        phrases=tuple(dict.fromkeys(phrases))[:_MAX_PHRASES],
        excluded=tuple(dict.fromkeys(excluded))[:_MAX_PHRASES],
        filters=_build_filters([(token["key"], token["value"].strip('"')) for token in tokens if token["filter"]], now),
        language=word_language,
    )


def find_mistaken_filters(text: str) -> dict[str, str]:
    """Return what a query writes like a filter and is none, with the filter that does it.

    >>> find_mistaken_filters('before:2026 repo:demo until:7d "after: lunch" http://x')
    {'before': 'until', 'repo': 'project'}
    """
    unquoted = _QUOTED.sub(" ", text[:MAX_CHARACTERS])
    return {key: _MISTAKEN[key] for key in _LIKE_FILTER.findall(unquoted) if key in _MISTAKEN}


def strip_operators(text: str) -> str:
    """Return the words and phrases of a query as typed, without filters and what it excludes.

    >>> strip_operators('project:demo why is the "last row" lost -draft')
    'why is the last row lost'
    """

    def keep(match: re.Match[str]) -> str:
        return match["phrase"] or match["word"] or ""

    return " ".join(_TOKEN.sub(keep, text[:MAX_CHARACTERS]).split())


def _build_filters(pairs: Iterable[tuple[str, str]], now: str) -> Filters:
    values: dict[str, str] = {}
    kinds: list[str] = []
    states: list[str] = []
    for key, value in pairs:
        if key == "kind":
            kinds += dict.fromkeys((value.lower(), resolve_kind(value.lower())))
        elif key == "is":
            name = resolve_kind(value.lower())
            if name not in (*_STATES, *KINDS):
                hint = f"is: takes {', '.join((*_STATES, *KINDS))}"
                raise InvalidInput(f"nothing is {value.lower()[:40]!r}", hint=hint)
            (kinds if name in KINDS else states).append(name)
        else:
            values[key] = value
    return Filters(
        project=values.get("project"),
        path=values.get("path"),
        agent=values.get("agent"),
        kinds=tuple(dict.fromkeys(kinds)),
        states=tuple(dict.fromkeys(states)),
        since=_parse_time(values["since"], now, _FIRST) if "since" in values else None,
        until=_parse_time(values["until"], now, _LAST) if "until" in values else None,
    )


def _parse_time(value: str, now: str, boundary: str) -> str:
    """Return a time, that of a day, month or year, completed from `boundary`, or of a distance such as `7d`."""
    if ago := _AGO.fullmatch(value):
        return shift_time(now, days=-int(ago[1]) * _DAYS[ago[2]])
    if time := to_utc_or_none(value):
        return time
    with suppress(ValueError):
        if _DATE.fullmatch(value) and date.fromisoformat((value + _FIRST[len(value) :])[:10]):
            return value + boundary[len(value) :]
    raise InvalidInput(f"not a time: {value[:40]!r}", hint="give a date such as 2026-11-20 or 2026-11, or 7d, 2w, 3m")
