"""`lineage.toml`: every key known, every mistake answered with what was meant."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from lineage.config.workspace import LedgerSettings, SessionSettings, Settings, TranscriptSettings, parse_settings
from lineage.errors import InvalidInput
from lineage.pipeline.conversations.lane_name import SCOPES
from lineage.pipeline.conversations.lanes import build_resets
from tests.support.parametrize import each

TEMPLATE = Path(__file__).parents[3] / "workspace_template" / "lineage.toml"


@pytest.mark.parametrize("text", ["", "# a comment\n", "[ledger]\n", "[ledger]\n[transcript]\r\n[identity_links]\n"])
def test_a_file_that_sets_nothing_gives_the_defaults(text: str) -> None:
    assert parse_settings(text) == Settings()


@pytest.mark.parametrize("text", ["#\x01", "[ledger]\n[ledger]\n", "[ledger", "[ledger]\r"])
def test_a_section_that_is_broken_or_twice_there_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"lineage\.toml"):
        parse_settings(text)


def test_the_template_documents_every_setting_with_its_default() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    assert parse_settings(text) == Settings()
    active = re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)
    assert parse_settings(active) == Settings()
    for section in (LedgerSettings, TranscriptSettings):
        assert all(re.search(rf"^{key} = ", active, re.MULTILINE) for key in (field.name for field in fields(section)))


def test_settings_are_read() -> None:
    text = '[ledger]\nmax_bytes = 4096\nrow_style = "compact"\n[transcript]\nthinking = true\nmax_result_chars = 0\n'
    assert parse_settings(text) == Settings(LedgerSettings(4096, "compact"), TranscriptSettings(True, 0))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[ledgr]\n", "'ledger'"),
        ("[ledger]\nmax_byte = 5000\n", "'ledger.max_bytes'"),
        ("[transcript]\nthinkin = true\n", "'transcript.thinking'"),
        ("zzz = 1\n", "known: ledger, transcript"),
    ],
)
def test_an_unknown_setting_is_a_warning_that_names_the_nearest_known_one(text: str, hint: str) -> None:
    settings = parse_settings(f"{text}[context]\nbudget = 77\n")
    (warning,) = settings.unknown
    assert hint in warning
    assert settings.context.budget == 77
    assert settings.ledger == LedgerSettings()


@pytest.mark.parametrize("text", ['[index]\nurl = "x"\n', 'command = "rm"\n'])
def test_what_is_the_machine_s_own_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_settings(text)
    assert "~/.config/lineage/config.toml" in caught.value.hint


@each(
    "text",
    [
        "[ledger]\nmax_bytes = 4095\n",
        "[ledger]\nmax_bytes = true\n",
        "[ledger]\nmax_bytes = 5000.0\n",
        '[ledger]\nmax_bytes = "5000"\n',
        '[ledger]\nrow_style = "wide"\n',
        "[transcript]\nthinking = 1\n",
        "[transcript]\nmax_result_chars = -1\n",
        "ledger = 5\n",
        "[[ledger]]\n",
        "[ledger\n",
        "[ledger]\nmax_bytes = 1\nmax_bytes = 2\n",
        "a = " + "[" * 5000,
        "a = 1" + "0" * 5000,
    ],
    ids=lambda text: text[:40],
)
def test_a_value_of_another_type_or_range_and_broken_toml_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"lineage\.toml"):
        parse_settings(text)


def test_session_settings_are_read() -> None:
    text = (
        '[sessions]\ndm_scope = "per-peer"\ndaily_reset = ""\nreset_time_zone = "Europe/Berlin"\nidle_minutes = 30\n'
        'spawn_depth = 2\n[identity_links]\nalice = ["telegram:123", "discord:456"]\n"Bob B." = []\n'
    )
    found = parse_settings(text)
    assert found.sessions == SessionSettings("per-peer", "", "Europe/Berlin", 30, 2)
    assert found.identity_links == {"alice": ["telegram:123", "discord:456"], "Bob B.": []}
    assert build_resets(found).daily is None
    assert parse_settings("").identity_links == Settings().identity_links == {}


@pytest.mark.parametrize("scope", SCOPES)
def test_every_dm_scope_can_be_set(scope: str) -> None:
    assert parse_settings(f'[sessions]\ndm_scope = "{scope}"\n').sessions.dm_scope == scope


@each(
    "text",
    [
        '[sessions]\ndm_scope = "per-person"\n',
        '[sessions]\ndaily_reset = "4:00"\n',
        '[sessions]\ndaily_reset = "24:00"\n',
        '[sessions]\ndaily_reset = "04:00\\n"\n',
        "[sessions]\ndaily_reset = 04:00:00\n",
        '[sessions]\nreset_time_zone = "../../etc/passwd"\n',
        '[sessions]\nreset_time_zone = "/etc/localtime"\n',
        '[sessions]\nreset_time_zone = ""\n',
        "[sessions]\nidle_minutes = -1\n",
        "[sessions]\nspawn_depth = -1\n",
        "[sessions]\nspawn_depth = true\n",
        "identity_links = []\n",
        '[identity_links]\nalice = "telegram:123"\n',
        "[identity_links]\nalice = [123]\n",
        '[identity_links.alice]\ntelegram = "123"\n',
    ],
)
def test_an_impossible_session_setting_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"lineage\.toml"):
        parse_settings(text)


@pytest.mark.parametrize("zone", ["Europe/Berln", "Mars", "posixrules/x", "a" * 300])
def test_an_unknown_time_zone_is_refused_on_use(zone: str) -> None:
    with pytest.raises(InvalidInput, match="not a time zone"):
        build_resets(parse_settings(f'[sessions]\nreset_time_zone = "{zone}"\n'))
