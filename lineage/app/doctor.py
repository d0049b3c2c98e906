"""What keeps sessions from becoming memory on this machine, looked up in one go."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage.app import hooks, with_house
from lineage.app.places import canon_at
from lineage.core.sanitizer import Sanitizer
from lineage.core.wording import counted
from lineage.errors import EngineMissing, IndexAway
from lineage.harness.installing import Status
from lineage.harness.installing.checks import HARMLESS
from lineage.pipeline.lookup import spooled, status

_EVENT = "event "


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong, where, and what mends it."""

    where: str
    what: str
    mend: str


@dataclass(frozen=True, slots=True)
class Examined:
    """`events` says by harness when its last event came and which; `harnesses` are those on this machine; `on_path`
    whether the command is found by its name, as plug-ins need it."""

    harnesses: list[Status]
    events: dict[str, str]
    on_path: bool
    findings: list[Finding]


def examine(root: Path) -> Examined:
    """Looks at the hooks of every harness and at the workspace. Raises WorkspaceError where there is no workspace."""
    state, away = _state(root)
    statuses = [one for one in hooks.statuses(root, "default", ()) if one.present or one.files]
    events = {name.removeprefix(_EVENT): at for name, at in state["marks"].items() if name.startswith(_EVENT)}
    findings = [*_engine(), *away, *_hooks(root, statuses), *_workspace(state)]
    return Examined(statuses, events, shutil.which("lineage") is not None, findings)


def _state(root: Path) -> tuple[dict[str, Any], list[Finding]]:
    """What `status` finds; while the index is away, what this machine knows by itself."""
    try:
        return with_house(root, status), []
    except IndexAway as error:
        return {"marks": {}, **spooled(canon_at(root))}, [Finding("index", error.message, error.hint)]


def _engine() -> list[Finding]:
    try:
        Sanitizer()
    except EngineMissing as error:
        return [Finding("redaction", error.message, error.hint)]
    return []


def _hooks(root: Path, statuses: list[Status]) -> list[Finding]:
    found = [
        Finding(one.harness, finding.what, finding.mend)
        for one in statuses
        for finding in one.findings
        if finding.mend != HARMLESS
    ]
    for one in statuses:
        if one.workspace and Path(one.workspace) != root:
            what = f"its hooks capture into {one.workspace}"
            found.append(Finding(one.harness, what, f"`lineage hooks install {one.harness}` if that is not meant"))
    return found


def _workspace(state: dict[str, Any]) -> list[Finding]:
    found = []
    if state["signals"]:
        found.append(Finding("spool", f"{counted(len(state['signals']), 'signal')} waiting", "lineage work"))
    for rung in state["given_up"]:
        what = f"a signal of {rung['harness']}, {rung['at']}, was given up: {rung['why']}"
        found.append(Finding("spool", what, "look into .lineage/spool/dead, then delete it"))
    if state["unfinished"]:
        found.append(Finding("spool", f"{counted(len(state['unfinished']), 'flow')} unfinished", "lineage recover"))
    if state["hook_failures"]:
        what = f"{counted(len(state['hook_failures']), 'failure')}, the last: {state['hook_failures'][-1]}"
        found.append(Finding("hooks", what, "mend it, then delete .lineage/log/hook.log"))
    for path in state["damaged_jobs"]:
        what = f".lineage/{path} is damaged and ignored"
        found.append(Finding("spool", what, f"look into .lineage/{path}, then delete it"))
    return found
