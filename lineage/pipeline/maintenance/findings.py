"""What `lineage verify` and `lineage status` find in a workspace: the finding, its levels, and what helps."""

from collections.abc import Container
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.naming import DEFAULT_AGENT
from lineage.core.format.documents import Manifest
from lineage.harness.adapters import has_history
from lineage.harness.registry import HARNESSES

MUST = "MUST"
SHOULD = "SHOULD"

REINDEX = "lineage reindex"
RENDER = "lineage admin render"
RECOVER = "lineage admin recover"
RESANITIZE = "lineage admin resanitize"
RESTORE = "restore the file from a backup or git"
MOVE_AWAY = "move it away"


@dataclass(frozen=True, slots=True, order=True)
class VerifyFinding:
    """A fault, its place, and the command that mends it."""

    level: str
    path: str
    what: str
    mend: str


def build_returned_finding(path: str, token: str, what: str = "a removed session's file came back") -> VerifyFinding:
    """Return the finding about something of a removed session that is there again."""
    return VerifyFinding(MUST, path, what, f"lineage remove {token} --again")


def build_damaged_remedy(path: str) -> str:
    """Return what mends a file whose bytes changed: a backup, or that it is deleted and made again."""
    name = naming.parse_path(path)
    if name and name.kind in (naming.SUMMARY, naming.MANIFEST):
        return f"{RESTORE}; without one delete it, and `{RECOVER}` makes it again"
    if name and name.kind == naming.TRANSCRIPT:
        return (
            f"{RESTORE}; without one delete it, and `lineage import all` writes it back if its harness has the session"
        )
    return RESTORE


def build_lost_finding(manifest: Manifest, path: str, present: Container[str]) -> VerifyFinding:
    """Return the finding about a file that a manifest names and that is not there; `present` are artifacts that are.

    A summary is made again from its transcript, and a transcript from the session that its harness kept.
    """
    name = naming.parse_path(path)
    has_sibling = name and any(
        naming.artifact_path(name.stem, kind) in present for kind in (naming.TRANSCRIPT, naming.SUMMARY)
    )
    mend = build_lost_remedy(name.kind, manifest) if name and has_sibling else RESTORE
    return VerifyFinding(MUST, manifest.path, f"names {path}, which is not there", mend)


def build_lost_remedy(kind: str, manifest: Manifest | None) -> str:
    """Return what brings a lost file of this kind back, where another of its capture's files is there."""
    if kind in (naming.SUMMARY, naming.MANIFEST):
        return RECOVER
    if kind != naming.TRANSCRIPT or (manifest and not has_history(manifest.harness)):
        return RESTORE
    if manifest is None:
        return f"`{RECOVER}`, then `lineage import all` if its harness still has the session; else {RESTORE}"
    agent = "" if manifest.agent_id == DEFAULT_AGENT else f" --agent {manifest.agent_id}"
    title = HARNESSES[manifest.harness].title
    return f"`lineage import {manifest.harness}{agent}` if {title} still has the session; else {RESTORE}"
