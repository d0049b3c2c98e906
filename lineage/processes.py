"""The process of a harness: the one that started a hook, and whether it still runs.

Hooks import this module, so it imports `os` alone.
"""

import os

_MAX_ANCESTORS = 8
_WRAPPERS = frozenset(
    {
        "ash", "bash", "busybox", "dash", "env", "fish", "init", "ksh", "lineage", "nice", "nohup", "pipx", "setsid",
        "sh", "systemd", "timeout", "uv", "uvx", "zsh",
    }
)  # fmt: skip


def find_harness() -> str | None:
    """Return the harness's process, its id and its start as `is_running` takes them; None if that isn't known.

    LINEAGE_HARNESS_PID names it, else it is the nearest ancestor that is no shell, wrapper or Python.
    """
    if named := os.environ.get("LINEAGE_HARNESS_PID"):
        stat = _read_stat(int(named)) if named.isdecimal() else None
        return f"{named} {stat[2]}" if stat else None
    process = os.getppid()
    for _ in range(_MAX_ANCESTORS):
        stat = _read_stat(process)
        if stat is None or process <= 1:
            return None
        name, parent, start = stat
        if name not in _WRAPPERS and not name.startswith("python"):
            return f"{process} {start}"
        process = parent
    return None


def is_running(process: str) -> bool:
    """Return whether a process still runs: the system may have given its id to another one, with another start."""
    number, _, start = process.partition(" ")
    stat = _read_stat(int(number))
    return stat is not None and stat[2] == start


def _read_stat(process: int) -> tuple[str, int, str] | None:
    """Return a process's name, the id of its parent and the time of its start; None if the system doesn't say."""
    try:
        with open(f"/proc/{process}/stat", "rb") as file:  # noqa: PTH123  (a hook does not import pathlib)
            stat = file.read()
    except OSError:  # it is gone, or the system has no such files
        return None
    fields = stat[stat.rindex(b")") + 2 :].split()
    if fields[0] in b"ZX":  # dead, and nobody has asked for its status yet
        return None
    name = stat[stat.index(b"(") + 1 : stat.rindex(b")")].decode("ascii", "replace")
    return name, int(fields[1]), fields[19].decode()
