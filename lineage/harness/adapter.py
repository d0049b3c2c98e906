"""The interface of an adapter, and its shared parts: finding sessions in a history, collecting a session's turns.

Turns are collected in file order: timestamps are not a safe order. Those of a long session are not held but read again
at each pass, so nothing of it is written anywhere before it is sanitized.
"""

import math
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

from lineage.core.base.sequences import LazySequence
from lineage.core.base.times import to_utc_or_none
from lineage.core.capture.capture import Capture, CompactionRecord
from lineage.core.format.turns import SYSTEM, Turn
from lineage.errors import TranscriptError
from lineage.harness.json_values import JsonObject, as_string
from lineage.harness.jsonl import DAMAGED, read_records
from lineage.harness.words import name_words

FOREIGN_HINT = "is it another harness's? name it with `--harness`"
MAX_BUFFERED_CHARS = 1 << 23
"""The largest session, in characters of its turns, that is held in memory."""

UNKNOWN = "unknown"
BOOKKEEPING = "bookkeeping"
NOTES = "harness notes"
SUB_AGENT = "sub-agent"
REPLAYED = "replayed"
UNFINISHED = "unfinished"
REWOUND = "rewound"  # turns that were taken back: they stay

AnyReader = TypeVar("AnyReader", bound="Collector")


@dataclass(frozen=True, slots=True, order=True)
class SessionLocation:
    """A session of a harness's history: its file and, for files with many sessions, its id.

    `parent` is the id of the session that a sub-agent works for.
    """

    path: Path
    session: str | None = None
    parent: str | None = field(default=None, compare=False)


class Adapter(Protocol):
    """One harness. Every module of this package that names a harness implements it with functions of these names.

    Adapters are tolerant: they count unknown and damaged records in `Capture.skipped`, by reason, and never raise.

    These are optional: `list_sub_agent_places(transcript, session)` gives the files and folders with the transcripts of
    a session's sub-agents, `unwrap_summary(text)` the words of a compaction's summary in a hook's payload, and
    `list_roots(home, environment)` the places of a history that the registry can't name.
    """

    def read(self, path: Path, session: str | None = None) -> Capture:
        """Return the session in a file. `session` is its id, required if the file holds many.

        A longer file only ever adds turns to those of a shorter one. Raise TranscriptError for files that are
        unreadable, foreign, or lack the session.
        """

    def discover(self, root: Path) -> Iterator[SessionLocation]:
        """Yield the sessions at or below a file or folder, in a fixed order.

        Other files are skipped, links not followed, unreadable folders left out.
        """


def list_files(root: Path, suffixes: tuple[str, ...]) -> Iterator[SessionLocation]:
    """Yield the regular files at or below `root` that end in one of `suffixes`, sorted by path.

    A `root` that is a file itself may have any name. Links are not followed, unreadable folders left out.
    """
    if root.is_file():
        yield SessionLocation(root)
        return
    for folder, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = Path(folder, name)
            if name.endswith(suffixes) and path.is_file() and not path.is_symlink():
                yield SessionLocation(path)


def choose_session(sessions: Collection[str], session: str | None, description: str, hint: str) -> str:
    """Return the requested session of a file, or the only one. Raise TranscriptError if there is no such session.

    `description` names the file in the error.
    """
    name = session or (next(iter(sessions)) if len(sessions) == 1 else "")
    if name not in sessions:
        what = f"session {session}" if session else f"one session but {len(sessions)}"
        raise TranscriptError(f"{description} does not hold {what}", hint=hint)
    return name


class TurnBuffer:
    """The turns of a reader so far. Beyond `max_chars` characters they are counted and dropped."""

    def __init__(self, max_chars: float) -> None:
        self._max_chars = max_chars
        self._turns: list[Turn] = []
        self._count = self._chars = 0

    def __len__(self) -> int:
        return self._count

    def append(self, turn: Turn) -> None:
        """Add a turn."""
        self._count += 1
        self._chars += turn.count_chars()
        self._turns.append(turn)
        # All of them: half of the turns in memory would help nobody.
        if self._chars > self._max_chars:
            self._turns.clear()

    @property
    def is_complete(self) -> bool:
        """Whether no turn was dropped."""
        return len(self._turns) == self._count

    def pop_turns(self) -> list[Turn]:
        """Return the held turns and forget them."""
        turns, self._turns = self._turns, []
        return turns


@dataclass(slots=True)
class Collector:
    """Turns, compactions and times of a session so far; each harness has a subclass.

    `skipped` counts the records without a turn, by reason. `recognized_count` counts the records that only this harness
    writes. Beyond `max_chars` characters the buffer drops the turns. (see `read_turns`)
    """

    max_chars: float = math.inf
    skipped: Counter[str] = field(default_factory=Counter)
    recognized_count: int = 0
    buffer: TurnBuffer = field(init=False)
    compactions: list[CompactionRecord] = field(default_factory=list)
    started_at: str | None = None
    ended_at: str | None = None
    seen_ids: set[str] = field(default_factory=set)
    # Dictionaries without values: sets that keep the order.
    models: dict[str, None] = field(default_factory=dict)
    branches: dict[str, None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.buffer = TurnBuffer(self.max_chars)

    def add(self, record: JsonObject) -> None:
        """Take the next record. Readers of JSON lines implement it."""
        raise NotImplementedError

    def read_lines(self, path: Path, noun: str, hint: str = FOREIGN_HINT) -> None:
        """Add every record of a file. Raise TranscriptError for unreadable and foreign files."""
        for record in read_records(path, self.skipped):
            self.add(record)
        self.refuse_foreign(path, noun, hint)

    def refuse_foreign(self, path: Path, noun: str, hint: str = FOREIGN_HINT) -> None:
        """Raise TranscriptError if a file holds records, but none of this harness. `noun` names one in the error."""
        if not self.recognized_count and self.skipped.keys() & {UNKNOWN, DAMAGED}:
            raise TranscriptError(f"no {noun} in {path}", hint=hint)

    def skip(self, reason: str) -> None:
        """Count a record without a turn."""
        self.skipped[reason] += 1

    def note_time(self, at: str | None) -> None:
        """Note the canonical time of a record."""
        if at:
            self.started_at, self.ended_at = self.started_at or at, at

    def record_time(self, time: Any) -> str | None:
        """Note the time of a record and return its canonical form, None if it has none."""
        at = to_utc_or_none(time)
        self.note_time(at)
        return at

    def note_model(self, model: Any) -> None:
        """Note the model of a record."""
        if as_string(model):
            self.models[model] = None

    def note_branch(self, branch: Any) -> None:
        """Note the git branch of a record."""
        if as_string(branch):
            self.branches[branch] = None

    def check_replay(self, record_id: str | None) -> bool:
        """Return whether an earlier record has the same id, and count it then."""
        if record_id and record_id in self.seen_ids:
            self.skip(REPLAYED)
            return True
        if record_id:
            self.seen_ids.add(record_id)
        return False

    def join_texts(self, texts: Iterable[str | None]) -> str:
        """Join the texts of blocks line by line. Count each None, a block of an unknown kind."""
        parts = []
        for text in texts:
            if text is None:
                self.skip(UNKNOWN)
            else:
                parts.append(text)
        return "\n".join(parts)

    def keep_text(self, turn: Turn, reason: str) -> Iterator[Turn]:
        """Yield a turn with a text. Count one without under `reason`."""
        if turn.text.strip():
            yield turn
        else:
            self.skip(reason)

    def append(self, turns: Iterable[Turn], at: str | None, record_id: str | None) -> None:
        """Add the turns of one record. The first takes its id; a later one adds its place to the id."""
        # The turns may come from a generator that notes a compaction, which counts the turns before it.
        for index, turn in enumerate(list(turns)):
            source = f"{record_id}#{index}" if record_id and index else record_id
            self.buffer.append(turn._replace(at=at, source_id=source))

    def append_words(self, words: Iterable[Turn], at: str | None, record_id: str | None) -> None:
        """Add a person's words in a record of something else, or the note of an interruption."""
        for turn in name_words(words, record_id):
            self.buffer.append(turn._replace(at=at))

    def add_compaction(self, summary: Any, at: str | None, trigger: str | None = None) -> Iterator[Turn]:
        """Note a compaction. Yield the turn of its summary if the harness kept one."""
        text = as_string(summary).strip("\n")
        self.compactions.append(CompactionRecord(text if text.strip() else None, len(self.buffer), at, trigger))
        yield from self.keep_text(Turn(SYSTEM, text, name="compaction"), BOOKKEEPING)

    def build_capture(self, turns: Sequence[Turn] | None = None, **details: Any) -> Capture:
        """Return the collected session; `turns` if they were streamed, else those of the buffer.

        A fork that copies its parent's records starts at the parent's first time.
        """
        collected = {
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "models": tuple(self.models),
            "branches": tuple(self.branches),
            "compactions": tuple(self.compactions),
            "skipped": dict(sorted(self.skipped.items())),
        }
        turns = tuple(self.buffer.pop_turns()) if turns is None else turns
        return Capture(turns=turns, **(collected | details))


class StreamedTurns(LazySequence[Turn]):
    """The first `count` turns of a file, read again at each pass. A longer file only ever adds turns to them."""

    def __init__(self, path: Path, make_reader: Callable[[], Collector], count: int) -> None:
        self._path, self._make_reader, self._count = path, make_reader, count

    def __len__(self) -> int:
        return self._count

    def iter_range(self, start: int, stop: int) -> Iterator[Turn]:
        """Yield the turns of a range. Raise TranscriptError if the file holds fewer turns than before."""
        number = 0
        for number, turn in enumerate(islice(self._read_turns(), stop), 1):
            if number > start:
                yield turn
        if number < stop:
            raise TranscriptError(f"{self._path} was changed while it was read", hint="run the command again")

    def _read_turns(self) -> Iterator[Turn]:
        reader = self._make_reader()
        for record in read_records(self._path, reader.skipped):
            reader.add(record)
            yield from reader.buffer.pop_turns()


def read_turns(path: Path, make_reader: Callable[[float], AnyReader]) -> tuple[AnyReader, Sequence[Turn]]:
    """Read a file of JSON lines. Return the reader, and the turns as a tuple or, for a long session, streamed.

    `make_reader` takes the number of characters to hold. Raise TranscriptError if the file cannot be read.
    """
    reader = make_reader(MAX_BUFFERED_CHARS)
    for record in read_records(path, reader.skipped):
        reader.add(record)
    if reader.buffer.is_complete:
        return reader, tuple(reader.buffer.pop_turns())
    return reader, StreamedTurns(path, partial(make_reader, math.inf), len(reader.buffer))
