"""The paths of the notes of projects and days, and the mark of their block (format: Notes of projects and days)."""

import re
from contextlib import suppress

from lineage.core.base.file_names import escape_name, unescape_name
from lineage.errors import InvalidInput

PROJECTS = "projects/"
DAYS = "days/"
FOLDERS = (PROJECTS, DAYS)

_BEGIN = "<!-- lineage:begin: lineage writes what follows, and writes it again; above and below is yours -->"
_END = "<!-- lineage:end -->"
_BLOCK = re.compile(
    rf"{re.escape(_BEGIN[:18])}[^\n]*-->\r?\n(?P<text>.*?){re.escape(_END)}(?:\r?\n)?".encode(), re.DOTALL
)
_PROJECT_NOTE = re.compile(rf"{PROJECTS}([^/ ]+)(?: (\d{{4}}-\d\d))?\.md")
_DAY_NOTE = re.compile(rf"{DAYS}(\d{{4}}-\d\d-\d\d)\.md")
_NO_TAG = re.compile(r"[^\w-]+")


# A month has a space in its name, which no escaped name has: no project's note is another one's month.
def project_note_path(name: str, month: str = "") -> str:
    """Return the path of a project's note, or of one of its months.

    >>> [project_note_path(name) for name in ("demo", "CON", "a/b")], project_note_path("demo", "2026-11")
    (['projects/demo.md', 'projects/~-~c~o~n.md', 'projects/a~02f~b.md'], 'projects/demo 2026-11.md')
    """
    return f"{PROJECTS}{escape_name(name)}{month and f' {month}'}.md"


def day_note_path(date: str) -> str:
    """Return the path of a day's note."""
    return f"{DAYS}{date}.md"


def parse_project_note(path: str) -> tuple[str, str] | None:
    """Return the project that a note is of, and its month or "", None for any other file.

    >>> parse_project_note("projects/demo 2026-11.md"), parse_project_note("projects/Mine.md")
    (('demo', '2026-11'), None)
    """
    match = _PROJECT_NOTE.fullmatch(path)
    with suppress(InvalidInput):
        name, month = (unescape_name(match[1]), match[2] or "") if match else ("", "")
        return (name, month) if project_note_path(name, month) == path else None
    return None


def parse_day_note(path: str) -> str | None:
    """Return the day that a note is of, None for any other file."""
    match = _DAY_NOTE.fullmatch(path)
    return match[1] if match else None


def project_tag(name: str) -> str:
    """Return the tag of a project, without the number sign; Obsidian's tags hold letters, digits, dashes, slashes.

    >>> project_tag("my.app"), project_tag("مشروع")
    ('project/my-app', 'project/مشروع')
    """
    return f"project/{_NO_TAG.sub('-', name)}"


def find_block(data: bytes) -> bytes | None:
    """Return the text of lineage's block in a note, with plain line ends; None without one: the file is a person's."""
    match = _BLOCK.search(data)
    return match["text"].replace(b"\r\n", b"\n") if match else None


def replace_block(data: bytes | None, text: str | None) -> bytes | None:
    r"""Return a note with this text in its block, None to leave it alone; without a text the block goes.

    >>> replace_block(b"mine", "x\n") is None, replace_block(replace_block(None, "x\n") + b"mine", None)
    (True, b'mine')
    """
    block = b"" if text is None else f"{_BEGIN}\n{text}{_END}\n".encode()
    if data is None:
        return block or None
    found = find_block(data)
    if found is None or (text is not None and found == text.encode() and len(_BLOCK.findall(data)) == 1):
        return None
    first = _BLOCK.search(data)
    start = first.start() if first else 0
    return data[:start] + block + _BLOCK.sub(b"", data[start:])  # a merge by a sync may have left a second one
