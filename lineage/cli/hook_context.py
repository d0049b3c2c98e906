"""The answer of a hook to the start of a session: the prepared context block. Little is imported, as for the hook."""

import os
import time

from lineage.core.base import hook_protocol
from lineage.core.base.context_blocks import ContextFile, find_context_file
from lineage.harness.registry import find_field, find_output

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

WAIT_SECONDS = 3.0  # after a compaction, for the block with the session's own statements

_POLL_SECONDS = 0.02


def print_context(root: str, harness: str, agent: str, payload: "dict[str, Any]", before: str) -> "Sequence[str]":
    """Print the prepared context block of the project that the session's folder belongs to, else what is global.

    Return the ids of the entries in it. After a compaction the block prepared for the session comes first; `before` is
    the name of the event before it. A resumed session has its own summary already.
    """
    sources = {payload.get("source"), payload.get("reason")} & {hook_protocol.COMPACTED, hook_protocol.RESUMED}
    session, names = find_field(payload, "session_id"), list[str]()
    if hook_protocol.COMPACTED in sources and session and _wait_for_worker(root, before):
        names = [hook_protocol.session_block_name(session)]
    file = read_context(root, agent, names) if names else ContextFile()
    if not file.text and (folder := find_field(payload, "cwd")):
        from lineage.projects import list_context_names

        file = read_context(root, agent, list_context_names(folder))
    if block := file.text:
        from lineage.core.base.hook_output import format_hook_output

        if sources and session:
            from lineage.core.base.own_session import drop_session

            block = drop_session(block, agent, session)
        write_stdout(format_hook_output(find_output(harness), block))
    return file.entry_ids


def _wait_for_worker(root: str, name: str) -> bool:
    """Wait until the worker has cleared an event of the queue. Return False if it takes too long."""
    path, until = os.path.join(root, ".lineage", hook_protocol.EVENT_QUEUE, name), time.monotonic() + WAIT_SECONDS
    while os.path.lexists(path):
        if time.monotonic() > until:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def write_stdout(text: str) -> None:
    """Write ASCII text past `sys.stdout`: a buffer flushed at exit could fail, and set the exit code."""
    view = memoryview(text.encode("ascii"))
    while view:
        view = view[os.write(1, view) :]


def read_context(root: str, agent: str, names: "Sequence[str]") -> ContextFile:
    """Return the prepared block of an agent under the first of these names, an empty one without any."""

    def read(key: str) -> str:
        try:
            with open(os.path.join(root, ".lineage", key), encoding="utf-8", errors="replace", newline="") as file:
                return file.read()
        except OSError:
            return ""

    return find_context_file(read, agent, names)
