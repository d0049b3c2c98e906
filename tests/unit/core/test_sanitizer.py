"""The sanitizer as a pipeline stage: what it promises to those that call it. Its engine: `sanitizer_engine`."""

import pytest
from hypothesis import given

from lineage.core.sanitizer import BUILTIN, RULES, Rule, Sanitizer, normalized, redactions_in
from tests.support.cases import each
from tests.support.materials import texts

TOKEN = "ghp_" + "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2"


@given(texts(TOKEN, "token=", "\x1b]0;", "\x1b["))
def test_normalizing_twice_changes_nothing(text: str) -> None:
    once = normalized(text)
    assert normalized(once) == once
    assert once.encode() or not once
    assert not any(c < " " and c not in "\n\t" for c in once)


def test_terminal_sequences_go_and_an_unfinished_one_takes_no_other_line_with_it() -> None:
    assert normalized("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ ok\x00") == "red link ok"
    assert normalized("\x1b]0;title\nthe rest") == "\nthe rest"
    assert normalized("\x1b]0;title\r\nthe rest") == "\nthe rest"


@each("rule", [rule for rule in RULES if rule.example and not rule.personal], ids=lambda rule: rule.id)
def test_the_example_of_every_rule_is_redacted_and_nothing_around_it(rule: Rule) -> None:
    sanitizer = Sanitizer()
    shown = sanitizer.text(f"before: ok\n{rule.example}\nafter")
    assert shown.startswith("before: ok\n")
    assert shown.endswith("\nafter")
    assert redactions_in(shown) == sanitizer.redactions.total() > 0
    assert rule.example not in shown


@pytest.mark.parametrize(
    "text", ["password = 'changeme-example-1'", "token: ${MY_TOKEN_12345}", "secret = <your secret here>"]
)
def test_a_placeholder_is_no_secret(text: str) -> None:
    assert Sanitizer().text(text) == text


def test_nothing_is_remembered_between_texts_but_the_counts() -> None:
    sanitizer = Sanitizer()
    shown = [sanitizer.text(text) for text in (f"it is {TOKEN[:20]}", TOKEN[20:], TOKEN, "no")]
    assert shown == [f"it is {TOKEN[:20]}", TOKEN[20:], "[REDACTED:github-token]", "no"]
    assert sanitizer.redactions == {"github-token": 1}


def test_nothing_at_all_stays_nothing() -> None:
    assert Sanitizer().optional(None) is None
    assert Sanitizer().optional(TOKEN) == "[REDACTED:github-token]"
    assert Sanitizer().text("") == ""


def test_the_version_names_the_contract_and_the_rules() -> None:
    assert BUILTIN.version.split("+")[0] == "sanitize_transcript_v1"
    assert len(BUILTIN.version.split("+")[1]) == 8
