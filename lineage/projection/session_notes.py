"""The notes of projects, of their months and of days: pure functions, without a clock (format: Notes of projects)."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from lineage.core.base import naming
from lineage.core.base.links import to_one_line, wikilink
from lineage.core.base.markdown import escape_line
from lineage.core.base.note_paths import day_note_path, project_note_path, project_tag
from lineage.core.base.times import to_date
from lineage.core.capture.ledger import NotedCapture
from lineage.core.format.synopsis import build_title
from lineage.projection.memory_item import MemoryItem

NEWEST_SESSIONS = 30
"""The sessions in a project's note; all of them stand in its months'."""
MAX_SESSIONS = 200
"""The sessions in the note of a month or a day: what a capture writes stays small."""
MAX_MONTHS = 60
_MAX_ITEMS = 20
_MAX_ITEM_CHARS = 400
_LABEL = re.compile(r"[\w.-]+(?: [\w.-]+)*")
_BASE = """```base
filters:
  and:
    - file.hasTag("{tag}")
formulas:
  session: file.asLink(title)
  ended: date(if(ended_at, ended_at, captured_at))
properties:
  formula.session:
    displayName: Session
  formula.ended:
    displayName: Ended (UTC)
views:
  - type: table
    name: Sessions
    order: [formula.ended, formula.session, harness, agent_id]
    sort:
      - property: formula.ended
        direction: DESC
```"""


def render_project_note(
    name: str, captures: Iterable[NotedCapture], months: Sequence[str], sections: Mapping[str, Sequence[MemoryItem]]
) -> str:
    """Return a project's note: what its books say, its newest sessions by day, a base and its months, newest first."""
    parts = [_render_title(name), f"#lineage/project #{project_tag(name)}"]
    for heading, items in sections.items():
        if items:
            more = [f"- … and {len(items) - _MAX_ITEMS} more in `books/`"] * (len(items) > _MAX_ITEMS)
            parts.append("\n".join((f"## {heading}", "", *map(_render_item, items[:_MAX_ITEMS]), *more)))
    parts.append("## Newest sessions")
    parts += _render_days(_list_sessions(captures, NEWEST_SESSIONS))
    links = [wikilink(project_note_path(name, month), month) for month in months[:MAX_MONTHS]]
    parts.append("\n".join(("## Months", "", *(f"- {link}" for link in links))))
    return _join((*parts, "## All sessions", _BASE.format(tag=project_tag(name))))


def render_month_note(name: str, month: str, captures: Iterable[NotedCapture], older_days: Sequence[str]) -> str:
    """Return the note of a project's month. `older_days` have the sessions that it has no room for."""
    parts = [_render_title(f"{name}, {month}"), f"{_link_project(name)} · #lineage/project #{project_tag(name)}"]
    parts += _render_days(_list_sessions(captures, MAX_SESSIONS))
    if older_days:
        links = " · ".join(wikilink(day_note_path(day), day) for day in older_days)
        parts.append(f"Earlier sessions of the month stand in the notes of their days: {links}")
    return _join(parts)


def render_day_note(date: str, captures: Iterable[NotedCapture], names: Callable[[str], str | None]) -> str:
    """Return the note of a day: its sessions by project. `names` returns the name of a path's project, or None."""
    parts = [_render_title(date), "#lineage/day"]
    by_name: dict[str, list[NotedCapture]] = {}
    for capture in _list_sessions(captures, MAX_SESSIONS):
        by_name.setdefault(names(capture.project) or "", []).append(capture)
    for name in sorted(by_name, key=lambda name: (not name, name)):
        parts.append(f"## {_link_project(name)}" if name else "## Without a project")
        parts.append("\n".join(map(_render_row, by_name[name])))
    return _join(parts)


def _list_sessions(captures: Iterable[NotedCapture], limit: int) -> list[NotedCapture]:
    """Return the newest capture of each session, newest first."""
    newest: dict[str, NotedCapture] = {}
    for capture in captures:
        newest.setdefault(capture.token, capture)
    return list(newest.values())[:limit]


def _render_days(captures: Sequence[NotedCapture]) -> Iterator[str]:
    for date, group in groupby(captures, key=lambda capture: to_date(capture.membership)):
        yield f"### {wikilink(day_note_path(date), date)}"
        yield "\n".join(map(_render_row, group))


def _render_item(item: MemoryItem) -> str:
    text = to_one_line(item.text)
    text = text if len(text) <= _MAX_ITEM_CHARS else f"{text[:_MAX_ITEM_CHARS]}…"
    label = "session" if item.link.startswith(naming.MEMORY) else "book"
    return f"- {item.trust} {_show(text)} · {_show(item.label)} · {wikilink(item.link, label)}"


def _render_row(capture: NotedCapture) -> str:
    # The title stands beside the link: in the label of one, nothing can be escaped.
    title = _show(build_title(capture.ask, "", capture.title))
    return f"- {wikilink(capture.manifest_path, capture.membership[11:16])} {title} · {_show(capture.harness)}"


def _render_title(text: str) -> str:
    return f"# {_show(text)}"


def _link_project(name: str) -> str:
    path = project_note_path(name)
    return wikilink(path, name if _LABEL.fullmatch(name) else None)


def _show(text: str) -> str:
    # No comment at all, not even in code: one could be the end of lineage's block.
    return escape_line(to_one_line(text)).replace("\\<", "&lt;").replace("<!--", "&lt;!--")


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) + "\n"
