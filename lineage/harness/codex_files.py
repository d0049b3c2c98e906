"""Where Codex keeps its rollouts, and the list of names beside them. (harnesses.md 2.4, 2.7)"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from lineage.errors import TranscriptError
from lineage.harness.adapter import SessionLocation
from lineage.harness.history_files import list_files
from lineage.harness.json_values import as_mapping, as_string
from lineage.harness.jsonl import read_bytes, read_records

COMPRESSED = ".zst"

_FOLDERS = ("sessions", "archived_sessions")
_PREFIX = "rollout-"
_SUFFIX = ".jsonl"
_NAMES = "session_index.jsonl"


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """The sessions and the archived ones of Codex's folder."""
    return [Path(environment.get("CODEX_HOME") or home / ".codex", folder) for folder in _FOLDERS]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Every rollout but those of sub-agents, which lie in the same folders; a compressed one where it isn't there
    unpacked too."""
    for item in list_files(root, (_SUFFIX, _SUFFIX + COMPRESSED)):
        if item.path == root or (item.path.name.startswith(_PREFIX) and not _is_skipped(item.path)):
            yield item


def _is_skipped(path: Path) -> bool:
    if path.suffix == COMPRESSED:
        return path.with_suffix("").is_file()
    try:
        first = next(read_records(path, Counter()), {})
    except TranscriptError:
        return False  # whoever reads it will say why it can't be
    meta = as_mapping(first.get("payload"))
    return "subagent" in as_mapping(meta.get("source")) or bool(as_string(meta.get("parent_thread_id")))


def find_title(path: Path, session: str | None) -> str | None:
    """The newest name of a session in the list that lies beside the folder of its rollout."""
    home = next((folder.parent for folder in path.parents if folder.name in _FOLDERS), None)
    if not home or not session:
        return None
    try:
        lines = read_bytes(home / _NAMES).split(b"\n")
    except TranscriptError:
        return None  # older versions have no such list, and no session needs it
    wanted = session.encode("utf-8", "replace")
    entries = (_entry(line) for line in reversed(lines) if wanted in line)
    return next((name for entry in entries if entry.get("id") == session and (name := _thread_name(entry))), None)


def _entry(line: bytes) -> dict[str, object]:
    try:
        return as_mapping(json.loads(line))
    except (ValueError, RecursionError):
        return {}


def _thread_name(entry: dict[str, object]) -> str:
    return as_string(entry.get("thread_name")).strip()
