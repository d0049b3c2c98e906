"""The made-up cases of `scripts/bench sanitize`: the same for a seed, their secrets where they say, judged fairly."""

import re
from random import Random

import pytest
from benchmarks.redaction_carriers import CARRIERS
from benchmarks.redaction_disguises import DISGUISES
from benchmarks.redaction_families import FAMILIES, fill
from benchmarks.redaction_forms import FORMS, Form
from benchmarks.redaction_harmless import harmless
from benchmarks.redaction_marks import MARKS, MISSED, PART, WHOLE, Verdict, judge, marked, may, read_case

from lineage.core.sanitizer import Sanitizer

_SEED = 5
_SECRET = "q7Zp4vLk9sXw2mBt"


def _forms() -> list[Form]:
    return [form for sort in FORMS for form in sort.draw(Random(_SEED), 400)]


def test_a_seed_gives_the_same_cases() -> None:
    assert _forms() == _forms()
    assert list(harmless(Random(_SEED), 200)) == list(harmless(Random(_SEED), 200))


def test_every_case_has_a_secret_inside_what_may_be_masked() -> None:
    for form in _forms():
        case = form.case
        assert not MARKS & set(case.text), form
        assert case.secret and all(case.text[start:end].strip() for start, end in case.secret), form
        assert all(any(a <= start and end <= b for a, b in case.may) for start, end in case.secret), form
        assert judge(case, case.text) == Verdict(MISSED, False), form


def test_all_families_carriers_and_disguises_are_drawn() -> None:
    tokens, values, disguised = ([*sort.draw(Random(_SEED), 400)] for sort in FORMS)
    assert {form.what for form in tokens} == {family.id for family in FAMILIES}
    assert {form.carrier for form in values} == {carrier.id for carrier in CARRIERS}
    assert {form.disguise for form in disguised} == {disguise.id for disguise in DISGUISES}
    assert len(FAMILIES) >= 66 and len(CARRIERS) >= 30


@pytest.mark.slow
def test_tokens_of_all_families_are_masked_whole_wherever_they_stand() -> None:
    tokens = [*FORMS[0].draw(Random(1), 1000)]
    missed = [form for form in tokens if judge(form.case, Sanitizer().sanitize(form.case.text)).secret != WHOLE]
    assert len(missed) <= 0.015 * len(tokens), missed


def test_a_form_is_filled_as_it_is_written() -> None:
    for seed in range(20):
        assert re.fullmatch(r"ab_(x|yz)-[0-9A-F.]{3,5}\{1", fill(r"ab_(x|yz)-[0-9A-F.]{3,5}\{1", Random(seed)))


@pytest.mark.parametrize(
    ("sanitized", "verdict"),
    [
        ("a password=[REDACTED:x-y] b", Verdict(WHOLE, False)),
        ("a password=[REDACTED:x-y]mBt b", Verdict(WHOLE, False)),
        ("a password=[REDACTED:x-y]2mBt b", Verdict(PART, False)),
        ("a [REDACTED:x-y] b", Verdict(WHOLE, True)),
        ("a password=[REDACTED:x-y]", Verdict(WHOLE, True)),
    ],
)
def test_a_run_of_four_is_a_part_and_a_letter_beside_is_over(sanitized: str, verdict: Verdict) -> None:
    assert judge(read_case(f"a password={marked(_SECRET)} b"), sanitized) == verdict


def test_what_goes_with_a_secret_may_be_masked_and_what_stands_beside_it_tells_nothing() -> None:
    case = read_case(f"open {may('https://app:' + marked(_SECRET) + '@host')} or app:q7Zp")
    assert judge(case, "open [REDACTED:url] or app:q7Zp") == Verdict(WHOLE, False)
    assert judge(case, "open [REDACTED:url] or [REDACTED:url]") == Verdict(WHOLE, True)
