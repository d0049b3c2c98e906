"""Observing the source: the harness's transcript, sanitized. From here on there is no raw text. (law 4)"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, tee
from pathlib import Path
from typing import NamedTuple

from lineage.config import Settings
from lineage.core import transcript
from lineage.core.capture import Capture
from lineage.core.links import one_line
from lineage.core.request import Request
from lineage.core.sanitizer import Ruleset, Sanitizer
from lineage.core.sentence import without_markup
from lineage.core.turns import USER, Turn, identifying, renumbered
from lineage.errors import InvalidInput
from lineage.harness import adapter_of, checked_name
from lineage.store.platform import expanded

_LONGEST_TITLE = 80
_MOST_HELD = 1 << 23
"""How much text, in characters, of a session's turns is held in memory; of more, none."""
_OF_REMOVED = "turns of a removed session"


class Source(NamedTuple):
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


def observed(
    request: Request,
    rules: Ruleset,
    settings: Settings,
    removed: Set[str] = frozenset(),
    capture: Capture | None = None,
    scratch: Path | None = None,
) -> Source:
    """Reads and sanitizes the request's transcript, without the turns whose ids are in `removed`. `capture` is what the
    transcript holds, where it was read already; `scratch` is the folder for turns that do not fit into memory.

    Raises TranscriptError, InvalidInput, EngineMissing, and WorkspaceError where `scratch` is full.
    """
    sanitizer = Sanitizer(rules)
    _refuse_secret_ids(request, sanitizer)
    capture = capture or _read(request)
    left_out: list[int] = []
    shown = identifying(_clean(_shown(capture.turns, settings, left_out), sanitizer, settings), request.token)
    gone = Counter[str]()
    turns = _kept(renumbered(_without(shown, removed, gone)) if removed else shown, scratch)
    project = request.project or capture.project
    return Source(
        turns=turns,
        project=one_line(sanitizer.text(project)) if project else None,
        title=_title(sanitizer.optional(capture.title), turns, request),
        started_at=capture.started_at,
        ended_at=capture.ended_at,
        models=[sanitizer.text(one_line(model)) for model in capture.models],
        branches=[sanitizer.text(one_line(branch)) for branch in capture.branches],
        summary=sanitizer.optional(request.summary),
        compactions=tuple(
            (sanitizer.text(c.summary.strip()), c.turns_before - bisect_left(left_out, c.turns_before))
            for c in capture.compactions
            if c.summary
        ),
        redactions=dict(sorted(sanitizer.redactions.items())),
        skipped={**capture.skipped, **gone},
        parent_session=sanitizer.optional(capture.parent_session),
        forked_from=sanitizer.optional(capture.forked_from),
        has_data=request.data or capture.has_data,
    )


def _read(request: Request) -> Capture:
    checked_name(request.harness)
    if request.transcript is not None:
        from lineage.harness import generic  # noqa: PLC0415

        return generic.inline(request.transcript)
    if request.transcript_path:
        return adapter_of(request.harness).read(expanded(request.transcript_path), request.identity.session_id)
    return Capture(turns=())


def _shown(raw: Iterable[Turn], settings: Settings, left_out: list[int]) -> Iterator[Turn]:
    """The turns that the transcript shows at all; the places of the others go to `left_out`."""
    for place, turn in enumerate(raw):
        if settings.transcript.thinking or not turn.thinking:
            yield turn
        else:
            left_out.append(place)


def _without(turns: Iterable[Turn], removed: Set[str], gone: Counter[str]) -> Iterator[Turn]:
    """The turns that no removed session had; how many it had is counted in `gone`."""
    for turn in turns:
        if turn.id in removed:
            gone[_OF_REMOVED] += 1
        else:
            yield turn


def _clean(shown: Iterable[Turn], sanitizer: Sanitizer, settings: Settings) -> Iterator[Turn]:
    """Sanitized first, then clipped: a cut must not hide half a secret from the rules. A secret that is split over two
    turns is found too."""
    limits = transcript.Limits(result=settings.transcript.max_result_chars)
    turns, ahead = tee(shown)
    for turn, text in zip(turns, sanitizer.consecutive(turn.text for turn in ahead), strict=True):
        name, given = sanitizer.text(turn.name), sanitizer.text(turn.input)
        clean = transcript.clipped(Turn(turn.role, text, turn.at, name, given, *turn[5:]), limits)
        if clean.text or clean.name:
            yield clean


def _kept(turns: Iterable[Turn], scratch: Path | None) -> Sequence[Turn]:
    """The turns, to be gone through again and again: held, where they fit into memory."""
    kept, size = [], 0
    following = iter(turns)
    for turn in following:
        kept.append(turn)
        size += len(turn.text) + len(turn.input)
        if size > _MOST_HELD:
            from lineage.pipeline.capture.spilled import Spilled  # noqa: PLC0415  (few transcripts are that long)

            return Spilled(chain(kept, following), scratch)
    return tuple(kept)


def _title(given: str | None, turns: Iterable[Turn], request: Request) -> str:
    """The harness's title, else the beginning of the first request, else harness and id."""
    first = next((turn.text for turn in turns if turn.role == USER and turn.text), "")
    title = one_line(given or "") or without_markup(first) or f"{request.harness} session {request.identity.session_id}"
    return title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1].rstrip() + "…"


def _refuse_secret_ids(request: Request, sanitizer: Sanitizer) -> None:
    """An id cannot be redacted without becoming another session's: one that holds a secret is refused."""
    for name, value in (
        ("session_id", request.identity.session_id),
        ("session_key", request.identity.session_key),
        ("agent_id", request.identity.agent_id),
    ):
        if value and sanitizer.text(value) != value:
            raise InvalidInput(f"{name} looks like a credential", hint=f"give the harness's own {name}")
