"""Where Claude Code keeps its sessions: main transcripts, sub-agents', spilled tool results. (harnesses.md 1.6)"""

import codecs
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from lineage.harness.adapter import SessionLocation
from lineage.harness.history_files import list_files
from lineage.harness.text import format_omission

SUB_AGENTS = "subagents"
AGENT_PREFIX = "agent-"
_INTERNAL = ("agent-acompact-", "agent-aprompt_suggestion-")
_NO_TRANSCRIPTS = frozenset({"journal.jsonl", "history.jsonl"})
_NO_FOLDERS = frozenset({"memory", "tool-results"})

_RESULTS_FOLDER = "tool-results"
_PREVIEW_PREFIXES = ("<persisted-output>", "Error: result (")
_SAVED_TO = re.compile(r"saved to:? [^\n]*tool-results[/\\]([A-Za-z0-9_][A-Za-z0-9_.-]*\.(?:txt|json))\b")
_MAX_POINTER_CHARS = 8192
_MAX_FILE_BYTES = 1 << 20
_MAX_TOTAL_BYTES = 32 << 20


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """`projects/` of the configuration folder."""
    return [Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude", "projects")]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Every main transcript and every sub-agent's, but not those of the harness's own helpers, nor its journals."""
    return (item for item in list_files(root, (".jsonl",)) if item.path == root or _is_transcript(item.path, root))


def _is_transcript(path: Path, root: Path) -> bool:
    folders = path.relative_to(root).parts[:-1]
    return not (path.name.startswith(_INTERNAL) or path.name in _NO_TRANSCRIPTS or _NO_FOLDERS.intersection(folders))


def find_moved(path: Path, home: Path, environment: Mapping[str, str]) -> Path | None:
    """Where the transcript that was at `path` is now: a transcript moves with its session to another project's folder.
    Of several the largest, for they only grow; None where there is none. Links are not followed."""
    tail = path.relative_to(_session_folder(path).parent)
    projects = (project for root in list_roots(home, environment) for project in _folders(root))
    there = sorted(project / tail for project in projects if ".." not in tail.parts)
    largest = max(there, key=_size, default=None)
    return largest if largest and _size(largest) >= 0 else None


def _folders(root: Path) -> list[Path]:
    try:
        return [folder for folder in root.iterdir() if folder.is_dir() and not folder.is_symlink()]
    except OSError:
        return []


def _size(path: Path) -> int:
    """A regular file's size, -1 for anything else."""
    try:
        status = path.lstat()
    except (OSError, ValueError):
        return -1
    return status.st_size if stat.S_ISREG(status.st_mode) else -1


def _session_folder(path: Path) -> Path:
    """The folder beside a main transcript that holds its session's other files."""
    above = path.parents if path.name.startswith(AGENT_PREFIX) else ()
    return next((folder.parent for folder in above if folder.name == SUB_AGENTS), path.parent / path.stem)


class SpilledResults:
    """The tool results of one session that the harness wrote to files of their own, leaving a preview.

    Only regular files in the session's own folder are read, links are not followed; at most 1 MiB of each and 32 MiB
    in all.
    """

    def __init__(self, transcript: Path) -> None:
        self._folder = _session_folder(transcript) / _RESULTS_FOLDER
        self._remaining_bytes = _MAX_TOTAL_BYTES

    def read(self, preview: str) -> str | None:
        """The whole text that `preview` stands for; None where it can't be had."""
        name = parse_spilled_name(preview)
        if name is None or self._remaining_bytes <= 0:
            return None
        file = self._folder / name
        if any(part.is_symlink() for part in (self._folder.parent, self._folder, file)):
            return None
        try:
            data, size = _read_head(file)
        except OSError:
            return None
        self._remaining_bytes -= len(data)
        return _decode_head(data, size)


def parse_spilled_name(text: str) -> str | None:
    """The name of the file that a tool result only points to; None where the text is the result itself."""
    if not text.lstrip().startswith(_PREVIEW_PREFIXES):
        return None
    match = _SAVED_TO.search(text[:_MAX_POINTER_CHARS])
    return match[1] if match else None


def _read_head(path: Path) -> tuple[bytes, int]:
    """The first 1 MiB of a regular file, and its size. Raises OSError for anything else, a pipe is not waited for."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a file")
        return file.read(_MAX_FILE_BYTES), status.st_size


def _decode_head(data: bytes, size: int) -> str:
    """The text, cut between words where it is cut: half a secret would not be known for one."""
    if size <= len(data):
        return data.decode("utf-8", "replace")
    kept = data[: 1 + max(data.rfind(separator) for separator in (b"\n", b" ", b'"'))] or data
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(kept)
    return f"{text.rstrip()}\n{format_omission('rest of the output', size - len(kept))}"
