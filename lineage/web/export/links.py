"""Where the pages of an export lie, and their addresses, relative to the page that names them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from lineage.core.base.file_names import DEVICE_NAME
from lineage.core.books.entry import Entry
from lineage.web.display import find_source
from lineage.web.pages.conversation import PER_PAGE

INDEX, MEMORY = "index", "memory"
_NAME_CHARACTERS = 60
_OTHERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class SitePlan:
    """The pages that an export has: tokens of sessions, ids of entries, days, and files of projects by path.

    `turn_pages` are the pages of turns, by token and id, as far as they are written.
    """

    sessions: Collection[str]
    entries: Collection[str]
    days: Collection[str]
    projects: Mapping[str, str]
    turn_pages: dict[tuple[str, str], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExportLinks:
    """Addresses in an export, from a page in the folder that `base` leads out of; "" for what it hasn't."""

    plan: SitePlan
    base: str = ""

    def asset(self, name: str) -> str:
        return f"{self.base}static/{name}"

    def home(self, **asked: object) -> str:
        stem, day, project = INDEX, str(asked.get("since", "")), str(asked.get("project", ""))
        if day:
            stem = f"days/{day}" if day in self.plan.days else ""
        elif project:
            stem = self.plan.projects.get(project, "")
        return self._find_page(stem, asked.get("page"))

    def session(self, token: str, anchor: str = "", **asked: object) -> str:
        if token not in self.plan.sessions or asked.get("only"):
            return ""
        page, turn, first = 1, str(asked.get("turn", "")), asked.get("first")
        if turn:
            page = self.plan.turn_pages.get((token, turn), 0)
        elif isinstance(first, int):
            page = (first - 1) // PER_PAGE + 1
        return self._find_page(f"sessions/{token}", page) + (f"#{anchor}" if anchor and page else "")

    def file(self, token: str, kind: str, part: int = 1) -> str:
        return self._find_page(f"sessions/{token}-{kind}", part) if kind in ("summary", "compaction") else ""

    def turn(self, token: str, number: int, part: int = 1) -> str:
        return f"{self.base}sessions/{token}.md"

    def memory(self, **asked: object) -> str:
        group = str(asked.get("group", ""))
        return self._find_page(f"memory/{group}" if group else MEMORY, asked.get("page"))

    def entry(self, identifier: str) -> str:
        return f"{self.base}entries/{identifier}.html" if identifier in self.plan.entries else ""

    def source(self, entry: Entry) -> str:
        token, turn = find_source(entry)
        return self.session(token, turn, turn=turn) if token else ""

    def _find_page(self, stem: str, page: object = 1) -> str:
        return f"{self.base}{build_path(stem, page if isinstance(page, int) else 1)}" if stem else ""


def build_path(stem: str, page: int = 1) -> str:
    """Return the file of a page: no name of a session, day or project has a dot.

    >>> build_path("days/2026-11-20"), build_path("days/2026-11-20", 2), build_path("index", 2)
    ('days/2026-11-20.html', 'days/2026-11-20.2.html', 'pages/2.html')
    """
    if page > 1:
        return f"pages/{page}.html" if stem == INDEX else f"{stem}.{page}.html"
    return f"{stem}.html"


def name_projects(labels: Mapping[str, str]) -> dict[str, str]:
    """Return the file of each project by its path; paths with the same label share one.

    >>> name_projects({"/a/Shop": "Shop", "/b/shop": "b/shop", "/c": "b shop"})
    {'/a/Shop': 'projects/shop', '/b/shop': 'projects/b-shop-2', '/c': 'projects/b-shop'}
    """
    names = dict[str, str]()
    for label in sorted(set(labels.values())):
        plain = _OTHERS.sub("-", label.lower().encode("ascii", "ignore").decode()).strip("-")[:_NAME_CHARACTERS]
        stem = "" if DEVICE_NAME.match(plain) else plain
        name, number = stem or "project", 1
        while name in names.values():
            number += 1
            name = f"{stem or 'project'}-{number}"
        names[label] = name
    return {path: f"projects/{names[label]}" for path, label in labels.items()}
