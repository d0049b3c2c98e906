"""The group of commands, and how a command line ends: errors become messages and exit codes (format: Commands)."""

import errno
import os
import sys
from collections.abc import Sequence

import click

from lineage import __version__
from lineage.cli.lazy import LazyGroup
from lineage.cli.output import print_error
from lineage.errors import DiskFull, LineageError, describe_os_error

UNEXPECTED = 3
INTERRUPTED = 130
COMMANDS = {
    "init": "Make a workspace: settings, curated memory, views.",
    "help": "Print a page of the handbook; without TOPIC, the list of pages.",
    "status": "What the workspace holds, what is unfinished, what was counted.",
    "session-end": "Capture a session that ended: transcript, summary, manifest, MEMORY.md, index.",
    "compaction": "Keep the summary of a compaction; a session may have any number of them.",
    "reindex": "Make index and MEMORY.md what the files say, hand-edited books too.",
    "render": "Write MEMORY.md of every agent again; a file that would stay the same is not touched.",
    "sessions": "List sessions, newest first, each with its title and outcome.",
    "show": "Print a session: title, outcome and its newest summary, another of its files, or some of its turns.",
    "open": "Open a session's note in Obsidian, where the workspace is in a vault, else in VISUAL or EDITOR.",
    "search": "Find sessions and entries of books by any word of the query, best first, one result per session.",
    "embed": "Make a vector for every passage that has none yet, for search by meaning.",
    "context": "Print what a new session is told of earlier ones, within a budget for all of it.",
    "verify": "Check every promise of the format: checksums, frontmatter, identity, links, rows, MEMORY.md.",
    "recover": "Finish what a crash left unfinished, from the files alone; again changes nothing.",
    "remove": "Remove a session for good: its files, rows and every copy of its text in the workspace.",
    "sanitize": "Print a text without its secrets: FILE, or what comes on stdin (-).",
    "upgrade": "Bring manifests, books and MEMORY.md to today's format, and files to their modes.",
    "resanitize": "Redact what is committed already, under the rules of today.",
    "doctor": "Look for what keeps sessions from becoming memory: hooks, the program, what waits and what was given "
    "up.",
    "hook": "Take what a harness's hook hands over on stdin; `lineage hooks install` puts this command into its "
    "settings.",
    "work": "Capture what hooks have signalled, and end.",
    "sweep": "Capture sessions that ended without a signal, grew since, or that no hook ever told of.",
    "import": "Capture the sessions that HARNESS kept before lineage was there: from PATHs, else from where it keeps "
    "them.",
    "hooks": "Let the harnesses on this machine hand over their sessions by themselves.",
    "watch": "Keep index and MEMORY.md what the files say, whoever changes these, until it is ended.",
    "resume": "Print the command line that resumes a session in its harness, or run it in the session's folder.",
    "send": "Send a session a message by its harness's own program, print the answer as it comes, and capture both.",
    "spawn": "Begin a session in a harness with a message, print the answer as it comes, and capture the session.",
    "remember": "Remember TEXT: a note for every session, unless a scope or kind is named.",
    "book": "What is known for good: one note of entries per scope and kind, to be edited by hand at any time.",
    "bundle": "Take a session, or the global books, from one workspace into another.",
    "export": "Write sessions in a form that is read without lineage: a folder of pages, one page, markdown, or a "
    "bundle.",
    "archive": "Pack what ended before DATE into one folder a month.",
    "serve": "Serve the page for people and the API under /api, until it is interrupted.",
    "mcp": "Serve one agent its memory as an MCP server, on stdin and stdout: a harness starts it.",
    "store": "What a workspace lies in: a folder, or a bucket.",
    "telemetry": "What this workspace counted: captures, turns, redactions, looks at sessions.",
    "mirror": "Keep a folder, for Obsidian say, in step with the workspace, both ways, until it is ended.",
    "migrate-store": "Copy a memory to another place, a folder or a bucket, and verify it there.",
}
"""The first sentence of each command's help: the list of commands imports none of them."""

_MAINTENANCE = ("archive", "recover", "reindex", "remove", "render", "resanitize", "upgrade", "verify")
MODULES = {
    **{name: name.replace("-", "_") for name in COMMANDS},
    **{name: f"maintenance:{name}_command" for name in _MAINTENANCE},
    "session-end": "capture_commands:session_end", "compaction": "capture_commands:compaction",
    "doctor": "hooks:doctor", "hook": "hooks:hook", "sweep": "work:sweep", "import": "import_history",
    "resume": "agent_program:resume", "send": "agent_program:send", "spawn": "agent_program:spawn",
    "mirror": "watch:mirror", "migrate-store": "store:migrate",
}  # fmt: skip
"""Where each command is: the module, and its name there if it is not `command`."""


@click.group(
    cls=LazyGroup,
    modules=MODULES,
    short_helps=COMMANDS,
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
    """Run a command line and return its exit code.

    A command may return its own. Else: 0 done, 1 expected failure, 2 usage, 3 unexpected, 4 findings, 130 interrupted.
    """
    try:
        result = _run_click(arguments)
        return result if isinstance(result, int) else 0
    except LineageError as error:
        print_error(error.message, error.hint)
        return error.exit_code
    except KeyboardInterrupt:
        print_error("interrupted", "run the command again: what was begun is finished by the next run")
        return INTERRUPTED
    except BrokenPipeError:
        # The interpreter flushes stdout at exit: into the closed pipe that would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:  # noqa: BLE001  (the last resort: a report instead of a traceback)
        return _report_unexpected(error)


def _run_click(arguments: Sequence[str]) -> object:
    try:
        return cli.main(list(arguments), standalone_mode=False)
    except click.Abort as error:  # Ctrl-C, or the end of input, at a question
        raise KeyboardInterrupt from error
    except click.ClickException as error:
        error.show()
        return error.exit_code


def _report_unexpected(error: Exception) -> int:
    if isinstance(error, OSError):
        if error.errno in (errno.EMFILE, errno.ENFILE):
            print_error("too many open files", "allow more with `ulimit -n 1024`, and run the command again")
            return 1
        if isinstance(full := describe_os_error(error.filename or "what was to be written", error), DiskFull):
            print_error(full.message, full.hint)
            return full.exit_code
    print_error(f"unexpected: {type(error).__name__}", f"please send us the report {_write_report()}")
    return UNEXPECTED


def _write_report() -> str:
    """Write the traceback to a file and return its path.

    The values of messages stay out: they may hold text that nothing has sanitized.
    """
    import tempfile  # only a crash needs these two: `lineage --help` starts without them
    import traceback

    kind, _, trace = sys.exc_info()
    with tempfile.NamedTemporaryFile(
        "w", prefix="lineage-report-", suffix=".txt", delete=False, encoding="utf-8"
    ) as file:
        file.write(f"lineage {__version__}, Python {sys.version}\n{kind}\n\n")
        file.writelines(traceback.format_tb(trace))
    return file.name
