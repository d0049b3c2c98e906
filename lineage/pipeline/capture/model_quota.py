"""Calls of language models: each is counted, and the day's limit stops them politely (lessons: 39, 40)."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from lineage.core.base.times import to_date
from lineage.extraction.model.port import ModelAnswer, ModelError, ModelProvider, ParsedAnswer
from lineage.telemetry import ModelUsage, Telemetry
from lineage.workspace.workspace import Workspace

ANSWERED = "answered"
OVER_LIMIT = "over the daily limit"
FAILING = "failing"
TOO_LONG = "prompt too long"

_MAX_FAILURES = 3
_DAYS = 30

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ModelQuota:
    """What a day (UTC) may cost, and how long a prompt may be."""

    calls: int
    tokens: int
    max_chars: int


@dataclass(slots=True)
class MeteredModel:
    """A provider as use cases ask it: one call at a time, each counted before it is made and when it has ended.

    After three failures in a row the provider is left alone for the rest of this run: it would fail all the others too,
    each for as long as it may take. `day` is the UTC date that calls are counted under.
    """

    provider: ModelProvider
    telemetry: Telemetry
    quota: ModelQuota
    day: str
    failures: int = 0

    @property
    def max_chars(self) -> int:
        return self.quota.max_chars

    def ask(self, task: str, prompt: str, read: Callable[[str], ParsedAnswer[Value]]) -> Value | None:
        call = self._begin_call(task, prompt)
        if call is None:
            return None
        try:
            answer = self.provider.answer(prompt)
        except ModelError as failure:
            self.failures += 1
            self.telemetry.end_call(call, failure.reason, estimate_tokens(prompt))
            return None
        self.failures = 0
        reading = read(answer.text)
        self.telemetry.end_call(call, reading.complaint or ANSWERED, _count_tokens(prompt, answer))
        return reading.value

    def _begin_call(self, task: str, prompt: str) -> int | None:
        """The number of the call that may be made now, None where none may."""
        why = TOO_LONG if len(prompt) > self.max_chars else FAILING if self.failures >= _MAX_FAILURES else OVER_LIMIT
        if why == OVER_LIMIT:
            expected, limits = estimate_tokens(prompt), self.quota
            call = self.telemetry.begin_call(
                self.day, task, tokens=expected, max_calls=limits.calls, max_tokens=limits.tokens
            )
            if call is not None:
                return call
        self.telemetry.record_skipped_call(self.day, task, why)
        return None


def estimate_tokens(text: str) -> int:
    """The tokens of a text where nobody counted them: four characters each, rounded up (format: Commands).

    >>> estimate_tokens("12345")
    2
    """
    return -(-len(text) // 4)


def _count_tokens(prompt: str, answer: ModelAnswer) -> int:
    return estimate_tokens(prompt) + estimate_tokens(answer.text) if answer.tokens is None else answer.tokens


def read_usage(ws: Workspace) -> dict[str, Any]:
    """What `lineage status` shows of language models: which one, what it was asked today and in the last 30 days, and
    whether today's limit is reached."""
    model = ws.model if isinstance(ws.model, MeteredModel) else None
    today = ws.telemetry.read_model_usage(to_date(ws.now))
    return {
        "provider": model.provider.kind if model else "none",
        "name": model.provider.name if model else None,
        "calls_per_day": model.quota.calls if model else None,
        "tokens_per_day": model.quota.tokens if model else None,
        "today": _format_spent(today),
        "last_30_days": _format_spent(ws.telemetry.read_model_usage(to_date(ws.now), _DAYS)),
        "limit_reached": model is not None and _is_quota_reached(model.quota, today),
    }


def _format_spent(spent: ModelUsage) -> dict[str, int | Mapping[str, int]]:
    return asdict(spent)


def _is_quota_reached(quota: ModelQuota, today: ModelUsage) -> bool:
    return today.calls >= quota.calls or today.tokens >= quota.tokens or OVER_LIMIT in today.held_back
