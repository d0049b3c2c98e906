"""`lineage remember` and `lineage memory add`."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import click

from lineage.app.locations import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.output import format_counts, is_terminal, print_error, print_json, print_text
from lineage.core.base.project import is_absolute
from lineage.errors import InvalidInput
from lineage.pipeline.memory.remember import Memo, RememberResult, remember
from lineage.workspace.book_folders import locate_scopes
from lineage.workspace.projects import count_named, find_named
from lineage.workspace.workspace import Workspace


@options.command("remember", writes=True)
@click.argument("text", nargs=-1, required=True, metavar="TEXT...")
@click.option("--scope", metavar="SCOPE", help="global, project/NAME, agent/ID, peer/ID or session/TOKEN.")
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
@click.argument("scope")
@click.argument("kind")
@click.argument("text")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A tag; may be given several times.")
@click.option("--supersedes", metavar="ID", multiple=True, help="An entry of this book that it takes the place of.")
def add(
    root: Path, scope: str, kind: str, text: str, tags: Sequence[str], supersedes: Sequence[str], as_json: bool
) -> int:
    """Add an entry to a book: `lineage remember` with scope and kind named. TEXT `-` is stdin.

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
    result, place = run_in_workspace(root, partial(_remember_in, memo=memo, is_shown=is_terminal()), writes=True)
    is_taken = result.status in ("remembered", "pending", "known")
    if as_json:
        print_json(result)
    elif is_taken:
        _print_result(result, place)
    else:
        print_error(f"not remembered: {result.reason or result.status}", result.hint or "")
    return 0 if is_taken else 1


def _remember_in(ws: Workspace, *, memo: Memo, is_shown: bool) -> tuple[RememberResult, str]:
    """Remember, and return with the result what is to be said of its project."""
    result = remember(ws, replace(memo, project=find_named(ws, memo.project)), detect_caller())
    if not (is_shown and result.scope and result.scope.startswith("project/")):
        return result, ""
    return result, _describe_project(ws, result.scope, memo.project or "")


def _describe_project(ws: Workspace, scope: str, name: str) -> str:
    """Return which folder a project's scope is, and what else its name may mean; `name` is what was typed."""
    known = locate_scopes(ws)
    if scope in known:
        alike = 1 if "/" in name else count_named(ws, name)
        more = f"; {alike} projects are called {name}: `--project FOLDER` names another one"
        return f"{scope} is {known[scope]}{more if alike > 1 else ''}"
    if is_absolute(name):
        return f"{scope} is {name}: no session there is saved yet, the next one is told this"
    names = {place.rpartition("/")[2] for place in known.values()}
    likely = "".join(f" (did you mean {found}?)" for found in get_close_matches(name, sorted(names), 1))
    return f"no session of a project called {name} is saved{likely}; `lineage list` names the projects"


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
