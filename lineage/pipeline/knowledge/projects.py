"""Which book folder a project has: its base name, with a short hash where two share it. (format: Identity)

Whether two share a name is not looked for: the first project of a name claims its folder by a note in it, created once
and synced with the books; any other project of that name finds the claim and goes by name and hash. So a folder never
changes hands, on no machine, and no list of projects is kept. A note that is deleted is claimed anew by whoever comes
next; one that can't be read is somebody else's.

Projects are told apart by their repository's folder, whichever worktree a session ran in (lessons: 49), and home
directories don't count: the same checkout on two machines is one project. A bare name, as people type it, is the
project that has that folder.
"""

import hashlib
import re

from lineage.core import frontmatter
from lineage.core.book_paths import BOOKS, escaped_name
from lineage.core.links import one_line
from lineage.errors import FormatError, InvalidInput
from lineage.harness.projects import project_of
from lineage.pipeline.house import House
from lineage.store import ExistsError, read_or_none

CLAIM = "About this folder.md"
"""No book's file name: those have no spaces."""

_HOME = re.compile(r"\A(?:/home/[^/]*|/users/[^/]*|/root|[a-z]:/users/[^/]*)(?=/|\Z)", re.IGNORECASE)
_ABOUT = """The books in this folder are those of one project. Another project of the same name has a folder of its own,
named with a short hash.
"""


def project_folder(house: House, project: str | None, *, claims: bool = False) -> str | None:
    """The `<name>` of a project's scope `project/<name>`, None where there is no project. `project` is a path, of a
    folder in it or of a worktree, or a bare name. `claims` is for who is about to write there."""
    key = project_key(project_of(project))
    name = key.rpartition("/")[2]
    if name in ("", "~"):
        return None
    hashed = f"{name}-{_digest(key)[:8]}"
    if not _fits(hashed):
        return f"project-{_digest(key)[:8]}"
    if name == key or _holder(house, name, key, claims=claims) == _digest(key):
        return name
    return hashed


def project_key(project: str | None) -> str:
    """What tells a project from others: its path below the home directory, "" for none.

    >>> project_key("/home/ada/code/demo/"), project_key("C:\\\\Users\\\\ada\\\\code\\\\demo"), project_key("demo")
    ('~/code/demo', '~/code/demo', 'demo')
    """
    return _HOME.sub("~", one_line(project or "").replace("\\", "/").rstrip("/"), count=1)


def _holder(house: House, name: str, key: str, *, claims: bool) -> str:
    """The digest of the project whose folder it is; of this one where it is nobody's yet."""
    path = f"{BOOKS}project/{escaped_name(name)}/{CLAIM}"
    blob = read_or_none(house.canon.store, path)
    if blob is None and claims:
        try:
            note = frontmatter.dump({"kind": "project", "project": name, "key": _digest(key)}, _ABOUT)
            house.canon.store.create(path, note.encode())
        except ExistsError:
            return _holder(house, name, key, claims=False)
    return _claimed(blob.data) if blob else _digest(key)


def _claimed(data: bytes) -> str:
    try:
        return str(frontmatter.load(data.decode("utf-8"))[0].get("key"))
    except (FormatError, UnicodeDecodeError):
        return ""


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]


def _fits(name: str) -> bool:
    try:
        return bool(escaped_name(name))
    except InvalidInput:
        return False
