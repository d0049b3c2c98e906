"""The group of commands. (format: Commands)"""

from collections.abc import Sequence

import click

from lineage import __version__
from lineage.cli.ending import ended
from lineage.cli.lazy import LazyGroup
from lineage.cli.summaries import SUMMARIES

COMMANDS = {
    "init": "lineage.cli.init",
    "status": "lineage.cli.status",
    "session-end": "lineage.cli.session_end",
    "compaction": "lineage.cli.compaction",
    "reindex": "lineage.cli.reindex",
    "render": "lineage.cli.render",
    "sessions": "lineage.cli.sessions",
    "show": "lineage.cli.show",
    "open": "lineage.cli.open",
    "search": "lineage.cli.search",
    "context": "lineage.cli.context",
    "verify": "lineage.cli.verify",
    "recover": "lineage.cli.recover",
    "remove": "lineage.cli.remove",
    "sanitize": "lineage.cli.sanitize",
    "resanitize": "lineage.cli.resanitize",
    "doctor": "lineage.cli.doctor",
    "hook": "lineage.cli.hook",
    "work": "lineage.cli.work",
    "sweep": "lineage.cli.sweep",
    "import": "lineage.cli.import_history",
    "hooks": "lineage.cli.hooks",
    "watch": "lineage.cli.watch",
    "resume": "lineage.cli.resume",
    "send": "lineage.cli.send",
    "spawn": "lineage.cli.spawn",
    "remember": "lineage.cli.remember",
    "book": "lineage.cli.book",
    "bundle": "lineage.cli.bundle",
    "archive": "lineage.cli.archive",
    "serve": "lineage.cli.serve",
    "mcp": "lineage.cli.mcp",
    "store": "lineage.cli.store",
    "mirror": "lineage.cli.mirror",
    "migrate-store": "lineage.cli.migrate_store",
}


@click.group(
    cls=LazyGroup,
    modules=COMMANDS,
    summaries=SUMMARIES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option("--workspace", "-w", metavar="DIR", help="A folder, or a bucket; else LINEAGE_WORKSPACE, else ~/.agents.")
@click.version_option(__version__, prog_name="lineage")
@click.pass_context
def cli(ctx: click.Context, workspace: str | None) -> None:
    """A memory for coding agents that people can trust.

    Sessions become immutable markdown in a folder that is also an Obsidian vault; everything else is rebuilt from it.

    \b
    Example:
      lineage init ~/memory
      lineage -w ~/memory session-end --harness claude-code --session-id ID --transcript-path FILE
      lineage -w ~/memory search "why did the parser drop the last line"
    """
    ctx.obj = {"workspace": workspace}


def run(arguments: Sequence[str]) -> int:
    """Runs a command line; its exit code, see `ended`."""
    return ended(lambda: _clicked(arguments))


def _clicked(arguments: Sequence[str]) -> object:
    try:
        return cli.main(list(arguments), standalone_mode=False)
    except click.Abort as error:
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        error.show()
        return error.exit_code
