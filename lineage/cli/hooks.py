"""`lineage hooks`: lineage's entries in the settings of the harnesses on this machine, and `lineage hook`."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from lineage.app import hooks, packages
from lineage.app.hooks import HookOutcome
from lineage.app.locations import format_location
from lineage.cli import hook_entry, options
from lineage.cli.lazy import HelpfulGroup
from lineage.cli.output import print_error, print_json, print_text
from lineage.installing import HookStatus
from lineage.installing.commands import PARTS

_agent_option = click.option(
    "--agent", metavar="NAME", default="default", show_default=True, help="The agent that the sessions belong to."
)
_dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Print what would change as a unified diff, and change nothing."
)
_harnesses_argument = click.argument("harnesses", nargs=-1, metavar="[HARNESS]...")


@click.group("hooks", cls=HelpfulGroup)
def command() -> None:
    """Connect the harnesses on this machine, so that each session is saved when it ends.

    It adds entries to a harness's settings; every other byte stays as it is, comments too, and uninstalling removes
    exactly these entries. The MCP server and the skill are installed and removed the same way.

    \b
    Example:
      lineage hooks install --dry-run
      lineage hooks install
      lineage hooks status
      lineage hooks uninstall
    """


@options.command("install", command, writes=True)
@_harnesses_argument
@_agent_option
@click.option("--no-mcp", is_flag=True, help="Without the MCP server, the agent's tools to search and remember.")
@click.option("--no-skill", is_flag=True, help="Without the skill, a page that says when to search and remember.")
@click.option("--no-recall", is_flag=True, help="Without quotes from memory at prompts, edits and commands.")
@_dry_run_option
def install(root: Path, harnesses: Sequence[str], agent: str, dry_run: bool, as_json: bool, **choices: bool) -> int:
    """Add lineage's hooks, MCP server and skill to each HARNESS, or to every one that is on this machine.

    Running it again changes nothing. The hooks name this workspace and agent; installing with others, or without a
    part, replaces what is there. An MCP server of lineage's that you registered yourself stays as it is.

    \b
    Example:
      lineage hooks install claude-code codex --agent reviewer
      lineage hooks install --no-mcp --no-skill
    """
    left_out = [part for part in PARTS if choices[f"no_{part}"]]
    outcomes = hooks.install(root, agent, harnesses, dry_run=dry_run, left_out=left_out)
    head = {"workspace": format_location(root), "agent": agent, "left_out": left_out}
    code = _print_report(outcomes, head, "installed", dry_run=dry_run, as_json=as_json)
    changed = [outcome.harness for outcome in outcomes if outcome.changes]
    if changed and not as_json:
        print_text(f"sessions are saved in {format_location(root)}")
        print_parts(hooks.describe_parts(root, changed, left_out))
    return code


@options.command("uninstall", command, writes=True)
@_harnesses_argument
@_dry_run_option
def uninstall(root: Path, harnesses: Sequence[str], dry_run: bool, as_json: bool) -> int:
    """Take lineage's hooks, MCP server and skill out of each HARNESS, or of all, whatever workspace they name.

    \b
    Example:
      lineage hooks uninstall gemini
    """
    outcomes = hooks.uninstall(root, "default", harnesses, dry_run=dry_run)
    return _print_report(outcomes, {}, "uninstalled", dry_run=dry_run, as_json=as_json)


@options.command("status", command)
@_harnesses_argument
def status(root: Path, harnesses: Sequence[str], as_json: bool) -> int:
    """Show what is installed where, and what keeps it from working or makes it run twice.

    Without HARNESS: all that are on this machine; with --json all that have hooks.

    \b
    Example:
      lineage hooks status --json
    """
    statuses = hooks.read_statuses(root, "default", harnesses)
    recall = hooks.read_recall_settings(root)
    if as_json:
        print_json({"harnesses": statuses, "recall": recall})
        return 0
    selected = [one for one in statuses if harnesses or one.present or one.files or one.findings]
    for status in selected:
        _print_status(status)
    if not selected:
        print_text("no harness with hooks on this machine; `lineage hooks install HARNESS` makes its settings")
    if any(one.files for one in selected):
        print_parts(hooks.describe_installed_parts(root, selected))
    for kind, is_on in asdict(recall).items():
        if not is_on:
            print_text(f"recall       off at the {kind}: `{kind} = false` in lineage.toml")
    return 0


@command.command("package")
@click.argument("folder", type=click.Path(path_type=Path), metavar="DIR")
@click.option(
    "--namespace", metavar="NAME", default="io.github.lineage-memory", show_default=True,
    help="Your namespace in the MCP registry.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def package(folder: Path, namespace: str, as_json: bool) -> int:
    """Write lineage's plug-ins for Claude Code and Codex, its Gemini extension and server.json for the MCP registry.

    They hold what `install` writes, and run `lineage` from PATH. DIR is new, empty, or holds earlier packages.

    \b
    Example:
      lineage hooks package ./lineage-packages --namespace io.github.ada
    """
    folder = folder.absolute()
    written = packages.write_packages(folder, namespace)
    if as_json:
        print_json({"folder": str(folder), "files": written})
        return 0
    for name in written:
        print_text(f"written: {folder / name}")
    print_text("publish the folder as a repository; from there, or from the folder itself:")
    print_text(
        f"    Claude Code   claude plugin marketplace add {folder}; claude plugin install lineage@lineage", folds=False
    )
    print_text(
        f"    Codex         codex plugin marketplace add {folder}; codex plugin add lineage@lineage", folds=False
    )
    print_text(f"    Gemini CLI    gemini extensions install {folder / 'gemini'}", folds=False)
    print_text("    MCP registry  mcp-publisher publish, in the folder, once the package is on PyPI")
    return 0


def print_that_memory_is_given() -> None:
    """Print in one line that sessions get memory, and which command says more."""
    print_text("each session gets memory at its start and while it works: `lineage hooks status` lists the parts")


def print_parts(parts: Sequence[str]) -> None:
    """Print what sessions get of installed hooks, beside being saved."""
    print_text("each session gets:" if parts else "each session is saved, and gets nothing: these hooks take no answer")
    for part in parts:
        print_text(f"  {part}")


def _print_status(status: HookStatus) -> None:
    absent = "" if status.present else " (not on this machine)"
    print_text(f"{status.harness:12} {status.state}{absent}")
    if status.files:
        print_text(f"    {', '.join(status.events)} in {', '.join(status.files)}")
        print_text(f"    workspace {status.workspace or 'by default'}, agent {status.agent or 'by default'}")
        parts = [*status.parts, *(f"no {part}" for part in status.left_out if part not in status.parts)]
        print_text(f"    also: {', '.join(parts)}" if parts else "    hooks only")
    for finding in status.findings:
        print_text(f"    {finding.kind}: {finding.what}\n        → {finding.mend}")


def _print_report(
    outcomes: Sequence[HookOutcome], head: dict[str, Any], action: str, *, dry_run: bool, as_json: bool
) -> int:
    """Print the outcomes and return the exit code, that of the first error."""
    options.note_run().harnesses.update(outcome.harness for outcome in outcomes)
    if as_json:
        harnesses = [_as_json(outcome, dry_run=dry_run) for outcome in outcomes]
        print_json({**head, "dry_run": dry_run, "harnesses": harnesses})
    else:
        for outcome in outcomes:
            _print_outcome(outcome, action, dry_run=dry_run)
        if not any(outcome.changes or outcome.error for outcome in outcomes):
            print_text("nothing to change" if outcomes else "no harness with hooks on this machine: name one")
    return next((outcome.error.exit_code for outcome in outcomes if outcome.error), 0)


def _print_outcome(outcome: HookOutcome, action: str, *, dry_run: bool) -> None:
    if outcome.error:
        print_error(f"{outcome.harness}: {outcome.error.message}", outcome.error.hint)
    for change in outcome.changes:
        print_text(change.diff.rstrip("\n") if dry_run else f"{outcome.harness:12} {action}: {change.path}")
    if outcome.next_step and not dry_run:
        print_text(f"    → {outcome.next_step}")


def _as_json(outcome: HookOutcome, *, dry_run: bool) -> dict[str, Any]:
    changes = [{"path": str(change.path)} | ({"diff": change.diff} if dry_run else {}) for change in outcome.changes]
    error = {"message": outcome.error.message, "hint": outcome.error.hint} if outcome.error else None
    return {"harness": outcome.harness, "changes": changes, "error": error, "then": outcome.next_step}


@click.command("hook", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("harness", nargs=-1, type=click.UNPROCESSED, metavar="HARNESS")
@click.option("--agent", metavar="ID", default="default", show_default=True, help="The agent the sessions belong to.")
@options.workspace
def hook(root: object, harness: tuple[str, ...], agent: str) -> int:
    """Take the event of a harness's hook from stdin; `lineage hooks install` puts this command into its settings.

    It puts the event into the spool and starts the worker; at a session's start it prints the memory for it, at a
    prompt quotes from memory. It always exits 0; `lineage status` shows errors.

    \b
    Example:
      lineage hook claude-code --agent default
    """
    options.note_run().root = None  # its failures are in a log of their own
    return hook_entry.run([*harness, "--workspace", str(root), "--agent", agent])
