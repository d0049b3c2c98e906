"""Made-up credentials in vendors' public formats, a small set of rules of the tests' own, and texts rich in both."""

from hypothesis import strategies as st

from lineage.core.sanitizer import Rule, Ruleset
from scripts.benchmarks.disguises import DISGUISES
from scripts.benchmarks.rule_examples import RULE_EXAMPLES

_LETTERS = "Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3Ab4Cd5Ef6Gh7Ij8Kl9Mn0Op1Qr2St3"
_HEX = "0f1e2d3c4b5a69788796a5b4c3d2e1f0" * 2

SECRETS = {
    "aws": "AKIA" + "QWERTYUIOPASDFGH",
    "anthropic": "sk-ant-" + f"api03-{_LETTERS}{_LETTERS[:21]}AA",
    "openai": "sk-proj-" + f"{_LETTERS[:24]}T3BlbkFJ{_LETTERS[:24]}",
    "google": "AIza" + _LETTERS[:35],
    "github": "ghp_" + _LETTERS[:36],
    "github fine-grained": "github_" + f"pat_{_LETTERS[:22]}_{_LETTERS[:59]}",
    "gitlab": "glpat-" + _LETTERS[:20],
    "slack": "xoxb-" + f"123456789012-1234567890123-{_LETTERS[:24]}",
    "stripe": "sk_live_" + _LETTERS[:24],
    "sendgrid": "SG." + f"{_LETTERS[:22]}.{_LETTERS[:43]}",
    "npm": "npm_" + _LETTERS[:36],
    "hugging face": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
    "digitalocean": "dop_" + f"v1_{_HEX}",
    "jwt": "eyJhbGciOiJIUzI1NiJ9." + f"eyJzdWIiOiJhZGEifQ.{_LETTERS[:43]}",
}

PROBE = Rule(id="probe-token", pattern=r"\bprobe_[A-Za-z0-9]{20,60}\b", keywords=("probe_",))
TOKEN = "probe_" + _LETTERS[:24]
NAMED = Rule(
    id="named-secret",
    pattern=r"(?i)[a-z_]{0,20}(?:password|secret)[\"']?\s{0,4}[:=]\s{0,4}[\"']?([A-Za-z0-9_+/-]{10,80})",
    keywords=("password", "secret"),
    group=1,
    guess=True,
)
BLOCK = Rule(
    id="probe-block",
    pattern=r"-----BEGIN PROBE PRIVATE KEY-----[A-Za-z0-9+/=\s\\]{16,}(?:-----END PROBE PRIVATE KEY-----)?",
    keywords=("probe private key",),
)
KEY_BLOCK = f"-----BEGIN PROBE PRIVATE KEY-----\n{_LETTERS}\n{_LETTERS}\n-----END PROBE PRIVATE KEY-----"
OWN = Ruleset((PROBE, BLOCK, NAMED))

_RULE_EXAMPLES = [example.text for example in RULE_EXAMPLES.values()]
EXAMPLES = [*SECRETS.values(), *_RULE_EXAMPLES, TOKEN, KEY_BLOCK, "password = 'q7Zp4vLk9sXw'"]
NOISE = (
    "token=", "password: ", "secret = '", "[REDACTED:", "[REDACTED:jwt]", "[REDACTED:probe-token]", "://a:", "@",
    "Bearer ", "a1" * 9, "***", "<redacted>", "%41", "\\u0041", "\\n", '\\"', '" + "', "probe_", "=\n", "\n    ",
    "-----BEGIN PROBE PRIVATE KEY-----", "-----END PROBE PRIVATE KEY-----", "\u200b", "ｐ", "&#112;", "YWJjZA==",
    "0x41",
)  # fmt: skip


def draw_disguised() -> st.SearchStrategy[str]:
    """An example in some disguise."""
    return st.builds(
        lambda disguise, text: disguise(text), st.sampled_from([*DISGUISES.values(), str]), draw_examples()
    )


def draw_examples() -> st.SearchStrategy[str]:
    return st.sampled_from(EXAMPLES)
