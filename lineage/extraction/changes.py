"""What an agent's calls committed and opened: the subject or title is the agent's, the id alone the tool's."""

import re
import shlex
from collections.abc import Iterator

from lineage.core.base.links import to_one_line

_MAX_COMMAND = 100_000
_MAX_ARGUMENTS = 4_000  # characters, read for a title
_START = r"(?:^|[\n;&|(])[ \t]*"  # of a command, and not of what another one prints or looks for
_DOCUMENT = r"[\"']?\$\(cat <<-?\s*['\"]?\w+['\"]?\n\s*(?P<document>[^\n]+)"
_COMMIT = re.compile(  # its message: in quotation marks, or in a here-document
    _START + r"git (?:-\S+ \S+ ){0,4}commit\b[^\n;|&]{0,300}?\s(?:-\w*m|--message)[ =]?"
    rf"(?:{_DOCUMENT}|\"(?P<double>[^\"\n]+)|'(?P<single>[^'\n]+))"
)
_OPEN = re.compile(_START + r"(?:gh pr|glab mr) create\b")
_TITLE = re.compile(rf"[^\"'\n]{{0,300}}?\s(?:-t|--title)[ =]{_DOCUMENT}")
_DRY = re.compile(r"(?<!\S)--dry-run(?!\S)")
_SHELL = re.compile(r"\$[({A-Za-z_]")  # is worked out by the shell
_COMMITTED = re.compile(r"^\[[^\]\n]*\b([0-9a-f]{7,40})\] ", re.MULTILINE)
_OPENED = re.compile(r"^https?://\S+/(?:pull|merge_requests)/(\d+)\s*$", re.MULTILINE)


def find_subject(command: str) -> str:
    r"""Return the first line of the message that a command commits with, "" for none.

    >>> find_subject("git add . && git commit -m 'Keep the last row'"), find_subject("grep 'git commit -m \"x y\"'")
    ('Keep the last row', '')
    """
    found = _COMMIT.search(command[:_MAX_COMMAND])
    return _read(next(filter(None, found.groups()), ""), found["document"] is None) if found else ""


def find_title(command: str) -> str:
    """Return the title of the pull request that a command opens, "" for none.

    >>> find_title("gh pr create --body 'Keep -t it' --title 'Keep the last row'"), find_title("gh pr create --fill")
    ('Keep the last row', '')
    """
    start = _OPEN.search(command[:_MAX_COMMAND])
    arguments = command[start.end() :][:_MAX_ARGUMENTS].replace("\\\n", " ") if start else ""
    if _DRY.search(arguments):
        return ""
    if document := _TITLE.match(arguments):
        return _read(document["document"], is_shell=False)
    before = ""
    for word in _iter_words(arguments):
        if before in ("-t", "--title") or word.startswith("--title="):
            return _read(word.removeprefix("--title="), is_shell=True)
        before = word
    return ""


def find_commit_id(result: str) -> str:
    """Return the id that git gave to a commit, "" for none."""
    found = _COMMITTED.search(result)
    return found[1] if found else ""


def find_pull_request(result: str) -> str:
    """Return the number of a pull request that was opened, "" for none, and for one that was there before."""
    found = _OPENED.search(result)
    return found[1] if found and "already exists" not in result.lower() else ""


def _iter_words(arguments: str) -> Iterator[str]:
    """Yield the words of a command up to its end, or to a quotation that isn't closed."""
    words = shlex.shlex(arguments, posix=True, punctuation_chars=";&|\n")
    words.whitespace, words.whitespace_split, words.commenters = " \t\r", True, ""
    try:
        for word in words:
            if word and word[0] in ";&|\n":
                return
            yield word
    except ValueError:
        return


def _read(text: str, is_shell: bool) -> str:
    """Return the first line of a message, "" where it has no letter or the shell works it out."""
    line = to_one_line(text.partition("\\n")[0])
    return "" if not any(map(str.isalpha, line)) or (is_shell and _SHELL.search(line)) else line
