"""The group of commands and the one place where errors become messages and exit codes. (format: Commands)"""

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from lineage import __version__
from lineage.cli.lazy import LazyGroup
from lineage.cli.output import plain
from lineage.errors import LineageError

UNEXPECTED = 3
INTERRUPTED = 130

COMMANDS = {
    "init": "lineage.cli.init",
    "status": "lineage.cli.status",
    "session-end": "lineage.cli.session_end",
    "compaction": "lineage.cli.compaction",
    "reindex": "lineage.cli.reindex",
    "render": "lineage.cli.render",
    "sessions": "lineage.cli.sessions",
    "show": "lineage.cli.show",
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
    """Runs a command line. Exit: 0 done, 1 expected failure, 2 usage, 3 unexpected, 4 findings, 130 interrupted."""
    try:
        result: Any = cli.main(list(arguments), standalone_mode=False)
        return result if isinstance(result, int) else 0
    except LineageError as error:
        _complain(error.message, error.hint)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _complain("interrupted", "run the command again: what was begun is finished by the next run")
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001  (the last resort: a report instead of a traceback)
        _complain(f"unexpected: {type(error).__name__}", f"please send us the report {_report()}")
        return UNEXPECTED


def _complain(message: str, hint: str) -> None:
    click.echo(f"lineage: {plain(message)}\n  {plain(hint)}", err=True)


def _report() -> str:
    """Where the traceback was written, without the values of messages: they may hold what nobody has sanitized."""
    import tempfile
    import traceback

    kind, _, trace = sys.exc_info()
    with tempfile.NamedTemporaryFile(
        "w", prefix="lineage-report-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(f"lineage {__version__}, Python {sys.version}\n{kind}\n\n")
        file.writelines(traceback.format_tb(trace))
    return file.name
