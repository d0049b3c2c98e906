"""The rules one by one: each finds its example wherever it stands, redacts the secret and nothing else, and no rule
takes ordinary code, prose, placeholders or digests for a secret.

Fails when a rule demands something behind its secret, takes more than the secret, or goes by less than its mark.
"""

import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from benchmarks.redaction_families import fill

from lineage.core.sanitizer import BUILTIN, MARKER, RULES, Rule, Ruleset, Sanitizer, build_ruleset
from lineage.core.sanitizer.re2_patterns import compile_pattern
from lineage.core.sanitizer.rule import FIRST_GROUP
from scripts.benchmarks.rule_examples import RULE_EXAMPLES
from tests.support.parametrize import Test, each
from tests.unit.core.sanitizer.ordinary import ORDINARY

SURROUNDINGS = {
    "prose with a comma": "we use {}, and that works",
    "prose with a full stop": "It is {}.",
    "double quotes": 'x = "{}"',
    "single quotes in a list": "['{}', 1]",
    "the query of an address": "https://a.example.org/?q={}&x=1",
    "YAML": "a:\n  b: {}\n  c: d\n",
    "backticks": "run `{}` now",
    "bold": "- **{}**",
    "parentheses": "see ({}) there",
    "the start of a line": "first\n{} is it",
    "the end of a line": "it is {}\nlast",
    "a diff": "@@ -1 +1 @@\n-KEY=\n+KEY={}\n",
    "XML": "<a>{}</a>",
}
TO_A_SPACE = {"netrc-password", "pgpass-password", "setting-password", "mail-map-password"}
"""Files that end a password with white space alone: in an address there is no telling where it ends."""


def example(rule: Rule) -> str:
    return RULE_EXAMPLES[rule.id].text


def match_rule(rule: Rule, text: str) -> Any:
    return compile_pattern(rule.pattern).search(text.encode())


def extract_secret(rule: Rule, match: Any) -> str:
    group = rule.group
    if group == FIRST_GROUP:
        group = next((number for number, held in enumerate(match.groups(), 1) if held), 0)
    secret = match.group(group)
    assert isinstance(secret, bytes)
    return secret.decode()


def get_secret(rule: Rule) -> str:
    if rule.claim in ("value", "prose"):
        ((start, end, *_),) = Ruleset((rule,)).find_matches(example(rule))
        return example(rule)[start:end]
    return extract_secret(rule, match_rule(rule, example(rule)))


def escape(text: str, times: int) -> str:
    return text if not times else escape(json.dumps(text, ensure_ascii=False)[1:-1], times - 1)


def redact(text: str, rules: Ruleset = BUILTIN) -> str:
    return MARKER.sub("@", Sanitizer(rules).sanitize(text))


def mask(text: str, secret: str) -> str:
    """Mask the secret of an example, and the key id that stands beside one."""
    return re.sub("AKIA[A-Z0-9]{16}", "@", text.replace(secret, "@"))


CREDENTIALS = [rule for rule in RULES if not rule.personal]
MARKED = [
    rule
    for rule in CREDENTIALS
    if any(len(word) > 2 and get_secret(rule).lower().startswith(word) for word in rule.keywords) and not rule.guess
]
"""Rules whose secrets carry a mark of the vendor at their start."""

each_credential = pytest.mark.parametrize("rule", CREDENTIALS, ids=lambda rule: rule.id)


def each_rule(rules: Sequence[Rule]) -> Callable[[Test], Test]:
    return each("rule", rules, ids=lambda rule: rule.id)


def test_ids_are_unique_and_can_stand_in_a_marker() -> None:
    assert len({rule.id for rule in RULES}) == len(RULES)
    assert all(MARKER.fullmatch(f"[REDACTED:{rule.id}]") for rule in RULES)
    assert list(RULE_EXAMPLES) == [rule.id for rule in RULES]


def test_the_number_of_families_is_above_the_goal() -> None:
    assert len(CREDENTIALS) >= 190
    assert len(MARKED) >= 150


@each_rule(RULES)
def test_a_rule_has_a_description_an_example_and_a_dated_source_or_a_note(rule: Rule) -> None:
    finds, text, page, seen, note = RULE_EXAMPLES[rule.id]
    assert finds
    assert text
    assert re.fullmatch(r"https://[a-z0-9.-]+/[^\s]*", page)
    assert re.fullmatch(r"(?:20[0-9]{2}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01]))?", seen)
    assert seen or note
    assert len(note) <= 100 and "not looked up yet" not in note


def test_pages_that_were_looked_up_stay_so() -> None:
    """A page counts with the day on which somebody read it; a mere address is no source."""
    assert len([rule for rule in RULES if RULE_EXAMPLES[rule.id].seen]) >= 433


@each_rule(RULES)
def test_a_keyword_is_in_what_the_rule_matches(rule: Rule) -> None:
    assert all(rule.keywords)
    assert all(word == word.lower() or not word.isascii() for word in rule.keywords)
    lowered = match_rule(rule, example(rule)).group(0).lower()
    assert not rule.keywords or any(word.encode() in lowered for word in rule.keywords)


@each_rule(RULES)
def test_a_rule_finds_its_example(rule: Rule) -> None:
    start = example(rule).index(get_secret(rule))
    hits = Ruleset((rule,)).find_matches(example(rule))
    assert (start, start + len(get_secret(rule))) in [(hit.start, hit.end) for hit in hits]


@pytest.mark.slow
@each_rule(RULES)
def test_the_secret_of_an_example_is_redacted_and_nothing_else(rule: Rule) -> None:
    rules = build_ruleset(personal={rule.id: "mask"} if rule.personal else None)
    assert redact(example(rule), rules) == mask(example(rule), get_secret(rule))


@pytest.mark.slow
@each_credential
def test_an_example_is_found_wherever_it_stands(rule: Rule) -> None:
    places = {name: around for name, around in SURROUNDINGS.items() if "&" not in around or rule.id not in TO_A_SPACE}
    texts = {name: around.replace("{}", example(rule)) for name, around in places.items()}
    wanted = {name: mask(text, get_secret(rule)) for name, text in texts.items()}
    assert {name: redact(text) for name, text in texts.items()} == wanted


@pytest.mark.slow
@each_credential
def test_an_example_is_found_in_escaped_text(rule: Rule) -> None:
    for times in (1, 2):
        text = escape(f"one\n{example(rule)}\ntwo", times)
        assert redact(text) == mask(text, escape(get_secret(rule), times)), times


@each_rule(MARKED)
def test_without_its_mark_the_rule_finds_nothing(rule: Rule) -> None:
    secret = get_secret(rule)
    other = "%" if secret[0] in "{$-" else "j" if secret[0] != "j" else "w"
    assert match_rule(rule, example(rule).replace(secret, other + secret[1:])) is None


@each_rule(MARKED)
def test_the_mark_alone_is_no_secret(rule: Rule) -> None:
    secret = get_secret(rule)
    word = max((word for word in rule.keywords if secret.lower().startswith(word)), key=len)
    assert match_rule(rule, example(rule).replace(secret, secret[: len(word)])) is None


@each("text", ORDINARY)
def test_ordinary_text_stays(text: str) -> None:
    assert Sanitizer().sanitize(text) == text


PEM = "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"
LINES = [f"MIIEowIBAAKCAQEA{number:02}" + "aB3dE5gH7/kL9+nP" * 3 for number in range(1, 9)]
BLOCK = PEM.format("\n".join([*LINES, "qW3rT5=="]))
WRITTEN = {
    "as it is": BLOCK,
    "with its lines indented": BLOCK.replace("\n", "\n    "),
    "in quotation": BLOCK.replace("\n", "\n> "),
    "added in a diff": BLOCK.replace("\n", "\n+"),
    "taken out in a diff": BLOCK.replace("\n", "\n-"),
    "with line numbers": "".join(f"\n{number:6}→{line}" for number, line in enumerate(BLOCK.split("\n"), 1))[8:],
    "with numbers and tabs": "".join(f"\n{number:6}\t{line}" for number, line in enumerate(BLOCK.split("\n"), 1))[8:],
    "escaped": BLOCK.replace("\n", "\\n"),
    "escaped twice": BLOCK.replace("\n", "\\\\n"),
    "as strings put together": BLOCK.replace("\n", '\\n" +\n    "'),
    "on one line": BLOCK.replace("\n", " "),
    "encrypted": BLOCK.replace("KEY-----\nM", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0A1B\n\nM"),
}


@each("block", WRITTEN.values(), ids=WRITTEN)
def test_a_private_key_is_redacted_as_a_whole(block: str) -> None:
    assert redact(f'a "{block}", b') == 'a "@", b'


@each("block", WRITTEN.values(), ids=WRITTEN)
def test_a_private_key_without_its_end_is_redacted_to_the_last_line(block: str) -> None:
    shown = redact(block[: block.index("qW3rT5")])
    assert "@" in shown
    assert not re.search(r"[A-Za-z0-9+/]{12}", shown)


def test_a_text_about_private_keys_stays() -> None:
    text = 'A file that begins with "-----BEGIN PRIVATE KEY-----" and has nothing else is refused.'
    assert redact(text) == text


UUID_FORM = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
MORE_FORMS = {
    "an AWS key id behind a letter": ("%20{}", "AKIA[A-Z2-7]{16}"),
    "a client's Slack token": ("it is {}", "xoxc-[0-9]{12}-[0-9]{13}-[0-9a-f]{64}"),
    "a client's Slack cookie": ("d={};", "xoxd-[A-Za-z]{80,120}"),
    "a Salesforce session": ("it is {}", "00D[A-Za-z0-9]{12}![0-9][A-Za-z0-9._]{94}w"),
    "a New Relic license of a region": ("it is {}", "eu01xx[0-9a-f]{30}NRAL"),
    "a New Relic license with its filler": ("it is {}", "[0-9a-f]{32}FFFFNRAL"),
    "a New Relic browser key": ("it is {}", "NRBR-[0-9a-f]{19}"),
    "a New Relic token of a mobile app": ("it is {}", "AA[0-9a-f]{40}-NRMA"),
    "an Adafruit key with any letters": ("it is {}", "aio_[A-Za-z0-9]{28}"),
    "a Klaviyo key with the account": ("it is {}", "pk_[A-Za-z0-9]{6}_[0-9a-f]{34}"),
    "a Figma token of a plan": ("it is {}", "figp_[A-Za-z0-9]{44}"),
    "a Buildkite token of an agent's session": ("it is {}", "bkaa_[A-Za-z0-9]{60}"),
    "a Buildkite token of a portal": ("it is {}", "bkpat_[A-Za-z0-9]{40}"),
    "a SonarQube Cloud token": ("it is {}", "sqco_[A-Za-z0-9]{59}"),
    "a Datadog application key of 2026": ("it is {}", "ddapp_[A-Za-z0-9]{34}"),
    "a Datadog service's token": ("it is {}", "ddsat_[A-Za-z0-9]{34}"),
    "a Honeycomb key of any letter": ("it is {}", "hc[c-z]ik_[a-z0-9]{58}"),
    "a Stripe client secret": ("it is {}", "pi_[A-Za-z0-9]{24}_secret_[A-Za-z0-9]{25}"),
    "a Shippo key of the vendor's example": ("it is {}", "shippo_test_[0-9a-f]{32}"),
    "a short Mollie token": ("it is {}", "access_[A-Za-z0-9]{29}"),
    "an Akamai token with a short end": ("it is {}", "akab-[a-z0-9]{26}-[a-z0-9]{6}"),
    "a Square authorization code": ("it is {}", "sq0cgb-[A-Za-z0-9]{22}"),
    "a Paddle key for tests": ("it is {}", "pdl_test_apikey_[a-z0-9]{26}_[A-Za-z0-9]{22}_[A-Za-z0-9]{3}"),
    "an Azure key for the gateway of APIs": ("it is {}", "[A-Za-z0-9+/]{76}APIM[A-Za-z0-9+/]{5}w=="),
    "an Azure key of an event grid": ("it is {}", "[A-Za-z0-9+/]{33}AZEG[A-Za-z0-9]{6}="),
    "an ntfy token of mixed case": ("it is {}", "tk_[A-Za-z0-9]{29}"),
    "an ngrok token of the first form": ("authtoken: {}", "[1-9][A-Za-z0-9]{18}_[A-Za-z0-9]{21}"),
    "a HubSpot key without its name": ("it is {}", "eu1-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    "a Dependency-Track key with an id": ("it is {}", "odt_[A-Za-z0-9]{8}_[A-Za-z0-9]{32}"),
    "a Vault key for a command": ("vault operator unseal {}", "[A-Za-z0-9+/]{43}="),
    "a NATS curve's seed": ("it is {}", "SX[A-Z2-7]{56}"),
    "an uncompressed wallet key": ("it is {}", "5(H|J|K)[2-9A-HJ-NP-Za-km-z]{49}"),
    "a hash of Cisco type 8": ("secret 8 {}", "$8$[A-Za-z0-9./]{14}$[A-Za-z0-9./]{42}w"),
    "a hash of Cisco type 9": ("it is {}", "$9$[A-Za-z0-9./]{14}$[A-Za-z0-9./]{42}w"),
    "a hash of werkzeug": ("it is {}", "pbkdf2:sha256:600000$[A-Za-z0-9]{16}$[0-9a-f]{64}"),
    "a salted hash of Django": ("it is {}", "(sha1|md5)$[A-Za-z0-9]{12}$[0-9a-f]{40}"),
    "a scrypt hash of Django": ("it is {}", "scrypt$16384$[A-Za-z0-9]{12}$8$1$[A-Za-z0-9+/]{86}=="),
    "a verifier of PostgreSQL": (
        "it is {}", "SCRAM-SHA-256$4096:[A-Za-z0-9+/]{22}==$[A-Za-z0-9+/]{43}=:[A-Za-z0-9+/]{43}=",
    ),
    "a Kerberos ticket of a service": ("it is {}", "$krb5tgs$23$*ada$EXAMPLE.ORG$web/host*$[0-9a-f]{32}$[0-9a-f]{400}"),
    "a Kerberos answer to a user": ("it is {}", "$krb5asrep$23$ada@example.org:[0-9a-f]{32}$[0-9a-f]{400}"),
    "a Kerberos time stamp": ("it is {}", "$krb5pa$18$ada$EXAMPLE.ORG$[0-9a-f]{112}"),
    "a minisign key without a password": ("it is {}", "RWQAAEIy[A-Za-z0-9+/]{204}"),
    "a signify key": ("it is {}", "RWRCSwAAACo[A-Za-z0-9+/]{129}"),
    "a Phabricator token of a cluster": ("it is {}", "clr-[a-z2-7]{28}"),
    "a Docker Swarm token of the second version": ("--token {}", "SWMTKN-2-1-[a-z0-9]{50}-[a-z0-9]{25}"),
    "a Checkout.com key of the first API": ("it is {}", f"sk_{UUID_FORM}"),
    "a Telegram bot with a short id": ("it is {}", "[1-9][0-9]{5}:AA[A-Za-z0-9]{33}"),
    "a Telegram bot with a long id": ("it is {}", "[1-9][0-9]{11}:AA[A-Za-z0-9]{33}"),
    "a Polar access token of a user": ("it is {}", "polar_at_u_[A-Za-z0-9]{43}"),
    "a Polar session": ("it is {}", "polar_us_[A-Za-z0-9]{43}"),
    "a MySQL address without a host": ('("mysql", "ada:{}@/app")', "[A-Z][a-z]{3}[0-9]{3}[A-Za-z0-9]{6}"),
    "a MySQL address of Cloud SQL": ('("mysql", "ada:{}@cloudsql(p:i)/app")', "[A-Z][a-z]{3}[0-9]{3}[A-Za-z0-9]{6}"),
    "a Sun MD5 hash": ("it is {}", "$md5,rounds=904$[A-Za-z0-9]{8}$$[A-Za-z0-9]{22}"),
    "a hash of NetBSD": ("it is {}", "$sha1$40000$[A-Za-z0-9]{8}$[A-Za-z0-9./]{27}w"),
    "an NT hash": ("it is {}", "$3$$[0-9a-f]{32}"),
    "a yescrypt hash with a long salt": ("it is {}", "$y$j9T$[A-Za-z0-9./]{86}$[A-Za-z0-9./]{43}"),
    "an extended private key of a wallet": ("it is {}", "xprv9[2-9A-HJ-NP-Za-km-z]{106}"),
    "the secret of an old Sentry DSN": ("https://0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d:{}@sentry.io/2", "[0-9a-f]{32}"),
    "a token before the path of a folder": ("https://{}@a.example.org/12/b.git", "0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d"),
    "a private key that signs calls of a webhook": ("it is {}", "whsk_[A-Za-z0-9+/]{86}=="),
    "a Google key of an account of a service": ("it is {}", "GOOGTS7[A-Z2-7]{53}4"),
    "a short Google key": ("it is {}", "GOOG56[A-Z2-7]{17}"),
    "an SES password of the older signature": ("SES_SMTP_PASS: {}", "A[g-v][A-Za-z0-9+/]{41}8"),
    "Maven's master password": ("<master>{{}}</master>", "[A-Za-z0-9+/]{43}="),
    "a short password of Maven": ("<password>{{}}</password>", "[A-Z]{6}6[A-Za-z0-9]{9}="),
    "the key of a network with spaces": ('psk="{}"', "[a-z]{4} [0-9] [a-z]{5} [a-z]{6}"),
    "a Consul token as its command shows it": ("AccessorID:   a\nSecretID:     {}\n", UUID_FORM),
    "a Nomad token as its command shows it": ("Secret ID    = {}\n", UUID_FORM),
    "a secure string with spaces": ("ConvertTo-SecureString '{}' -AsPlainText -Force", "[A-Z][a-z]{2} [0-9]{3}$x y"),
    "a secure string behind its options": ('ConvertTo-SecureString -AsPlainText -Force "{}"', "[A-Z][a-z]{4}[0-9]{3}!"),
    "a session token of AWS with the oldest beginning": ("it is {}", "AQoDYXdzE[A-Za-z0-9/+]{99}"),
    "a virtual key of LiteLLM": ('{"deleted_keys": ["{}"]}', "sk-[A-Za-z]{9}[0-9][A-Z][a-z]{3}[A-Za-z0-9]{8}"),
    "a virtual key of LiteLLM with signs": ("it is {}.", "sk-[A-Z][0-9][a-z]{3}_[A-Z]{2}[a-z0-9]{6}-[A-Za-z0-9]{7}"),
    "a cookie of Gerrit with commas": (
        "'source.developers.google.com,FALSE,/,TRUE,2147483647,o,{}\\n'", "git-ada.example.org=1//0[A-Za-z0-9_-]{60}",
    ),
    "a Scale key for tests": ("it is {}", "test_[0-9a-f]{32}"),
    "a Scale key with its end": ('ScaleClient("{}", "app")', "[0-9a-f]{32}\\|live"),
    "a password of JDBC": ('DriverManager.getConnection(url, user, "{}")', "[A-Z][a-z]{3}[0-9]{3}[A-Za-z0-9]{6}"),
    "a password of JDBC behind an address": (
        'getConnection("jdbc:postgresql://db.example.org/app", "ada", "{}")', "[A-Z][a-z]{3}[0-9]{3}[A-Za-z0-9]{6}",
    ),
    "an Anyscale token with signs": ("it is {}", "aph0_[A-Za-z0-9]{8}_[A-Za-z0-9-]{20}_[A-Za-z0-9]{30}"),
    "an Entra token with a short first part": ("it is {}", "0.A[A-Za-z0-9_-]{50}.[A-Za-z0-9_-]{910}"),
    "an Entra token with a number": ("it is {}", "1.A[A-Za-z0-9_-]{52}.1.Ag[A-Za-z0-9_-]{300}"),
    "an Entra token without a dot": ("it is {}", "AwABAAAA[A-Za-z0-9_-]{120}"),
    "a Typeform token of forty": ("it is {}", "tfp_[0-9a-f]{40}"),
    "a password of a Cisco level": ("enable password level 2 {}", "[A-Z][a-z]{5}[0-9]{2}x"),
    "a key of a TACACS host": ("tacacs-server host 10.1.1.1 key {}", "[A-Z][a-z]{5}[0-9]{2}x"),
    "a key of a RADIUS server": ("radius server ISE\n address ipv4 10.1.1.1\n key 7 {}", "08[0-9A-F]{14}"),
    "a long global key of Cloudflare": ("X-Auth-Key: {}", "[0-9a-f]{45}"),
    "a token of Wrangler": ("it is {}", "cfoat_[A-Za-z0-9_-]{40}"),
    "a secret of Twitch with 31": ("TWITCH_CLIENT_SECRET={}", "[a-z]{5}[0-9][a-z0-9]{25}"),
    "a secret of Plaid with 31": ("PLAID-SECRET: {}", "[a-z]{5}[0-9][a-z0-9]{25}"),
    "a Twitter token of an old account": ("twitter_access_token={}", "[1-9][0-9]{6}-[A-Za-z0-9]{40}"),
    "a Twitter secret of 43": ("twitter_consumer_secret={}", "[A-Za-z]{9}[0-9][A-Za-z0-9]{33}"),
    "a password of SQL*Plus": ("sqlplus -s scott/{} @report", "[a-z]{5}"),
    "a password behind SQL*Plus' prompt": ("SQL> CONNECT TODD/{}\nConnected.", "[A-Z]{3}"),
    "a password of a script for SQL*Plus": ("CONNECT sys/{} AS SYSDBA;\n", "[a-z]{6}[0-9]"),
    "a password of Data Pump": ("impdp hr/{} DIRECTORY=dumps", "[a-z]{6}[0-9]"),
    "an older Zapier hook": ("https://zapier.com/hooks/catch/{}/", "[1-9][0-9]{5}/[a-z]{6}"),
    "a Cal.com key for tests": ("it is {}", "cal_test_[0-9a-f]{32}"),
    "a Neon key of an organization": ("it is {}", "neon_org_key_[0-9a-f]{32}"),
    "a Midtrans key of the first name": ("it is {}", "VT-server-[A-Za-z0-9]{24}"),
    "a TrueNAS key for a method": ('"auth.login_with_api_key", "params": ["{}"]', "12-[A-Za-z0-9]{64}"),
}  # fmt: skip


@each("name", MORE_FORMS)
def test_further_forms_of_a_family_are_masked_whole(name: str) -> None:
    around, form = MORE_FORMS[name]
    for seed in range(10):
        assert redact(around.replace("{}", fill(form, Random(seed)))) == around.replace("{}", "@")


LOOKALIKES = (
    'class="sk-folding-cube-spinner-x" id="sk-estimator-doc-link1"',
    "sk-Card-Header-Title-01, sk-featureSelectionPanel, sk-toggleable__content1",
    "sk-learn-preprocessing and sk-model-registry-v1-beta",
    "sqlplus client/server tools, sqlplus /nolog, rman target / and impdp and/or expdp",
    "Connect Slack/Discord\nconnect to hosts/ports\nCONNECT example.org:443 HTTP/1.1\n",
    "sqlplus user/password@db",
    "| 5d41402abc4b2a76b9719d911017c592|test|\n| 0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d | live |",
    "cloudflare/workers-sdk: 3dc93a2be99c9a55d30dc82f5559b566686e295d",
    "getConnection(url, user, password)",
    "https://zapier.com/hooks/catch is where hooks are caught",
    "/api/v1/notificationsettings/rpc",
    "KubernetesPersistentVo1umeC1aimControllerManagerTest",
    "LocaleSensitiveConfigurationPropertiesHandlerFactory",
    "SUPPORTED_ACCESS_METHODS SAFEGUARD SUBSCRIPTION SANITIZE",
    "MALAYSIAN, AUSTRALASIA_AND_OCEANIA, EURASIAWIDE",
    'wallet_rows = [[1, 2, 3], [4, 5, 6]]; solana = ["a", "b"]',
    "$8$ and $9$ are types of hashes, as is $krb5tgs$23$",
    "mnemonic to seed: the words give the seed of all keys",
    "SENTRY_DSN=https://0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d@o123456.ingest.sentry.io/1234567",
    'Sentry.init({ dsn: "http://0a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d@errors.example.org:9000/42" })',
    "tk-us-east-1, pico-projectors, sha256~, polar_coordinates_and_more",
    'import lodash from "npm:lodash@/v4" or "user:pkg@/x"',
    "ConvertTo-SecureString -String $env:PW -AsPlainText; ConvertTo-SecureString '<password>' -AsPlainText",
    "bbdc-dev, aio_read_write_all, odt_file_with_a_long_name_and_more",
)


@each("text", LOOKALIKES)
def test_text_like_a_form_stays(text: str) -> None:
    assert redact(text) == text


PERSONAL = {
    "email": ("mail ada.byron@example.org, please", "mail @, please"),
    "user-name": (r"/home/ada/x, /Users/ada, C:\Users\ada\x", r"/home/@/x, /Users/@, C:\Users\@\x"),
    "ip-address": ("from 203.0.113.77:80 or [2001:db8::17]", "from @:80 or [@]"),
}


@pytest.mark.parametrize("name", PERSONAL)
def test_personal_data_stays_unless_its_rule_is_chosen(name: str) -> None:
    given, shown = PERSONAL[name]
    assert Sanitizer().sanitize(given) == given
    assert redact(given, build_ruleset(personal={name: "mask"})) == shown


def test_the_personal_rules_are_these() -> None:
    assert {rule.id for rule in RULES if rule.personal} == set(PERSONAL)


UNSEEN = {
    "an environment": "export ORBITDB_TOKEN={}",
    "a Dockerfile": "ENV ORBITDB_API_KEY {}",
    "Python": "orbit_secret = '{}'",
    "Python, by environment": 'os.environ["ORBIT_TOKEN"] = "{}"',
    "a default": 'os.getenv("ORBIT_TOKEN", "{}")',
    "JavaScript": "const orbitApiKey = '{}';",
    "TypeScript": 'const token: string = "{}";',
    "Go": 'orbitKey := "{}"',
    "Rust": 'let secret_key: &str = "{}";',
    "Java": 'private static final String API_TOKEN = "{}";',
    "PHP": "'client_secret' => '{}',",
    "Ruby": "client = Orbit.new(api_key: '{}')",
    "C": '#define ORBIT_TOKEN "{}"',
    "JSON": '{"orbitToken": "{}"}',
    "JSON in JSON": '{\\"orbitToken\\": \\"{}\\"}',
    "YAML": "orbit:\n  access_token: {}\n",
    "TOML": 'auth_token = "{}"',
    "INI": "[orbit]\nsecret = {}\n",
    "XML": "<apiToken>{}</apiToken>",
    "an XML attribute": '<add key="OrbitToken" value="{}" />',
    "PowerShell": '$env:ORBIT_TOKEN = "{}"',
    "cmd": "set ORBIT_TOKEN={}",
    "setx": "setx ORBIT_TOKEN {}",
    "an option": "orbit --api-key {} push",
    "an option with a sign": "orbit --token={}",
    "an address": "https://orbit.example.org/v1?token={}&page=2",
    "a header": "X-Orbit-Token: {}",
    "curl": 'curl -H "Authorization: Bearer {}" https://orbit.example.org',
    "prose": "Our API key for the orbit service is {}, keep it safe.",
    "a table": "| orbit | API key | `{}` |\n",
    "Kubernetes": "- name: ORBIT_TOKEN\n  value: {}\n",
    "Terraform": 'variable "orbit_token" {\n  default = "{}"\n}',
    "a call": 'client = OrbitClient("{}")',
    "a comparison": 'if token == "{}":',
    "an alternative": "process.env.ORBIT_TOKEN || '{}'",
}
VALUES = ("q7Zp4vLk9sXwT2mRb8Yc5N", "9f86d081884c7d659a2feaa0c55ad015", "kd3-Xv9_Pq2Lr7Tb5Wn8Zs4Hm6")


@each("value", VALUES)
@each("written", UNSEEN.values(), ids=UNSEEN)
def test_an_unknown_family_is_found_by_the_name_beside_the_value(written: str, value: str) -> None:
    assert redact(written.replace("{}", value)) == written.replace("{}", "@")


PASSWORDS = {
    "an environment": "DB_PASSWORD={}",
    "quotes": 'password = "{}"',
    "JSON": '"dbPassword": "{}",',
    "another language": "contraseña: {}",
    "an option": "backup --password {} now",
    "MySQL": "mysql -u root -p{} app",
    "curl": "curl -u ada:{} https://a.example.org",
    "an address": "amqp://ada:{}@mq.example.org/",
    "a connection string": "Server=a;User Id=b;Pwd={};Encrypt=true",
    "a statement": "ALTER USER ada WITH PASSWORD '{}'",
    "a sentence": "The password is {}.",
    "a call": 'login("ada", "{}")',
}


@each("value", ["hunter42x", "Tr0ub4dor!3", "Blue7Otter"])
@each("written", PASSWORDS.values(), ids=PASSWORDS)
def test_a_password_is_found_by_the_name_beside_it(written: str, value: str) -> None:
    assert redact(written.replace("{}", value)) == written.replace("{}", "@")
