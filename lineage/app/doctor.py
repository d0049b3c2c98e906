"""What keeps sessions from becoming memory on this machine, looked up in one go."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage.app import hooks
from lineage.app.locations import open_documents
from lineage.app.workspace import run_in_workspace
from lineage.core.base.plural import pluralize
from lineage.core.sanitizer import Sanitizer
from lineage.errors import EngineMissing, IndexUnavailable
from lineage.installing import HookStatus
from lineage.installing.checks import HARMLESS_HINT
from lineage.workspace.lookup import read_local_status, read_status

_EVENT_PREFIX = "event "


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """What is wrong, where, and what mends it."""

    where: str
    what: str
    mend: str


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """`events` says by harness when its last event came and which; `harnesses` are those on this machine; `on_path`
    whether the command is found by its name, as plug-ins need it."""

    harnesses: list[HookStatus]
    events: dict[str, str]
    on_path: bool
    findings: list[DoctorFinding]


def examine(root: Path) -> DoctorReport:
    """Looks at the hooks of every harness and at the workspace. Raises WorkspaceError where there is no workspace."""
    state, away = _load_status(root)
    statuses = [one for one in hooks.read_statuses(root, "default", ()) if one.present or one.files]
    events = {
        name.removeprefix(_EVENT_PREFIX): at for name, at in state["marks"].items() if name.startswith(_EVENT_PREFIX)
    }
    findings = [*_check_engine(), *away, *_check_hooks(root, statuses), *_check_workspace(state)]
    return DoctorReport(statuses, events, shutil.which("lineage") is not None, findings)


def _load_status(root: Path) -> tuple[dict[str, Any], list[DoctorFinding]]:
    """What `status` finds; while the index is away, what this machine knows by itself."""
    try:
        return run_in_workspace(root, read_status), []
    except IndexUnavailable as error:
        return {"marks": {}, **read_local_status(open_documents(root))}, [
            DoctorFinding("index", error.message, error.hint)
        ]


def _check_engine() -> list[DoctorFinding]:
    try:
        Sanitizer()
    except EngineMissing as error:
        return [DoctorFinding("redaction", error.message, error.hint)]
    return []


def _check_hooks(root: Path, statuses: list[HookStatus]) -> list[DoctorFinding]:
    found = [
        DoctorFinding(one.harness, finding.what, finding.mend)
        for one in statuses
        for finding in one.findings
        if finding.mend != HARMLESS_HINT
    ]
    for one in statuses:
        if one.workspace and Path(one.workspace) != root:
            what = f"its hooks capture into {one.workspace}"
            found.append(
                DoctorFinding(one.harness, what, f"`lineage hooks install {one.harness}` if that is not meant")
            )
    return found


def _check_workspace(state: dict[str, Any]) -> list[DoctorFinding]:
    found = []
    if state["signals"]:
        found.append(DoctorFinding("spool", f"{pluralize(len(state['signals']), 'signal')} waiting", "lineage work"))
    for rung in state["given_up"]:
        what = f"a signal of {rung['harness']}, {rung['at']}, was given up: {rung['why']}"
        found.append(DoctorFinding("spool", what, "look into .lineage/spool/dead, then delete it"))
    if state["unfinished"]:
        found.append(
            DoctorFinding("spool", f"{pluralize(len(state['unfinished']), 'flow')} unfinished", "lineage recover")
        )
    if state["hook_failures"]:
        what = f"{pluralize(len(state['hook_failures']), 'failure')}, the last: {state['hook_failures'][-1]}"
        found.append(DoctorFinding("hooks", what, "mend it, then delete .lineage/log/hook.log"))
    for path in state["damaged_jobs"]:
        what = f".lineage/{path} is damaged and ignored"
        found.append(DoctorFinding("spool", what, f"look into .lineage/{path}, then delete it"))
    return found
