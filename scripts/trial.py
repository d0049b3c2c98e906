"""What `scripts/quickstart` shows of a memory: what an agent would be told. Usage: python trial.py WORKSPACE

A program of its own that knows `lineage.api` alone. A memory without a session gets the sample first.
"""

import sys
from datetime import UTC, datetime
from pathlib import Path

from lineage import api

_SAMPLE = Path(__file__).parent / "sample" / "claude-code.jsonl"
_SAMPLE_ID = "5f0c2f7e-1d7a-5b7e-9c55-7a1d6e0c9b11"
_ANY_SESSION = "since:2000-01-01 kind:summary"


def main(workspace: str) -> None:
    """Print what a session in the newest session's project would be told."""
    memory = api.open_workspace(workspace)
    newest = api.search(memory, _ANY_SESSION, limit=1, agent=None).hits
    if not newest:
        print("No sessions of your own: capturing the bundled sample, as ended now.\n")
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        api.capture(memory, session_id=_SAMPLE_ID, harness="claude-code", transcript_path=_SAMPLE, ended_at=now)
        newest = api.search(memory, _ANY_SESSION, limit=1, agent=None).hits
    project = newest[0].project
    print(f"What an agent would be told at its next start{f' in {project}' if project else ''}:\n")
    print(api.context(memory, project=project).text)


if __name__ == "__main__":
    main(sys.argv[1])
