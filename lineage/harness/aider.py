"""The adapter of aider: one markdown file of chat history with many sessions. (harnesses.md, section 13).

A session begins at its heading. `#### ` lines are the user's, `> ` lines aider's own, the rest is the agent's answer.
Times are local, of an unknown zone, so turns have none. The end of the file may still be growing: a block counts once
another line follows it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from lineage.core.capture.capture import Capture
from lineage.core.format.turns import ASSISTANT, AT, SYSTEM, TOOL, USER, Turn
from lineage.errors import TranscriptError
from lineage.harness import adapter
from lineage.harness.jsonl import read_bytes
from lineage.harness.text import strip_injections

# NUL padding after a power cut, and a byte order mark.
_SPACE = b" \t\r\n\x00\xef\xbb\xbf"
_NAME = ".aider.chat.history.md"
_HEADING = re.compile(rb"^# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)[ \t\r]*\n", re.MULTILINE)
_PROMPT, _STATUS, _HARD_BREAK = "####", ">", "  "
_FENCE = re.compile(r"(`{3,}|~{3,})")
_EDIT = re.compile(r"Applied edit to (.+)")
_MODEL = re.compile(r"(?:Main model|Models?): (\S+)")
# aider's own settings, printed at each start.
_BOOKKEEPING = re.compile(
    r"(?:\S*aider(?: |$)|Aider v|Main model: |Models?: |Weak model: |Editor model: |Git repo: |Repo-map: |Tokens: |"
    r"Cost: |Use /help )"
)
# What it says of itself and asks: no record of work. Test and lint results stay.
_CHATTER = re.compile(
    r".*\? \(Y\)es/\(N\)o|Added .+ to the chat|(?:Removed|Dropping) .+ from the chat|Dropping all files|"
    r"VSCode terminal detected|Initial repo scan|Newer aider version|Update git |https://aider\.chat/|Did you mean |"
    r"You can skip this check |Warning for |Restored previous conversation|Scraping http|Please answer |"
    r"Warning: it's best to only add files"
)
_COMMAND = re.compile(r"/\w[\w-]* ")
_LINT = "# Fix any errors below, if possible."
_HINT = f"name an aider history, `{_NAME}`; `lineage import aider PATH` finds its sessions"


def read(path: Path, session: str | None = None) -> Capture:
    """Return one session of a history. `session` is its id from `discover`, optional for a history of one session.

    Raise TranscriptError for files that are unreadable or foreign, and histories that lack the session.
    """
    sections = {section.session: section for section in _list_sections(path)}
    if not sections and session is None:
        if read_bytes(path).strip(_SPACE):
            raise TranscriptError(f"no aider session in {path}", hint=_HINT)
        return Capture(turns=())
    section = sections[adapter.choose_session(sections, session, f"the history {path}", _HINT)]
    reader = _Reader()
    reader.read_section(section, read_bytes(path, section.start, section.end))
    return reader.build_capture(session_id=section.session, project=str(path.resolve().parent))


def discover(root: Path) -> Iterator[adapter.SessionLocation]:
    """Yield the sessions of every `.aider.chat.history.md`, in file order. One without a heading is listed as such."""
    for item in adapter.list_files(root, (_NAME,)):
        try:
            names = [section.session for section in _list_sections(item.path)]
        except TranscriptError:
            names = []
        yield from [adapter.SessionLocation(item.path, name) for name in names] or [item]


@dataclass(frozen=True, slots=True)
class _Section:
    """The place of the text behind a session's heading. The last section of a file may still grow."""

    session: str
    start: int
    end: int
    is_last: bool
    has_preamble: bool


def _list_sections(path: Path) -> tuple[_Section, ...]:
    """Return the sections of a history, found once while it stays as it is."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        read_bytes(path)  # which says why it can't be read
        return ()
    return _find_sections(path.resolve(), status.st_ino, status.st_size, status.st_mtime_ns)


# An import reads the sessions of a history one after the other: each would cost as much as the whole history.
@lru_cache(maxsize=8)
def _find_sections(path: Path, *_state: int) -> tuple[_Section, ...]:
    """Return the sections. aider has no ids: path, heading and place among headings of the same second make one."""
    data = read_bytes(path)
    headings = list(_HEADING.finditer(data))
    starts = [heading.start() for heading in headings] + [len(data)]
    time_counts: Counter[str] = Counter()
    sections = []
    for heading, end in zip(headings, starts[1:], strict=True):
        time = heading[1].decode()
        time_counts[time] += 1
        identity = f"{path}\n{time}\n{time_counts[time]}".encode("utf-8", "surrogateescape")
        stamp = time.replace(" ", "-").replace(":", "-")
        session = f"aider-{stamp}-{hashlib.sha256(identity).hexdigest()[:10]}"
        has_preamble = heading is headings[0] and bool(data[: starts[0]].strip(_SPACE))
        sections.append(_Section(session, heading.end(), end, end == len(data), has_preamble))
    return tuple(sections)


@dataclass(slots=True)
class _Reader(adapter.Collector):
    """A collector of blocks: prompts, answers, and each of aider's own lines."""

    role: str = ""
    lines: list[str] = field(default_factory=list)
    fence: str = ""
    has_breaks: bool | None = None
    last_role: str = ""
    last_text: str = ""
    dropped: int = 0

    def read_section(self, section: _Section, text: bytes) -> None:
        if section.has_preamble:
            self.skip(adapter.UNKNOWN)
        *lines, torn = text.split(b"\n")
        for line in lines:
            self._add(line.decode("utf-8", errors="replace").rstrip("\r"))
        if not section.is_last:
            self._end_block()
        elif any(line.strip() for line in self.lines) or torn.strip():
            self.skip(adapter.UNFINISHED)

    def _add(self, line: str) -> None:
        role = self._role_of(line)
        if role == TOOL:
            self._end_block()
            self._add_status(line.removeprefix(_STATUS).strip())
        elif role == USER:
            self._begin(USER)
            self.lines.append(line.removeprefix(_PROMPT).removeprefix(" ").removesuffix(_HARD_BREAK))
        elif line.strip() or self.role == ASSISTANT:
            self._begin(ASSISTANT)
            self.lines.append(line)
            self._note_fence(line.strip())
        else:
            self._end_block()

    def _role_of(self, line: str) -> str:
        is_marked = line.startswith((_PROMPT + " ", _STATUS + " ")) or line.rstrip() in (_PROMPT, _STATUS)
        if not is_marked:
            return ASSISTANT
        # A hard break tells such lines from headings and quotations in an answer.
        has_break = line.endswith(_HARD_BREAK)
        if self.has_breaks is None:
            # A history that lost its hard breaks, to an editor or a formatter, has lost the first one.
            self.has_breaks = has_break
        if line.startswith(_PROMPT):
            return ASSISTANT if self.has_breaks and (self.fence or not has_break) else USER
        return ASSISTANT if self.has_breaks and self.fence and not has_break else TOOL

    def _note_fence(self, line: str) -> None:
        if self.fence:
            if line.startswith(self.fence) and not line.strip(self.fence[0]):
                self.fence = ""
        elif opening := _FENCE.match(line):
            self.fence = opening[1]

    def _begin(self, role: str) -> None:
        if role != self.role:
            self._end_block()
            self.role = role

    def _end_block(self) -> None:
        text = "\n".join(self.lines)
        text = strip_injections(text) if self.role == USER else text.strip("\n").rstrip()
        if text.strip():
            self._append(Turn(SYSTEM, text, name="prompt") if self._is_echo(text) else Turn(self.role, text))
            self.last_role, self.last_text = self.role, text
        elif self.lines:
            self.skip(adapter.NOTES)
        self.role, self.lines, self.fence = "", [], ""

    def _append(self, turn: Turn) -> None:
        # An id is made of a turn's place: it stays that of captures in which chatter was turns.
        place = f"{AT}{len(self.buffer) + self.dropped + 1}" if self.dropped else None
        self.buffer.append(turn._replace(source_id=place))

    def _is_echo(self, text: str) -> bool:
        """Return whether aider wrote a prompt: an answer handed to its editor, a command's words again, a blank."""
        if self.role != USER:
            return False
        is_handed_on = self.last_role == ASSISTANT and text.split() == self.last_text.split()
        is_repeated = self.last_role == USER and bool(_COMMAND.match(self.last_text)) and self.last_text.endswith(text)
        return is_handed_on or is_repeated or text == "<blank>" or text.startswith(_LINT)

    def _add_status(self, text: str) -> None:
        """Add one of aider's own lines. Its settings and chatter are bookkeeping."""
        if model := _MODEL.match(text):
            self.note_model(model[1].rstrip(","))
        if not text or _BOOKKEEPING.match(text):
            self.skip(adapter.BOOKKEEPING)
        elif edit := _EDIT.fullmatch(text):
            self._append(Turn(TOOL, text, name="edit", input=edit[1]))
        elif _CHATTER.match(text):
            self.skip(adapter.BOOKKEEPING)
            self.dropped += 1
        else:
            self._append(Turn(TOOL, text, name="aider"))
