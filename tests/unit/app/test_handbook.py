"""The handbook: ten pages and a glossary, found by title, section and the topics of earlier releases.

Fails when a page or section is renamed and an old topic leads nowhere, when a page of the folder is in no list, and
when a link of a page names a section that isn't there.
"""

import re

import pytest

from lineage.app import handbook
from lineage.app.handbook import HelpPage
from lineage.app.locations import find_template

TEMPLATE = find_template()
PAGES = handbook.load_pages(TEMPLATE)
EARLIER = (
    "archive", "authority", "books", "buckets", "bundles", "context", "export", "files", "formats", "hooks",
    "language models", "mcp", "obsidian", "past one machine", "postgresql", "privacy removal", "recovery", "redaction",
    "reindex and repair", "search", "semantic search", "sessions and lanes", "start here", "threat model",
    "web page and api", "services", "integrations", "claude-code", "gemini",
)  # fmt: skip


def test_there_are_ten_pages_and_a_glossary_and_all_are_listed() -> None:
    assert len(handbook.PAGES) == 11
    assert handbook.PAGES[-1] == "Glossary"
    assert sorted(file.stem for file in (TEMPLATE / "handbook").iterdir()) == sorted(handbook.PAGES)


@pytest.mark.parametrize("topic", EARLIER)
def test_a_topic_of_an_earlier_release_still_leads_somewhere(topic: str) -> None:
    found = handbook.find_topic(PAGES, topic)
    assert found is not None
    assert len(found.text) > 200
    assert found.text.startswith("#")


def test_a_topic_is_a_page_a_section_or_a_beginning() -> None:
    pages = [
        HelpPage("Find", "# Find\n\nIt.\n\n## Search\n\nWords.\n\n## Export\n\nPages.\n"),
        HelpPage("Files", "# Files\n"),
    ]
    assert handbook.find_topic(pages, "FIND") == pages[0]
    assert handbook.find_topic(pages, "  search ") == HelpPage("Search", "## Search\n\nWords.\n")
    assert handbook.find_topic(pages, "fi") == pages[0]
    assert handbook.find_topic(pages, "exp") == HelpPage("Export", "## Export\n\nPages.\n")
    assert handbook.find_topic(pages, "elsewhere") is None
    assert handbook.find_topic(PAGES, "wrong") == handbook.find_topic(PAGES, "when something is wrong")
    assert handbook.find_topic(PAGES, "removal") == handbook.find_topic(PAGES, "forget and remove")


def test_a_page_is_split_at_its_sections() -> None:
    text = "# Find\n\nIt.\n\n## Search\n\nWords.\n"
    assert handbook.split_page(HelpPage("Find", text)) == ("It.", [HelpPage("Search", "## Search\n\nWords.\n")])
    assert handbook.split_page(HelpPage("Search", "## Search\n\nWords.\n")) == ("Words.", [])


def test_links_become_their_words_but_in_code() -> None:
    text = "See [[handbook/Find.md|Find]], [[MEMORY.md]], [[a.md#B\\|b]], `[[MEMORY.md]]`."
    assert handbook.unlink(text) == "See Find, MEMORY.md, b, `[[MEMORY.md]]`."


def test_every_page_is_named_by_start_here() -> None:
    named = re.findall(r"`lineage help ([a-z ]+)`", PAGES[0].text)
    assert sorted(named) == sorted(page.lower() for page in handbook.PAGES)


def test_a_link_to_a_section_names_one() -> None:
    links = [link for page in PAGES for link in re.findall(r"\[\[handbook/([^\]|#]+)\.md#([^\]|\\]+)", page.text)]
    assert links
    sections = {page.title: [one.title for one in handbook.split_page(page)[1]] for page in PAGES}
    assert [link for link in links if link[1] not in sections[link[0]]] == []
