"""Observing the source: the harness's transcript, sanitized. From here on there is no raw text. (law 4)"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, tee
from pathlib import Path
from typing import NamedTuple

from lineage.config import Settings
from lineage.core.base.links import to_one_line
from lineage.core.capture.capture import Capture
from lineage.core.capture.request import Request
from lineage.core.format import transcript
from lineage.core.format.sentence import strip_markup
from lineage.core.format.turns import USER, Turn, iter_identified, renumber
from lineage.core.sanitizer import Ruleset, Sanitizer
from lineage.errors import InvalidInput
from lineage.harness import load_adapter, validate_harness
from lineage.store.platform import expand_home

_MAX_TITLE_CHARS = 80
_MAX_HELD_CHARS = 1 << 23
"""How much text, in characters, of a session's turns is held in memory; of more, none."""
_OF_REMOVED = "turns of a removed session"


class SessionSource(NamedTuple):
    """A session as it can be written: turns clipped, sanitized, numbered and identified; `summary` is the text that
    came with the signal. `compactions` are (sanitized summary, turns before it)."""

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


def read_source(
    request: Request,
    rules: Ruleset,
    settings: Settings,
    removed: Set[str] = frozenset(),
    capture: Capture | None = None,
    scratch: Path | None = None,
) -> SessionSource:
    """Reads and sanitizes the request's transcript, without the turns whose ids are in `removed`. `capture` is what the
    transcript holds, where it was read already; `scratch` is the folder for turns that do not fit into memory.

    Raises TranscriptError, InvalidInput, EngineMissing, and WorkspaceError where `scratch` is full.
    """
    sanitizer = Sanitizer(rules)
    _refuse_secret_ids(request, sanitizer)
    capture = capture or _read_transcript(request)
    left_out: list[int] = []
    shown = iter_identified(
        _sanitize(_filter_visible(capture.turns, settings, left_out), sanitizer, settings), request.token
    )
    gone = Counter[str]()
    turns = _hold_or_spill(renumber(_filter_removed(shown, removed, gone)) if removed else shown, scratch)
    project = request.project or capture.project
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
            (sanitizer.sanitize(c.summary.strip()), c.turns_before - bisect_left(left_out, c.turns_before))
            for c in capture.compactions
            if c.summary
        ),
        redactions=dict(sorted(sanitizer.redactions.items())),
        skipped={**capture.skipped, **gone},
        parent_session=sanitizer.sanitize_optional(capture.parent_session),
        forked_from=sanitizer.sanitize_optional(capture.forked_from),
        has_data=request.data or capture.has_data,
    )


def _read_transcript(request: Request) -> Capture:
    validate_harness(request.harness)
    if request.transcript is not None:
        from lineage.harness import generic  # noqa: PLC0415

        return generic.parse_inline(request.transcript)
    if request.transcript_path:
        return load_adapter(request.harness).read(expand_home(request.transcript_path), request.identity.session_id)
    return Capture(turns=())


def _filter_visible(raw: Iterable[Turn], settings: Settings, hidden_positions: list[int]) -> Iterator[Turn]:
    """The turns that the transcript shows at all; the places of the others go to `left_out`."""
    for place, turn in enumerate(raw):
        if settings.transcript.thinking or not turn.thinking:
            yield turn
        else:
            hidden_positions.append(place)


def _filter_removed(turns: Iterable[Turn], removed: Set[str], counts: Counter[str]) -> Iterator[Turn]:
    """The turns that no removed session had; how many it had is counted in `gone`."""
    for turn in turns:
        if turn.id in removed:
            counts[_OF_REMOVED] += 1
        else:
            yield turn


def _sanitize(visible: Iterable[Turn], sanitizer: Sanitizer, settings: Settings) -> Iterator[Turn]:
    """Sanitized first, then clipped: a cut must not hide half a secret from the rules. A secret that is split over two
    turns is found too."""
    limits = transcript.ClipLimits(result=settings.transcript.max_result_chars)
    turns, ahead = tee(visible)
    for turn, text in zip(turns, sanitizer.iter_sanitized(turn.text for turn in ahead), strict=True):
        name, given = sanitizer.sanitize(turn.name), sanitizer.sanitize(turn.input)
        clean = transcript.clip_turn(Turn(turn.role, text, turn.at, name, given, *turn[5:]), limits)
        if clean.text or clean.name:
            yield clean


def _hold_or_spill(turns: Iterable[Turn], scratch: Path | None) -> Sequence[Turn]:
    """The turns, to be gone through again and again: held, where they fit into memory."""
    kept, size = [], 0
    following = iter(turns)
    for turn in following:
        kept.append(turn)
        size += len(turn.text) + len(turn.input)
        if size > _MAX_HELD_CHARS:
            from lineage.pipeline.capture.turns_on_disk import TurnsOnDisk  # noqa: PLC0415  (few transcripts are that long)

            return TurnsOnDisk(chain(kept, following), scratch)
    return tuple(kept)


def _build_title(harness_title: str | None, turns: Iterable[Turn], request: Request) -> str:
    """The harness's title, else the beginning of the first request, else harness and id."""
    first = next((turn.text for turn in turns if turn.role == USER and turn.text), "")
    title = (
        to_one_line(harness_title or "")
        or strip_markup(first)
        or f"{request.harness} session {request.identity.session_id}"
    )
    return title if len(title) <= _MAX_TITLE_CHARS else title[: _MAX_TITLE_CHARS - 1].rstrip() + "…"


def _refuse_secret_ids(request: Request, sanitizer: Sanitizer) -> None:
    """An id cannot be redacted without becoming another session's: one that holds a secret is refused."""
    for name, value in (
        ("session_id", request.identity.session_id),
        ("session_key", request.identity.session_key),
        ("agent_id", request.identity.agent_id),
    ):
        if value and sanitizer.sanitize(value) != value:
            raise InvalidInput(f"{name} looks like a credential", hint=f"give the harness's own {name}")
