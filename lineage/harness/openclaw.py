"""The adapter of OpenClaw: pi's entries under `agents/<agent>/sessions/<id>.jsonl`. (harnesses.md, section 8).

The session key is a lane: a lasting chat with one session after another. No session's file names it, and
`sessions.json` knows only the present session of each key. So the key, and the key of a sub-agent's parent, come with
the hook's payload. (format: Identity)
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from lineage.core.capture.capture import Capture
from lineage.harness.adapter import SessionLocation, list_files
from lineage.harness.pi import read_tree_transcript


def read(path: Path, session: str | None = None) -> Capture:
    """Return the session of a file. Raise TranscriptError for unreadable and foreign files."""
    # A chat's topics have files of their own with the same id in each header: there the file's name is the id.
    capture = read_tree_transcript(path, "OpenClaw")
    is_topic = capture.session_id is not None and path.stem.startswith(f"{capture.session_id}-topic-")
    return replace(capture, session_id=path.stem) if is_topic else capture


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """Return `agents/` of the state folder."""
    return [Path(environment.get("OPENCLAW_STATE_DIR") or home / ".openclaw", "agents")]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Yield every live session."""
    # Copies that were set aside have one more dot: `<id>.checkpoint.<uuid>.jsonl`, `<id>.jsonl.reset.<time>`, `.bak`.
    return (item for item in list_files(root, (".jsonl",)) if item.path == root or "." not in item.path.stem)
