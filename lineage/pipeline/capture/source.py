"""The source of a capture: the harness's transcript, sanitized. After `read_source` there is no raw text (law 4)."""

import marshal
import tempfile
import weakref
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import chain, pairwise, tee
from pathlib import Path

from lineage.config import Settings
from lineage.core.base.links import to_one_line
from lineage.core.base.naming import derive_parent_token
from lineage.core.base.sequences import LazySequence
from lineage.core.base.templates import strip_template
from lineage.core.capture.capture import Capture
from lineage.core.capture.request import Request
from lineage.core.format import clipping
from lineage.core.format.sentence import find_first_request, strip_markup
from lineage.core.format.turns import SYSTEM, USER, InputPart, Turn, assign_ids, renumber
from lineage.core.sanitizer import Sanitizer
from lineage.core.sanitizer.artifacts import sanitize_parts
from lineage.errors import InvalidInput, describe_os_error
from lineage.harness import generic
from lineage.harness.adapters import load_adapter, validate_harness
from lineage.projects import find_subfolder
from lineage.workspace.paths import expand_home
from lineage.workspace.projects import find_hashed_folder, identify
from lineage.workspace.workspace import Workspace

_MAX_TITLE_CHARS = 80
_MAX_HELD_CHARS = 1 << 23
"""The limit of text, in characters, for turns in memory; longer sessions go to disk."""
_OF_REMOVED = "turns of a removed session"
_PROMPT = "prompt"  # the name of what an agent wrote to a sub-agent
_BATCH = 64  # turns a read: few enough to hold, many enough to be fast


@dataclass(frozen=True, slots=True)
class SessionSource:
    """A session as it can be written: its turns are clipped, sanitized, numbered and identified.

    `summary` is the text that came with the signal. `compactions` are (sanitized summary, number of turns before it).
    """

    turns: Sequence[Turn]
    project: str | None
    title: str
    started_at: str | None
    ended_at: str | None
    models: list[str]
    branches: list[str]
    summary: str | None
    compactions: tuple[tuple[str, int], ...]
    redactions: dict[str, int]
    skipped: dict[str, int]
    parent_session: str | None = None
    forked_from: str | None = None
    has_data: bool = False
    partial: bool = False
    parent_token: str | None = None
    repository: str | None = None
    subfolder: str = ""


def read_source(ws: Workspace, request: Request, capture: Capture | None = None) -> SessionSource:
    """Read and sanitize the request's transcript, without turns of removed sessions.

    `capture` is the parsed transcript, if the caller has it already. Raise TranscriptError, InvalidInput, EngineMissing
    without google-re2, WorkspaceError on a full disk.
    """
    sanitizer = ws.build_sanitizer()
    _refuse_secret_ids(request, sanitizer)
    capture = capture or _read_transcript(request)
    removed = ws.documents.tombstones.read_removed_turns()
    hidden_positions: list[int] = []
    turns_read: Iterable[Turn] = capture.turns
    if capture.parent_session:
        # nobody speaks to a sub-agent but the agent that started it
        turns_read = (t._replace(role=SYSTEM, name=_PROMPT) if t.role == USER else t for t in turns_read)
    visible = _filter_visible(turns_read, ws.settings, hidden_positions)
    identified = assign_ids(_sanitize(visible, sanitizer), request.token)
    removed_counts = Counter[str]()
    if removed:
        identified = renumber(_filter_removed(identified, removed, removed_counts))
    # The turns are lazy until here: the counts, positions and redactions below are complete only after this line.
    # Clipped last: a cut must hide no half of a secret from the rules, and changes no id.
    limits = clipping.ClipLimits(ws.settings.transcript.max_result_chars, ws.settings.transcript.max_input_chars)
    turns = _hold_or_spill((clipping.clip_turn(turn, limits) for turn in identified), ws.scratch)
    folder = request.project or capture.project or find_hashed_folder(ws, capture.project_hash)
    project, repository = identify(ws, folder)
    return SessionSource(
        turns=turns,
        project=to_one_line(sanitizer.sanitize(project)) if project else None,
        title=_build_title(sanitizer.sanitize_optional(capture.title), turns, request),
        started_at=capture.started_at,
        ended_at=capture.ended_at,
        models=[sanitizer.sanitize(to_one_line(model)) for model in capture.models],
        branches=[sanitizer.sanitize(to_one_line(branch)) for branch in capture.branches],
        summary=sanitizer.sanitize_optional(request.summary),
        compactions=tuple(
            (sanitizer.sanitize(c.summary.strip()), c.turns_before - bisect_left(hidden_positions, c.turns_before))
            for c in capture.compactions
            if c.summary
        ),
        redactions=dict(sorted(sanitizer.redactions.items())),
        skipped={**capture.skipped, **removed_counts},
        parent_session=sanitizer.sanitize_optional(capture.parent_session),
        forked_from=sanitizer.sanitize_optional(capture.forked_from),
        has_data=request.data or capture.has_data,
        partial=capture.partial,
        parent_token=derive_parent_token(request.identity, sanitizer.sanitize_optional(capture.parent_session)),
        repository=repository,
        subfolder=to_one_line(sanitizer.sanitize(find_subfolder(folder))),
    )


def _read_transcript(request: Request) -> Capture:
    validate_harness(request.harness)
    if request.transcript is not None:
        return generic.parse_inline(request.transcript)
    if request.transcript_path:
        return load_adapter(request.harness).read(expand_home(request.transcript_path), request.identity.session_id)
    return Capture(turns=())


def _filter_visible(turns: Iterable[Turn], settings: Settings, hidden_positions: list[int]) -> Iterator[Turn]:
    """Yield the turns that the transcript shows, and collect the positions of the others."""
    for position, turn in enumerate(turns):
        if settings.transcript.thinking or not turn.thinking:
            yield turn
        else:
            hidden_positions.append(position)


def _filter_removed(turns: Iterable[Turn], removed: Set[str], counts: Counter[str]) -> Iterator[Turn]:
    for turn in turns:
        if turn.id in removed:
            counts[_OF_REMOVED] += 1
        else:
            yield turn


def _sanitize(turns: Iterable[Turn], sanitizer: Sanitizer) -> Iterator[Turn]:
    """Yield the turns sanitized, without empty ones. A secret split over two turns is found too."""
    turns, ahead = tee(turns)
    for turn, text in zip(turns, sanitizer.iter_sanitized(turn.text for turn in ahead), strict=True):
        parts = sanitize_parts(turn.parts, sanitizer)
        name, line = sanitizer.sanitize(turn.name), sanitizer.sanitize(turn.input)
        if text.rstrip("\n") or to_one_line(name) or line.strip() or parts or turn.error:
            yield turn._replace(text=text, name=name, input=line, parts=parts)


def _hold_or_spill(turns: Iterable[Turn], scratch: Path | None) -> Sequence[Turn]:
    """Return the turns in memory if they fit, else in a file."""
    held, size = [], 0
    remaining = iter(turns)
    for turn in remaining:
        held.append(turn)
        size += turn.count_chars()
        if size > _MAX_HELD_CHARS:
            return TurnsOnDisk(chain(held, remaining), scratch)
    return tuple(held)


def _build_title(harness_title: str | None, turns: Iterable[Turn], request: Request) -> str:
    """Return the harness's title, else the beginning of the first request that has a word, else harness and id."""
    title = to_one_line(harness_title or "")
    if not title:
        requests = (turn.text for turn in turns if turn.role == USER or turn.name == _PROMPT)
        first = find_first_request(map(strip_template, requests))
        title = strip_markup(first) or f"{request.harness} session {request.identity.session_id}"
    return title if len(title) <= _MAX_TITLE_CHARS else title[: _MAX_TITLE_CHARS - 1].rstrip() + "…"


def _refuse_secret_ids(request: Request, sanitizer: Sanitizer) -> None:
    # Redacting an id would turn it into another session's.
    identity = request.identity
    ids = {"session_id": identity.session_id, "session_key": identity.session_key, "agent_id": identity.agent_id}
    for name, value in ids.items():
        if value and sanitizer.sanitize(value) != value:
            raise InvalidInput(f"{name} looks like a credential", hint=f"give the harness's own {name}")


class TurnsOnDisk(LazySequence[Turn]):
    """Sanitized turns in a file in `folder`, None for the system's, a few at a time. Raise WorkspaceError if full."""

    def __init__(self, turns: Iterable[Turn], folder: Path | None) -> None:
        self._ends = array("Q", [0])
        try:
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (open as long as this object)
            # The file has no name, so its space is free once it is closed, also after a crash.
            weakref.finalize(self, self._file.close)
            for turn in turns:
                plain = (*turn._replace(parts=()), tuple(map(tuple, turn.parts)))
                self._ends.append(self._ends[-1] + self._file.write(marshal.dumps(plain)))
            self._file.flush()
        except OSError as error:
            raise describe_os_error("cannot set a long transcript aside", error) from error

    def __len__(self) -> int:
        return len(self._ends) - 1

    def iter_range(self, start: int, stop: int) -> Iterator[Turn]:
        """Yield the turns from one position up to another."""
        for first in range(start, stop, _BATCH):
            ends = self._ends[first : min(first + _BATCH, stop) + 1]
            self._file.seek(ends[0])
            data = memoryview(self._file.read(ends[-1] - ends[0]))
            for begin, end in pairwise(ends):
                # marshal is safe here: the file is this process's own, and nobody else can open it.
                *fields, parts = marshal.loads(data[begin - ends[0] : end - ends[0]])
                yield Turn(*fields)._replace(parts=tuple(InputPart(*part) for part in parts))
