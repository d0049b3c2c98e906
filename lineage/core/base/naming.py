"""Paths of artifacts, manifests, claims, tombstones and MEMORY.md (spec: file naming; format: Workspace)."""

import re
from functools import lru_cache
from typing import NamedTuple

from lineage.core.base.file_names import DEVICE_MARK, DEVICE_NAME, escape_name, unescape_name
from lineage.core.base.identity import DEFAULT_AGENT, TOKEN, is_agent_id
from lineage.core.base.times import from_file_name, to_file_name

MEMORY = "memory/"
AGENTS = "agents/"
CLAIMS = "memory/claims/"
TOMBSTONES = "memory/tombstones/"

TRANSCRIPT = "transcript"
SUMMARY = "summary"
COMPACTION = "compaction"
MANIFEST = "manifest"
ARTIFACT_KINDS = (TRANSCRIPT, SUMMARY, COMPACTION)
ARTIFACT_DISPLAY_ORDER = (SUMMARY, TRANSCRIPT, COMPACTION)

_TIME = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}Z"
_TIME_LENGTH = len("2026-03-28T22-34-06.792Z")
_STEM = re.compile(rf"({_TIME})--({TOKEN.pattern})")
_CLAIM_OR_TOMBSTONE = re.compile(rf"(?:{CLAIMS}|{TOMBSTONES}){TOKEN.pattern}\.md")
_TOKEN = re.compile(rf"(?<![a-z2-7]){TOKEN.pattern}(?![a-z2-7])")
_MEMORY_MD = re.compile(rf"{AGENTS}([^/]+)/MEMORY\.md")
_PATH = re.compile(rf"memory/({_STEM.pattern})--({'|'.join((*ARTIFACT_KINDS, MANIFEST))})\.md")


# A named tuple: a reindex makes one for every file and link.
class ArtifactName(NamedTuple):
    """The parts of an artifact's or manifest's path."""

    stem: str
    captured_at: str
    token: str
    kind: str


def build_stem(captured_at: str, token: str) -> str:
    """Return the common part of the file names of one capture.

    >>> build_stem("2026-03-28T22:34:06.792Z", "h7k3n4p2m2x6q3r5")
    '2026-03-28T22-34-06.792Z--h7k3n4p2m2x6q3r5'
    """
    return f"{to_file_name(captured_at)}--{token}"


def parse_captured_at(stem: str) -> str:
    """Return the capture time of a stem as a canonical time."""
    return from_file_name(stem[:_TIME_LENGTH])


def build_alias(title: str, kind: str) -> str:
    """Return the alias of a session's file for Obsidian: the title, with the kind unless it is the summary."""
    return title if kind == SUMMARY else f"{title} ({kind})"


def artifact_path(stem: str, kind: str) -> str:
    """Return the path of an artifact or a manifest."""
    return f"{MEMORY}{stem}--{kind}.md"


def parse_path(path: str) -> ArtifactName | None:
    """Return the parts of an artifact's or manifest's path, or None for anything else (sync leftovers, notes)."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    stem, time, token, kind = match.groups()
    return ArtifactName(stem, from_file_name(time), token, kind)


def is_claim_or_tombstone(path: str) -> bool:
    """Return whether a path is that of a claim or a tombstone."""
    return _CLAIM_OR_TOMBSTONE.fullmatch(path) is not None


def find_tokens(path: str) -> list[str]:
    """Return all possible session tokens in a path of any form: copies by a sync client keep them.

    >>> find_tokens("memory/claims/h7k3n4p2m2x6q3r5.sync-conflict-20260328.md")
    ['h7k3n4p2m2x6q3r5']
    """
    return _TOKEN.findall(path)


def claim_path(token: str) -> str:
    """Return the path of a session's claim."""
    return f"{CLAIMS}{token}.md"


def tombstone_path(token: str) -> str:
    """Return the path of a session's tombstone."""
    return f"{TOMBSTONES}{token}.md"


@lru_cache(maxsize=256)
def memory_md_path(agent_id: str) -> str:
    """Return `MEMORY.md`, or `agents/<agent_id>/MEMORY.md` for every agent but the default one.

    >>> [memory_md_path(name) for name in ("default", "Ann", "con", "CON")]
    ['MEMORY.md', 'agents/~ann/MEMORY.md', 'agents/~-con/MEMORY.md', 'agents/~c~o~n/MEMORY.md']
    """
    if agent_id == DEFAULT_AGENT:
        return "MEMORY.md"
    folder = escape_name(agent_id)
    device = DEVICE_NAME.match(agent_id)
    if device and not device[0].islower():
        # The folders of agents never had this mark for `CON`: an escaped capital is no device to Windows.
        folder = folder.removeprefix(DEVICE_MARK)
    return f"{AGENTS}{folder}/MEMORY.md"


def parse_agent(path: str) -> str | None:
    """Return the agent of a MEMORY.md below `agents/`, or None for any other file."""
    match = _MEMORY_MD.fullmatch(path)
    agent = unescape_name(match[1]) if match else ""
    return agent if is_agent_id(agent) and memory_md_path(agent) == path else None
