"""What memory holds about an action: lessons and decisions that are bound to its file, its command or its error.

A file is known by its path below the root of its repository, so that one of the same name elsewhere is another one; a
command by its first words, an error by its name in the output. (usefulness: What an agent is given, and when)
"""

import re
import sqlite3

from lineage.core.base.about import COMMAND, ERROR, FILE, split_subject
from lineage.core.search.index_sql import OTHER_SESSIONS_ENTRY, PROJECT_OF_ENTRY, SHOWN_ENTRY
from lineage.recall.items import Recall, RecalledItem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

MAX_ITEMS = 2
_MAX_CHARS = 800
_READ_CHARS = 20_000  # of a command, and of either end of an error's output
_PARTS = re.compile(r"&&|\|\|?|;|\n|\$\(|[()`]")
# What a commit, a pull request or a terminal is told. Other quotations may be run: `ssh host 'make test'`.
_SAID = r"(\"\$\(cat <<-?'?(\w+)'?\n(?:.*\n)*?[ \t]*\3\s*\)\"|'[^']*'|\"(?:\\.|[^\"\\])*\")"
_TOLD = re.compile(rf"((?<!\S)(?:-\w{{0,8}}m|--(?:message|title|body|notes)|echo|printf)[ =]\s*){_SAID}")
_TOLD_A_FORGE = re.compile(rf"((?<!\S)-[bt] \s*){_SAID}")
_ASSIGNMENT = re.compile(r"\w+=\S*")
_RUNNERS = (
    ("sudo",), ("env",), ("time",), ("nohup",), ("!",), ("{",), ("npx",), ("uv", "run"), ("poetry", "run"),
    ("bundle", "exec"),
)  # fmt: skip
_COLOUR = re.compile(r"\x1b\[[\d;:?]*[A-Za-z]")
# Said alone, the name of one of these says nothing of what is done.
_COMMON = frozenset(
    {"bash", "cat", "cd", "cp", "echo", "find", "git", "grep", "ls", "mv", "node", "python", "rg", "rm", "sh"}
)

# The index on `about` begins with the lists that hold something: they sort before an empty one.
_SELECT_BOUND = """
    select e.id, s.value from book_entries e, json_each(e.about) s
    where e.about < '[]' and e.kind in ('decision', 'lesson', 'preference')
      and e.standing = 1 and e.hidden = 0 and e.shelf = ''
      and (s.value in (select value from json_each(:files)) or instr(:command, substr(s.value, 9)) > 0
           or instr(:error, substr(s.value, 7)) > 0)
"""
_SELECT_ENTRIES = f"""
    select e.id, e.entry_id, e.scope, e.path, e.kind, e.at, e.title, e.text, e.trust,
           {PROJECT_OF_ENTRY}
    from book_entries e
    where e.id in (select value from json_each(:numbers)) and {SHOWN_ENTRY} and {OTHER_SESSIONS_ENTRY}
"""


class Action:
    """An edit or a command: the keys of its project, its files' paths below the root, and the output of a failure."""

    __slots__ = ("command", "error", "paths", "project_keys")

    def __init__(self, project_keys: "Sequence[str]", paths: "Sequence[str]", command: str, error: str) -> None:
        self.project_keys, self.paths = tuple(project_keys), tuple(paths)
        self.command = _normalize(command[:_READ_CHARS])
        is_long = len(error) > 2 * _READ_CHARS
        self.error = _COLOUR.sub("", f"{error[:_READ_CHARS]}\n{error[-_READ_CHARS:]}" if is_long else error)


def recall_at_action(
    connection: sqlite3.Connection,
    action: Action,
    agent: str | None,
    *,
    owns_folder: "Callable[[str], bool]" = lambda _: False,
    given: "Collection[str]" = (),
    exclude_session: str = "",
) -> Recall:
    """Return the lessons and decisions bound to an action, what a user stated first, then the newest.

    Of the project and global ones alone; global ones say nothing of a file, for its path is a project's. `owns_folder`
    tells of a folder of the workspace whether its books are the project's, where no session says so. Raises
    `sqlite3.Error`.
    """
    bound = _find_bound(connection, action)
    values = {"numbers": str(list(bound)), "agent": agent, "session": exclude_session}
    rows = connection.execute(_SELECT_ENTRIES, values).fetchall() if bound else []
    items = list[RecalledItem]()
    for number, name, scope, path, kind, at, title, text, _, key in sorted(
        rows, key=lambda row: (row[8], row[5], row[1]), reverse=True
    ):
        if scope == "global":
            is_told = any(split_subject(subject)[0] != FILE for subject in bound[number])
        elif key in action.project_keys:
            is_told = scope.startswith(("project/", "agent/"))
        else:
            is_told = scope.startswith("project/") and owns_folder(path.rpartition("/")[0])
        if is_told and name not in given and len(items) < MAX_ITEMS:
            heading = "" if title == at[:16].replace("T", " ") else title
            items.append(RecalledItem(name, text[:_MAX_CHARS], scope, heading, at, kind))
    return Recall(items)


def _find_bound(connection: sqlite3.Connection, action: Action) -> "dict[int, list[str]]":
    """Return the entries that are bound to an action, by number, with what they are bound to."""
    files = [f"{FILE}:{place}" for path in action.paths for place in _iter_places(path)]
    values = {"files": _quote_list(files), "command": action.command, "error": action.error}
    bound: dict[int, list[str]] = {}
    for number, subject in connection.execute(_SELECT_BOUND, values):
        sort, name = split_subject(subject)
        is_met = (
            subject in files
            if sort == FILE
            else _runs(action.command, name)
            if sort == COMMAND
            else sort == ERROR and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", action.error) is not None
        )
        if is_met:
            bound.setdefault(number, []).append(subject)
    return bound


def _iter_places(path: str) -> "Iterator[str]":
    """Yield a file's path and the folders that it lies in, which end in a slash."""
    yield path
    while "/" in path:
        path = path.rpartition("/")[0]
        yield f"{path}/"


def _normalize(command: str) -> str:
    """Return a line of commands as one command a line, with single spaces, without what only runs them.

    One that is called by a path stands there by its name, too.

    >>> _normalize("FOO=1 nohup ./venv/bin/alembic  upgrade head && ls").splitlines()
    ['./venv/bin/alembic upgrade head', 'alembic upgrade head', 'ls']
    >>> _normalize('git commit -m "fix; pytest is green"; echo "$(make lint)"').splitlines()
    ['git commit -m "fix pytest is green"', 'echo "', 'make lint', '"']
    """
    lines = []
    command = _TOLD.sub(_join_told, command)
    if command.startswith(("gh ", "glab ")) or " gh " in command:
        command = _TOLD_A_FORGE.sub(_join_told, command)
    for part in _PARTS.split(command):
        words = part.split()
        while words and (_ASSIGNMENT.fullmatch(words[0]) or (words[0],) in _RUNNERS or tuple(words[:2]) in _RUNNERS):
            del words[: 2 if tuple(words[:2]) in _RUNNERS else 1]
        lines.append(" ".join(words))
        if words and "/" in words[0]:
            lines.append(" ".join([words[0].rpartition("/")[2], *words[1:]]))
    return "\n".join(filter(None, lines))


def _join_told(match: re.Match[str]) -> str:
    """Return a quotation without what would end a command, unless it runs one itself."""
    before, text, heredoc = match.groups()
    runs = not heredoc and text[0] == '"' and ("$(" in text or "`" in text)
    return match[0] if runs else f"{before}{_PARTS.sub(' ', text)}"


def _runs(commands: str, name: str) -> bool:
    """Return whether one of the commands begins with these words."""
    name = " ".join(name.split())
    return name not in _COMMON and any(f"{line} ".startswith(f"{name} ") for line in commands.split("\n"))


def _quote_list(texts: "Sequence[str]") -> str:
    # every text is a path: json itself costs as much as Python's start
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts if text.isprintable())
    return "[" + ", ".join(f'"{text}"' for text in quoted) + "]"
