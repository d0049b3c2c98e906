"""`lineage render`."""

from pathlib import Path

import click

from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import print_json, print_text
from lineage.core.base.naming import memory_md_path
from lineage.pipeline.maintenance.reindex import sync_rows
from lineage.workspace.publish import PublishResult, publish_all
from lineage.workspace.workspace import Workspace


@click.command("render")
@options.common
def command(root: Path, as_json: bool) -> int:
    """Write MEMORY.md of every agent again; a file that would stay the same is not touched.

    \b
    Example:
      lineage render
    """
    published = run_in_workspace(root, _render_all, writes=True)
    if as_json:
        rows = [
            {
                "agent_id": p.agent_id,
                "path": memory_md_path(p.agent_id),
                "written": p.written,
                "rows": p.rows,
                "of": p.total,
                "future": p.future,
            }
            for p in published
        ]
        print_json({"memory_md": rows})
        return 0
    for p in published:
        done = "written" if p.written else "unchanged"
        future = f", {p.future} with a time in the future left out" if p.future else ""
        print_text(f"{memory_md_path(p.agent_id)}: {p.rows} of {p.total} rows, {done}{future}")
    return 0


def _render_all(ws: Workspace) -> list[PublishResult]:
    sync_rows(ws)
    return publish_all(ws)
