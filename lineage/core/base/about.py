"""The subject of an entry: `file:src/app.py`, `command:alembic upgrade`, `error:KeyError`.

Paths are relative to the repository. The hook path imports this module, so it is light.
"""

import re

FILE, COMMAND, ERROR = "file", "command", "error"
MAX_SUBJECTS = 8
_MAX_LENGTH = 200

ERROR_NAME = re.compile(
    r"(?<![\w.])(?:[\w.]*[A-Z]\w*[a-z0-9]"
    r"(?<!With)(?<!Handle)(?<!Return)(?<!Print)(?<!Wrap)(?<!Log)(?<!Get)(?<!Set)(?:Error|Exception|Warning|Fault)"
    r"|E(?:CONN|ADDR|HOST|NO|TIMED|PIPE|ACC|PERM|EXIST|BUSY|INVAL|MFILE)[A-Z]*"
    r"|SIG(?:SEGV|KILL|ABRT|BUS|ILL|PIPE|FPE)|(?:TS|CS|SC|ORA-|AADSTS)\d{4,6}|E0\d{3})(?![\w])"
)
"""An error's own name: `ValueError`, `ECONNREFUSED`, `SIGSEGV`, `TS2345`."""
_FILE = re.compile(r"(?!-)(?:[A-Za-z]:)?(?:[^\s/:]*/)*(?:[^\s/:]*\.\w{1,10}|[A-Z]\w*file|(?<=\w/))")
_PLACE = re.compile(r"(?::\d+){1,2}$")


def build_subject(sort: str, name: str) -> str:
    """Return the subject as one line, "" for one that is too long to be a name."""
    name = " ".join(name.split())
    return f"{sort}:{name}" if 0 < len(name) <= _MAX_LENGTH else ""


def split_subject(subject: str) -> "tuple[str, str]":
    """Return the sort and the name of an entry's subject.

    >>> split_subject("command:alembic upgrade head")
    ('command', 'alembic upgrade head')
    """
    sort, _, name = subject.partition(":")
    return sort, name


def classify_subject(text: str) -> str:
    """Return a subject as a person or an agent gave it, "" for none.

    A sort before it is taken as it is; else the form decides.

    >>> classify_subject("src/app.py:12"), classify_subject("KeyError"), classify_subject("pnpm test")
    ('file:src/app.py', 'error:KeyError', 'command:pnpm test')
    >>> classify_subject("file:notes of mine.txt"), classify_subject("Makefile"), classify_subject("error:E501")
    ('file:notes of mine.txt', 'file:Makefile', 'error:E501')
    """
    text = text[: 2 * _MAX_LENGTH].strip().strip("`").strip()
    sort, name = split_subject(text)
    if sort not in (FILE, COMMAND, ERROR):
        path = _PLACE.sub("", text)
        is_path = not ERROR_NAME.fullmatch(text) and _FILE.fullmatch(path)
        sort, name = (FILE, path) if is_path else (ERROR if ERROR_NAME.fullmatch(text) else COMMAND, text)
    return build_subject(sort, name.strip())
