"""Options and commands in one form, and values that take some parsing: texts, and JSON on stdin."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from lineage.app import clock, log
from lineage.app.locations import format_location, resolve_workspace_root
from lineage.cli.lazy import format_typed
from lineage.cli.output import is_terminal, print_text, strip_controls
from lineage.errors import InvalidInput

Function = TypeVar("Function", bound=Callable[..., Any])

_MAX_TEXT_BYTES = 1 << 20
_MAX_PAYLOAD_BYTES = 256 * 1024 * 1024
_PAYLOAD_HINT = 'give one object: {"harness": …, "session_id": …}'

agent = click.option(
    "--agent", metavar="ID", default="default", show_default=True, help="The agent; `all` for every one."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
path = click.option(
    "--path", metavar="FOLDER",
    callback=lambda _ctx, _param, value: str(Path(value).absolute()) if value and is_folder(Path(value)) else value,
    help="Only sessions that ran or had files in this folder, or below such a path in any repository.",
)  # fmt: skip


def _set_pager(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.find_root().ensure_object(dict)["pager"] = False


no_pager = click.option(
    "--no-pager", is_flag=True, expose_value=False, callback=_set_pager,
    help="Print it as it is, however long; PAGER= in the environment does, too.",
)  # fmt: skip
"""Of commands whose output may be longer than a terminal."""


def require_name(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Refuse an empty name of a place: a shell variable that isn't set must not stand for the memory of this user."""
    if value is not None and not value.strip():
        raise click.BadParameter("it is empty")
    return value


def project(text: str, metavar: str = "NAME") -> Callable[[Function], Function]:
    """Return the option `--project` with a help text; its folders are absolute."""
    return click.option("--project", callback=_locate_project, metavar=metavar, help=text)


def _locate_project(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    return value and expand_folder(value)


def expand_scope(_ctx: click.Context, _param: click.Parameter, value: str | None) -> str | None:
    """Return a scope with the folder that it names, alone or behind `project/`, as an absolute one; `..` is none."""
    name = (value or "").removeprefix("project/")
    return value if not value or name == ".." else f"{value[: len(value) - len(name)]}{expand_folder(name)}"


def expand_folder(value: str) -> str:
    """Return the folder that a value stands for: `.`, `../demo` and `~/demo` are folders; `demo` and `~` are names."""
    if value in (".", "..") or value.startswith(("./", "../", "~/")):
        return os.path.abspath(os.path.expanduser(value))  # noqa: PTH100, PTH111  (pathlib keeps `..`)
    return value


def is_folder(path: Path) -> bool:
    """Return whether this process can see a folder of that name."""
    try:
        return path.is_dir()
    except OSError:  # a name that is too long
        return False


def show_steps(ctx: click.Context) -> None:
    """Print the steps of the command to stderr, as `--verbose` asks."""
    log.show_steps(strip_controls)
    note_run(ctx)


verbose = click.option(
    "--verbose", "-v", is_flag=True, expose_value=False, is_eager=True,
    callback=lambda ctx, _param, value: show_steps(ctx) if value and not ctx.resilient_parsing else None,
    help="Print on stderr what it does, and how long that takes.",
)  # fmt: skip


def workspace(function: Function) -> Function:
    """Accept `--workspace` and `--verbose` after the command too, and pass the resolved folder as `root`.

    That folder's log gets a line of the run.
    """

    def resolve_root(ctx: click.Context, _: click.Parameter, value: str | None) -> Path:
        root = resolve_workspace_root(value or (ctx.find_root().obj or {}).get("workspace"))
        note_run(ctx).root = root
        return root

    # the callback sees the group's value too: the option may stand before or after the command
    return click.option(
        "--workspace", "-w", "root", metavar="DIR", callback=resolve_root,
        help="A folder, or a bucket; else LINEAGE_WORKSPACE, else what `setup` set.",
    )(verbose(function))  # fmt: skip


def note_run(ctx: click.Context | None = None) -> log.CommandRun:
    """Return what is noted of this run of a command; it is logged at the end."""
    state = (ctx or click.get_current_context()).find_root().ensure_object(dict)
    run: log.CommandRun = state.setdefault("run", log.CommandRun())
    return run


def log_run(
    run: log.CommandRun, command: str, code: int, error: type[BaseException] | None, seconds: float, *, is_dry: bool
) -> None:
    """Log a run of `lineage …` that took `seconds` in its workspace's log, and end its `--verbose`."""
    run.command = command.removeprefix("lineage").strip()
    line = log.format_run(run, clock.now(), code, round(seconds * 1000), error)
    log.log_line(run.root, line, is_dry=is_dry)
    log.hide_steps()


def command(name: str, parent: Any = click, *, writes: bool = False) -> Callable[[Callable[..., Any]], click.Command]:
    """Return the decorator of a command, of a group's one with `parent`: its last options are `--json`, passed as
    `as_json`, and `--workspace`. One that `writes` names the workspace at a terminal when it has written.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        made: click.Command = parent.command(name)(_name_workspace(function) if writes else function)
        return workspace(as_json(made))  # behind its own: click appends what a finished command is given

    return decorate


def _name_workspace(function: Function) -> Function:
    """Let a command end with the workspace that it wrote to, where a person reads it and something was written."""

    @wraps(function)
    def run(*arguments: Any, **values: Any) -> Any:
        result = function(*arguments, **values)
        if is_terminal() and not (values["as_json"] or values.get("dry_run")):
            print_text(f"workspace: {format_location(values['root'])}")
        return result

    return cast("Function", run)


def confirm(question: str, *, yes: bool, what: str, hint: str = "") -> None:
    """Ask, unless `yes`. Raises InvalidInput if nobody can answer, Abort for a no.

    The hint is by default the command line that was typed, with `--yes`.
    """
    if not yes:
        if not sys.stdin.isatty():
            hint = hint or f"run `{format_typed(click.get_current_context().find_root().ensure_object(dict), '--yes')}`"
            raise InvalidInput(f"{what} needs a yes, and here nobody can answer", hint=hint)
        click.confirm(question, abort=True)


def read_text(words: Sequence[str]) -> str:
    """Return the words as one text; a lone `-` stands for stdin.

    Raises InvalidInput for stdin that is no UTF-8 text or more than a mebibyte.
    """
    if list(words) != ["-"]:
        return " ".join(words)
    data = sys.stdin.buffer.read(_MAX_TEXT_BYTES + 1)
    if len(data) > _MAX_TEXT_BYTES:
        raise InvalidInput("stdin holds more than 1 MB", hint="an entry has up to 4,000 characters; give the gist")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput("stdin holds no UTF-8 text", hint="convert it first") from error


def read_payload() -> dict[str, Any]:
    """Return the JSON object on stdin, at most 256 MB. Raises InvalidInput."""
    data = sys.stdin.buffer.read(_MAX_PAYLOAD_BYTES + 1)
    if len(data) > _MAX_PAYLOAD_BYTES:
        raise InvalidInput("stdin holds more than 256 MB", hint="give the transcript as a file with --transcript-path")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput("stdin holds no JSON", hint=_PAYLOAD_HINT) from error
    if not isinstance(value, dict):
        raise InvalidInput("stdin holds no JSON object", hint=_PAYLOAD_HINT)
    return value
