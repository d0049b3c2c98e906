"""The checks of `lineage doctor`: everything on this machine that keeps sessions from becoming memory."""

import contextlib
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage.app import hooks
from lineage.app.documents import detect_machine, open_documents
from lineage.app.locations import load_settings, open_store
from lineage.app.workspace import run_in_workspace
from lineage.config.workspace import SETTINGS_FILE
from lineage.core.base.naming import DEFAULT_AGENT, derive_session_token
from lineage.core.base.plural import pluralize
from lineage.core.sanitizer import Sanitizer
from lineage.errors import EngineMissing, IndexUnavailable, LineageError
from lineage.harness import load_adapter
from lineage.harness.claude_records import AGENT_PREFIX
from lineage.harness.unread import UnreadStore, list_unread_stores
from lineage.installing import HookStatus
from lineage.installing.config_files import read_json_or_empty
from lineage.installing.status import HARMLESS_HINT
from lineage.store.modes import find_exposed
from lineage.workspace.lookup import read_local_status, read_status
from lineage.workspace.workspace import Workspace

_EVENT_PREFIX = "event "
_SOON_DAYS, _DAY_SECONDS = 4, 86_400
_CLEANUP_DAYS = 30  # Claude Code's own default


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
    `unread` names sessions of agents that lineage can't read, `unshown` counts those in temporary folders: no findings.
    """

    harnesses: list[HookStatus]
    events: dict[str, str]
    on_path: bool
    findings: list[DoctorFinding]
    unread: list[UnreadStore]
    unshown: str


def examine(root: Path) -> DoctorReport:
    """Check the hooks of every harness and the workspace. Raises WorkspaceError for a missing workspace."""
    state, index_findings = _load_status(root)
    statuses = [status for status in hooks.read_statuses(root, "default", ()) if status.present or status.files]
    events = {
        name.removeprefix(_EVENT_PREFIX): at for name, at in state["marks"].items() if name.startswith(_EVENT_PREFIX)
    }
    findings = [*index_findings, *_check_hooks(root, statuses), *_check_workspace(state), *_check_modes(root)]
    if not index_findings:
        findings += run_in_workspace(root, lambda ws: list(_check_expiring(ws)))
    findings += [
        DoctorFinding("settings", warning, f"mend {SETTINGS_FILE}, or upgrade lineage on this machine")
        for warning in load_settings(open_store(root)).unknown
    ]
    try:
        Sanitizer()
    except EngineMissing as error:  # first: without the engine nothing is captured
        findings.insert(0, DoctorFinding("redaction", error.message, error.hint))
    machine = detect_machine()
    unread = list_unread_stores(machine.home, machine.environment)
    is_on_path, unshown = shutil.which("lineage") is not None, state.get("unshown", "")
    return DoctorReport(statuses, events, is_on_path, findings, unread, unshown)


def _load_status(root: Path) -> tuple[dict[str, Any], list[DoctorFinding]]:
    """Return the status and, while the index is unavailable, the local part of it with a finding."""
    try:
        return run_in_workspace(root, read_status), []
    except IndexUnavailable as error:
        return {"marks": {}, **read_local_status(open_documents(root))}, [
            DoctorFinding("index", error.message, error.hint)
        ]


def _check_hooks(root: Path, statuses: list[HookStatus]) -> Iterator[DoctorFinding]:
    for status in statuses:
        for finding in status.findings:
            if finding.mend != HARMLESS_HINT:
                yield DoctorFinding(status.harness, finding.what, finding.mend)
    for status in statuses:
        if status.workspace and Path(status.workspace) != root:
            what = f"its hooks capture into {status.workspace}"
            yield DoctorFinding(status.harness, what, f"`lineage hooks install {status.harness}` if that is not meant")


def _check_expiring(ws: Workspace) -> Iterator[DoctorFinding]:
    """Check for sessions that Claude Code deletes within days, by the age of their files, and that nobody captured."""
    machine, adapter = detect_machine(), load_adapter("claude-code")
    agents, soon, count = {DEFAULT_AGENT, *ws.index.list_agents()}, time.time() + _SOON_DAYS * _DAY_SECONDS, 0
    for folder in adapter.list_roots(machine.home, machine.environment):
        setting = read_json_or_empty(folder.parent / "settings.json").get("cleanupPeriodDays")
        days = setting if isinstance(setting, int) and setting > 0 else _CLEANUP_DAYS
        for path in folder.glob("*/*.jsonl"):
            with contextlib.suppress(LineageError, OSError):  # no transcript, or deleted just now
                if path.stat().st_mtime + days * _DAY_SECONDS > soon or path.stem.startswith(AGENT_PREFIX):
                    continue
                tokens = [derive_session_token(agent, path.stem) for agent in agents]
                is_known = any(ws.documents.claims.has(one) or ws.documents.tombstones.has(one) for one in tokens)
                count += not is_known and any(True for _ in adapter.read(path).turns)
    if count:
        what = f"Claude Code deletes {pluralize(count, 'session')} within {_SOON_DAYS} days that no capture holds"
        yield DoctorFinding("claude-code", what, "lineage import claude-code")


def _check_workspace(state: dict[str, Any]) -> Iterator[DoctorFinding]:
    if state["signals"]:
        yield DoctorFinding("spool", f"{pluralize(len(state['signals']), 'signal')} waiting", "lineage work")
    for event in state["given_up"]:
        what = f"a signal of {event['harness']}, {event['at']}, was given up: {event['why']}"
        yield DoctorFinding("spool", what, "look into .lineage/spool/dead, then delete it")
    if state["unfinished"]:
        yield DoctorFinding("spool", f"{pluralize(len(state['unfinished']), 'flow')} unfinished", "lineage recover")
    if state["hook_failures"]:
        what = f"{pluralize(len(state['hook_failures']), 'failure')}, the last: {state['hook_failures'][-1]}"
        yield DoctorFinding("hooks", what, "mend it, then delete .lineage/log/hook.log")
    for path in state["damaged_jobs"]:
        what = f".lineage/{path} is damaged and ignored"
        yield DoctorFinding("spool", what, f"look into .lineage/{path}, then delete it")


def _check_modes(root: Path) -> Iterator[DoctorFinding]:
    if exposed := find_exposed(root):
        more = f" and {pluralize(len(exposed) - 1, 'other')}" if exposed[1:] else ""
        yield DoctorFinding("modes", f"others than you may read {exposed[0]}{more}", "lineage upgrade")
