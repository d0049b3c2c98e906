"""Calls of language models: each is counted, and the day's limit stops them politely. (lessons: 39, 40)"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from lineage.core.times import day
from lineage.extract.model.port import Answer, NoAnswer, Provider, Reading
from lineage.pipeline.house import House
from lineage.telemetry import Spent, Telemetry

ANSWERED = "answered"
OVER_LIMIT = "over the daily limit"
FAILING = "failing"
TOO_LONG = "prompt too long"

_MOST_FAILURES = 3
_DAYS = 30

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a day (UTC) may cost, and how long a prompt may be."""

    calls: int
    tokens: int
    most_chars: int


@dataclass(slots=True)
class Metered:
    """A provider as use cases ask it: one call at a time, each counted before it is made and when it has ended.

    After three failures in a row the provider is left alone for the rest of this run: it would fail all the others too,
    each for as long as it may take. `day` is the UTC date that calls are counted under.
    """

    provider: Provider
    telemetry: Telemetry
    limits: Limits
    day: str
    failures: int = 0

    @property
    def most_chars(self) -> int:
        return self.limits.most_chars

    def ask(self, task: str, prompt: str, read: Callable[[str], Reading[Value]]) -> Value | None:
        call = self._begun(task, prompt)
        if call is None:
            return None
        try:
            answer = self.provider.answer(prompt)
        except NoAnswer as failure:
            self.failures += 1
            self.telemetry.end_call(call, failure.reason, tokens(prompt))
            return None
        self.failures = 0
        reading = read(answer.text)
        self.telemetry.end_call(call, reading.complaint or ANSWERED, _taken(prompt, answer))
        return reading.value

    def _begun(self, task: str, prompt: str) -> int | None:
        """The number of the call that may be made now, None where none may."""
        why = TOO_LONG if len(prompt) > self.most_chars else FAILING if self.failures >= _MOST_FAILURES else OVER_LIMIT
        if why == OVER_LIMIT:
            expected, limits = tokens(prompt), self.limits
            call = self.telemetry.begin_call(
                self.day, task, tokens=expected, most_calls=limits.calls, most_tokens=limits.tokens
            )
            if call is not None:
                return call
        self.telemetry.hold_back(self.day, task, why)
        return None


def tokens(text: str) -> int:
    """The tokens of a text where nobody counted them: four characters each, rounded up. (format: Commands)

    >>> tokens("12345")
    2
    """
    return -(-len(text) // 4)


def _taken(prompt: str, answer: Answer) -> int:
    return tokens(prompt) + tokens(answer.text) if answer.tokens is None else answer.tokens


def usage(house: House) -> dict[str, Any]:
    """What `lineage status` shows of language models: which one, what it was asked today and in the last 30 days, and
    whether today's limit is reached."""
    model = house.model if isinstance(house.model, Metered) else None
    today = house.telemetry.spent(day(house.now))
    return {
        "provider": model.provider.kind if model else "none",
        "name": model.provider.name if model else None,
        "calls_per_day": model.limits.calls if model else None,
        "tokens_per_day": model.limits.tokens if model else None,
        "today": _spent(today),
        "last_30_days": _spent(house.telemetry.spent(day(house.now), _DAYS)),
        "limit_reached": model is not None and _is_reached(model.limits, today),
    }


def _spent(spent: Spent) -> dict[str, int | Mapping[str, int]]:
    return dict(spent._asdict())


def _is_reached(limits: Limits, today: Spent) -> bool:
    return today.calls >= limits.calls or today.tokens >= limits.tokens or OVER_LIMIT in today.held_back
