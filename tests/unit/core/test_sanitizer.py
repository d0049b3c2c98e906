"""The sanitizer as a pipeline stage: deterministic, stable under itself, linear, and counted. Its rules one by one."""

import pytest
from hypothesis import given

from lineage.core.sanitizer import RULES, VERSION, Sanitizer, normalized
from tests.support.materials import texts

ALNUM = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3Ab4Cd5Ef6Gh7Ij8Kl9Mn0Op1Qr2St3"
HEX = "0123456789abcdef" * 4
SECRETS = {
    "private-key": f"-----BEGIN RSA PRIVATE KEY-----\n{ALNUM}\n-----END RSA PRIVATE KEY-----",
    "aws-access-key-id": "AKIA" + "QWERTYUIOPASDFGH",
    "anthropic-key": f"sk-ant-api03-{ALNUM}",
    "openai-key": f"sk-proj-{ALNUM[:24]}T3BlbkFJ{ALNUM[:24]}",
    "openai-style-key": f"sk-{ALNUM[:40]}",
    "google-api-key": f"AIza{ALNUM[:35]}",
    "google-oauth-token": f"ya29.{ALNUM[:40]}",
    "github-token": f"ghp_{ALNUM[:36]}",
    "github-fine-grained-token": f"github_pat_{ALNUM[:62]}",
    "gitlab-token": f"glpat-{ALNUM[:20]}",
    "slack-token": f"xoxb-{ALNUM[:24]}",
    "slack-webhook": f"https://hooks.slack.com/services/{ALNUM[:30]}",
    "stripe-key": f"sk_live_{ALNUM[:24]}",
    "sendgrid-key": f"SG.{ALNUM[:22]}.{ALNUM[:43]}",
    "npm-token": f"npm_{ALNUM[:36]}",
    "pypi-token": f"pypi-{ALNUM[:60]}",
    "hugging-face-token": f"hf_{ALNUM[:34]}",
    "digitalocean-token": f"dop_v1_{HEX}",
    "age-secret-key": f"AGE-SECRET-KEY-1{ALNUM[:58].upper()}",
    "jwt": f"eyJ{ALNUM[:20]}.eyJ{ALNUM[:20]}.{ALNUM[:20]}",
    "authorization-header": f"Authorization: Basic {ALNUM[:24]}",
    "bearer-token": f"bearer {ALNUM[:24]}",
    "url-password": f"postgres://ada:{ALNUM[:12]}@db.example.org/x",
    "assigned-secret": f"DB_PASSWORD = '{ALNUM[:20]}'",
}
MIXED = texts(
    *SECRETS.values(), "token=", "password: ", "[REDACTED:", "[REDACTED:jwt]", "://a:", "@", "Bearer ", "a1" * 9
)


@given(MIXED)
def test_sanitizing_twice_changes_nothing_and_finds_nothing_more(text: str) -> None:
    once = Sanitizer().text(text)
    again = Sanitizer()
    assert again.text(once) == once
    assert not again.redactions


@given(MIXED)
def test_the_same_input_gives_the_same_output_and_counts(text: str) -> None:
    one, other = Sanitizer(), Sanitizer()
    assert one.text(text) == other.text(text)
    assert one.redactions == other.redactions


@given(MIXED)
def test_normalizing_twice_changes_nothing(text: str) -> None:
    once = normalized(text)
    assert normalized(once) == once
    assert once.encode() or not once
    assert not any(c < " " and c not in "\n\t" for c in once)


def test_every_rule_has_an_example_here() -> None:
    assert set(SECRETS) == {rule.id for rule in RULES}


@pytest.mark.parametrize("rule", SECRETS)
def test_every_rule_redacts_its_example_and_nothing_around_it(rule: str) -> None:
    sanitizer = Sanitizer()
    shown = sanitizer.text(f"before: ok {SECRETS[rule]} after")
    assert shown.startswith("before: ok ")
    assert shown.endswith(" after")
    assert f"[REDACTED:{rule}]" in shown
    assert ALNUM[:12] not in shown
    assert sanitizer.redactions == {rule: 1}


@pytest.mark.parametrize(
    "text", ["password = 'changeme-example-1'", "token: ${MY_TOKEN_12345}", "secret = abcdefghijklmnop"]
)
def test_a_placeholder_is_no_secret(text: str) -> None:
    assert Sanitizer().text(text) == text


@pytest.mark.parametrize(
    "unit",
    [
        "a",
        "password",
        "\x1b[",
        "\x1b]",
        "AKIA",
        "eyJ",
        "eyJaaaaaaaaa.",
        "://a:",
        "token=",
        "-----BEGIN PRIVATE KEY-----",
    ],
)
def test_a_hostile_line_of_a_megabyte_comes_through(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    sanitizer = Sanitizer()
    shown = sanitizer.text(text)
    assert Sanitizer().text(shown) == shown


def test_terminal_sequences_go_and_an_unfinished_one_takes_no_other_line_with_it() -> None:
    assert normalized("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x1b\\ ok\x00") == "red link ok"
    assert normalized("\x1b]0;title\nthe rest") == "\nthe rest"


def test_nothing_at_all_stays_nothing() -> None:
    assert Sanitizer().optional(None) is None
    assert Sanitizer().text("") == ""


def test_the_version_names_the_contract_and_the_rules() -> None:
    assert VERSION.split("+")[0] == "sanitize_transcript_v1"
    assert len(VERSION.split("+")[1]) == 8
