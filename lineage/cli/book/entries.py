"""`lineage memory`: its commands but `add`, and the output of an entry."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from lineage.app.locations import detect_caller
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.book.print_entry import describe_origin, print_entry, print_evidence, print_indented
from lineage.cli.output import (
    format_counts,
    is_terminal,
    print_json,
    print_result,
    print_text,
    show_progress,
)
from lineage.cli.typed_names import resolve_scope, warn
from lineage.core.base.book_paths import PENDING, BookRef, resolve_kind
from lineage.core.base.plural import pluralize
from lineage.core.books.entry import parse_before
from lineage.errors import InvalidInput
from lineage.pipeline.memory import books
from lineage.pipeline.memory.explain_entry import Explanation, explain_entry
from lineage.pipeline.memory.migrate_notes import STATES, MigratedFile, MigrationRequest, migrate_notes
from lineage.pipeline.memory.relearn import RelearnResult, relearn_books
from lineage.pipeline.memory.waiting_entries import Evidence, confirm_entries, load_evidence
from lineage.workspace.paths import expand_home
from lineage.workspace.typed_names import find_scope
from lineage.workspace.workspace import Workspace

_GLOBAL_KINDS = ("decision", "preference")
_MAX_FEATURES = 8  # of a score, at a terminal


def print_change(place: books.EntryLocation, action: str, *, as_json: bool, more: str = "") -> int:
    """Print an entry that was changed and its place, and return the exit code 0."""
    line = f"{action}: {place.entry.id}, {place.ref.kind} of {place.ref.scope} ({place.ref.path}){more}"
    return print_result({"entry": place.as_json()}, lambda: print_text(line), as_json=as_json)


@options.command("show")
@click.argument("scope", callback=options.expand_scope)
@click.argument("kind", required=False)
@click.option("--pending", is_flag=True, help="Print the entries that wait for your confirmation instead.")
@click.option("--archive", metavar="YEAR", help="Print the archived entries of that year instead.")
@options.no_pager
def show(root: Path, scope: str, kind: str | None, pending: bool, archive: str | None, as_json: bool) -> int:
    """Print the entries of a book: id, date, trust, state and text, and the problems of its file. Without KIND, print
    all books of SCOPE: global, a project (project/NAME, owner/name, a folder), agent/ID, peer/ID or session/TOKEN.

    Text between no markers is an entry of yours. A state is one of standing (in use), superseded, done, pinned, stale
    (an open task that no session mentioned for 14 days), waiting.

    \b
    Example:
      lineage memory show global preference
      lineage memory show . decision
      lineage memory show global curated --json
    """
    if pending and archive:
        raise InvalidInput("what waits isn't archived", hint="give `--pending` or `--archive YEAR`")
    ref = BookRef(resolve_scope(root, scope), kind or "", archive or (PENDING if pending else ""))
    found = run_in_workspace(root, lambda ws: books.read_named(ws, ref), needs_index=False)
    if as_json:
        values = list(map(_contents_as_json, found))
        print_json(values[0] if kind else {"scope": ref.scope, "books": values})
        return 0
    if is_terminal():
        from lineage.cli.session_screen import print_contents

        print_contents(found)
    else:
        for contents in found:
            _print_contents(contents, is_named=len(found) > 1)
    if not any(contents.entries for contents in found):
        print_text(f"nothing in {found[0].ref.path if kind else ref.scope}; `lineage memory list` names the books")
    return 0


def _contents_as_json(contents: books.BookContents) -> dict[str, Any]:
    ref = contents.ref
    book = {"scope": ref.scope, "kind": ref.kind, "shelf": ref.shelf, "path": ref.path}
    rest = {"forgotten": sorted(contents.forgotten), "problems": list(contents.problems)}
    return book | {"entries": [place.as_json() for place in contents.entries]} | rest


def _print_contents(contents: books.BookContents, *, is_named: bool) -> None:
    if is_named:
        print_text(f"{contents.ref.kind} of {contents.ref.scope}:")
    for place in contents.entries:
        print_entry(place)
    for problem in contents.problems:
        print_text(f"problem: {contents.ref.path}: {problem}")


@options.command("done", writes=True)
@click.argument("entry_id", metavar="ID")
@click.option("--undo", is_flag=True, help="Open it again.")
def done(root: Path, entry_id: str, undo: bool, as_json: bool) -> int:
    """Tick a task.

    \b
    Example:
      lineage memory done 4c1f
      lineage memory done 4c1f --undo
    """
    place = run_in_workspace(root, lambda ws: books.set_task_done(ws, entry_id, is_done=not undo), writes=True)
    return print_change(place, "open again" if undo else "done", as_json=as_json)


@options.command("pin", writes=True)
@click.argument("entry_id", metavar="ID")
@click.option("--undo", is_flag=True, help="Let it roll over again.")
@click.option("--global", "is_global", is_flag=True, help="Copy it to the global book, too.")
@click.option(
    "--kind", type=click.Choice((*_GLOBAL_KINDS, "rule")),
    callback=lambda _ctx, _param, value: value and resolve_kind(value),
    help="With --global: its kind there, else you are asked; a rule is a preference.",
)  # fmt: skip
def pin(root: Path, entry_id: str, undo: bool, is_global: bool, kind: str | None, as_json: bool) -> int:
    """Keep an entry in use: it never rolls over into an archive, and nothing that is learned takes its place.

    One that is superseded already stands again: this is how a wrong supersession ends. `lineage remember --supersedes
    ID` of yours ends a pin. Only you can pin, no agent.

    \b
    Example:
      lineage memory pin 718d
      lineage memory pin 718d --undo
      lineage memory pin 718d --global --kind preference
    """
    if is_global:
        kind = kind or _ask_kind(as_json=as_json)
        place = run_in_workspace(root, lambda ws: books.pin_globally(ws, entry_id, kind, detect_caller()), writes=True)
        return print_change(place, "pinned to global", as_json=as_json)
    if kind:
        raise InvalidInput("an entry has its kind", hint="give `--global` with it")

    def change(ws: Workspace) -> tuple[books.EntryLocation, books.EntryLocation]:
        before = books.find_entry(ws, entry_id)
        return before, books.pin_entry(ws, before.entry.id, pinned=not undo, caller=detect_caller())

    before, place = run_in_workspace(root, change, writes=True)
    more = ""
    if not undo and before.successor:
        more = f": it stands again, {before.successor.id} no longer takes its place"
    elif place.successor:
        more = f": superseded by {place.successor.id}"
    return print_change(place, "no longer pinned" if undo else "pinned", as_json=as_json, more=more)


def _ask_kind(*, as_json: bool) -> str:
    if as_json or not sys.stdin.isatty():
        raise InvalidInput("what is it, globally?", hint="give `--kind decision` or `--kind preference`")
    return str(click.prompt("What is it, globally?", type=click.Choice(_GLOBAL_KINDS), default=_GLOBAL_KINDS[0]))


@options.command("move", writes=True)
@click.argument("entry_id", metavar="ID")
@click.argument("scope", callback=options.expand_scope)
def move(root: Path, entry_id: str, scope: str, as_json: bool) -> int:
    """Move an entry to another scope, from all projects to one for example.

    SCOPE is global, a project (project/NAME, owner/name, a folder), agent/ID, peer/ID or session/TOKEN. The entry gets
    a new id there, and is not learned again in the old scope.

    \b
    Example:
      lineage memory move 718d project/lineage
      lineage memory move 718d .
    """

    def move_to_named(ws: Workspace) -> tuple[books.EntryLocation, str]:
        caller = detect_caller()
        target = find_scope(ws, scope, claim=caller is None)
        return books.move_entry(ws, entry_id, target.scope, caller), target.note

    place, note = run_in_workspace(root, move_to_named, writes=True)
    warn(note)
    return print_change(place, "moved, its id is new", as_json=as_json)


@options.command("confirm", writes=True)
@click.argument("entry_ids", metavar="ID...", nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
def confirm(root: Path, entry_ids: Sequence[str], yes: bool, as_json: bool) -> int:
    """Confirm waiting entries: each is shown with its source, then you are asked.

    Only you can confirm, no agent. `lineage memory list --pending` lists them.

    \b
    Example:
      lineage memory review 77ab 0c3e
    """
    # an agent must not put its own proposals in force
    books.refuse_agents(detect_caller(), "confirm what waits for the user")
    evidence = run_in_workspace(root, lambda ws: load_evidence(ws, entry_ids))
    if not yes and (as_json or not sys.stdin.isatty()):
        raise InvalidInput("this has to be confirmed", hint=f"`lineage memory review {' '.join(entry_ids)} --yes`")
    accepted = [item for item in evidence if as_json or _ask(item, yes=yes)]
    # opened anew: the workspace is not held while the user thinks
    places = run_in_workspace(root, lambda ws: confirm_entries(ws, accepted, detect_caller()), writes=True)
    if as_json:
        quotes = [{"quote": item.quote, "role": item.role, "said_at": item.turn_at} for item in accepted]
        print_json({"confirmed": [place.as_json() | quote for place, quote in zip(places, quotes, strict=True)]})
    else:
        for place in places:
            print_text(f"confirmed: {place.entry.id}, {place.ref.kind} of {place.ref.scope} ({place.ref.path})")
    return 0


def _ask(evidence: Evidence, *, yes: bool) -> bool:
    print_evidence(evidence)
    return yes or click.confirm(f"Put {evidence.location.entry.id} in force?")


@options.command("why")
@click.argument("entry_id", metavar="ID")
def why(root: Path, entry_id: str, as_json: bool) -> int:
    """Print why an entry was learned: the words it came from, and the features of its score.

    The sentence is read again in its capture, with today's weights. Each feature comes with its weight and the words
    that show it, at a terminal the heaviest ones. A score is a likelihood, from 0 to 1. Your answer to an agent's
    question, typed or chosen, needs none.

    \b
    Example:
      lineage memory why 718d
    """
    found = run_in_workspace(root, lambda ws: explain_entry(ws, entry_id), needs_index=False)
    return print_result(found.as_json(), lambda: _print_explanation(found), as_json=as_json)


def _print_explanation(found: Explanation) -> None:
    print_entry(found.location)
    if found.is_edited:
        origin = found.location.entry.origin
        print_text(f"  edited by hand since{f'; came from {origin}' if origin else ''}")
    if found.answer:
        print_indented("the agent asked", found.question)
        print_indented("you answered", found.answer)
    elif found.quote:
        print_indented("its words then" if found.is_edited else "came from", found.quote)
    before = parse_before(found.location.entry)
    if before and before != found.quote:
        print_indented("its words before the last edit", before)
    if origin := describe_origin(found.location.entry, found.turn):
        print_text(f"  {origin}")
    if found.problem:
        print_text(f"  {found.problem}")
        return
    if found.answer:
        print_text("  your answer to the agent's question: such answers are kept without a score")
        return
    is_low = found.score < found.kept_from
    if found.says_so:
        print_text(f"  said by the {found.role}; kept whatever its score: its words say what it is")
        print_text(f"  its score is {found.score:.2f}; others are kept from {found.kept_from:.2f} on")
    else:
        print_text(f"  said by the {found.role}; score {found.score:.2f}, kept from {found.kept_from:.2f} on")
    if is_low and not found.says_so:
        print_text("  by today's weights it would not be learned")
    print_text(f"    {found.bias:+.2f}  start value")
    shown = found.features[:_MAX_FEATURES] if is_terminal() else found.features
    for feature in shown:
        words = f": {feature.words}" if feature.words else ""
        print_text(f"    {feature.weight:+.2f}  {feature.name}{words}")
    if rest := len(found.features) - len(shown):
        print_text(f"    and {rest} of less weight: `lineage memory why {found.location.entry.id} --json` has all")


@options.command("migrate", writes=True)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--agent", "agent_id", metavar="ID", help="The agent of the notes; else the one that their folder names.")
@click.option("--dry-run", is_flag=True, help="Show the result for each file; write nothing.")
def migrate(root: Path, paths: Sequence[str], agent_id: str | None, dry_run: bool, as_json: bool) -> int:
    """Copy notes that agents keep in files of their own into books; the files stay as they are.

    PATH is a file, or a folder with notes: a project's, `.memory`, `~/.claude`, an OpenClaw workspace. Entries count
    as derived. AGENT_MEMORY.md waits for you, as do permissions and notes about the agent itself. Each line that is not
    taken is named, and the exit code is 1. Run it again to add new notes. Only you can migrate, no agent.

    \b
    Example:
      lineage memory migrate ~/.claude --dry-run
      lineage memory migrate ~/demo/.memory --agent ann
    """
    request = MigrationRequest(
        paths=tuple(expand_home(path).absolute() for path in paths), root=root, agent_id=agent_id, is_dry_run=dry_run
    )
    files = run_in_workspace(root, lambda ws: migrate_notes(ws, request, detect_caller()), writes=not dry_run)
    value = {"dry_run": dry_run, "files": [file.as_json() for file in files]}
    print_result(value, lambda: _print_migrated(files, dry_run=dry_run), as_json=as_json)
    return 0 if all(file.is_complete for file in files) else 1


def _print_migrated(files: Sequence[MigratedFile], *, dry_run: bool) -> None:
    for file in files:
        counts = ", ".join(f"{file.counts[state]} {state}" for state in STATES if file.counts[state])
        problem = file.skipped or file.problem
        print_text(f"{file.path}: " + (f"not taken: {problem}" if problem else counts or "empty"))
        for entry in file.entries:
            if entry.state not in ("kept", "known"):
                reason = f" ({entry.reason})" if entry.reason else ""
                print_text(f"    line {entry.line}: {entry.state}{reason}, {entry.kind} of {entry.scope}")
        if file.redactions:
            print_text(f"    redacted: {format_counts(file.redactions)}")
    if not files:
        print_text("no notes there")
    elif any(file.counts["waiting"] for file in files) and not dry_run:
        print_text("`lineage memory list --pending` shows what waits, `lineage memory review ID` puts it in force")
    if dry_run:
        print_text("nothing was written")


@options.command("relearn", writes=True)
@click.option("--dry-run", is_flag=True, help="List the entries that would go and come; write nothing.")
def relearn(root: Path, dry_run: bool, as_json: bool) -> int:
    """Learn again from all captured sessions, with today's rules.

    It replaces entries that rules found and nobody edited, pinned, ticked or confirmed. Those that you or an agent
    typed, proposals of a model and forgotten entries stay as they are. Only you can relearn, no agent.

    \b
    Example:
      lineage memory relearn --dry-run
      lineage memory relearn
    """
    with show_progress("relearn") as progress:
        result = run_in_workspace(
            root,
            lambda ws: relearn_books(ws, detect_caller(), is_dry_run=dry_run, progress=progress),
            writes=not dry_run,
        )
    value = {"dry_run": dry_run, **result.as_json()}
    return print_result(value, lambda: _print_relearned(result, dry_run=dry_run), as_json=as_json)


def _print_relearned(result: RelearnResult, *, dry_run: bool) -> None:
    for sign, places in (("-", result.removed), ("+", result.added)):
        for ref, entry in places if dry_run else ():
            print_text(f"{sign} {entry.id}  {ref.kind} of {ref.scope}")
            print_text(f"    {entry.body}")
    counts = f"entries removed: {len(result.removed)}, added: {len(result.added)}"
    print_text(f"{pluralize(result.read, 'capture')} read; {counts}")
    if result.unreadable:
        print_text(f"  {result.unreadable} can't be read, what they taught stays: lineage verify")
    if dry_run:
        print_text("nothing was written")
