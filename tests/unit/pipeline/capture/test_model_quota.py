"""Metered models: each call counted with how it ended, the limit kept, and what fails left alone for a while.

Fails without `end_call` on either way, without `_MOST_FAILURES`, when a success does not clear the failures, and
without the bound on a prompt.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage.extraction.model.port import ModelAnswer, ModelError, ParsedAnswer
from lineage.pipeline.capture.model_quota import MeteredModel, ModelQuota
from lineage.telemetry import ModelUsage, Telemetry

DAY = "2026-11-21"
LIMITS = ModelQuota(calls=20, tokens=10_000, max_chars=100)


class Script:
    """A provider that does what it is told, in order: an answer, or a reason for none."""

    kind, name = "command", "script"

    def __init__(self, *steps: ModelAnswer | ModelError) -> None:
        self._steps: Iterator[ModelAnswer | ModelError] = iter(steps)
        self.prompts: list[str] = []

    def answer(self, prompt: str) -> ModelAnswer:
        self.prompts.append(prompt)
        step = next(self._steps)
        if isinstance(step, ModelError):
            raise step
        return step


@pytest.fixture
def telemetry(tmp_path: Path) -> Telemetry:
    return Telemetry(tmp_path / "runtime.db")


def whole(answer: str) -> ParsedAnswer[str]:
    return ParsedAnswer(answer)


def metered(
    telemetry: Telemetry, *steps: ModelAnswer | ModelError, limits: ModelQuota = LIMITS
) -> tuple[MeteredModel, Script]:
    script = Script(*steps)
    return MeteredModel(script, telemetry, limits, DAY), script


def test_an_answer_is_read_and_counted_with_the_provider_s_tokens_or_ours(telemetry: Telemetry) -> None:
    model, _ = metered(telemetry, ModelAnswer("12345", 70), ModelAnswer("12345"))
    assert model.ask("capture", "x" * 9, whole) == "12345"
    assert telemetry.read_model_usage(DAY) == ModelUsage(1, 70, {"answered": 1}, {})
    assert model.ask("capture", "x" * 9, whole) == "12345"
    assert telemetry.read_model_usage(DAY).tokens == 70 + 3 + 2


def test_what_a_reading_complains_of_is_how_the_call_ended(telemetry: Telemetry) -> None:
    model, _ = metered(telemetry, ModelAnswer("a"), ModelAnswer("b"))
    assert model.ask("capture", "x", lambda answer: ParsedAnswer(None, "empty")) is None
    assert model.ask("capture", "x", lambda answer: ParsedAnswer(5, "half of it")) == 5
    assert telemetry.read_model_usage(DAY).outcomes == {"empty": 1, "half of it": 1}


def test_a_failure_is_counted_by_its_reason_with_the_prompt_s_tokens(telemetry: Telemetry) -> None:
    model, _ = metered(telemetry, ModelError("timed out"), ModelError("exit code 1"))
    assert model.ask("capture", "x" * 40, whole) is None
    assert model.ask("capture", "x" * 40, whole) is None
    assert telemetry.read_model_usage(DAY) == ModelUsage(2, 20, {"exit code 1": 1, "timed out": 1}, {})


def test_after_three_failures_in_a_row_it_is_left_alone(telemetry: Telemetry) -> None:
    no = ModelError("timed out")
    model, script = metered(telemetry, no, no, ModelAnswer("a"), no, no, no, ModelAnswer("never"))
    assert [model.ask("capture", "x", whole) for _ in range(9)] == [None, None, "a", None, None, None, None, None, None]
    assert len(script.prompts) == 6
    assert telemetry.read_model_usage(DAY).held_back == {"failing": 3}
    again, _ = metered(telemetry, ModelAnswer("b"))
    assert again.ask("capture", "x", whole) == "b", "the next run tries again"


def test_past_the_limit_nobody_is_asked(telemetry: Telemetry) -> None:
    model, script = metered(telemetry, *[ModelAnswer("a")] * 9, limits=ModelQuota(2, 10_000, 100))
    assert [model.ask("capture", "x", whole) for _ in range(4)] == ["a", "a", None, None]
    assert len(script.prompts) == 2
    assert telemetry.read_model_usage(DAY).held_back == {"over the daily limit": 2}


def test_a_prompt_that_is_too_long_is_not_sent(telemetry: Telemetry) -> None:
    model, script = metered(telemetry, ModelAnswer("a"))
    assert model.ask("capture", "x" * 101, whole) is None
    assert (script.prompts, telemetry.read_model_usage(DAY).held_back) == ([], {"prompt too long": 1})
    assert model.ask("capture", "x" * 100, whole) == "a"


def test_a_process_that_dies_while_the_model_thinks_has_counted_the_call(telemetry: Telemetry) -> None:
    class Interrupted(Script):
        def answer(self, prompt: str) -> ModelAnswer:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MeteredModel(Interrupted(), telemetry, LIMITS, DAY).ask("capture", "x" * 40, whole)
    assert telemetry.read_model_usage(DAY) == ModelUsage(1, 10, {"unfinished": 1}, {})
