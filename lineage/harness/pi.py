"""pi's sessions: `--<cwd>--/<time>_<id>.jsonl`. (harnesses.md, section 7)"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from lineage.core.capture.capture import Capture
from lineage.harness.adapter import SessionLocation
from lineage.harness.history_files import list_files
from lineage.harness.tree_transcripts import read_tree_transcript


def read(path: Path, session: str | None = None) -> Capture:
    """The session that a file holds. Raises TranscriptError for unreadable and foreign files."""
    return read_tree_transcript(path, "pi")


def list_roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """The folder of sessions, `sessions/` of the agent's folder unless it was moved alone."""
    agent = Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi/agent")
    return [Path(environment.get("PI_CODING_AGENT_SESSION_DIR") or agent / "sessions")]


def discover(root: Path) -> Iterator[SessionLocation]:
    """Every session, forks among them."""
    return list_files(root, (".jsonl",))
