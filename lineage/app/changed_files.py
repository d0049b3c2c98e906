"""How many of the files that a session touched have changed since, by the commits of its repository.

One call of git for each answer, bounded in time and in commits; without git, a repository or an answer in time nothing
is said.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lineage.app.locations import SUPPRESS_VARIABLE
from lineage.core.base.plural import pluralize
from lineage.core.base.project import relate_path
from lineage.core.base.times import to_utc
from lineage.core.format.summary import list_files
from lineage.errors import InvalidInput
from lineage.index import Hit, SessionRow

_SECONDS = 1.0
_MAX_COMMITS = 2_000
_TIME_MARK = "\x01"
# What a repository's own settings could start stays off: its folder may be anybody's.
_GIT = (
    "git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "log.showSignature=false", "-c", "core.quotePath=false",
)  # fmt: skip
_LOG = ("log", f"-n{_MAX_COMMITS}", f"--format={_TIME_MARK}%cI", "--name-only", "--no-renames", "-z")


@dataclass(frozen=True, slots=True)
class TouchedFiles:
    """The files that a session or a decision has to do with, below the root of its project, and its time."""

    project: str | None
    at: str | None
    files: Sequence[str]


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """How many of the files have changed since."""

    changed: int
    files: int

    def __str__(self) -> str:
        verb = "has" if self.changed == 1 else "have"
        return f"{self.changed} of the {pluralize(self.files, 'file')} it touched {verb} changed since"


def list_touched(hits: Sequence[Hit]) -> list[TouchedFiles]:
    """Return the files and times of search results."""
    return [TouchedFiles(hit.project, hit.membership_ts, hit.files) for hit in hits]


def count_changed_since(session: SessionRow, summary: str) -> ChangedFiles | None:
    """Return the changes since a session to the files that its summary lists."""
    related = (relate_path(path, session.project or "") for path in list_files(summary))
    files = list(dict.fromkeys(filter(None, related)))
    return count_changed_files([TouchedFiles(session.project, session.membership_ts, files)])[0]


def count_changed_files(touched: Sequence[TouchedFiles]) -> list[ChangedFiles | None]:
    """Return for each the changes since, None without files, time or repository.

    One repository is asked: that of the first of them.
    """
    asked = [one if one.files and one.at and one.project else None for one in touched]
    first = next(filter(None, asked), None)
    if first is None or first.project is None:
        return [None] * len(touched)
    own = [one if one and one.project == first.project else None for one in asked]
    changes = _read_changes(first.project, min(one.at or "" for one in own if one))
    if changes is None:
        return [None] * len(touched)
    return [_count(one, changes) if one else None for one in own]


def _count(one: TouchedFiles, changes: Mapping[str, str]) -> ChangedFiles:
    return ChangedFiles(sum(changes.get(name, "") > (one.at or "") for name in one.files), len(one.files))


def _read_changes(project: str, since: str) -> dict[str, str] | None:
    """Return when each file was committed last since a time, None without an answer."""
    if not Path(project).is_absolute() or not (Path(project) / ".git").exists():
        return None
    environment = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", SUPPRESS_VARIABLE: "1"}
    command = [*_GIT, "-C", project, *_LOG, f"--since={since}"]
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=_SECONDS, check=False, env=environment, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return _parse_log(done.stdout.decode("utf-8", "replace")) if done.returncode == 0 else None


def _parse_log(log: str) -> dict[str, str]:
    changes: dict[str, str] = {}
    for commit in log.split(_TIME_MARK)[1:]:
        time, _, names = commit.partition("\0")
        try:
            at = to_utc(time.strip())
        except InvalidInput:
            continue
        for name in names.split("\0"):
            if name.strip():
                changes[name.strip("\n")] = max(at, changes.get(name.strip("\n"), ""))
    return changes
