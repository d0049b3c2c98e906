"""Calls of language models, counted and limited by day (lessons: 39, 40)."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from lineage.core.base.times import to_date
from lineage.extraction.model.port import ModelError, ModelProvider, ParsedAnswer
from lineage.telemetry import Telemetry
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
    """The limits of a day (UTC) and of a prompt."""

    calls: int
    tokens: int
    max_chars: int


@dataclass(slots=True)
class MeteredModel:
    """A provider within its quota: each call is counted before and after it. `day` is the UTC date to count under."""

    provider: ModelProvider
    telemetry: Telemetry
    quota: ModelQuota
    day: str
    failures: int = 0

    @property
    def max_chars(self) -> int:
        return self.quota.max_chars

    def ask(self, task: str, prompt: str, read: Callable[[str], ParsedAnswer[Value]]) -> Value | None:
        """Return the parsed answer to a prompt, None without an answer or beyond the quota."""
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
        parsed = read(answer.text)
        tokens = estimate_tokens(prompt) + estimate_tokens(answer.text) if answer.tokens is None else answer.tokens
        self.telemetry.end_call(call, parsed.complaint or ANSWERED, tokens)
        return parsed.value

    def _begin_call(self, task: str, prompt: str) -> int | None:
        """Return the number of a new call, None if none is allowed."""
        if len(prompt) > self.max_chars:
            reason = TOO_LONG
        elif self.failures >= _MAX_FAILURES:  # each further failure may take as long as the time limit
            reason = FAILING
        else:
            reason = OVER_LIMIT
            tokens, quota = estimate_tokens(prompt), self.quota
            call = self.telemetry.begin_call(
                self.day, task, tokens=tokens, max_calls=quota.calls, max_tokens=quota.tokens
            )
            if call is not None:
                return call
        self.telemetry.record_skipped_call(self.day, task, reason)
        return None


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: four characters each, rounded up (format: Commands).

    >>> estimate_tokens("12345")
    2
    """
    return -(-len(text) // 4)


def read_usage(ws: Workspace) -> dict[str, Any]:
    """Return the state of the language model for `lineage status`: its name, its use today and in the last 30 days."""
    model = ws.model if isinstance(ws.model, MeteredModel) else None
    today = ws.telemetry.read_model_usage(to_date(ws.now))
    quota = model.quota if model else None
    is_over = quota and (today.calls >= quota.calls or today.tokens >= quota.tokens or OVER_LIMIT in today.held_back)
    return {
        "provider": model.provider.kind if model else "none",
        "name": model.provider.name if model else None,
        "calls_per_day": quota.calls if quota else None,
        "tokens_per_day": quota.tokens if quota else None,
        "today": asdict(today),
        "last_30_days": asdict(ws.telemetry.read_model_usage(to_date(ws.now), _DAYS)),
        "limit_reached": bool(is_over),
    }
