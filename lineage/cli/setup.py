"""`lineage setup`."""

import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from lineage.app import hooks
from lineage.app.doctor import SOON_DAYS
from lineage.app.locations import format_location, resolve_workspace_root
from lineage.app.setup.apply import SetupResult, apply_setup
from lineage.app.setup.observe import find_home, find_root, observe_machine, read_place, require_writable
from lineage.app.setup.plan import PlaceState, SetupPlan, SetupState, describe_history, plan_setup
from lineage.app.setup.undo import UndoResult, can_remove_memory, describe_undo, find_setup, undo_setup
from lineage.cli import options
from lineage.cli.hooks import print_that_memory_is_given
from lineage.cli.import_history import note_imports
from lineage.cli.output import is_terminal, print_error, print_json, print_text, show_stages
from lineage.core.base.plural import pluralize
from lineage.errors import InvalidInput, WorkspaceError

_YES_HINT = "run it at a terminal, or accept all proposals with `lineage setup --yes`"


@click.command("setup")
@click.argument("harnesses", nargs=-1, metavar="[HARNESS]...")
@click.option("--yes", is_flag=True, help="Accept every proposal, and do not ask.")
@click.option("--trial", is_flag=True, help="Make and fill a memory alone: no hooks, no default workspace.")
@click.option("--no-hooks", is_flag=True, help="Leave the settings of harnesses as they are.")
@click.option("--no-import", is_flag=True, help="Do not import earlier sessions.")
@click.option("--newest", type=click.IntRange(min=1), metavar="N", help="Import only the newest N sessions.")
@click.option("--undo", is_flag=True, help="Leave every byte of settings as it was before; the memory stays.")
@click.option("--with-memory", is_flag=True, help="With --undo: remove the memory, too, if a set-up made it.")
@options.as_json
@options.verbose
@click.option(
    "--workspace",
    "-w",
    "option",
    metavar="DIR",
    callback=options.require_name,
    help="The memory's place; else the one in use, or ~/lineage.",
)
@click.pass_context
def command(
    ctx: click.Context, /, harnesses: Sequence[str], yes: bool, undo: bool, with_memory: bool, as_json: bool,
    option: str | None, **choices: Any,
) -> int:  # fmt: skip
    """Set up a memory on this machine: its folder, the harnesses that fill it, and their earlier sessions.

    It shows what it found and asks before it changes anything; --yes accepts every proposal. Run it again to add what
    is missing. Name HARNESSes to set up only these. --undo undoes the set-up of the memory that is set up; it changes
    nothing if -w or LINEAGE_WORKSPACE names another one.

    \b
    Example:
      lineage setup --yes
      lineage setup --undo
    """
    option = option or (ctx.find_root().obj or {}).get("workspace")
    find_home()
    if undo:
        return _undo(option, yes=yes, with_memory=with_memory, as_json=as_json)
    if with_memory:
        raise InvalidInput("--with-memory goes with --undo", hint="run `lineage setup --undo --with-memory`")
    asks = not (yes or as_json)
    if asks and not sys.stdin.isatty():
        raise InvalidInput("set-up asks before it changes anything, and here nobody can answer", hint=_YES_HINT)
    state = observe_machine(option, harnesses)
    if not as_json:
        _print_found(state, connects=not (choices["trial"] or choices["no_hooks"]))
    plan = _choose(state, harnesses, asks=asks, **choices)
    run = options.note_run(ctx)
    run.root = plan.root
    run.harnesses.update(plan.connects)
    report = (lambda _: None) if as_json else (lambda text: print_text(f"  {text}"))
    with show_stages() as progress:
        result = apply_setup(plan, report, progress)
    run.counts["connected"] = len(result.connected)
    note_imports(result.imports)
    if as_json:
        print_json({"plan": _as_json(plan), **_result_as_json(result)})
    else:
        connected = {one.harness for one in result.connected if not one.error}
        connected |= {one.name for one in state.harnesses if one.workspace == str(plan.root)}
        _print_result(plan, result, is_connected=bool(connected))
    return next((one.error.exit_code for one in result.connected if one.error), 0)


def _choose(
    state: SetupState, harnesses: Sequence[str], *, asks: bool, trial: bool, no_hooks: bool, no_import: bool,
    newest: int | None,
) -> SetupPlan:  # fmt: skip
    """Ask, and return the plan. Nothing is written before the last answer."""
    if asks:
        state = _ask_place(state)
    if state.place is PlaceState.TAKEN:
        raise WorkspaceError(
            f"{state.root} holds other files", hint="name another folder for the memory: `lineage -w DIR setup`"
        )
    wants = {"wants_hooks": not no_hooks, "wants_history": not no_import}
    plan = plan_setup(state, harnesses=harnesses, is_trial=trial, newest=newest, **wants)
    if not asks:
        return plan
    if plan.connects:
        names = ", ".join(plan.connects)
        wants["wants_hooks"] = click.confirm(f"Connect {names} (hooks, MCP server, skill)?", default=True)
    if plan.imports:
        wants["wants_history"] = click.confirm("Import the earlier sessions, newest first?", default=True)
    return plan_setup(state, harnesses=harnesses, is_trial=trial, newest=newest, **wants)


def _ask_place(state: SetupState) -> SetupState:
    """Ask for the memory's folder until one can hold a memory."""
    shown = _shorten(format_location(state.folder))
    while True:
        answer = click.prompt("Folder for the memory (Enter for this one)", default=shown)
        if answer.lower() in ("n", "no", "q", "quit"):
            raise click.Abort
        try:
            folder = resolve_workspace_root(shown if answer.lower() in ("y", "yes") else answer)
            root = find_root(folder)
            place = read_place(root)
            if place is PlaceState.TAKEN:
                print_text(f"{folder} holds other files: name a new or empty folder, or an Obsidian vault")
                continue
            require_writable(root)
        except (InvalidInput, WorkspaceError) as error:
            print_error(error.message, "name another folder")
            continue
        if answer not in (shown, str(root)):
            print_text(f"  memory     {format_location(root)} ({place.value})")
        return replace(state, folder=folder, root=root, place=place)


def _print_found(state: SetupState, *, connects: bool) -> None:
    print_text(
        "lineage saves the sessions of your coding agents as markdown files on this machine, and gives each new session"
        " what it needs of earlier ones."
    )
    print_text()
    print_text(f"  memory     {_shorten(format_location(state.root))} ({state.place.value})")
    if state.variable:
        print_text(f"             {state.variable} names another one: it goes before this set-up in your shell")
    names = [f"{one.name}{_describe_hooks(one.workspace, state)}" for one in state.harnesses]
    print_text(f"  harnesses  {', '.join(names) or 'none with hooks on this machine'}")
    if names and connects:
        for line in (
            "hooks save each session and give new ones what they need;",
            "an MCP server and a skill let agents search and remember.",
            "`lineage setup --undo` takes out what it adds",
        ):
            print_text(f"             {line}")
    print_text(f"  history    {describe_history(state.history, SOON_DAYS)}")
    print_text()


def _describe_hooks(workspace: str, state: SetupState) -> str:
    if not workspace:
        return ""
    return " (connected)" if workspace == str(state.root) else f" (connected to {workspace})"


def _print_result(plan: SetupPlan, result: SetupResult, *, is_connected: bool) -> None:
    for outcome in result.connected:
        if outcome.error:
            print_error(f"{outcome.harness}: {outcome.error.message}", outcome.error.hint)
        elif outcome.next_step:
            print_text(f"  {outcome.harness}: {outcome.next_step}")
    for one in result.imports:
        parts = [f"{pluralize(one.captured - one.sub_agents, 'session')} imported"]
        parts += [f"{pluralize(one.sub_agents, 'session')} of sub-agents"] * bool(one.sub_agents)
        parts += [f"{one.unchanged} imported before"] * bool(one.unchanged)
        parts += [f"{len(one.problems)} not readable: `lineage import {one.harness}` lists them"] * bool(one.problems)
        print_text(f"  {one.harness}: {', '.join(parts)}")
    if any(outcome.changes for outcome in result.connected):
        print_that_memory_is_given()
    own = "" if plan.is_default else f"-w {shlex.quote(result.workspace)} "
    _print_next_steps(result, own, is_connected=is_connected)


def _print_next_steps(result: SetupResult, own: str, *, is_connected: bool) -> None:
    print_text("Next:")
    if not hooks.is_on_path():
        print_text(f"  {hooks.describe_off_path()}", folds=False)
    if not is_connected:
        connect = "lineage setup" if own else "lineage hooks install"
        print_text(
            f"  {connect}             connect your agents: none is yet, and no session is saved by itself", folds=False
        )
    if result.project and result.tokens:
        starts = "start an agent" if is_connected else "what an agent would start with"
        gets = f"it gets {result.tokens} tokens of memory. Read them" if is_connected else f"{result.tokens} tokens"
        print_text(f"  {starts} in {result.project}: {gets}:")
        print_text(f"  lineage {own}context --project {shlex.quote(result.project)}", folds=False)
    elif is_connected:
        print_text("  start an agent as usual: its session is saved when it ends, and the next one builds on it")
    print_text(f'  lineage {own}search "WORDS"    find what was said, done and remembered', folds=False)
    print_text(f"  lineage {own}serve             read all of it in a browser", folds=False)
    if is_connected:
        print_text(f"  lineage {own}status            check that sessions are saved", folds=False)
    if not own:
        print_text("  lineage setup --undo      undo the set-up; the memory stays", folds=False)


def _undo(option: str | None, *, yes: bool, with_memory: bool, as_json: bool) -> int:
    journal = find_setup(option)
    if journal and not yes:
        asks = sys.stdin.isatty() and is_terminal() and not as_json  # a script goes on as ever
        if asks:
            print_text("undoing the set-up will:")
            for line in describe_undo(journal, with_memory=with_memory):
                print_text(f"  {line}")
        if with_memory and can_remove_memory(journal):
            question = f"Remove {journal.workspace} with everything that it remembers?"
            options.confirm(question, yes=False, what="removing a memory")
        elif asks:
            options.confirm("Undo it?", yes=False, what="an undo")
    result = undo_setup(option, with_memory=with_memory)
    if as_json:
        print_json(asdict(result))
    else:
        _print_undo(result)
    if not result.is_complete:
        print_error("the undo isn't complete", "mend what is named, then run `lineage setup --undo` again")
    return 0 if result.is_complete else 1


def _print_undo(result: UndoResult) -> None:
    for path in result.restored:
        print_text(f"  {'restored' if Path(path).exists() else 'removed'} {path}")
    for path in result.removed:
        print_text(f"  removed {path}")
    for what in result.left:
        print_text(f"  left: {what}")
    if not result.workspace:
        print_text("nothing to undo: nothing was set up here, or it is undone already; a memory stays as it is")
    elif not result.removed and resolve_workspace_root(result.workspace).exists():
        print_text(f"the memory stays: {result.workspace}")
        print_text(
            f"  `lineage -w {shlex.quote(result.workspace)} list` still reads it; delete the folder to be rid of it"
        )


def _shorten(path: str) -> str:
    home = f"{Path.home()}/"
    return "~/" + path.removeprefix(home) if path.startswith(home) else path


def _as_json(plan: SetupPlan) -> dict[str, Any]:
    return {**asdict(plan), "folder": format_location(plan.folder), "root": format_location(plan.root)}


def _result_as_json(result: SetupResult) -> dict[str, Any]:
    harnesses = [
        {
            "harness": one.harness,
            "changes": [str(change.path) for change in one.changes],
            "error": {"message": one.error.message, "hint": one.error.hint} if one.error else None,
            "then": one.next_step,
        }
        for one in result.connected
    ]
    return {
        "workspace": result.workspace, "config": result.config, "harnesses": harnesses, "imports": result.imports,
        "project": result.project, "tokens": result.tokens,
    }  # fmt: skip
