"""`lineage remember` and `lineage memory add`."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from lineage.app.locations import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import format_counts, is_terminal, print_error, print_json, print_text
from lineage.cli.typed_names import SCOPE_HELP, warn
from lineage.core.base.project import is_absolute
from lineage.errors import InvalidInput
from lineage.pipeline.memory.remember import Memo, RememberResult, remember
from lineage.workspace.book_folders import locate_scopes
from lineage.workspace.typed_names import describe_unsaved, find_named, find_scope
from lineage.workspace.workspace import Workspace


@options.command("remember", writes=True)
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@click.option("--scope", metavar="SCOPE", callback=options.expand_scope, help=f"Where it holds: {SCOPE_HELP}")
@click.option(
    "--kind", metavar="KIND",
    help="note (the default), preference (a rule), decision, fact, context, finding, lesson, task, handoff, or any "
    "other name.",
)  # fmt: skip
@click.option("--curated", is_flag=True, help="Append it to AGENT_MEMORY.md.")
@click.option("--daily", is_flag=True, help="Into the agent's note of today (UTC).")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; may be given several times.")
@click.option("--supersedes", metavar="ID", multiple=True, help="An entry of the same book that it takes the place of.")
@click.option("--about", metavar="WHAT", multiple=True, help="A file, command or error that it is bound to.")
@click.option(
    "--agent", "agent_id", metavar="ID", default="default", show_default=True,
    help="The agent, for a book of an agent.",
)  # fmt: skip
@options.project("A project's book: the same as --scope project/NAME.")
def command(
    root: Path, text: Sequence[str], kind: str | None, curated: bool, daily: bool, as_json: bool, **memo_options: Any
) -> int:
    """Remember TEXT: a note for every session, unless a scope or kind is named. TEXT `-` is stdin.

    A rule is a preference: `--kind rule` makes one, too.

    What you type here counts as yours. An agent's memo is marked derived, and only its session sees it until that
    session is captured. One of an agent's for all projects, or one that repeats a tool's output, waits for your review.
    Secrets are redacted first.

    \b
    Example:
      lineage remember "The staging server is rebuilt every night."
      lineage remember --kind preference --tag style "Prefers tabs over spaces in Makefiles."
      lineage remember --project lineage --kind task "Write the release notes"
      lineage remember --kind lesson --about db/env.py "Migrations need DATABASE_URL: env.py has no default."
      lineage remember --curated "Ask before a dependency is added."
    """
    memo = Memo(text=options.read_text(text), kind=_choose_kind(kind, curated=curated, daily=daily), **memo_options)
    return _remember(root, memo, as_json=as_json)


@options.command("add", writes=True)
@click.argument("scope", callback=options.expand_scope)
@click.argument("kind")
@click.argument("text")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; may be given several times.")
@click.option("--supersedes", metavar="ID", multiple=True, help="An entry of this book that it takes the place of.")
def add(
    root: Path, scope: str, kind: str, text: str, tags: Sequence[str], supersedes: Sequence[str], as_json: bool
) -> int:
    """Add an entry to a book: `lineage remember` with scope and kind named. TEXT `-` is stdin.

    SCOPE is global, a project (project/NAME, owner/name, a folder), agent/ID, peer/ID or session/TOKEN.

    \b
    Example:
      lineage memory add project/lineage lesson "The index is rebuilt, never mended."
    """
    memo = Memo(text=options.read_text([text]), scope=scope, kind=kind, tags=tuple(tags), supersedes=tuple(supersedes))
    return _remember(root, memo, as_json=as_json)


def _choose_kind(kind: str | None, *, curated: bool, daily: bool) -> str:
    given = ((kind, kind is not None), ("curated", curated), ("daily", daily))
    kinds = [name for name, is_set in given if name is not None and is_set]
    if len(kinds) > 1:
        raise InvalidInput(f"one kind, not {len(kinds)}", hint="give one of `--kind`, `--curated`, `--daily`")
    return kinds[0] if kinds else "note"


def _remember(root: Path, memo: Memo, *, as_json: bool) -> int:
    """Remember, print the result and return the exit code: 1 for a text that was not taken."""
    with suppress(OSError):  # the folder may be gone
        memo = replace(memo, folder=str(Path.cwd()))
    result, note, place = run_in_workspace(root, partial(_remember_in, memo=memo, is_shown=is_terminal()), writes=True)
    warn(note)
    is_taken = result.status in ("remembered", "pending", "known")
    if as_json:
        print_json(result)
    elif is_taken:
        _print_result(result, place)
    else:
        print_error(f"not remembered: {result.reason or result.status}", result.hint or "")
    return 0 if is_taken else 1


def _remember_in(ws: Workspace, *, memo: Memo, is_shown: bool) -> tuple[RememberResult, str, str]:
    """Remember. Return the result, what else its project may mean, and which folder that is."""
    memo, note = _resolve_names(ws, memo)
    result = remember(ws, memo, detect_caller())
    place = _describe_place(ws, result.scope, memo.project or "") if is_shown and not note else ""
    return result, note, place


def _resolve_names(ws: Workspace, memo: Memo) -> tuple[Memo, str]:
    """Return the memo with the scope and the project that are meant, and what else the names may mean."""
    named, note = memo.project, ""
    if memo.project:
        project = find_named(ws, memo.project)
        named, note = project.project, project.describe_others() or describe_unsaved(project)
    if memo.scope is None:
        return replace(memo, project=named), note
    scope = find_scope(ws, memo.scope)
    place = scope.project.project if scope.project else None
    return replace(memo, scope=scope.scope, project=named or place), scope.note


def _describe_place(ws: Workspace, scope: str, project: str) -> str:
    """Return which folder a project's scope is."""
    known = locate_scopes(ws) if scope.startswith("project/") else {}
    if scope in known:
        return f"{scope} is {known[scope]}"
    is_new = scope.startswith("project/") and is_absolute(project)
    return f"{scope} is {project}: no session there is saved yet, the next one is told this" if is_new else ""


def _print_result(result: RememberResult, project: str) -> None:
    place = f"{result.kind} of {result.scope} ({result.path})"
    if result.status == "pending":
        print_text(f"waits: {result.id}, {place}: called from inside {result.harness}")
    else:
        print_text(f"{result.status}: {result.id or 'under an id of its book'}, {place} {result.trust or ''}".rstrip())
    for line in filter(None, (project, result.hint)):
        print_text(f"  {line}")
    if result.redactions:
        print_text(f"  redacted: {format_counts(result.redactions)}")
