"""pi's sessions: `--<cwd>--/<time>_<id>.jsonl`. (harnesses.md, section 7)"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from lineage.core.capture import Capture
from lineage.harness.entries import read_entries
from lineage.harness.listing import files
from lineage.harness.port import Found


def read(path: Path, session: str | None = None) -> Capture:
    """The session that a file holds. Raises TranscriptError for unreadable and foreign files."""
    return read_entries(path, "pi")


def roots(home: Path, environment: Mapping[str, str]) -> list[Path]:
    """The folder of sessions, `sessions/` of the agent's folder unless it was moved alone."""
    agent = Path(environment.get("PI_CODING_AGENT_DIR") or home / ".pi/agent")
    return [Path(environment.get("PI_CODING_AGENT_SESSION_DIR") or agent / "sessions")]


def found(root: Path) -> Iterator[Found]:
    """Every session, forks among them."""
    return files(root, (".jsonl",))
