"""OpenClaw's sessions: pi's entries under `agents/<agent>/sessions/<id>.jsonl`. (harnesses.md, section 8)

The session key is a lane: a chat that lives for ever and has one session after another. No session's file names it, and
`sessions.json` knows each key's present session alone: the key, and the parent of a sub-agent, which is given by key,
come with the signal. (format: Identity)
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from lineage.core.capture.capture import Capture
from lineage.harness.adapter import SessionLocation
from lineage.harness.history_files import list_files
from lineage.harness.tree_transcripts import read_tree_transcript


def read(path: Path, session: str | None = None) -> Capture:
    """The session that a file holds. A chat's topics have files of their own, `<id>-topic-<topic>.jsonl`, whose headers
    say the same id: there the file's name is the id. Raises TranscriptError for unreadable and foreign files."""
    capture = read_tree_transcript(path, "OpenClaw")
    is_topic = capture.session_id is not None and path.stem.startswith(f"{capture.session_id}-topic-")
    return capture._replace(session_id=path.stem) if is_topic else capture


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """`agents/` of the state folder."""
    return [Path(environment.get("OPENCLAW_STATE_DIR") or home / ".openclaw", "agents")]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Every live session; copies that were set aside (`<id>.checkpoint.<uuid>.jsonl`, `<id>.jsonl.reset.<time>`,
    `.deleted`, `.bak`) and other files beside them have one more dot in their names and are passed over."""
    return (item for item in list_files(root, (".jsonl",)) if item.path == root or "." not in item.path.stem)
