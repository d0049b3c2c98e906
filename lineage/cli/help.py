"""`lineage help`: the pages of the handbook, which stay in the package."""

import re
from pathlib import Path

import click

from lineage.app.locations import find_template
from lineage.cli import options
from lineage.cli.output import print_result, print_text
from lineage.errors import NotFoundError

_LINK = re.compile(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]")
_FOLDERS = ("handbook", "services", "integrations")


@options.command("help")
@click.argument("topic", nargs=-1)
@click.option("--folder", is_flag=True, help="Print where the handbook, integrations and services lie.")
def command(root: Path, topic: tuple[str, ...], folder: bool, as_json: bool) -> int:
    """Print a page of the handbook; without TOPIC, the list of pages.

    TOPIC is a page's title or its beginning, whatever the case.

    \b
    Example:
      lineage help privacy removal
    """
    del root  # the handbook is the same for all workspaces
    if folder:
        path = str(find_template())
        return print_result({"folder": path}, lambda: print_text(path), as_json=as_json)
    pages = list_pages(find_template())
    wanted = " ".join(topic).lower() or "start here"
    name = next((name for name in (wanted, *sorted(pages)) if name in pages and name.startswith(wanted)), None)
    if name is None:
        raise NotFoundError(f"no page {wanted[:60]!r}", hint=f"one of: {', '.join(sorted(pages))}")
    text = _LINK.sub(r"\1", pages[name].read_text(encoding="utf-8"))
    return print_result({"topic": name, "text": text}, lambda: print_text(text.rstrip("\n")), as_json=as_json)


def list_pages(template: Path) -> dict[str, Path]:
    """Return the pages by title in lower case; those of services and integrations have the names of their folders."""
    files = [
        file for folder in _FOLDERS for file in sorted((template / folder).rglob("*.md")) if file.name != "SKILL.md"
    ]
    return {(file.parent.name if file.stem == "README" else file.stem).lower(): file for file in files}
