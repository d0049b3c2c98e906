"""Where things lie: paths relative to the workspace root. (spec: file naming; format: Workspace)"""

import re
from typing import NamedTuple

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
_STEM = re.compile(rf"({_TIME})--({TOKEN.pattern})")
_CLAIM_OR_TOMBSTONE = re.compile(rf"(?:{CLAIMS}|{TOMBSTONES}){TOKEN.pattern}\.md")
_TOKEN = re.compile(rf"(?<![a-z2-7]){TOKEN.pattern}(?![a-z2-7])")
_MEMORY_MD = re.compile(rf"{AGENTS}([^/]+)/MEMORY\.md")
_PATH = re.compile(rf"memory/({_STEM.pattern})--({'|'.join((*ARTIFACT_KINDS, MANIFEST))})\.md")
_UNPORTABLE = re.compile(r"[A-Z]|\.(?=\.*$)|^(?=(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$))")
_ESCAPED = re.compile(r"~(.)")


class ArtifactName(NamedTuple):
    """The parts of an artifact's or manifest's path."""

    stem: str
    captured_at: str
    token: str
    kind: str


def build_stem(captured_at: str, token: str) -> str:
    """What the files of one capture share.

    >>> build_stem("2026-03-28T22:34:06.792Z", "h7k3n4p2m2x6q3r5")
    '2026-03-28T22-34-06.792Z--h7k3n4p2m2x6q3r5'
    """
    return f"{to_file_name(captured_at)}--{token}"


def is_stem(text: str) -> bool:
    return _STEM.fullmatch(text) is not None


def parse_captured_at(stem: str) -> str:
    """The capture time that a stem begins with, as a canonical time."""
    return from_file_name(stem[:24])


def build_alias(title: str, kind: str) -> str:
    """What Obsidian offers a session's file under: the title for the summary, the kind with it for the others."""
    return title if kind == SUMMARY else f"{title} ({kind})"


def artifact_path(stem: str, kind: str) -> str:
    return f"{MEMORY}{stem}--{kind}.md"


def parse_path(path: str) -> ArtifactName | None:
    """The parts of a path that follows the strict pattern, None for anything else (sync leftovers, notes)."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    whole, time, token, kind = match.groups()
    return ArtifactName(whole, from_file_name(time), token, kind)


def is_claim_or_tombstone(path: str) -> bool:
    """Whether a path is that of a claim or a tombstone."""
    return _CLAIM_OR_TOMBSTONE.fullmatch(path) is not None


def find_tokens(path: str) -> list[str]:
    """What may be a session's token in a path of any form: a sync client's copies keep it.

    >>> find_tokens("memory/claims/h7k3n4p2m2x6q3r5.sync-conflict-20260328.md")
    ['h7k3n4p2m2x6q3r5']
    """
    return _TOKEN.findall(path)


def claim_path(token: str) -> str:
    return f"{CLAIMS}{token}.md"


def tombstone_path(token: str) -> str:
    return f"{TOMBSTONES}{token}.md"


def memory_md_path(agent_id: str) -> str:
    """`MEMORY.md`, or `agents/<agent_id>/MEMORY.md` for every agent but the default one."""
    return "MEMORY.md" if agent_id == DEFAULT_AGENT else f"agents/{_agent_folder(agent_id)}/MEMORY.md"


def _agent_folder(agent_id: str) -> str:
    """The agent's id, escaped where it is no folder of its own on every file system: one that ignores case has a single
    folder for `Ann` and `ann`, and Windows has none for `con` or `ann.`.

    >>> [_agent_folder(name) for name in ("ann", "Ann", "ann.", "con.x")]
    ['ann', '~ann', 'ann~_', '~-con.x']
    """
    return _UNPORTABLE.sub(lambda m: "~" + {".": "_", "": "-"}.get(m[0], m[0].lower()), agent_id)


def parse_agent(path: str) -> str | None:
    """The agent whose MEMORY.md lies at a path below `agents/`; None for any other file."""
    match = _MEMORY_MD.fullmatch(path)
    agent = _ESCAPED.sub(lambda m: {"_": ".", "-": ""}.get(m[1], m[1].upper()), match[1]) if match else ""
    return agent if is_agent_id(agent) and memory_md_path(agent) == path else None
