"""The handbook as pages: what `lineage help` prints."""

from lineage.app import handbook
from lineage.app.locations import find_template
from lineage.errors import NotFoundError
from lineage.web.rendered_text import render_markdown
from lineage.web.routes import Page, TemplateView, WebCall
from lineage.workspace.workspace import Workspace


def _show_help(ws: Workspace, call: WebCall, *, topic: str = "") -> TemplateView:
    del ws, call  # the handbook is the same for all workspaces
    pages = handbook.load_pages(find_template())
    found = handbook.find_topic(pages, topic or handbook.START)
    if found is None:
        raise NotFoundError(f"the handbook has no topic {topic[:60]!r}", hint="choose one at /help")
    introduction, sections = handbook.split_page(found)
    values = {
        "title": found.title,
        "topics": [(page.title, f"/help?topic={page.title.lower().replace(' ', '+')}") for page in pages],
        "introduction": render_markdown(handbook.unlink(introduction)),
        "sections": [(section.title, render_markdown(handbook.unlink(section.body))) for section in sections],
    }
    return TemplateView("help.html", values)


PAGES = (Page("/help", _show_help),)
