"""The files of Codex: rollouts, and the list of session names beside them. (harnesses.md 2.4, 2.7)."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from lineage.errors import TranscriptError
from lineage.harness.adapter import SessionLocation, list_files
from lineage.harness.json_values import as_mapping, as_string, decode_json
from lineage.harness.jsonl import read_bytes, read_records

# Codex compresses files older than 7 days.
COMPRESSED = ".zst"

_FOLDERS = ("sessions", "archived_sessions")
_PREFIX = "rollout-"
_SUFFIX = ".jsonl"
_NAMES = "session_index.jsonl"


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return the folders of sessions and of archived ones."""
    return [Path(environment.get("CODEX_HOME") or home / ".codex", folder) for folder in _FOLDERS]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every rollout except those of sub-agents, and a compressed one only if it has no unpacked copy."""
    for item in list_files(root, (_SUFFIX, _SUFFIX + COMPRESSED)):
        if item.path == root or (item.path.name.startswith(_PREFIX) and not _is_skipped(item.path)):
            yield item


def _is_skipped(path: Path) -> bool:
    if path.suffix == COMPRESSED:
        return path.with_suffix("").is_file()
    try:
        first = next(read_records(path, Counter()), {})
    except TranscriptError:
        return False  # the later attempt to read it reports the error
    # Sub-agents' rollouts lie in the same folders under the same names.
    meta = as_mapping(first.get("payload"))
    return "subagent" in as_mapping(meta.get("source")) or bool(as_string(meta.get("parent_thread_id")))


def find_title(path: Path, session: str | None) -> str | None:
    """Return the newest name of a session from the list beside the folder of its rollout."""
    home = next((folder.parent for folder in path.parents if folder.name in _FOLDERS), None)
    if not home or not session:
        return None
    try:
        lines = read_bytes(home / _NAMES).split(b"\n")
    except TranscriptError:
        return None  # older versions have no such list, and no session needs it
    # Decode only the lines with the id: the list has a line for every renaming of every session.
    needle = session.encode("utf-8", "replace")
    entries = (as_mapping(decode_json(line)) for line in reversed(lines) if needle in line)
    names = (as_string(entry.get("thread_name")).strip() for entry in entries if entry.get("id") == session)
    return next(filter(None, names), None)
