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

from lineage.core.base.book_paths import BOOKS
from lineage.core.base.file_names import escape_name
from lineage.core.base.links import to_one_line
from lineage.core.format import frontmatter
from lineage.errors import FormatError, InvalidInput
from lineage.harness.projects import resolve_project
from lineage.store import ExistsError, read_or_none
from lineage.workspace.workspace import Workspace

CLAIM_NOTE = "About this folder.md"
"""No book's file name: those have no spaces."""

_HOME = re.compile(r"\A(?:/home/[^/]*|/users/[^/]*|/root|[a-z]:/users/[^/]*)(?=/|\Z)", re.IGNORECASE)
_ABOUT = """The books in this folder are those of one project. Another project of the same name has a folder of its own,
named with a short hash.
"""


def resolve_project_folder(ws: Workspace, project: str | None, *, claim: bool = False) -> str | None:
    """The `<name>` of a project's scope `project/<name>`, None where there is no project. `project` is a path, of a
    folder in it or of a worktree, or a bare name. `claims` is for who is about to write there."""
    key = build_project_key(resolve_project(project))
    name = key.rpartition("/")[2]
    if name in ("", "~"):
        return None
    hashed = f"{name}-{_hash_key(key)[:8]}"
    if not _is_valid_name(hashed):
        return f"project-{_hash_key(key)[:8]}"
    if name == key or _find_owner(ws, name, key, claim=claim) == _hash_key(key):
        return name
    return hashed


def build_project_key(project: str | None) -> str:
    """What tells a project from others: its path below the home directory, "" for none.

    >>> (build_project_key("/home/ada/code/demo/"), build_project_key("C:\\\\Users\\\\ada\\\\code\\\\demo"),
    ... build_project_key("demo"))
    ('~/code/demo', '~/code/demo', 'demo')
    """
    return _HOME.sub("~", to_one_line(project or "").replace("\\", "/").rstrip("/"), count=1)


def _find_owner(ws: Workspace, name: str, key: str, *, claim: bool) -> str:
    """The digest of the project whose folder it is; of this one where it is nobody's yet."""
    path = f"{BOOKS}project/{escape_name(name)}/{CLAIM_NOTE}"
    blob = read_or_none(ws.documents.store, path)
    if blob is None and claim:
        try:
            meta = {"kind": "project", "project": name, "key": _hash_key(key)}
            note = frontmatter.dump(frontmatter.build_post(meta, _ABOUT))
            ws.documents.store.create(path, note.encode())
        except ExistsError:
            return _find_owner(ws, name, key, claim=False)
    return _parse_claim(blob.data) if blob else _hash_key(key)


def _parse_claim(data: bytes) -> str:
    try:
        return str(frontmatter.load(data.decode("utf-8")).get("key"))
    except (FormatError, UnicodeDecodeError):
        return ""


def _hash_key(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()[:16]


def _is_valid_name(name: str) -> bool:
    try:
        return bool(escape_name(name))
    except InvalidInput:
        return False
