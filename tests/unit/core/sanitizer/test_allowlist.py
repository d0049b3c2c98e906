"""What looks like a secret and is none stays; a vendor's token among it goes all the same.

Fails when an allow-list is emptied, when one that is for guesses is asked about a vendor's token, or when what is
found about a value at one place is taken for true at another.
"""

import hashlib
from base64 import b64encode
from typing import Literal

import pytest

from lineage.core.sanitizer import Allowance, Rule, Ruleset, Sanitizer
from tests.support.parametrize import each
from tests.unit.core.sanitizer.material import OWN, SECRETS, TOKEN

SHA1, SHA256, SHA512 = (hashlib.new(name, b"x").hexdigest() for name in ("sha1", "sha256", "sha512"))
SRI = "sha512-" + b64encode(hashlib.sha512(b"x").digest()).decode()
PNG = b64encode(b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(200))).decode()

HARMLESS = {
    "Amazon's documentation": "aws_access_key_id = " + "AKIA" + "IOSFODNN7EXAMPLE",
    "Amazon's documentation, secret": "aws_secret_access_key = wJalrXUtnFEMI/" + "K7MDENG/bPxRfiCYEXAMPLEKEY",
    "Stripe's documentation": "curl -u sk_test_" + "4eC39HqLyjWDarjtT1zdp7dc:",
    "the example of jwt.io": "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9."
    "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwiaWF0IjoxNTE2MjM5MDIyfQ."
    "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c",
    "masked by stars": "password = ****************",
    "masked by x": "GITHUB_TOKEN=ghp_" + "x" * 36,
    "redacted by another": "secret: <redacted-by-ci>\ntoken = [FILTERED]\npassword=(hidden)",
    "a variable": "password = ${DB_PASSWORD_2}\nsecret: $SECRET_TOKEN_1\ntoken = {{ vault.token1 }}",
    "a commit": f"commit {SHA1}\nparent: {SHA1}",
    "checksums": f'"integrity": "{SRI}"\nchecksum = "{SHA256}"\nsha512:{SHA512}\nEtag: "{SHA1}"',
    "a digest of an image": f"registry.example.org/app@sha256:{SHA256}",
    "a UUID": "secret_id: 7b0f1d0e-9c1f-4a8e-8a57-0c7f1f7f0a11",
    "a lock file": f'{{url = "https://example.org/a.tar.gz", hash = "sha256:{SHA256}", size = 1}}',
    "an image": f"![x](data:image/png;base64,{PNG})",
    "a named hash": f"secret_hash: {SHA256}",
}


@each("text", HARMLESS.values(), ids=HARMLESS)
def test_harmless_text_stays(text: str) -> None:
    assert Sanitizer().sanitize(text) == text


@each(
    "text",
    [
        f"commit {{}} {SHA1}",
        f"{SHA256} {{}}",
        "checksum: {}",
        "data:image/png;base64,AAAA {}",
        "<redacted> {}",
        "uuid={}",
    ],
)
@each("secret", SECRETS.values(), ids=SECRETS)
def test_a_vendors_token_beside_harmless_text_is_redacted(text: str, secret: str) -> None:
    shown = Sanitizer().sanitize(text.format(secret))
    assert secret not in shown
    assert all(part in shown for part in text.split("{}"))


@pytest.mark.parametrize("value", [f"sha256:{SHA256}", "[HIDDEN]", "a" * 20, "ChangeMe-1234"])
def test_a_guess_ignores_harmless_values(value: str) -> None:
    text = f"secret = '{value}'"
    assert Sanitizer(OWN).sanitize(text) == text


@pytest.mark.parametrize(
    "name", ["secret:", "api_key =", "X-Api-Key:", "access token:", "Authorization: Bearer", "DB_PASSWORD="]
)
def test_a_uuid_is_a_secret_behind_a_strong_name_and_none_behind_an_id(name: str) -> None:
    value = "7b0f1d0e-9c1f-4a8e-8a57-0c7f1f7f0a11"
    assert value not in Sanitizer().sanitize(f"{name} {value}")
    assert Sanitizer().sanitize(f"request_id: {value}, key_id={value}") == f"request_id: {value}, key_id={value}"


def test_only_guesses_are_not_trusted_with_hashes() -> None:
    text = f"commit {SHA1}"
    for guess, shown in ((True, text), (False, "commit [REDACTED:hex]")):
        assert Sanitizer(Ruleset((Rule(id="hex", pattern=r"\b[0-9a-f]{40}\b", guess=guess),))).sanitize(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"commit {SHA1}, {SHA1}", f"commit {SHA1}, [REDACTED:hex]"),
        (f"{SHA1}, commit {SHA1}", f"[REDACTED:hex], commit {SHA1}"),
        (f'say "commit {SHA1}" + "x {SHA1}"', f'say "commit {SHA1}" + "x [REDACTED:hex]"'),
        (f"data:image/png;base64,{SHA1} {SHA1}", f"data:image/png;base64,{SHA1} [REDACTED:hex]"),
    ],
)
def test_a_guess_is_judged_anew_at_every_place(text: str, shown: str) -> None:
    rules = Ruleset((Rule(id="hex", pattern=r"\b[0-9a-f]{40}\b", guess=True),))
    assert Sanitizer(rules).sanitize(text) == shown


@pytest.mark.parametrize(("over", "allowed"), [("line", " fine"), ("match", "!")])
def test_a_context_allowance_is_checked_at_every_place(over: Literal["line", "match"], allowed: str) -> None:
    allowance = Allowance(patterns=(f"{allowed}$",), over=over)
    rules = Ruleset((Rule(id="pair", pattern=r"ada:([a-z0-9]{8})!?", group=1, allow=(allowance,)),))
    left, gone = f"ada:q7zp4vlk{allowed}\n", "ada:q7zp4vlk\n"
    assert Sanitizer(rules).sanitize(left + gone + left) == f"{left}ada:[REDACTED:pair]\n{left}"


def test_a_hex_secret_without_a_digest_label_is_redacted() -> None:
    assert SHA256 not in Sanitizer(OWN).sanitize(f"secret = '{SHA256}'")
    assert Sanitizer(OWN).sanitize(f"secret: {SHA256[:30]} x") == "secret: [REDACTED:named-secret] x"


def test_a_documentation_key_is_allowed_only_unchanged() -> None:
    assert "IOSFODNN7" not in Sanitizer().sanitize("AKIA" + "IOSFODNN7QWERTYU")
    assert TOKEN not in Sanitizer(OWN).sanitize(f"AKIA{'IOSFODNN7EXAMPLE'} {TOKEN}")
