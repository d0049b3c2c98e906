"""The index, read by a hook: what rows of the full text are of, whose texts `full_text` reads.

Read-only, and without `lineage.index`, whose imports take longer than a hook may. Any failure is a `sqlite3.Error`: the
index is missing or locked, has not these columns, or the time is over.
"""

import os
import sqlite3
import time

from lineage.core.search.index_sql import (
    MAX_OF_KIND,
    MAX_PASSAGES,
    OTHER_SESSIONS_ENTRY,
    PROJECT_OF_ENTRY,
    SHOWN_ARTIFACT,
    SHOWN_ENTRY,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

PASSAGE = "passage"
GLOBAL = "global"

_INDEX = os.path.join(".lineage", "index.db")
_BUSY_SECONDS = 0.05
_STEPS = 500  # of SQLite's machine between two looks at the clock

_FIND_NEWEST = "select coalesce(max(id), 0) from artifacts"
# The transcript alone, as its summary repeats it, and what was said in it: the files say today what tools gave then.
_SELECT_PASSAGES = f"""
    select f.value, a.project_key, a.session_token, a.membership_ts, a.title
    from json_each(:rows) f join artifacts a on a.id = f.value / {MAX_PASSAGES}
    where f.value > 0 and f.value % {MAX_PASSAGES} < {MAX_OF_KIND} and a.source_kind = 'transcript' and {SHOWN_ARTIFACT}
      and a.session_id != :session and not exists (
          select 1 from artifacts p where p.session_token = a.parent_token and p.session_id = :session)
"""
_SELECT_ENTRIES = f"""
    select f.value, {PROJECT_OF_ENTRY}, e.entry_id, e.kind, e.at, e.title, e.origin_token, e.scope, e.path
    from json_each(:rows) f join book_entries e on e.id = -f.value
    where f.value < 0 and e.hidden = 0 and e.shelf = '' and e.standing = 1 and {SHOWN_ENTRY}
      and {OTHER_SESSIONS_ENTRY}
"""
_SELECT_SUPERSEDED = """
    select entry_id, scope, text from book_entries
    where origin_token = ? and standing = 0 and hidden = 0 and shelf != 'pending'
"""
_SELECT_AMENDING = """
    select -id, entry_id, supersedes from book_entries where scope = ? and supersedes != '[]' and shelf != 'pending'
"""


class FoundRow:
    """A passage of a session, or an entry of a book: its number and its origin.

    `project` is the key of its session's project, `token` the session's, "" for none; `owner` that token, or the
    entry's id. `scope` and `path` are those of an entry's `book`.
    """

    __slots__ = ("at", "kind", "number", "owner", "path", "project", "scope", "title", "token")

    def __init__(
        self, number: int, project: str, owner: str, kind: str, at: str, title: str, token: str, *book: str
    ) -> None:
        self.number, self.project, self.owner, self.token = number, project, owner, token
        self.kind, self.at, self.title = kind, at, title
        self.scope, self.path = book or ("", "")

    def is_of(self, keys: "Sequence[str]", owns_folder: "Callable[[str], bool]") -> bool:
        """Return whether it is of a project or of the global books; where no session says so, by its book's folder."""
        if self.scope == GLOBAL or self.project in keys:
            return True
        is_of_nobody = not self.project and self.scope.startswith("project/")
        return is_of_nobody and owns_folder(self.path.rpartition("/")[0])


def open_index(root: str) -> sqlite3.Connection:
    """Open the index of a workspace to be read. Raises `sqlite3.Error`."""
    return open_database(os.path.join(root, _INDEX))


def open_database(path: str) -> sqlite3.Connection:
    """Open the file of an index to be read, all of it in one state, whoever writes. Raises `sqlite3.Error`."""
    for special in "%?#":
        path = path.replace(special, f"%{ord(special):02x}")
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_BUSY_SECONDS)
    connection.execute("begin")  # nothing is locked before the first read
    return connection


def set_deadline(connection: sqlite3.Connection, deadline: float) -> None:
    """Let reading fail once the monotonic clock is past the deadline. Raises `sqlite3.OperationalError` if it is."""
    if time.monotonic() > deadline:
        raise sqlite3.OperationalError("the time is over")
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)


def find_removed(connection: sqlite3.Connection, tokens: "Iterable[str]") -> set[str]:
    """Return those of these sessions that are removed, which the index may learn later."""
    _, _, path = connection.execute("pragma database_list").fetchone()
    root = os.path.dirname(os.path.dirname(path))
    return {token for token in tokens if is_removed(root, token)}


def is_removed(root: str, token: str) -> bool:
    """Return whether a workspace has a session's tombstone."""
    return os.path.exists(os.path.join(root, "memory", "tombstones", f"{token}.md"))


def find_newest(connection: sqlite3.Connection) -> int:
    """Return the number of the newest file."""
    (number,) = connection.execute(_FIND_NEWEST).fetchone()
    return int(number)


def load_rows(connection: sqlite3.Connection, rows: "Iterable[int]", agent: str | None, session: str) -> list[FoundRow]:
    """Return the rows that an agent may be told of, of any project; none of a session with this id."""
    values = {"rows": str(list(rows)), "agent": agent, "session": session}
    found = [
        FoundRow(number, project or "", token, PASSAGE, at, title or "", token)
        for number, project, token, at, title in connection.execute(_SELECT_PASSAGES, values)
    ]
    return found + [FoundRow(*columns) for columns in connection.execute(_SELECT_ENTRIES, values)]


def find_superseded(connection: sqlite3.Connection, token: str) -> list[tuple[str, list[int]]]:
    """Return what a session stated that holds no longer, each with the rows of the entries that stand in its place."""
    found = connection.execute(_SELECT_SUPERSEDED, (token,)).fetchall()
    amending = {scope: connection.execute(_SELECT_AMENDING, (scope,)).fetchall() for scope in {one[1] for one in found}}
    return [(text, _list_successors(name, amending[scope])) for name, scope, text in found]


def _list_successors(name: str, amending: "Sequence[tuple[int, str, str]]") -> list[int]:
    """Return the rows of what supersedes an entry, and of what supersedes that, the last one first."""
    rows, names = list[int](), [name]
    for older in names:
        newer = [one for one in amending if f'"{older}"' in one[2] and one[0] not in rows]
        rows += [row for row, _, _ in newer]
        names += [newer_name for _, newer_name, _ in newer]
    return rows[::-1]
