"""Observing the source: the harness's transcript, sanitized. From here on there is no raw text. (law 4)"""

from collections.abc import Set
from typing import NamedTuple

from lineage.config import Settings
from lineage.core import transcript
from lineage.core.capture import Capture
from lineage.core.links import one_line
from lineage.core.request import Request
from lineage.core.sanitizer import Ruleset, Sanitizer
from lineage.core.sentence import without_markup
from lineage.core.turns import USER, Turn, identified, renumbered
from lineage.errors import InvalidInput
from lineage.harness import adapter_of, checked_name
from lineage.store.platform import expanded

_LONGEST_TITLE = 80


class Source(NamedTuple):
    """A session as it can be written: turns clipped, sanitized, numbered and identified; `summary` is the text that
    came with the signal. `compactions` are (sanitized summary, turns before it)."""

    turns: tuple[Turn, ...]
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
) -> Source:
    """Reads and sanitizes the request's transcript, without the turns whose ids are in `removed`. `capture` is what the
    transcript holds, where it was read already.

    Raises TranscriptError, InvalidInput and EngineMissing.
    """
    sanitizer = Sanitizer(rules)
    _refuse_secret_ids(request, sanitizer)
    capture = capture or _read(request)
    turns = _turns(capture.turns, sanitizer, settings, request.token)
    if removed:
        turns = renumbered(turn for turn in turns if turn.id not in removed)
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
            (sanitizer.text(c.summary.strip()), _kept(capture.turns[: c.turns_before], settings))
            for c in capture.compactions
            if c.summary
        ),
        redactions=dict(sorted(sanitizer.redactions.items())),
        skipped=dict(capture.skipped),
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


def _turns(raw: tuple[Turn, ...], sanitizer: Sanitizer, settings: Settings, token: str) -> tuple[Turn, ...]:
    """Sanitized first, then clipped: a cut must not hide half a secret from the rules. A secret that is split over two
    turns is found too."""
    limits = transcript.Limits(result=settings.transcript.max_result_chars)
    kept = [turn for turn in raw if settings.transcript.thinking or not turn.thinking]
    texts = sanitizer.texts([turn.text for turn in kept])
    clean = (
        transcript.clipped(
            turn._replace(text=text, name=sanitizer.text(turn.name), input=sanitizer.text(turn.input)), limits
        )
        for turn, text in zip(kept, texts, strict=True)
    )
    return identified([turn for turn in clean if turn.text or turn.name], token)


def _kept(turns: tuple[Turn, ...], settings: Settings) -> int:
    return sum(settings.transcript.thinking or not turn.thinking for turn in turns)


def _title(given: str | None, turns: tuple[Turn, ...], request: Request) -> str:
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
