"""`[sessions]` and `[identity_links]`: what is set is taken, and what cannot be meant is refused."""

import pytest

from lineage.config.workspace import SessionSettings, Settings, parse_settings
from lineage.errors import InvalidInput
from lineage.pipeline.conversations.lane_name import SCOPES
from lineage.pipeline.conversations.lanes import build_resets
from tests.support.parametrize import each


def test_settings_are_read() -> None:
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
def test_every_scope_can_be_set(scope: str) -> None:
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
def test_an_impossible_value_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"lineage\.toml"):
        parse_settings(text)


@pytest.mark.parametrize("zone", ["Europe/Berln", "Mars", "posixrules/x", "a" * 300])
def test_an_unknown_time_zone_is_refused_on_use(zone: str) -> None:
    with pytest.raises(InvalidInput, match="not a time zone"):
        build_resets(parse_settings(f'[sessions]\nreset_time_zone = "{zone}"\n'))
