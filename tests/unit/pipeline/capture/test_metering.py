"""Metered models: each call counted with how it ended, the limit kept, and what fails left alone for a while.

Fails without `end_call` on either way, without `_MOST_FAILURES`, when a success does not clear the failures, and
without the bound on a prompt.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.extract.model.port import Answer, NoAnswer, Reading
from lineage.pipeline.capture.metering import Limits, Metered
from lineage.telemetry import Spent, Telemetry

DAY = "2026-11-21"
LIMITS = Limits(calls=20, tokens=10_000, most_chars=100)


class Script:
    """A provider that does what it is told, in order: an answer, or a reason for none."""

    kind, name = "command", "script"

    def __init__(self, *steps: Answer | NoAnswer) -> None:
        self._steps: Iterator[Answer | NoAnswer] = iter(steps)
        self.prompts: list[str] = []

    def answer(self, prompt: str) -> Answer:
        self.prompts.append(prompt)
        step = next(self._steps)
        if isinstance(step, NoAnswer):
            raise step
        return step


@pytest.fixture
def telemetry(tmp_path: Path) -> Telemetry:
    return Telemetry(tmp_path / "runtime.db")


def whole(answer: str) -> Reading[str]:
    return Reading(answer)


def metered(telemetry: Telemetry, *steps: Answer | NoAnswer, limits: Limits = LIMITS) -> tuple[Metered, Script]:
    script = Script(*steps)
    return Metered(script, telemetry, limits, DAY), script


def test_an_answer_is_read_and_counted_with_the_provider_s_tokens_or_ours(telemetry: Telemetry) -> None:
    model, _ = metered(telemetry, Answer("12345", 70), Answer("12345"))
    assert model.ask("capture", "x" * 9, whole) == "12345"
    assert telemetry.spent(DAY) == Spent(1, 70, {"answered": 1}, {})
    assert model.ask("capture", "x" * 9, whole) == "12345"
    assert telemetry.spent(DAY).tokens == 70 + 3 + 2


def test_what_a_reading_complains_of_is_how_the_call_ended(telemetry: Telemetry) -> None:
    model, _ = metered(telemetry, Answer("a"), Answer("b"))
    assert model.ask("capture", "x", lambda answer: Reading(None, "empty")) is None
    assert model.ask("capture", "x", lambda answer: Reading(5, "half of it")) == 5
    assert telemetry.spent(DAY).outcomes == {"empty": 1, "half of it": 1}


def test_a_failure_is_counted_by_its_reason_with_the_prompt_s_tokens(telemetry: Telemetry) -> None:
    model, _ = metered(telemetry, NoAnswer("timed out"), NoAnswer("exit code 1"))
    assert model.ask("capture", "x" * 40, whole) is None
    assert model.ask("capture", "x" * 40, whole) is None
    assert telemetry.spent(DAY) == Spent(2, 20, {"exit code 1": 1, "timed out": 1}, {})


def test_after_three_failures_in_a_row_it_is_left_alone(telemetry: Telemetry) -> None:
    no = NoAnswer("timed out")
    model, script = metered(telemetry, no, no, Answer("a"), no, no, no, Answer("never"))
    assert [model.ask("capture", "x", whole) for _ in range(9)] == [None, None, "a", None, None, None, None, None, None]
    assert len(script.prompts) == 6
    assert telemetry.spent(DAY).held_back == {"failing": 3}
    again, _ = metered(telemetry, Answer("b"))
    assert again.ask("capture", "x", whole) == "b", "the next run tries again"


def test_past_the_limit_nobody_is_asked(telemetry: Telemetry) -> None:
    model, script = metered(telemetry, *[Answer("a")] * 9, limits=Limits(2, 10_000, 100))
    assert [model.ask("capture", "x", whole) for _ in range(4)] == ["a", "a", None, None]
    assert len(script.prompts) == 2
    assert telemetry.spent(DAY).held_back == {"over the daily limit": 2}


def test_a_prompt_that_is_too_long_is_not_sent(telemetry: Telemetry) -> None:
    model, script = metered(telemetry, Answer("a"))
    assert model.ask("capture", "x" * 101, whole) is None
    assert (script.prompts, telemetry.spent(DAY).held_back) == ([], {"prompt too long": 1})
    assert model.ask("capture", "x" * 100, whole) == "a"


def test_a_process_that_dies_while_the_model_thinks_has_counted_the_call(telemetry: Telemetry) -> None:
    class Interrupted(Script):
        def answer(self, prompt: str) -> Answer:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Metered(Interrupted(), telemetry, LIMITS, DAY).ask("capture", "x" * 40, whole)
    assert telemetry.spent(DAY) == Spent(1, 10, {"unfinished": 1}, {})
