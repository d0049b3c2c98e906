"""The group of commands, and how a command line ends: errors become messages and exit codes (format: Commands)."""

import errno
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from lineage import __version__
from lineage.cli.lazy import AGAIN_KEY, COMMAND_KEY, TAKES_YES_KEY, TYPED_KEY, LazyGroup, format_typed
from lineage.cli.output import print_error
from lineage.errors import DiskFull, InvalidInput, LineageError, describe_os_error

UNEXPECTED = 3
INTERRUPTED = 130
_REFUSALS = frozenset(
    {
        errno.EACCES, errno.EFBIG, errno.EIO, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOTDIR, errno.EPERM,
        errno.EROFS,
    }
)  # fmt: skip
"""What a system says of a file that the user named, or may not use: no mistake of this program."""
SECTIONS = {
    "Start": {
        "setup": "Set up a memory: its folder, harnesses, earlier sessions.",
        "init": "Make a workspace: settings, curated memory, views.",
        "import": "Capture sessions from before lineage was installed.",
        "hooks": "Connect the coding agents on this machine, so that sessions are saved.",
        "help": "Print a page of the handbook, or a section of one.",
    },
    "Find": {
        "list": "List sessions, newest first, with title and outcome.",
        "search": "Find sessions and memory by the words of a question.",
        "show": "Print a session: title, outcome, summary, or its turns.",
        "open": "Open a session's note in Obsidian or your editor.",
        "resume": "Print or run the command that resumes a session in its agent.",
    },
    "Remember": {
        "remember": "Remember a text for every later session.",
        "memory": "List, change, review and forget what is remembered.",
        "context": "Print the memory that a new session starts with.",
    },
    "Serve": {
        "serve": "Serve the web page and the API on this machine.",
        "mcp": "Serve one agent its memory over MCP; a harness starts it.",
    },
    "Look after it": {
        "status": "Show what the workspace holds, and what needs your attention.",
        "config": "Read and change settings.",
        "remove": "Remove a session and every copy of its text in the workspace.",
        "export": "Write sessions as pages, markdown or a bundle.",
        "archive": "Pack old sessions into one folder a month.",
        "admin": "Repair, move, mirror and measure a workspace.",
    },
    "For hooks and scripts": {
        "session-end": "Capture a session that ended.",
        "compaction": "Keep the summary of a compaction.",
        "hook": "Take the event that a harness's hook passes on stdin.",
        "work": "Capture what hooks have signalled.",
        "reindex": "Bring index and MEMORY.md up to date with the files.",
        "verify": "Check checksums, links, rows and MEMORY.md.",
    },
}
"""The commands by section, each with one sentence: the list of commands imports none of them."""
COMMANDS = {name: text for section in SECTIONS.values() for name, text in section.items()}

_MAINTENANCE = ("archive", "reindex", "verify")
MODULES = {
    **{name: name.replace("-", "_") for name in COMMANDS},
    **{name: f"maintenance:{name}_command" for name in _MAINTENANCE},
    "list": "sessions", "session-end": "capture_commands:session_end", "compaction": "capture_commands:compaction",
    "hook": "hooks:hook", "import": "import_history", "resume": "agent_program:resume",
}  # fmt: skip
"""Where each command is: the module, and its name there if it is not `command`."""
ALIASES = {
    "sessions": "sessions", "book": "memory:book", "doctor": "doctor", "bundle": "bundle", "store": "store",
    "migrate-store": "store:migrate", "telemetry": "telemetry", "embed": "embed", "mirror": "watch:mirror",
    "watch": "watch", "sweep": "work:sweep", "sanitize": "sanitize", "send": "agent_program:send",
    "spawn": "agent_program:spawn",
    **{name: f"maintenance:{name}_command" for name in ("recover", "render", "resanitize", "upgrade")},
}  # fmt: skip
"""Names of before the groups, which work as ever and are not listed."""
MEANINGS = {
    **{name: (f"lineage admin {name}",) for name in ALIASES},
    "sessions": ("lineage list",), "book": ("lineage memory",), "doctor": ("lineage status",),
    "store": ("lineage admin store-check",), "migrate-store": ("lineage admin move",),
    **{name: (f"lineage memory {name}",) for name in ("forget", "edit", "why", "review", "restore")},
    "correct": ("lineage memory edit",), "delete": ("lineage remove",), "rm": ("lineage remove",),
    "check": ("lineage status",), "undo": ("lineage setup --undo", "lineage help undo"),
}  # fmt: skip
"""The listed commands that are meant by names of before, and by words that people try."""


@click.group(
    cls=LazyGroup,
    modules=MODULES,
    short_helps=COMMANDS,
    sections={title: list(section) for title, section in SECTIONS.items()},
    aliases=ALIASES,
    meanings=MEANINGS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--workspace", "-w", metavar="DIR", help="A folder, or a bucket; else LINEAGE_WORKSPACE, else what `setup` set."
)
@click.option("--no-pager", is_flag=True, help="Print long output as it is; PAGER= in the environment does, too.")
@click.option("--verbose", "-v", is_flag=True, help="Print on stderr what it does, and how long that takes.")
@click.version_option(__version__, prog_name="lineage")
@click.pass_context
def cli(ctx: click.Context, workspace: str | None, no_pager: bool, verbose: bool) -> None:
    """A memory for coding agents: every session as markdown files that you can read, search and correct.

    \b
    Example:
      lineage setup --yes
      lineage list
      lineage search "why did the parser drop the last line"
    """
    ctx.ensure_object(dict).update(workspace=workspace, pager=not no_pager)
    if verbose:
        from lineage.cli.options import show_steps

        show_steps(ctx)


def run(arguments: Sequence[str]) -> int:
    """Run a command line and return its exit code.

    A command may return its own. Else: 0 done, 1 expected failure, 2 usage, 3 unexpected, 4 findings, 130 interrupted.
    A command that names a workspace leaves a line in its log.
    """
    started, kind = time.monotonic(), None
    state: dict[str, Any] = {TYPED_KEY: tuple(arguments)}
    try:
        result = cli.main(list(arguments), prog_name="lineage", standalone_mode=False, obj=state)
        code = result if isinstance(result, int) else 0
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001  (the last resort: a report instead of a traceback)
        code, kind = _report_error(error, state), type(error)
    if "run" in state:  # else nothing of lineage is loaded
        from lineage.cli.options import log_run

        seconds, is_dry = time.monotonic() - started, "--dry-run" in arguments
        with suppress(KeyboardInterrupt):  # the command itself is over
            log_run(state["run"], _get_command(state), code, kind, seconds, is_dry=is_dry)
    return code


def _report_error(error: Exception | KeyboardInterrupt, state: dict[str, object]) -> int:
    """Print how a command failed, and return the exit code."""
    command = _get_command(state)
    if isinstance(error, LineageError):
        print_error(error.message, error.hint, command, error.more)
        return error.exit_code
    if isinstance(error, click.ClickException):
        return _report_click_error(error, command)
    # Python wraps a Ctrl-C in a RuntimeError where a class was being made: an import, for instance.
    if isinstance(error, click.Abort | KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt):
        if isinstance(error, click.Abort) and error.__cause__ is None:
            return _report_unanswered(error.__context__, state)
        print_error("interrupted", f"run `{state.get(AGAIN_KEY, command)}` again: what it had finished is kept")
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        # The interpreter flushes stdout at exit: into the closed pipe that would fail once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return _report_unexpected(error, command)


def _report_click_error(error: click.ClickException, command: str) -> int:
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return error.exit_code
    context = error.ctx if isinstance(error, click.UsageError) else None
    command = context.command_path if context else command
    print_error(error.format_message().rstrip("."), InvalidInput.default_hint, command)
    return error.exit_code


def _get_command(state: dict[str, object]) -> str:
    """Return the words of the command that runs, as far as it is known."""
    return str(state.get(COMMAND_KEY, "lineage"))


def _report_unanswered(reason: BaseException | None, state: dict[str, object]) -> int:
    """Print that the user ended the command at a question: by a no (None), by Ctrl-C, or by the end of input."""
    typed = format_typed(state)
    if reason is None:
        print_error("you answered no: nothing was changed", f"run `{typed}` again to answer otherwise")
        return INTERRUPTED
    click.echo(err=True)  # the question's line is open
    if isinstance(reason, EOFError):
        unasked = f"; `{format_typed(state, '--yes')}` asks nothing" if state.get(TAKES_YES_KEY) else ""
        print_error("stopped at the question: no answer came", f"run `{typed}` again and answer{unasked}")
    else:
        print_error("stopped at the question", f"run `{typed}` again to go on")
    return INTERRUPTED


def _report_unexpected(error: Exception, command: str) -> int:
    if isinstance(error, OSError):
        if error.errno in (errno.EMFILE, errno.ENFILE):
            print_error("too many open files", f"allow more with `ulimit -n 1024`, and run `{command}` again")
            return 1
        what = str(error.filename) if error.filename else "what was to be written"
        described = describe_os_error(what, error, f"name another place, or mend it; then run `{command}` again")
        if isinstance(described, DiskFull) or (error.filename and error.errno in _REFUSALS):
            print_error(described.message, described.hint, command)
            return described.exit_code
    hint = f"run `{command}` again; if it ends so again, please send us the report {_write_report()}"
    print_error(f"unexpected: {type(error).__name__}", hint)
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
