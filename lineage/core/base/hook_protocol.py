"""Hooks and the worker: keys of queued payloads, relative to `.lineage/`, and their fields. It imports nothing."""

EVENT_QUEUE = "spool/signals/"
DEAD_LETTERS = "spool/dead/"
TURN_PREFIX = "turn--"
"""The beginning of the name of a turn's end: each replaces the one before it."""

COMPACTION_PREFIX = "compaction--"
"""The beginning of the name of what comes before a compaction: the hook behind it waits until it is worked off."""

CONTEXT_CACHE = "context/"
RECALL_LOG = "recall/"
"""What each session was given at its prompts and actions: a file of JSON lines, by the session's token."""

HOOK_LOG = "log/hook.log"
RECALL_MARK = "recall at the "
"""The beginning, behind the time, of a line about a recall that failed: the session itself is captured all the same."""

WORKER_LOCK = "worker"

VERSION = 1

COMPACTED, RESUMED, CLEARED = "compact", "resume", "clear"
"""Why a session starts that was there before."""

NO_RECALL = "--no-recall"
"""In a hook's command line: these events are not answered either."""

WORKER_LOCK_FD = 3
"""The descriptor of the lock that a hook takes for the worker, so that no other hook starts a second one."""


def session_block_name(session_id: str) -> str:
    """Return the name, in the place of a folder, of the block that a session is told after a compaction."""
    return f"session {session_id}"
