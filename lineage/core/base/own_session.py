"""Context blocks without the session that is told. For resumed and compacted sessions alone."""

from lineage.core.base.session_token import hash_identity

LAST_SESSION = "Last session"
RECOVERY = "A session that had not ended, its last messages"
"""The headings of the sections that begin with a session's line and go on with what it said."""


def drop_session(block: str, agent: str, session_id: str) -> str:
    r"""Return a block without the line and the summary of one session.

    >>> drop_session("Memory.\n\n## Last session\n> - Done. [[memory/2026--yruajzz2ynbltkjz--summary.md]]\n> It was.",
    ... "default", "sess-1")
    'Memory.'
    """
    token = hash_identity(agent, session_id)
    kept = []
    for section in block.split("\n\n## "):
        heading, *lines = section.split("\n")
        if heading in (LAST_SESSION, RECOVERY) and lines and token in lines[0]:
            continue
        left = [line for line in lines if f"--{token}--" not in line]
        if left or not lines:
            kept.append("\n".join([heading, *left]))
    return "\n\n## ".join(kept)
