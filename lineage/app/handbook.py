"""The handbook: the pages and sections that `lineage help` and the web page show. They stay in the package."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

START = "Start here"
PAGES = (
    "First week", "Find", "Correct", "Forget and remove", "Two machines", "Team", "Obsidian", "Privacy and threats",
    "Formats", "When something is wrong", "Glossary",
)  # fmt: skip
"""The pages in the order in which they are read. Those of integrations and services follow."""
FORMER_TOPICS = {
    "authority": "which file is right",
    "past one machine": "team",
    "privacy removal": "forget and remove",
    "recovery": "when something is wrong",
    "reindex and repair": "what each command looks at",
    "sessions and lanes": "agents and lanes",
    "threat model": "privacy and threats",
    "web page and api": "web page",
}
"""Topics of earlier releases that name no page or section today, and what stands for each."""

_FOLDERS = ("services", "integrations")
_LINK = re.compile(r"(?<!`)\[\[(?:[^\]|]*?\\?\|)?([^\]]*)\]\]")
_SECTION = re.compile(r"(?m)^(?=## )")


@dataclass(frozen=True, slots=True)
class HelpPage:
    """A page or a section of one, as markdown that begins with its heading."""

    title: str
    text: str

    @property
    def body(self) -> str:
        """The text without its heading."""
        return self.text.partition("\n")[2].strip("\n")


def load_pages(template: Path) -> list[HelpPage]:
    """Return "Start here", the handbook's pages in their order, then those of services and integrations."""
    files = [template / f"{START}.md", *(template / "handbook" / f"{title}.md" for title in PAGES)]
    for folder in _FOLDERS:
        files += [file for file in sorted((template / folder).rglob("*.md")) if file.name != "SKILL.md"]
    titles = [file.parent.name if file.stem == "README" else file.stem for file in files]
    return [HelpPage(title, file.read_text(encoding="utf-8")) for title, file in zip(titles, files, strict=True)]


def find_topic(pages: Sequence[HelpPage], topic: str) -> HelpPage | None:
    """Return the page or section with this title, of today or of an earlier release, its beginning or a later word."""
    wanted = " ".join(topic.lower().split())
    named = [*pages, *(section for page in pages for section in _list_sections(page))]
    by_title: dict[str, HelpPage] = {}
    for one in named:
        by_title.setdefault(one.title.lower(), one)
    titles = [*by_title, *FORMER_TOPICS]
    beginning = next((title for title in titles if title.startswith(wanted)), None)
    title = wanted if wanted in titles else beginning or next((one for one in titles if f" {wanted}" in one), None)
    return by_title[FORMER_TOPICS.get(title, title)] if title else None


def unlink(text: str) -> str:
    """Return a page with each wikilink replaced by its words."""
    return _LINK.sub(r"\1", text)


def split_page(page: HelpPage) -> tuple[str, list[HelpPage]]:
    """Return the text between a page's heading and its first section, and the sections."""
    sections = _list_sections(page)
    end = page.text.index(sections[0].text) if sections else len(page.text)
    return HelpPage(page.title, page.text[:end]).body, sections


def _list_sections(page: HelpPage) -> list[HelpPage]:
    """Return the sections of a page; a section has none."""
    if page.text.startswith("## "):
        return []
    parts = _SECTION.split(page.text)[1:]
    return [HelpPage(part.partition("\n")[0].removeprefix("## ").strip(), part.rstrip("\n") + "\n") for part in parts]
