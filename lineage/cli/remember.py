"""`lineage remember` and `lineage memory add`."""

import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from lineage.app.locations import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import format_counts, is_terminal, print_error, print_json, print_text
from lineage.cli.typed_names import SCOPE_HELP, warn
from lineage.core.base.about import split_subject
from lineage.core.base.book_paths import CURATED, GLOBAL
from lineage.core.base.project import is_absolute
from lineage.errors import InvalidInput
from lineage.pipeline.memory.remember import Memo, RememberResult, remember
from lineage.workspace.book_folders import locate_scopes
from lineage.workspace.typed_names import NamedProject, describe_unsaved, find_named, find_scope, suggest_kind
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class _Named:
    """A memo with what its names mean, a note about that, and the project that no session is of, None for others."""

    memo: Memo
    note: str
    unknown: NamedProject | None = None


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
@click.option("--about", metavar="WHAT", multiple=True, help="A file, folder, command or error that it is bound to.")
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


# At a session's start, whatever it is about (pipeline/memory/context.py).
_TOLD_TO_ALL = ("preference", "decision", "note", "fact", CURATED)
_TOLD_IN_PROJECT = ("preference", "note", "fact", "task")


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
    result, named, place = run_in_workspace(root, partial(_remember_in, memo=memo, is_shown=is_terminal()), writes=True)
    warn(named.note)
    if likely := suggest_kind(memo.kind, CURATED):
        warn(f"{memo.kind} is a kind of your own; did you mean `--kind {likely}`?")
    is_taken = result.status in ("remembered", "pending", "known")
    if as_json:
        print_json(result)
    elif is_taken:
        _print_result(result, place)
        if result.status == "remembered" and named.unknown:
            _print_way_back(str(result.id), named.unknown)
    else:
        print_error(f"not remembered: {result.reason or result.status}", result.hint or "")
    return 0 if is_taken else 1


def _remember_in(ws: Workspace, *, memo: Memo, is_shown: bool) -> tuple[RememberResult, _Named, str]:
    """Remember. Return the result, what its names mean, and which folder its project is."""
    named = _resolve_names(ws, memo)
    result = remember(ws, named.memo, detect_caller())
    is_shown = is_shown and not named.note
    return result, named, _describe_place(ws, result, named.memo.project or "") if is_shown else ""


def _resolve_names(ws: Workspace, memo: Memo) -> _Named:
    """Return the memo with the scope and the project that are meant, and what else the names may mean."""
    place, note, unknown = memo.project, "", None
    if memo.project:
        project = find_named(ws, memo.project)
        place, note = project.project, project.describe_others() or describe_unsaved(project)
        unknown = _keep_unknown(project)
    if memo.scope is None:
        return _Named(replace(memo, project=place), note, unknown)
    scope = find_scope(ws, memo.scope)
    own = scope.project.project if scope.project else None
    unknown = _keep_unknown(scope.project) if scope.project else None
    return _Named(replace(memo, scope=scope.scope, project=place or own), scope.note, unknown)


def _keep_unknown(project: NamedProject) -> NamedProject | None:
    """Return a project that no session is of, None for any other."""
    return project if describe_unsaved(project) else None


def _print_way_back(entry_id: str, project: NamedProject) -> None:
    """Print how what went to a project of no session comes to the likely one, or is taken back."""
    print_text("  to move it there, or to take it back:" if project.likely else "  to take it back:")
    if project.likely:
        scope = project.likely if is_absolute(project.likely) else f"project/{project.likely}"
        print_text(f"    {shlex.join(['lineage', 'memory', 'move', entry_id, scope])}", folds=False)
    print_text(f"    lineage memory forget {entry_id}", folds=False)


def _describe_place(ws: Workspace, result: RememberResult, project: str) -> str:
    """Return which folder a project's scope is, and whom the next start tells the text."""
    scope = result.scope
    kinds = _TOLD_TO_ALL if scope == GLOBAL else _TOLD_IN_PROJECT
    is_told = result.status in ("remembered", "known") and result.kind in kinds
    if scope == GLOBAL:
        return "every session is told this" if is_told else ""
    known = locate_scopes(ws) if scope.startswith("project/") else {}
    if scope in known:
        return f"{scope} is {known[scope]}" + (": its sessions are told this" if is_told else "")
    is_new = scope.startswith("project/") and is_absolute(project)
    return f"{scope} is {project}: no session there is saved yet, the next one is told this" if is_new else ""


def _print_result(result: RememberResult, project: str) -> None:
    place = f"{result.kind} of {result.scope} ({result.path})"
    if result.status == "pending":
        print_text(f"waits: {result.id}, {place}: called from inside {result.harness}")
    else:
        print_text(f"{result.status}: {result.id or 'under an id of its book'}, {place} {result.trust or ''}".rstrip())
    subjects = map(split_subject, result.about)
    bound = [f"bound to the {'folder' if name.endswith('/') else sort} {name}" for sort, name in subjects]
    for line in filter(None, (*bound, project, result.hint)):
        print_text(f"  {line}")
    if result.redactions:
        print_text(f"  redacted: {format_counts(result.redactions)}")
