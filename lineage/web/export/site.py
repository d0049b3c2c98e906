"""A workspace as static files: the pages of the server, a conversation as markdown each, and what search reads.

Files are made one after the other: the text of one session at a time is in memory.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

from lineage.core.base.naming import COMPACTION, SUMMARY
from lineage.core.base.progress import Progress
from lineage.core.format.turns import ASSISTANT, USER, Turn
from lineage.errors import FormatError
from lineage.index import SessionRow
from lineage.pipeline.memory.entry_writer import parse_quote
from lineage.pipeline.memory.explain_entry import trace_among
from lineage.pipeline.search.export_selection import ExportSelection, group_by_book, group_by_session
from lineage.pipeline.search.session_view import TurnPage, list_recent_days, load_turns
from lineage.projection.conversation_md import render_conversation
from lineage.web import charts, display
from lineage.web.export.links import INDEX, MEMORY, ExportLinks, SitePlan, build_path, name_projects
from lineage.web.export.search_data import SearchData
from lineage.web.export.session_values import build_session_values, list_facts
from lineage.web.pages import conversation, panels, sessions
from lineage.web.rendering import render_template
from lineage.workspace.book_folders import label_scopes
from lineage.workspace.lookup import load_newest_file
from lineage.workspace.projects import KnownProjects
from lineage.workspace.workspace import Workspace

MARK = "lineage-export.json"
"""The file that says that a folder is an export."""
ASSETS = ("icon.svg", "lineage.js", "search.js", "style.css")
# A page of a folder has no origin for every browser: `file:` stands for it there, and for nothing on a server.
POLICY = (
    "default-src 'none'; script-src 'self' file:; style-src 'self' file:; img-src 'self' file:; base-uri 'none'; "
    "form-action 'none'; require-trusted-types-for 'script'; trusted-types lineage-search"
)
_STATIC = Path(__file__).parents[1] / "static"
_UP = "../"

SiteFile = tuple[str, bytes]
"""A file's path in the export, and what it holds."""


def build_site(
    ws: Workspace, selection: ExportSelection, scratch: Path, report: Progress | None = None
) -> Iterator[SiteFile]:
    """Yield the files of an export. `scratch` is an empty folder for the words of search."""
    return _Site(ws, selection, scratch).iter_files(report)


class _Site:
    def __init__(self, ws: Workspace, selection: ExportSelection, scratch: Path) -> None:
        self._ws, self._selection, self._search = ws, selection, SearchData(scratch)
        rows = selection.sessions.values()
        self._top = [row for row in rows if row.parent_token not in selection.sessions]
        paths = {row.project for row in rows if row.project}
        known = KnownProjects(ws, [(key, path) for key, path in ws.index.list_projects() if path in paths])
        self._labels = known.label_paths()
        self._scope_names = label_scopes(ws.index.list_projects(), self._labels)
        entries = {place.entry.id for place in selection.entries}
        days = {row.membership_ts[:10] for row in self._top}
        self._plan = SitePlan(selection.sessions, entries, days, name_projects(self._labels))
        self._learned = group_by_session(selection.entries)

    def iter_files(self, report: Progress | None) -> Iterator[SiteFile]:
        """Yield every file; the mark comes last."""
        for number, row in enumerate(self._selection.sessions.values(), 1):
            yield from self._iter_session(row)
            if report:
                report(number, len(self._selection.sessions))
        yield from self._iter_entries()
        yield from self._iter_memory()
        yield from self._iter_lists()
        yield from self._search.iter_files()
        yield from ((f"static/{name}", (_STATIC / name).read_bytes()) for name in ASSETS)
        counts = {"sessions": len(self._selection.sessions), "entries": len(self._selection.entries)}
        yield MARK, (json.dumps({"format": 1, **counts}) + "\n").encode()

    def _render(self, path: str, template: str, values: Mapping[str, Any]) -> SiteFile:
        links = self._seen_from(path)
        nav = (("Sessions", links.home()), ("Memory", links.memory()))
        head: dict[str, Any] = {"policy": POLICY, "nav": nav, "path": path, "root": "", "csrf": "", "did": ""}
        head["scope_names"] = self._scope_names
        return path, render_template(template, {**head, "to": links, "is_live": False, **values}).encode(
            "utf-8", "replace"
        )

    def _seen_from(self, path: str) -> ExportLinks:
        return ExportLinks(self._plan, _UP if "/" in path else "")

    def _iter_session(self, row: SessionRow) -> Iterator[SiteFile]:
        token, links = row.session_token, ExportLinks(self._plan, _UP)
        turns = load_turns(self._ws, row)
        for place, turn in enumerate(turns):
            self._plan.turn_pages[token, turn.id] = place // conversation.PER_PAGE + 1
        summary = self._load_text(row, SUMMARY)
        values = build_session_values(self._ws, self._selection, row, summary, links)
        values |= {"panels": panels.list_session_panels(self._learned.get(token, []))}
        values |= {"requests": conversation.list_requests(turns), "edits": conversation.count_edits(turns)}
        for number, some in enumerate(_split_pages(turns), 1):
            yield self._render_turns(row, values, some, number, len(turns))
        for kind, text in (
            (SUMMARY, summary * values["is_summary_cut"]),
            (COMPACTION, self._load_text(row, COMPACTION)),
        ):
            yield from self._iter_parts(row, kind, text)
        document = render_conversation(row.title or row.session_id, list_facts(row), row.outcome, turns)
        yield f"sessions/{token}.md", "".join(document).encode("utf-8", "replace")
        self._forget_turns(token, turns)

    def _render_turns(
        self, row: SessionRow, values: Mapping[str, Any], turns: Sequence[Turn], number: int, total: int
    ) -> SiteFile:
        first = (number - 1) * conversation.PER_PAGE + 1
        path = build_path(f"sessions/{row.session_token}", number)
        self._index_turns(row, path, turns, is_first=number == 1)
        links = ExportLinks(self._plan, _UP)
        steps = sessions.page_steps(first, total).items()
        found = {name: links.session(row.session_token, "turns", first=start) for name, start in steps}
        page = TurnPage(row, first, total, tuple(turns))
        shown = {"page": page, "turns": conversation.show_turns(turns), "steps": found, "is_first": number == 1}
        return self._render(path, "session.html", {**values, **shown})

    def _index_turns(self, row: SessionRow, path: str, turns: Iterable[Turn], *, is_first: bool) -> None:
        label = self._labels.get(row.project or "", "")
        names = (row.title, row.outcome, row.session_id, label) if is_first else ()
        said = (turn.text for turn in turns if turn.role in (USER, ASSISTANT) and not turn.thinking)
        calls = (f"{turn.name} {turn.input}" for turn in turns if turn.name)
        shown = [path, row.title or row.session_id, "session", row.membership_ts[:10], label, row.outcome]
        self._search.add(shown, names, (*said, *calls))

    def _forget_turns(self, token: str, turns: Iterable[Turn]) -> None:
        """Keep the pages of those turns alone that entries name."""
        named = {display.find_source(place.entry) for place in self._learned.get(token, ())}
        for turn in turns:
            if (token, turn.id) not in named:
                self._plan.turn_pages.pop((token, turn.id), None)

    def _iter_parts(self, row: SessionRow, kind: str, text: str) -> Iterator[SiteFile]:
        find_part = partial(ExportLinks(self._plan, _UP).file, row.session_token, kind)
        for part in range(1, sessions.count_parts(text) + 1 if text else 1):
            values = sessions.build_text_values(row, kind.capitalize(), row.session_id, text, part, find_part)
            yield self._render(build_path(f"sessions/{row.session_token}-{kind}", part), "file.html", values)

    def _load_text(self, row: SessionRow, kind: str) -> str:
        with suppress(FormatError):
            file = load_newest_file(self._ws, row, kind)
            return file.text if file else ""
        return ""

    def _iter_entries(self) -> Iterator[SiteFile]:
        for (scope, kind), places in group_by_book(self._selection.entries).items():
            for place in places:
                older, newer = trace_among(place, places)
                path = build_path(f"entries/{place.entry.id}")
                names = (kind, *place.entry.tags)
                label = self._scope_names.get(scope, scope)
                name, text = display.name_entry(place.entry.body), display.shorten(place.entry.body)
                shown = [path, name, f"{kind} {place.entry.trust}", place.entry.at[:10], label, text * (text != name)]
                self._search.add(shown, names, (place.entry.body,))
                values = {"place": place, "quote": parse_quote(place.entry), "older": older, "newer": newer, "back": ""}
                yield self._render(path, "entry.html", values)

    def _iter_memory(self) -> Iterator[SiteFile]:
        groups = panels.list_groups(self._selection.entries)
        shared: dict[str, Any] = {"asked": {}, "per_page": panels.PER_PAGE, "uses": {}, "here": ""}
        shown = [group.cut(1, panels.PER_PANEL) for group in groups]
        yield self._render(build_path(MEMORY), "memory.html", {**shared, "panels": shown, "group": "", "page": 1})
        for group in groups:
            for page in range(1, -(-group.total // panels.PER_PAGE) + 1 if group.total > panels.PER_PANEL else 1):
                cut = {"panels": [group.cut(page, panels.PER_PAGE)], "group": group.name, "page": page}
                yield self._render(build_path(f"memory/{group.name}", page), "memory.html", {**shared, **cut})

    def _iter_lists(self) -> Iterator[SiteFile]:
        newest = sorted(self._top, key=lambda row: row.membership_ts, reverse=True)
        links = ExportLinks(self._plan)
        counts = Counter(row.membership_ts[:10] for row in newest)
        window = list_recent_days(self._selection.as_of, newest[0].membership_ts if newest else "")
        activity = charts.build_activity(
            [(day, counts[day]) for day in window], lambda day: links.home(since=day, until=day),
            charts.describe_period(window[-1]),
        )  # fmt: skip
        by_label = Counter(self._labels[row.project] for row in newest if row.project in self._labels)
        paths = {label: path for path, label in self._labels.items()}
        busiest = sorted(by_label.items(), key=lambda one: (-one[1], one[0]))
        projects = [(links.home(project=paths[label]), label, count) for label, count in busiest]
        yield from self._iter_list(INDEX, newest, "Sessions", {}, activity=activity, projects=projects)
        by_project = sorted((row for row in newest if row.project in self._labels), key=self._find_label)
        for label, rows in groupby(by_project, self._find_label):
            yield from self._iter_list(self._plan.projects[paths[label]], list(rows), label, {"project": paths[label]})
        for day, rows in groupby(newest, lambda row: row.membership_ts[:10]):
            asked = {"since": day, "until": day}
            yield from self._iter_list(f"days/{day}", list(rows), display.format_day(day), asked)

    def _find_label(self, row: SessionRow) -> str:
        return self._labels[row.project or ""]

    def _iter_list(
        self, stem: str, rows: Sequence[SessionRow], heading: str, asked: Mapping[str, str], **head: Any
    ) -> Iterator[SiteFile]:
        count = sessions.PER_PAGE
        for start in range(0, len(rows), count):
            page, some = start // count + 1, rows[start : start + count]
            path = build_path(stem, page)
            find_page = partial(self._seen_from(path).home, **asked)
            values: dict[str, Any] = {
                "days": [(day, list(group)) for day, group in groupby(some, lambda row: row.membership_ts[:10])],
                "names": self._labels, "is_new": False, "heading": heading,
                "newer": find_page(page=page - 1) if page > 1 else "",
                "older": find_page(page=page + 1) if start + count < len(rows) else "",
                "activity": None, "projects": [], **(head if page == 1 else {}),
            }  # fmt: skip
            yield self._render(path, "sessions.html", values)


def _split_pages(turns: Sequence[Turn]) -> list[Sequence[Turn]]:
    """Return the turns of each page; one page without any for a session that has none."""
    starts = range(0, max(len(turns), 1), conversation.PER_PAGE)
    return [turns[start : start + conversation.PER_PAGE] for start in starts]
