"""`lineage help`: the pages of the handbook, which stay in the package."""

from pathlib import Path

import click

from lineage.app import handbook
from lineage.app.locations import find_template
from lineage.cli import options
from lineage.cli.output import is_terminal, print_result, print_text
from lineage.errors import NotFoundError


@options.command("help")
@click.argument("topic", nargs=-1)
@options.no_pager
@click.option("--folder", is_flag=True, help="Print the folder of the handbook, integrations and services.")
def command(root: Path, topic: tuple[str, ...], folder: bool, as_json: bool) -> int:
    """Print a page of the handbook or a section of one; without TOPIC, where to start.

    TOPIC is a title, its beginning, or another word of it. Capitals make no difference.

    \b
    Example:
      lineage help find
      lineage help forget and remove
    """
    del root  # the handbook is the same for all workspaces
    if folder:
        path = str(find_template())
        return print_result({"folder": path}, lambda: print_text(path), as_json=as_json)
    pages = handbook.load_pages(find_template())
    found = handbook.find_topic(pages, " ".join(topic) or handbook.START)
    if found is None:
        titles = ", ".join(page.title for page in pages)
        hint = f"run `lineage help TOPIC` with one of: {titles}"
        raise NotFoundError(f"the handbook has no topic {' '.join(topic)[:60]!r}", hint=hint)
    text = handbook.unlink(found.text).rstrip("\n")
    if is_terminal() and not as_json:
        from lineage.cli.session_screen import print_markdown

        print_markdown(text)
        return 0
    return print_result({"topic": found.title.lower(), "text": text}, lambda: print_text(text), as_json=as_json)
