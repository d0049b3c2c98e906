"""`lineage status`."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import click

from lineage.app.databases import describe_index
from lineage.app.doctor import DoctorFinding, DoctorReport, examine
from lineage.app.documents import detect_machine, open_documents
from lineage.app.hooks import summarize_hooks
from lineage.app.locations import format_location
from lineage.app.redaction import load_workspace_rules
from lineage.app.workspace import run_in_workspace
from lineage.cli import options
from lineage.cli.doctor import print_findings, print_notes
from lineage.cli.hooks import print_that_memory_is_given
from lineage.cli.output import format_when, print_json, print_result, print_text
from lineage.core.base.plural import pluralize
from lineage.errors import FindingsReported, IndexUnavailable, InvalidInput, LineageError
from lineage.pipeline.capture.model_quota import read_usage
from lineage.pipeline.ingest.uncaptured import list_open_sessions
from lineage.pipeline.memory.book_overviews import list_books
from lineage.pipeline.search.embeddings import describe_coverage
from lineage.store import StoreUnavailable
from lineage.workspace.lookup import read_local_status, read_status

_COMMAND = re.compile(r"`(lineage [^`]+)`")
_MARKS = {"synced": "up to date with the newest files", "compared": "compared with all files"}  # of the index


@options.command("status")
@click.option("--fix", is_flag=True, help="Run the commands that the findings name, after asking for each.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask.")
def command(root: Path, fix: bool, yes: bool, as_json: bool) -> int:
    """Show whether sessions are saved, what the memory holds, and what waits.

    Problems come first; each names the command that helps. --fix runs these, one by one, and asks before each.

    \b
    Example:
      lineage status --json
      lineage status --fix
    """
    if fix:
        return _fix(root, yes=yes, as_json=as_json)
    return _show(root, as_json=as_json)


def _fix(root: Path, *, yes: bool, as_json: bool) -> int:
    """Run the commands of the findings and return the exit code: 4 where findings stay."""
    if as_json:
        raise InvalidInput("--fix asks, and prints no JSON", hint="run `lineage status --fix`, or leave out --fix")
    remedies: dict[str, DoctorFinding] = {}
    for finding in examine(root).findings:
        for line in find_commands(finding.mend):
            remedies.setdefault(line, finding)
    for line, finding in remedies.items():
        print_text(f"{finding.where}: {finding.what}")
        if not yes and not sys.stdin.isatty():
            raise InvalidInput(
                f"`{line}` needs a yes, and here nobody can answer",
                hint="run `lineage status --fix --yes`, or run it yourself",
            )
        if yes or click.confirm(f"Run `{line}`?", default=True):
            program = [sys.executable, "-m", "lineage", "--workspace", format_location(root)]
            subprocess.run([*program, *shlex.split(line)[1:]], check=False)
    after = examine(root).findings
    for finding in after:
        print_text(f"left: {finding.where}: {finding.what} → {finding.mend}")
    print_text("no problems found" if not after else f"{pluralize(len(after), 'problem')} left")
    return FindingsReported.exit_code if after else 0


def find_commands(remedy: str) -> list[str]:
    """Return the command lines of lineage that a remedy names whole, without a placeholder.

    >>> find_commands("lineage admin sweep"), find_commands("run `lineage reindex`; then rm FILE")
    (['lineage admin sweep'], ['lineage reindex'])
    >>> find_commands("lineage hooks install pi && lineage import pi"), find_commands("lineage import HARNESS")
    (['lineage hooks install pi', 'lineage import pi'], [])
    """
    named = _COMMAND.findall(remedy) or ([remedy] if remedy.startswith("lineage ") else [])
    found = [line for one in named for line in one.split(" && ")]
    return [line for line in found if not any(word.isupper() or "…" in word for word in line.split())]


def _show(root: Path, *, as_json: bool) -> int:
    try:
        status = run_in_workspace(
            root,
            lambda ws: {
                **read_status(ws),
                "open": list_open_sessions(ws, detect_machine())[0],
                "model": read_usage(ws),
                "embedding": describe_coverage(ws),
                "waiting_entries": sum(len(book.waiting) for book in list_books(ws)),
            },
        )
    except (IndexUnavailable, StoreUnavailable) as error:  # the status is most wanted when something is down
        return _report_unavailable(root, error, as_json=as_json)
    rules = load_workspace_rules(root)
    rule_lists = {"unusable_rules": list(rules.unusable), "kept_rules": list(rules.kept)}
    state = {"workspace": format_location(root), "index": describe_index(), **status, **rule_lists}
    state["hooks"] = summarize_hooks(root)
    return print_result(state, lambda: _print_status(state, examine(root)), as_json=as_json)


def _report_unavailable(root: Path, error: LineageError, *, as_json: bool) -> int:
    """Print the part of the status that this machine knows without the workspace's store or the index's server."""
    places = {"workspace": format_location(root), "index": describe_index(), "away": error.message}
    state = places | read_local_status(open_documents(root))
    if as_json:
        print_json(state)
    else:
        _print_places(state)
        print_text(f"away       {error.message}: {error.hint}")
        _print_spool(state)
    return error.exit_code


def _print_status(state: dict[str, Any], report: DoctorReport) -> None:
    print_findings(report)
    print_text()
    _print_places(state)
    print_text(f"redaction  {state['rules']} rules")
    for name in state["unusable_rules"]:
        print_text(f"  not used: {name}: it matches paths or commits, and lineage redacts texts")
    for name in state["kept_rules"]:
        print_text(f"  stays on: {name}: a rules file can't switch built-in rules off")
    for value in state["allowed"]:
        print_text(f"  allowed: {value}")
    print_text(f"files      {_format_files(state['artifacts'])} in the index; `lineage verify` reads each")
    print_text(f"agents     {', '.join(state['agents']) or 'none yet'}")
    if state["hooks"]:
        print_text(f"hooks      {'; '.join(f'{name} {what}' for name, what in state['hooks'].items())}")
    if state["unshown"]:
        print_text(f"not shown  {state['unshown']}")
    print_text(f"captured   {_format_counters(state['counters'])}")
    if state["not_learned"]:
        print_text(f"left out   statements not learned: {_format_numbers(state['not_learned'])}")
    if state["waiting_entries"]:
        print_text(f"waiting    {pluralize(state['waiting_entries'], 'entry')} for you: `lineage memory review`")
    _print_recall(state)
    if state["tombstones"]:
        print_text(f"removed    {pluralize(state['tombstones'], 'session')}")
    _print_model(state["model"])
    _print_embedding(state["embedding"])
    for mark, value in state["marks"].items():
        print_text(_describe_mark(mark, value))
    for session in state["open"]:
        print_text(f"open       {session.describe(format_when)}")
    _print_spool(state)
    if state["telemetry_was_damaged"]:
        print_text("damaged    .lineage/runtime.db was set aside as runtime.db.damaged; counting began anew")
    if report.told:
        print_that_memory_is_given()
    print_notes(report)


def _describe_mark(mark: str, value: str) -> str:
    """Return what a mark of telemetry says to people: which agent's ledger was written, or whose hooks told of what."""
    what, _, name = mark.partition(" ")
    if what == "rendered":
        return f"ledger     MEMORY.md of the agent {name}, written {format_when(value)}"
    if what == "event":
        return f"last hook  {name}: {format_when(value)}"
    return f"index      {_MARKS.get(mark, mark)}, {format_when(value)}"


def _print_places(state: dict[str, Any]) -> None:
    print_text(f"workspace  {state['workspace']}")
    if state["index"]:
        print_text(f"index      {state['index']}")


def _print_recall(state: dict[str, Any]) -> None:
    counts, off = state["recall"], state["recall_off"]
    if counts["given"] or off:
        given = f"{pluralize(counts['given'], 'quote')} given, {pluralize(counts['tokens'], 'token')}"
        print_text(
            f"recall     {given}; {counts['used']} used"
            + (f"; off at the {' and the '.join(off)} (lineage.toml)" if off else "")
        )
    if state["index"]:
        print_text("recall     nothing at a prompt or an action: the index is on a server, which no hook asks")
    elif state["recall_failures"]:
        print_text(f"recall     failed at times, last: {state['recall_failures'][-1]}")


def _print_spool(state: dict[str, Any]) -> None:
    for since in dict.fromkeys(state["behind"]):
        print_text(f"behind     the index, since {format_when(since)}")
    for job in state["unfinished"]:
        print_text(f"unfinished {job['flow']} of {job['session_token']}, signalled {format_when(job['captured_at'])}")
    for event in state["signals"]:
        why = f": {event['why']}" if event["why"] else ""
        until = f", until {format_when(event['until'])}" if event["until"] else ""
        print_text(f"waiting    a signal of {event['harness']}, {format_when(event['at'])}{until}{why}")
    for event in state["given_up"]:
        print_text(f"given up   a signal of {event['harness']}, {format_when(event['at'])}: {event['why']}")
    if state["hook_failures"]:
        print_text(f"hooks      {len(state['hook_failures'])} failed, the last: {state['hook_failures'][-1]}")
    for path in state["damaged_jobs"]:
        print_text(f"damaged    .lineage/{path}: left as it is")


def _print_model(model: dict[str, Any]) -> None:
    today, month = model["today"], model["last_30_days"]
    name = f"{model['provider']} {model['name']}" if model["name"] else ""
    if not (model["name"] or month["outcomes"] or month["held_back"]):
        print_text(f"model      {name or 'none is asked: sentences and entries are made by rules'}")
        return
    print_text(f"model      {name or 'none'}: today {_format_usage(today)}; last 30 days {_format_usage(month)}")
    for outcome, count in month["outcomes"].items():
        print_text(f"  {outcome}: {count} in 30 days")
    for why, count in month["held_back"].items():
        print_text(f"  not asked, {why}: {count} in 30 days")
    if model["limit_reached"]:
        limits = f"{pluralize(model['calls_per_day'], 'call')}, {pluralize(model['tokens_per_day'], 'token')}"
        print_text(f"  today's limit is reached ({limits}): until tomorrow (UTC) everything is made by rule")


def _print_embedding(state: dict[str, Any]) -> None:
    if not (state["model"] or state["problem"] or state["passages"]):
        return
    where = f" at {state['endpoint']}" if state["endpoint"] else ""
    left = f", {pluralize(state['files_left'], 'file')} left" if state["files_left"] else ""
    total = f" of {state['passages_in_all']}" if state["passages_in_all"] else ""
    kept = f"vectors for {state['passages']}{total} passages in {state['vectors']}"
    print_text(f"embedding  {state['model'] or 'none'}{where}: {kept}{left}")
    if state["problem"]:
        print_text(f"  {state['problem']}")
    for outcome, count in state["outcomes"].items():
        print_text(f"  {outcome}: {count}")


def _format_files(counts: dict[str, int]) -> str:
    return ", ".join(pluralize(count, kind) for kind, count in sorted(counts.items())) or "none yet"


def _format_counters(counts: dict[str, int]) -> str:
    """Return what was captured since counting began, and how often sessions were shown."""
    nouns = {"captures": "capture", "compactions": "compaction", "turns": "turn", "redactions": "redaction"}
    parts = [pluralize(counts[name], noun) for name, noun in nouns.items() if counts[name] or name != "compactions"]
    return ", ".join([*parts, *[f"shown {pluralize(counts['shown'], 'time')}"] * bool(counts["shown"])])


def _format_usage(usage: dict[str, Any]) -> str:
    return f"{pluralize(usage['calls'], 'call')}, {pluralize(usage['tokens'], 'token')}"


def _format_numbers(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())
