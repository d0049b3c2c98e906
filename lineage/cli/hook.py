"""`lineage hook`: its help, and the way to `hook_entry` with options before the command."""

import click

from lineage.cli import options
from lineage.cli.hook_entry import run


@click.command("hook", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("harness", nargs=-1, type=click.UNPROCESSED, metavar="HARNESS")
@click.option("--agent", metavar="ID", default="default", show_default=True, help="The agent the sessions belong to.")
@options.workspace
def command(root: object, harness: tuple[str, ...], agent: str) -> int:
    """Take what a harness's hook hands over on stdin; `lineage hooks install` puts this command into its settings.

    It leaves the payload in the spool and starts the worker, prints nothing but a session start's block, and always
    exits 0; what went wrong shows in `lineage status`.

    \b
    Example:
      lineage hook claude-code --agent default
    """
    return run([*harness, "--workspace", str(root), "--agent", agent])
