"""Sessions, search results and entries as a person sees them at a terminal. Loaded for terminals alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import groupby

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lineage.app.changed_files import ChangedFiles
from lineage.app.clock import to_local
from lineage.cli.book.print_entry import SHORT_ENTRY_ID, describe_state
from lineage.cli.listed_sessions import ListedSessions, describe_rest
from lineage.cli.output import strip_controls
from lineage.cli.screen import (
    TABLE_WIDTH,
    build_markdown,
    build_synopsis,
    clean,
    format_moment,
    join_line,
    print_page,
)
from lineage.core.base.naming import SUMMARY
from lineage.core.books.sightings import count_sightings
from lineage.index import Hit, SessionRow
from lineage.pipeline.memory.book_overviews import BookOverview
from lineage.pipeline.memory.books import BookContents, EntryLocation
from lineage.workspace.lookup import SessionText

_HARNESS_WIDTH = 100
"""A terminal of at least so many columns has room for the harness."""
_MAX_PROJECT = 18
_TURN_TIME = re.compile(
    r"^(## \d+ · user · |> \[!\w+\]-? \d+ · )(?:(\d{4}-\d\d-\d\d) )?(\d\d:\d\d:\d\dZ)", re.MULTILINE
)
"""The time in a turn's first line (format: Transcript): UTC, with a date where the day is another than before."""
_LINE_MARKS = re.compile(
    r"^[ \t]*(?:>[ \t]?(?:\[!\w+\]-?[ \t]?)?)*(?:#{1,6}[ \t]|`{3,}\w*|\d+→)?|(?<=… )\d+→", re.MULTILINE
)
"""What stands before a line's words: quotes, callouts, headings, fences, and the line's number in a tool's output."""
_FIRST_HEADING = re.compile(r"^# .*\n+", re.MULTILINE)


def print_listed(listed: ListedSessions) -> None:
    """Print a list of sessions: a table, or on a narrow terminal some lines for each."""

    def draw(console: Console) -> None:
        if not listed.rows:
            return
        if console.width >= TABLE_WIDTH:
            _draw_table(console, listed)
        else:
            _draw_blocks(console, listed)
        if listed.total > len(listed.rows):
            console.print(clean(describe_rest(listed), "dim"))

    print_page(draw)


def _draw_table(console: Console, listed: ListedSessions) -> None:
    shows_harness = console.width >= _HARNESS_WIDTH
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    for title in ("When", "Session", *["Harness"] * shows_harness):
        table.add_column(title, no_wrap=True)
    table.add_column("Project", no_wrap=True, overflow="ellipsis", max_width=_MAX_PROJECT)
    table.add_column("Title and outcome", ratio=1, overflow="fold")
    for row in listed.rows:
        harness = [clean(row.harness)] * shows_harness
        synopsis = build_synopsis(row.title, row.outcome, _list_remarks(row, listed))
        table.add_row(
            format_moment(row.membership_ts), _name(row, listed), *harness, clean(_label(row, listed)), synopsis
        )
    console.print(table)


def _draw_blocks(console: Console, listed: ListedSessions) -> None:
    for row in listed.rows:
        console.print(join_line([format_moment(row.membership_ts), _name(row, listed), _label(row, listed)]))
        synopsis = build_synopsis(row.title, row.outcome, _list_remarks(row, listed))
        console.print(Padding(synopsis, (0, 0, 0, 2)))


def _name(row: SessionRow, listed: ListedSessions) -> Text:
    return clean(listed.names.get(row.session_token, row.session_token), "yellow")


def _label(row: SessionRow, listed: ListedSessions) -> str:
    return listed.projects.get(row.project or "", row.project or "-")


def _list_remarks(row: SessionRow, listed: ListedSessions) -> list[str]:
    remarks = [f"{row.captures} captures"] * (row.captures != 1) + ["private"] * row.private
    remarks += ["a trial, not shown in search and memory"] * row.is_trial
    shown = listed.sub_agents.get(row.session_token, ())
    started = [f"started {_name(other, listed).plain}: {other.title}" for other in shown]
    more = [f"and {row.sub_agents - len(shown)} more sub-agents"] * (len(shown) < row.sub_agents)
    return [*([", ".join(remarks)] if remarks else []), *started, *more]


def print_hits(
    hits: Sequence[Hit], changes: Sequence[ChangedFiles | None], names: Mapping[str, str], projects: Mapping[str, str],
    rest: str,
) -> None:  # fmt: skip
    """Print search results, a few lines each: time and id, title, outcome, the words that match.

    `names` are short ids by token, `projects` what lists call the projects of paths.
    """

    def draw(console: Console) -> None:
        for hit, changed in zip(hits, changes, strict=True):
            lines = [_build_snippet(hit)] if hit.entry else [*_list_synopsis(hit), _build_snippet(hit)]
            lines += [clean(str(changed), "dim")] * bool(changed and changed.changed)
            if hit.entry and (session := names.get(hit.session_token or "")):
                lines.append(clean(f"from session {session}", "dim"))
            if new := hit.superseded:
                name = names.get(new.by, new.by[:SHORT_ENTRY_ID])
                lines.append(clean(f"superseded on {new.on} by {name}: {_unmark(new.text)}", "magenta"))
            console.print(_build_head(hit, names, projects))
            console.print(Padding(Text("\n").join(lines), (0, 0, 0, 2)))
        if rest:
            console.print(clean(rest, "dim"))

    print_page(draw)


def _build_head(hit: Hit, names: Mapping[str, str], projects: Mapping[str, str]) -> Text:
    if entry := hit.entry:
        marks = [f"archived {entry.shelf}"] * bool(entry.shelf) + ["superseded"] * (not entry.standing)
        when = format_moment(entry.at) if entry.at else "by hand"
        book = f"{entry.kind} of {entry.scope}"
        return join_line([when, clean(entry.id[:SHORT_ENTRY_ID], "yellow"), book, entry.trust, *marks])
    name = names.get(hit.session_token or "", hit.session_id or "")
    project = projects.get(hit.project or "", hit.project or "")
    turns = f"turns {hit.turns[0]}-{hit.turns[1]}" if hit.turns else hit.kind
    return join_line([format_moment(hit.membership_ts or ""), clean(name, "yellow"), project, turns])


def _list_synopsis(hit: Hit) -> list[Text]:
    return list(build_synopsis(hit.title or "", hit.outcome or "").split("\n"))


def _build_snippet(hit: Hit) -> Text:
    """Return the words that match, in one line."""
    unmarked = replace(hit, snippet=_unmark(hit.snippet))
    parts = [(strip_controls(text), matched) for text, matched in unmarked.split_snippet()]
    text = Text()
    for words, matched in parts:
        text.append(" ".join(f"x{words}x".split())[1:-1], style="bold yellow" if matched else "")
    return text


def _unmark(text: str) -> str:
    """Return a piece of markdown without the marks that say nothing in it: those of lines, and halves of bold words."""
    return _LINE_MARKS.sub("", text).replace("**", "")


def print_session_text(shown: SessionText, name: str, changed: ChangedFiles | None) -> None:
    """Print a session's file or turns as a page: what it is, then its markdown, then its sub-agents."""
    row = shown.session
    # the head says what a summary is about
    text = _FIRST_HEADING.sub("", shown.text, count=1) if shown.kind == SUMMARY else shown.text

    def draw(console: Console) -> None:
        console.print(build_synopsis(row.title, row.outcome, [str(changed)] if changed and changed.changed else []))
        project = clean(row.project or "")
        console.print(join_line([format_moment(row.membership_ts), clean(name, "yellow"), row.harness, project]))
        console.print()
        console.print(build_markdown(_localize_turns(text), keeps_lines=True))
        for other in shown.sub_agents:
            console.print(clean(f"sub-agent {other.session_id}: {other.title}", "dim"))

    print_page(draw, is_prose=True)


def _localize_turns(text: str) -> str:
    """Return a transcript with its turns' times in this machine's zone; one whose day is not known stays in UTC."""
    day = shown = ""

    def localize(found: re.Match[str]) -> str:
        nonlocal day, shown
        day = found[2] or day
        moment = to_local(datetime.fromisoformat(f"{day}T{found[3]}")) if day else None
        if moment is None:
            return found[0]
        date, shown = f"{moment.date()} " * (f"{moment.date()}" != shown), f"{moment.date()}"
        return f"{found[1]}{date}{moment:%H:%M:%S}"

    return _TURN_TIME.sub(localize, text)


def print_markdown(text: str) -> None:
    """Print a page of markdown."""
    print_page(lambda console: console.print(build_markdown(text)), is_prose=True)


def print_contents(books: Sequence[BookContents]) -> None:
    """Print the entries of books, a line about each, then its text; of several books under their names."""

    def draw(console: Console) -> None:
        for contents in books:
            if len(books) > 1:
                console.print(clean(f"{contents.ref.kind} of {contents.ref.scope}", "bold"))
            for place in contents.entries:
                _print_entry(console, place)
            for problem in contents.problems:
                console.print(clean(f"problem: {contents.ref.path}: {problem}", "red"))

    print_page(draw)


def _print_entry(console: Console, place: EntryLocation) -> None:
    console.print(_build_entry_head(place))
    console.print(Padding(Text(strip_controls(place.entry.body)), (0, 0, 0, 2)))
    if place.successor:
        new = place.successor
        console.print(Padding(clean(f"superseded on {new.at[:10]} by {new.id}", "magenta"), (0, 0, 0, 2)))


def _build_entry_head(place: EntryLocation) -> Text:
    entry = place.entry
    when = format_moment(entry.at) if entry.at else "by hand"
    count = count_sightings(entry)["seen"]
    parts = [clean(entry.id[:SHORT_ENTRY_ID], "yellow"), when, entry.trust, describe_state(place)]
    about = ", ".join(subject.partition(":")[2] for subject in entry.about)
    parts += [" ".join(f"#{tag}" for tag in entry.tags), f"about {about}" * bool(about), f"seen {count}" * (count > 1)]
    return join_line(parts)


def print_books(books: Sequence[BookOverview], places: Mapping[str, str], rest: str) -> None:
    """Print the books by scope, and a line about those that wait or have problems.

    `places` are the folder or the repository of projects' scopes, and the sessions of sessions' scopes.
    """

    def draw(console: Console) -> None:
        for scope, group in groupby(books, key=lambda book: book.ref.scope):
            console.print(join_line([clean(scope, "bold"), places.get(scope, "")]))
            for book in group:
                counts = join_line([f"{book.in_use} in use", _count_more(book)], ", ")
                console.print(Text(f"  {book.ref.kind:12} ").append_text(counts))
        for problem in (problem for book in books for problem in book.problems):
            console.print(clean(f"problem: {problem}", "red"))
        if rest:
            console.print(clean(rest, "dim"))

    print_page(draw)


def _count_more(book: BookOverview) -> str:
    states = {"superseded": book.superseded, "done": book.done, "stale": book.stale}
    counts = states | {"waiting": len(book.waiting), "archived": book.archived, "forgotten": book.forgettings}
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count)
