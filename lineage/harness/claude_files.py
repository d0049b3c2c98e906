"""The files of Claude Code's sessions: transcripts, sub-agents' too, and spilled results. (harnesses.md 1.6)."""

import codecs
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from lineage.harness.adapter import SessionLocation, list_files
from lineage.harness.text import format_omission

SUB_AGENTS = "subagents"
AGENT_PREFIX = "agent-"
# Claude Code's own helpers: compaction and prompt suggestion.
_INTERNAL = ("agent-acompact-", "agent-aprompt_suggestion-")
_NO_TRANSCRIPTS = frozenset({"journal.jsonl", "history.jsonl"})
# `memory/` is Claude Code's own, `tool-results/` belongs to a transcript.
_NO_FOLDERS = frozenset({"memory", "tool-results"})

_RESULTS_FOLDER = "tool-results"
# The second is that of an MCP server's result.
_PREVIEW_PREFIXES = ("<persisted-output>", "Error: result (")
_SAVED_TO = re.compile(r"saved to:? [^\n]*tool-results[/\\]([A-Za-z0-9_][A-Za-z0-9_.-]*\.(?:txt|json))\b")
# Bounds on untrusted input: a preview is short, and a session may point to any number of large files.
_MAX_POINTER_CHARS = 8192
_MAX_FILE_BYTES = 1 << 20
_MAX_TOTAL_BYTES = 32 << 20


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return `projects/` of the configuration folder."""
    return [Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude", "projects")]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every main transcript and every sub-agent's, without the harness's internal helpers and journals."""
    for item in list_files(root, (".jsonl",)):
        name, folders = item.path.name, item.path.relative_to(root).parts[:-1]
        is_transcript = not name.startswith(_INTERNAL) and name not in _NO_TRANSCRIPTS
        if item.path == root or (is_transcript and not _NO_FOLDERS.intersection(folders)):
            yield item


class SpilledResults:
    """The tool results of one session in files of their own; the transcript holds a preview of each.

    Reads regular files in the session's own folder only, without following links: at most 1 MiB of each file and 32 MiB
    in total.
    """

    def __init__(self, transcript: Path) -> None:
        # A sub-agent's results lie in the folder of its main session, which also holds `subagents/`.
        above = transcript.parents if transcript.name.startswith(AGENT_PREFIX) else ()
        main = (folder.parent for folder in above if folder.name == SUB_AGENTS)
        self._folder = next(main, transcript.parent / transcript.stem) / _RESULTS_FOLDER
        self._remaining_bytes = _MAX_TOTAL_BYTES

    def read(self, preview: str) -> str | None:
        """Return the whole text behind `preview`, None if it is not available."""
        name = parse_spilled_name(preview)
        if name is None or self._remaining_bytes <= 0:
            return None
        file = self._folder / name
        # A transcript is untrusted: it must not lead to a file outside of its session.
        if any(part.is_symlink() for part in (self._folder.parent, self._folder, file)):
            return None
        try:
            data, size = _read_head(file)
        except OSError:
            return None
        self._remaining_bytes -= len(data)
        return _decode_head(data, size)


def parse_spilled_name(text: str) -> str | None:
    """Return the name of the file that a tool result points to, None for a result in full."""
    if not text.lstrip().startswith(_PREVIEW_PREFIXES):
        return None
    match = _SAVED_TO.search(text[:_MAX_POINTER_CHARS])
    return match[1] if match else None


def _read_head(path: Path) -> tuple[bytes, int]:
    """Return the first 1 MiB of a regular file, and its size. Raise OSError for anything else."""
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a file")
        return file.read(_MAX_FILE_BYTES), status.st_size


def _decode_head(data: bytes, size: int) -> str:
    if size <= len(data):
        return data.decode("utf-8", "replace")
    # Cut between words: the sanitizer would not recognize half of a secret.
    head = data[: 1 + max(data.rfind(separator) for separator in (b"\n", b" ", b'"'))] or data
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(head)
    return f"{text.rstrip()}\n{format_omission('rest of the output', size - len(head))}"
