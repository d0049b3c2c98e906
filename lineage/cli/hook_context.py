"""The answer of a hook to the start of a session: the prepared context block. Little is imported, as for the hook."""

import os
import time
from zlib import crc32

from lineage.core.base import hook_protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

WAIT_SECONDS = 3.0  # after a compaction, for the block with the session's own statements

_POLL_SECONDS = 0.02
_MAX_FOLDERS = 40  # each is a look at the disk before the session starts


def print_context(root: str, harness: str, agent: str, payload: "dict[str, Any]", before: str) -> None:
    """Print the prepared context block of the session's folder, of one above it in its repository, or of that.

    After a compaction the block prepared for the session comes first; `before` is the name of the event before it. A
    resumed session has its own summary already.
    """
    sources = {payload.get("source"), payload.get("reason")} & {hook_protocol.COMPACTED, hook_protocol.RESUMED}
    session, own = payload.get("session_id") or payload.get("sessionId"), ""
    if hook_protocol.COMPACTED in sources and isinstance(session, str) and _wait_for_worker(root, before):
        own = read_context(root, agent, hook_protocol.session_block_name(session))
    folder = payload.get("cwd") or payload.get("directory") or payload.get("worktree")
    if not isinstance(folder, str):
        roots = payload.get("workspace_roots")
        folder = roots[0] if isinstance(roots, list) and roots else None
    blocks = (read_context(root, agent, place) for place in _iter_places(folder)) if isinstance(folder, str) else ()
    if block := own or next(filter(None, blocks), ""):
        from lineage.core.base.hook_output import format_hook_output

        if sources and isinstance(session, str):
            from lineage.core.base.own_session import drop_session

            block = drop_session(block, agent, session)
        _write_stdout(format_hook_output(harness, block))


def _wait_for_worker(root: str, name: str) -> bool:
    """Wait until the worker has cleared an event of the queue. Return False if it takes too long."""
    path, until = os.path.join(root, ".lineage", hook_protocol.EVENT_QUEUE, name), time.monotonic() + WAIT_SECONDS
    while os.path.lexists(path):
        if time.monotonic() > until:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _iter_places(folder: str) -> "Iterator[str]":
    """Yield a folder, its parents up to its repository's root, and its project's key (format: Identity)."""
    places = [folder]
    while not os.path.lexists(os.path.join(places[-1], ".git")):
        parent = os.path.dirname(places[-1])
        if parent == places[-1] or len(places) == _MAX_FOLDERS:
            places = [folder]
            break
        places.append(parent)
    yield from places
    from lineage.projects import find_project_key

    yield find_project_key(folder)


def _write_stdout(text: str) -> None:
    # past sys.stdout: a buffer flushed at exit could fail, and set the exit code
    view = memoryview(text.encode("ascii"))
    while view:
        view = view[os.write(1, view) :]


def read_context(root: str, agent: str, folder: str) -> str:
    """Return the prepared block of an agent in a folder, "" without one."""
    key = hook_protocol.context_block_key(agent, folder, crc32(f"{agent}\n{folder}".encode("utf-8", "replace")))
    try:
        with open(os.path.join(root, ".lineage", key), encoding="utf-8", errors="replace") as file:
            return file.read() if file.readline() == hook_protocol.context_block_header(agent, folder) else ""
    except OSError:
        return ""
