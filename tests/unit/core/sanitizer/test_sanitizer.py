"""The sanitizer as a pipeline stage: its promises to callers."""

import pytest
from hypothesis import given

from lineage.core.sanitizer import BUILTIN, RULES, Rule, Sanitizer, count_redactions, normalize_text
from scripts.benchmarks.rule_examples import RULE_EXAMPLES
from tests.support.parametrize import each
from tests.support.strategies import draw_texts

TOKEN = "ghp_" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2"


@given(draw_texts(TOKEN, "token=", "\x1b]0;", "\x1b["))
def test_normalizing_twice_changes_nothing(text: str) -> None:
    once = normalize_text(text)
    assert normalize_text(once) == once
    assert once.encode() or not once
    assert not any(c < " " and c not in "\n\t" for c in once)


def test_terminal_sequences_are_removed_and_an_unfinished_one_ends_with_its_line() -> None:
    assert normalize_text("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ ok\x00") == "red link ok"
    assert normalize_text("\x1b]0;title\nthe rest") == "\nthe rest"
    assert normalize_text("\x1b]0;title\r\nthe rest") == "\nthe rest"


@each("rule", [rule for rule in RULES if not rule.personal], ids=lambda rule: rule.id)
def test_the_example_of_every_rule_is_redacted_and_nothing_around_it(rule: Rule) -> None:
    sanitizer, example = Sanitizer(), RULE_EXAMPLES[rule.id].text
    shown = sanitizer.sanitize(f"before: ok\n{example}\nafter")
    assert shown.startswith("before: ok\n")
    assert shown.endswith("\nafter")
    assert count_redactions(shown) == sanitizer.redactions.total() > 0
    assert example not in shown


@pytest.mark.parametrize(
    "text", ["password = 'changeme-example-1'", "token: ${MY_TOKEN_12345}", "secret = <your secret here>"]
)
def test_a_placeholder_is_no_secret(text: str) -> None:
    assert Sanitizer().sanitize(text) == text


def test_only_the_counts_are_kept_between_texts() -> None:
    sanitizer = Sanitizer()
    shown = [sanitizer.sanitize(text) for text in (f"it is {TOKEN[:20]}", TOKEN[20:], TOKEN, "no")]
    assert shown == [f"it is {TOKEN[:20]}", TOKEN[20:], "[REDACTED:github-token]", "no"]
    assert sanitizer.redactions == {"github-token": 1}


def test_no_text_and_empty_text_stay_unchanged() -> None:
    assert Sanitizer().sanitize_optional(None) is None
    assert Sanitizer().sanitize_optional(TOKEN) == "[REDACTED:github-token]"
    assert Sanitizer().sanitize("") == ""


def test_the_version_names_the_contract_and_the_rules() -> None:
    assert BUILTIN.version.split("+")[0] == "sanitize_transcript_v1"
    assert len(BUILTIN.version.split("+")[1]) == 8
