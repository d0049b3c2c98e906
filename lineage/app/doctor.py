"""The checks of `lineage status`: everything on this machine that keeps sessions from becoming memory.

A finding keeps sessions from becoming memory; a note is anything else to know. Each ends with a command to type.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from lineage.app import clock, hooks
from lineage.app.databases import describe_index
from lineage.app.documents import detect_machine, open_documents
from lineage.app.locations import STATE_FOLDER, is_writable, load_settings, open_store
from lineage.app.workspace import run_in_workspace
from lineage.config.workspace import SETTINGS_FILE
from lineage.core.base import hook_protocol
from lineage.core.base.naming import MEMORY, TRANSCRIPT, parse_path
from lineage.core.base.plural import pluralize
from lineage.core.base.times import from_epoch, shift_time
from lineage.core.sanitizer import Sanitizer
from lineage.errors import EngineMissing, IndexUnavailable
from lineage.harness.adapters import ADAPTERS
from lineage.harness.places import resolve_place
from lineage.harness.registry import HARNESSES
from lineage.harness.spec import HarnessSpec
from lineage.harness.unread import UnreadStore, list_unread_stores
from lineage.installing import INSTALLATIONS, HookStatus
from lineage.installing.commands import MCP
from lineage.installing.config_files import read_json_or_empty
from lineage.installing.status import HARMLESS_HINT, NOT_INSTALLED, UNTRUSTED
from lineage.pipeline.capture.restore_transcripts import find_lost_tokens
from lineage.pipeline.capture.session import load_session
from lineage.pipeline.ingest.locate_transcript import HarnessHistories
from lineage.pipeline.ingest.uncaptured import UncapturedSessions, find_uncaptured, list_open_sessions
from lineage.pipeline.ingest.worker import IDLE_MINUTES, OpenSession
from lineage.pipeline.maintenance.findings import build_lost_remedy
from lineage.store.modes import find_exposed
from lineage.workspace.lookup import read_local_status, read_status
from lineage.workspace.workspace import Workspace

_EVENT_PREFIX = "event "
_SWEEP = "lineage admin sweep"
SOON_DAYS = 4
_AT_WORK_SECONDS = 60
RECENT_DAYS = 14
"""How long a session that no capture holds is a finding: older ones are history, which `lineage import` brings."""


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """A problem, its place and its remedy; the field names are JSON keys."""

    where: str
    what: str
    mend: str


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The state of hooks on this machine, and the problems; the field names are JSON keys.

    `events` has each harness's last event and its time. `on_path` is whether `lineage` is on PATH, as plug-ins need it.
    `told` says what sessions get of installed hooks and how each part is turned off. `waiting` are open sessions,
    `notes` name commands that would help; `unread` names sessions of agents that lineage can't read, `unshown` counts
    those in temporary folders: no findings.
    """

    harnesses: list[HookStatus]
    events: dict[str, str]
    on_path: bool
    told: list[str]
    findings: list[DoctorFinding]
    waiting: list[OpenSession]
    notes: list[DoctorFinding]
    unread: list[UnreadStore]
    unshown: str


def examine(root: Path) -> DoctorReport:
    """Check the hooks of every harness and the workspace. Raises WorkspaceError for a missing workspace."""
    state, index_findings = _load_status(root)
    statuses = [status for status in hooks.read_statuses(root, "default", ()) if status.present or status.files]
    events = {
        name.removeprefix(_EVENT_PREFIX): at for name, at in state["marks"].items() if name.startswith(_EVENT_PREFIX)
    }
    machine = detect_machine()
    old = _leave_out_new(state, clock.now())
    waiting: list[OpenSession] = []
    findings = [
        *index_findings,
        *_check_hooks(root, statuses, events),
        *_check_workspace(root, old),
        *_check_modes(root),
        *_check_writable(root),
    ]
    if not index_findings:
        waiting, found = run_in_workspace(
            root, partial(_check_sessions, root=root, machine=machine, statuses=statuses, events=events)
        )
        findings += found
        if root.is_dir():  # a bucket's listing takes too long
            findings += run_in_workspace(root, lambda ws: [*_check_listing(ws), *_check_books(ws)])
    findings += [
        DoctorFinding("settings", warning, f"mend {SETTINGS_FILE}, or upgrade lineage on this machine")
        for warning in load_settings(open_store(root)).unknown
    ]
    try:
        Sanitizer()
    except EngineMissing as error:  # first: without the engine nothing is captured
        findings.insert(0, DoctorFinding("redaction", error.message, error.hint))
    unread = list_unread_stores(machine.home, machine.environment)
    is_on_path, unshown = hooks.is_on_path(), state.get("unshown", "")
    found_in = {finding.where for finding in findings}
    notes = [*_list_notes([one for one in statuses if one.harness not in found_in]), *_list_recall_notes(root, state)]
    if any(len(old[name]) < len(state[name]) for name in ("signals", "unfinished")):
        what = "a hook told of something within the last minute, and it is being saved"
        notes.insert(0, DoctorFinding("spool", what, "lineage status, in a minute"))
    told = hooks.describe_installed_parts(root, statuses)
    return DoctorReport(statuses, events, is_on_path, told, findings, waiting, notes, unread, unshown)


def _load_status(root: Path) -> tuple[dict[str, Any], list[DoctorFinding]]:
    """Return the status and, while the index is unavailable, the local part of it with a finding."""
    try:
        return run_in_workspace(root, read_status), []
    except IndexUnavailable as error:
        return {"marks": {}, **read_local_status(open_documents(root))}, [
            DoctorFinding("index", error.message, error.hint)
        ]


def _check_listing(ws: Workspace) -> list[DoctorFinding]:
    """Return a finding if a listing of memory/ and the index differ, or a summary's transcript isn't there."""
    listed = ws.documents.store.stat_all(MEMORY)
    index_stamps = ws.index.load_stamps()
    gone = [(name.token, name.kind) for path in index_stamps.keys() - listed.keys() if (name := parse_path(path))]
    lost = find_lost_tokens(listed) - {token for token, _ in gone}
    found = [
        # only what brings a transcript back depends on its session's harness
        (kind, "gone", build_lost_remedy(kind, load_session(ws, token).manifest if kind == TRANSCRIPT else None))
        for token, kind in (*gone, *((token, TRANSCRIPT) for token in lost))
    ]
    left_out = [path for path in listed.keys() - index_stamps.keys() if parse_path(path)]
    remedy = "`lineage reindex` reads new ones, `lineage verify` names damaged ones"
    found += [("file", "not in the index: new, or damaged", remedy)] * len(left_out)
    return [
        DoctorFinding("memory", f"{pluralize(count, noun)} of memory/ {'is' if count == 1 else 'are'} {what}", mend)
        for (noun, what, mend), count in sorted(Counter(found).items())
    ]


def _check_books(ws: Workspace) -> list[DoctorFinding]:
    """Return a finding if books are damaged: what a broken marker held counts as a person's text until it is mended."""
    books = (ws.documents.books.read(ref) for ref in ws.documents.books.list())
    count = sum(bool(book.problems) for book in books)
    what = f"{pluralize(count, 'book')} of books/ {'is' if count == 1 else 'are'} damaged"
    return [DoctorFinding("books", what, "`lineage verify` names the lines, and what to write there")] if count else []


def _check_hooks(root: Path, statuses: Iterable[HookStatus], events: Mapping[str, str]) -> Iterator[DoctorFinding]:
    for status in statuses:
        # Codex runs what nobody approved where its command line says so: then events come all the same.
        is_run = _read_installed_at(status) < events.get(status.harness, "")
        for finding in status.findings:
            is_bypassed = is_run and finding.kind == UNTRUSTED and all(event in finding.what for event in status.events)
            if finding.mend != HARMLESS_HINT and not is_bypassed:
                yield DoctorFinding(status.harness, finding.what, finding.mend)
        if status.workspace and Path(status.workspace) != root:
            what = f"its hooks capture into {status.workspace}"
            # No command that --fix runs: what another memory gets is for a person to decide.
            yield DoctorFinding(status.harness, what, f"if not meant: lineage hooks install {status.harness}")


def _read_installed_at(status: HookStatus) -> str:
    """Return the time of the last write to the hooks' files, canonical UTC; "" without hooks."""
    return max((from_epoch(Path(file).stat().st_mtime) for file in status.files if Path(file).exists()), default="")


def _list_notes(statuses: Iterable[HookStatus]) -> Iterator[DoctorFinding]:
    """Yield help for a harness's sessions: nothing here keeps them from memory."""
    for status in statuses:
        if status.state == NOT_INSTALLED:
            yield DoctorFinding(status.harness, "hooks are not installed", f"lineage hooks install {status.harness}")
        elif MCP in status.left_out and MCP not in status.parts and (error := hooks.find_missing_extra()):
            what = f"can't look into its memory: {error.message}"
            yield DoctorFinding(status.harness, what, f"{error.hint}, then `lineage hooks install {status.harness}`")


def _list_recall_notes(root: Path, state: Mapping[str, Any]) -> Iterator[DoctorFinding]:
    if describe_index():
        what = "sessions are told nothing at a prompt or an action: a hook asks no server"
        yield DoctorFinding(
            "recall", what, "take the address of the index out of this machine's settings, then reindex"
        )
        return
    for kind in state.get("recall_off", ()):
        what = f"sessions are told nothing at {'a prompt' if kind == 'prompt' else 'an action'}"
        yield DoctorFinding("recall", what, f"take `{kind} = false` out of {SETTINGS_FILE} if that is not meant")
    if state["recall_failures"]:
        log = shlex.quote(str(root / STATE_FOLDER / hook_protocol.HOOK_LOG))
        what = f"nothing was said at times, the last: {state['recall_failures'][-1]}"
        yield DoctorFinding("recall", what, f"if that goes on, `lineage reindex`; then rm {log}")


def _check_sessions(
    ws: Workspace, *, root: Path, machine: HarnessHistories, statuses: Iterable[HookStatus], events: Mapping[str, str]
) -> tuple[list[OpenSession], list[DoctorFinding]]:
    """Return the open sessions, and the findings about sessions that no capture holds."""
    waiting, overdue = list_open_sessions(ws, machine)
    findings = []
    if overdue:
        what = f"{pluralize(len(overdue), 'session')} ended and nobody captured what is new in them"
        findings.append(DoctorFinding("spool", what, _SWEEP))
    by_harness = {status.harness: status for status in statuses}
    recent, quiet = shift_time(ws.now, days=-RECENT_DAYS), shift_time(ws.now, milliseconds=-60_000 * IDLE_MINUTES)
    for harness in ADAPTERS:
        status = by_harness.get(harness)
        if status and status.workspace and Path(status.workspace) != root:
            continue  # the other workspace's business
        expiry = find_expiry(HARNESSES[harness], machine, ws.now)
        found = find_uncaptured(ws, machine, harness, partial(_is_due, recent=recent, quiet=quiet, expiry=expiry))
        expiring = sum(1 for at in found.written if at <= expiry)
        if expiring:
            what = f"{pluralize(expiring, 'session')} within {SOON_DAYS} days that no capture holds"
            findings.append(
                DoctorFinding(harness, f"{HARNESSES[harness].title} deletes {what}", f"lineage import {harness}")
            )
        found.written = [at for at in found.written if at >= recent]
        findings += _judge_uncaptured(harness, status, found, events.get(harness, ""))
    return waiting, findings


def _is_due(at: str, *, recent: str, quiet: str, expiry: str) -> bool:
    """Return whether a session of this time is over and should be captured: it is recent, or deleted soon."""
    return recent <= at <= quiet or at <= expiry


def _judge_uncaptured(
    harness: str, status: HookStatus | None, found: UncapturedSessions, last_event: str
) -> Iterator[DoctorFinding]:
    times = found.written
    installed_at = _read_installed_at(status) if status else ""
    silent = sum(1 for at in times if at > installed_at) if installed_at > last_event else 0
    count = pluralize(len(times), "session") + " or more" * found.has_more
    if times and status and status.state == NOT_INSTALLED:
        what = f"hooks are not installed, and no capture holds {count} of the last {RECENT_DAYS} days"
        yield DoctorFinding(harness, what, f"lineage hooks install {harness} && lineage import {harness}")
    elif silent:
        next_step = INSTALLATIONS[harness].next_step
        what = f"hooks are installed, and none was run in {pluralize(silent, 'session')} since"
        yield DoctorFinding(harness, what, f"{next_step}; then {_SWEEP}" if next_step else _SWEEP)
    elif times:
        yield DoctorFinding(harness, f"no capture holds {count} of the last {RECENT_DAYS} days", _SWEEP)
    if found.problems:
        error = found.problems[0]
        what = f"{pluralize(len(found.problems), 'recent session')} can't be read: {error.message}"
        yield DoctorFinding(harness, what, f"{error.hint}; then {_SWEEP}")


def find_expiry(spec: HarnessSpec, machine: HarnessHistories, now: str) -> str:
    """Return the time before which a harness deletes transcripts within days, "" if it keeps them."""
    retention = spec.retention
    path = resolve_place(retention.file, machine.home, machine.environment) if retention else None
    if retention is None or path is None:
        return ""
    setting = read_json_or_empty(path).get(retention.key)
    days = setting if isinstance(setting, int) and setting > 0 else retention.days
    return shift_time(now, days=SOON_DAYS - min(days, 36_500))


def _leave_out_new(state: dict[str, Any], now: str) -> dict[str, Any]:
    """Return the status without signals and flows so new that a worker is likely to be at them.

    A signal that failed and waits for another try is not left out.
    """
    since = shift_time(now, milliseconds=-_AT_WORK_SECONDS * 1000)
    signals = [one for one in state["signals"] if one["why"] or one["until"] or one["at"] < since]
    flows = [one for one in state["unfinished"] if one["captured_at"] < since]
    return state | {"signals": signals, "unfinished": flows}


def _check_workspace(root: Path, state: dict[str, Any]) -> Iterator[DoctorFinding]:
    state_folder = shlex.quote(str(root / STATE_FOLDER))
    if state["signals"]:
        until = max(signal["until"] or "" for signal in state["signals"])
        what = f"{pluralize(len(state['signals']), 'signal')} waiting" + (f", until {until}" if until else "")
        yield DoctorFinding("spool", what, "lineage work")
    for event in state["given_up"]:
        what = f"a signal of {event['harness']}, {event['at']}, was given up: {event['why']}"
        yield DoctorFinding("spool", what, f"look into it, then rm -r {state_folder}/{hook_protocol.DEAD_LETTERS}")
    if state["unfinished"]:
        what = f"{pluralize(len(state['unfinished']), 'flow')} unfinished"
        yield DoctorFinding("spool", what, "lineage admin recover")
    if state["hook_failures"]:
        what = f"{pluralize(len(state['hook_failures']), 'failure')}, the last: {state['hook_failures'][-1]}"
        yield DoctorFinding("hooks", what, f"mend it, then rm {state_folder}/{hook_protocol.HOOK_LOG}")
    for path in state["damaged_jobs"]:
        what = f".lineage/{path} is damaged and ignored"
        yield DoctorFinding("spool", what, f"look into it, then rm {state_folder}/{path}")


def _check_writable(root: Path) -> Iterator[DoctorFinding]:
    if not is_writable(root):
        mend = f"run `ls -ld {shlex.quote(str(root))}` to see its owner and mode"
        yield DoctorFinding("workspace", "this user can't write to it: no session is saved", mend)


def _check_modes(root: Path) -> Iterator[DoctorFinding]:
    try:
        exposed = find_exposed(root)
    except PermissionError as error:
        what = f"this user may not read {error.filename}, so nobody looked for what others may read"
        yield DoctorFinding("modes", what, "run it as the user that owns the workspace")
        return
    if exposed:
        more = f" and {pluralize(len(exposed) - 1, 'other')}" if exposed[1:] else ""
        yield DoctorFinding("modes", f"others than you may read {exposed[0]}{more}", "lineage admin upgrade")
