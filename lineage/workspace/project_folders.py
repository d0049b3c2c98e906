"""The book folder of a project: its base name, with a short hash if two projects share it (format: Identity).

The first project of a name claims the folder by a note in it, which is synced with the books. Another project of that
name finds the claim and takes name and hash. So a folder never changes hands, and nobody keeps a list of projects. A
deleted note can be claimed again; an unreadable one belongs to another project.

A project is its repository's folder below the home directory: worktrees are one project (lessons: 49), and so is the
same checkout on two machines. A bare name means the project with that folder.
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
"""The name of the note; book files have no spaces."""

_HOME = re.compile(r"\A(?:/home/[^/]*|/users/[^/]*|/root|[a-z]:/users/[^/]*)(?=/|\Z)", re.IGNORECASE)
_ABOUT = """The books in this folder are those of one project. Another project of the same name has a folder of its own,
named with a short hash.
"""


def resolve_project_folder(ws: Workspace, project: str | None, *, claim: bool = False) -> str | None:
    """Return a project's `<name>` by name or path, None without one; `claim` takes a free folder first."""
    key = build_project_key(resolve_project(project))
    name = key.rpartition("/")[2]
    if name in ("", "~"):
        return None
    # A name that no file system accepts is replaced by the hash alone.
    hashed = f"{name}-{_hash_key(key)[:8]}"
    if not _is_valid_name(hashed):
        return f"project-{_hash_key(key)[:8]}"
    if name == key or _find_owner(ws, name, key, claim=claim) == _hash_key(key):
        return name
    return hashed


def build_project_key(project: str | None) -> str:
    r"""Return the project's path below the home directory, "" for none.

    >>> (build_project_key("/home/ada/code/demo/"), build_project_key("C:\\Users\\ada\\code\\demo"),
    ... build_project_key("demo"))
    ('~/code/demo', '~/code/demo', 'demo')
    """
    return _HOME.sub("~", to_one_line(project or "").replace("\\", "/").rstrip("/"), count=1)


def _find_owner(ws: Workspace, name: str, key: str, *, claim: bool) -> str:
    """Return the hash of the project that owns the folder; this one's if the folder is free."""
    path = f"{BOOKS}project/{escape_name(name)}/{CLAIM_NOTE}"
    blob = read_or_none(ws.documents.store, path)
    if blob is None and claim:
        try:
            meta = {"kind": "project", "project": name, "key": _hash_key(key)}
            note = frontmatter.dump(frontmatter.build_post(meta, _ABOUT))
            ws.documents.store.create(path, note.encode())
        except ExistsError:  # another process claimed the folder just now
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
