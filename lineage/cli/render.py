"""`lineage render`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lineage.cli import options
from lineage.cli.output import say, say_json

if TYPE_CHECKING:
    from lineage.pipeline.house import House
    from lineage.pipeline.publishing import Published


@click.command("render")
@options.as_json
@options.workspace
def command(root: Path, as_json: bool) -> int:
    """Write MEMORY.md of every agent again; a file that would stay the same is not touched.

    \b
    Example:
      lineage render
    """
    from lineage.app import with_house
    from lineage.core.naming import memory_md_path

    published = with_house(root, _rendered, writes=True)
    if as_json:
        rows = [
            {
                "agent_id": p.agent_id,
                "path": memory_md_path(p.agent_id),
                "written": p.written,
                "rows": p.kept,
                "of": p.total,
                "future": p.future,
            }
            for p in published
        ]
        say_json({"memory_md": rows})
        return 0
    for p in published:
        done = "written" if p.written else "unchanged"
        future = f", {p.future} with a time in the future left out" if p.future else ""
        say(f"{memory_md_path(p.agent_id)}: {p.kept} of {p.total} rows, {done}{future}")
    return 0


def _rendered(house: "House") -> "list[Published]":
    from lineage.pipeline.publishing import publish_all
    from lineage.pipeline.upkeep.reindexing import synchronize

    synchronize(house)
    return publish_all(house)
