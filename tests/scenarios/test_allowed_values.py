"""`sanitizer.allow`: values that are no secrets stay, and nothing longer gets out with them."""

import json
import re
from pathlib import Path

import pytest

from lineage.core.sanitizer import BUILTIN, Rule, Sanitizer, build_ruleset
from lineage.core.sanitizer.allowlist import AllowedValues
from tests.support.commands import LineageCommand
from tests.support.parametrize import each

PUBLIC = "Zk39fjQ2mVx81LpTr7Wq"
OTHER = "AKIA" + "QWERTYUIOPASDFGH"


@pytest.fixture
def lineage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> LineageCommand:
    command = LineageCommand(tmp_path / "vault", capsys)
    assert command("init", str(command.root)).code == 0
    return command


def allow(lineage: LineageCommand, *values: str) -> None:
    (lineage.root / "lineage.toml").write_text(f"[sanitizer]\nallow = {json.dumps(values)}\n")


def allow_patterns(home: Path, monkeypatch: pytest.MonkeyPatch, *patterns: str) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    (home / "lineage").mkdir(parents=True, exist_ok=True)
    (home / "lineage" / "config.toml").write_text(f"[sanitizer]\nallow_patterns = {json.dumps(patterns)}\n")


def find(lineage: LineageCommand, text: str) -> list[str]:
    file = lineage.root.parent / "text.txt"
    file.write_text(text)
    return [finding["rule"] for finding in lineage("sanitize", "--json", str(file)).json["findings"]]


def test_an_allowed_value_stays_in_a_session_and_the_secret_beside_it_does_not(lineage: LineageCommand) -> None:
    allow(lineage, PUBLIC)
    text = f"User: set API_KEY={PUBLIC} and AWS_KEY={OTHER}\nAssistant: token: {PUBLIC}"
    ended = lineage("session-end", "--harness", "generic", "--session-id", "s", "--transcript", text, "--json")
    written = (lineage.root / ended.json["transcript_path"]).read_text()
    assert f"API_KEY={PUBLIC} and" in written
    assert f"token: {PUBLIC}" in written
    assert OTHER not in written
    version = lineage("status", "--json").json["sanitizer"]
    assert version in written
    assert version != BUILTIN.version


def test_the_status_shows_what_is_allowed_and_no_value_whole(lineage: LineageCommand) -> None:
    assert lineage("status", "--json").json["allowed"] == []
    allow(lineage, PUBLIC)
    assert lineage("status", "--json").json["allowed"] == ["Zk… (20 characters)"]
    shown = lineage("status").out
    assert "allowed: Zk… (20 characters)" in shown
    assert PUBLIC not in shown


@each(
    "text",
    [
        f'API_KEY="{PUBLIC}"', f"api_key: {PUBLIC}", f"Authorization: Bearer {PUBLIC}", f"--token {PUBLIC}\n",
        f"password = '{PUBLIC}'", f"API_KEY={PUBLIC}\nconfigurations\n", f"https://x.example/?token={PUBLIC}&a=1",
    ],
)  # fmt: skip
def test_it_stays_in_every_carrier(text: str) -> None:
    assert Sanitizer().sanitize(text) != text
    sanitizer = Sanitizer(build_ruleset(allowed=AllowedValues((PUBLIC,))))
    assert PUBLIC in sanitizer.sanitize(text)
    assert PUBLIC in "".join(sanitizer.sanitize_all([text, "more"]))


@each("value", [PUBLIC + "4Hd7", "9Qx" + PUBLIC, PUBLIC + "-8sKfQ2", PUBLIC + "_x7Rt", PUBLIC + "+Ab3/x9"])
@each("carrier", ["API_KEY={}", 'secret = "{}"', "Authorization: Bearer {}", "password: {}", "?token={}"])
def test_a_longer_secret_is_redacted_whole(carrier: str, value: str) -> None:
    text = carrier.format(value)
    sanitized = Sanitizer(build_ruleset(allowed=AllowedValues((PUBLIC,)))).sanitize(text)
    assert sanitized == Sanitizer().sanitize(text)
    assert PUBLIC[:8] not in sanitized


@each("allowed", [AllowedValues((PUBLIC,)), AllowedValues(patterns=("Zk[0-9]{2}[A-Za-z0-9]{16}",))])
@each("text", ["see {}4Hd7", "see 9Qx{}", "see {}-8sKfQ2", "see {}=="])
def test_a_rule_that_finds_a_part_of_a_longer_token_keeps_it(text: str, allowed: AllowedValues) -> None:
    sanitizer = Sanitizer(build_ruleset([Rule(id="part", pattern=PUBLIC)], allowed=allowed))
    assert sanitizer.sanitize(text.format(PUBLIC)) == text.format("[REDACTED:part]")
    assert sanitizer.sanitize(f"see {PUBLIC}, it is public") == f"see {PUBLIC}, it is public"


@each("value", ["", " " * 40, "\t\n" * 20, "short-value", "a b c d e f g h i j k"])
def test_a_value_that_stands_in_many_secrets_is_refused_and_not_repeated(lineage: LineageCommand, value: str) -> None:
    allow(lineage, PUBLIC, value)
    refused = lineage("status")
    assert refused.code != 0
    assert "sanitizer.allow: value 2 has less than 12 characters" in refused.err
    assert "name the whole value" in refused.err
    assert PUBLIC not in refused.err
    allow(lineage)


@each("text", ['allow = "x"', "allow = [1]", "allow = { a = 1 }", 'allow_patterns = [".*"]'])
def test_what_is_no_list_of_values_is_refused_with_the_setting_s_name(lineage: LineageCommand, text: str) -> None:
    (lineage.root / "lineage.toml").write_text(f"[sanitizer]\n{text}\n")
    refused = lineage("status")
    assert refused.code != 0
    assert f"sanitizer.{text.split(maxsplit=1)[0]}" in refused.err
    allow(lineage)


def test_patterns_are_the_machine_s_own_and_match_whole_values(
    lineage: LineageCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = lineage("status", "--json").json["sanitizer"]
    allow_patterns(tmp_path / "config", monkeypatch, "Zk[0-9]{2}[A-Za-z0-9]{16}")
    assert find(lineage, f"API_KEY={PUBLIC}\n") == []
    assert len(find(lineage, f"API_KEY={PUBLIC}x7\nAPI_KEY=-{PUBLIC}\nkey {OTHER}\n")) == 3
    status = lineage("status", "--json").json
    assert status["allowed"] == ["pattern Zk[0-9]{2}[A-Za-z0-9]{16}"]
    assert status["sanitizer"] != before


@each("pattern", [".*", ".+", "[^ ]{12,}", "(?s).{6,}", r"\S+", "[A-Za-z0-9._~-]+", "(?<=x)y"])
def test_a_pattern_that_would_allow_nearly_everything_is_refused(
    lineage: LineageCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str
) -> None:
    allow_patterns(tmp_path / "config", monkeypatch, pattern)
    for command in (("status",), ("sanitize", "-"), ("resanitize", "--dry-run")):
        refused = lineage(*command)
        assert refused.code != 0
        assert re.search("would allow nearly everything|RE2 refuses", refused.err)
    allow_patterns(tmp_path / "config", monkeypatch)


def test_a_rules_file_that_would_allow_everything_switches_no_built_in_rule_off(lineage: LineageCommand) -> None:
    (lineage.root / "lineage.toml").write_text('[sanitizer]\nrules_path = "own.toml"\n')
    ids = json.dumps([rule.id for rule in BUILTIN.rules])
    (lineage.root / "own.toml").write_text(
        f"[extend]\ndisabledRules = {ids}\n[allowlist]\nregexes = ['.*']\n[[rules]]\nid = 'all'\nregex = 'quokka'\n"
    )
    assert find(lineage, f"quokka {OTHER}") == ["aws-access-key-id"]
    assert "stays on: aws-access-key-id: a rules file can't switch built-in rules off" in lineage("status").out
    assert len(lineage("status", "--json").json["kept_rules"]) == len({rule.id for rule in BUILTIN.rules})
