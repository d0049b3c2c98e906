"""Lessons, 36: "Parts of a session key aren't escaped, `:` is ambiguous; an empty user falls into one shared session;
identity links never match the ids that channels really send."

Fails where a part is written as it came, where an empty one is let in, and where links are compared letter by letter.
"""

from pathlib import Path

import pytest

from lineage.app import open_house
from lineage.core.lanes import SCOPES, lane, parsed
from lineage.errors import InvalidInput
from lineage.pipeline.people.lanes import lane_of, show_lane
from tests.support.cases import each
from tests.support.houses import end, house_at


def test_parts_are_escaped_so_that_a_colon_joins_no_two_people(tmp_path: Path) -> None:
    mallory = lane("per-channel-peer", "home", "matrix", "", "@a:dm:ada")
    ada = lane("per-account-channel-peer", "home", "matrix", "@a", "ada")
    assert mallory != ada
    assert parsed(mallory).user == "@a:dm:ada"
    with house_at(tmp_path) as house:
        tokens = {end(house, "s-1", lane=one).session_token for one in (mallory, ada)}
        assert len(tokens) == 2
        assert [len(show_lane(house, one, None, limit=9).sessions) for one in (mallory, ada)] == [1, 1]


def test_a_hash_in_a_part_does_not_reach_into_another_lane(tmp_path: Path) -> None:
    plain, tricky = (lane("per-channel-peer", "home", "irc", "", user) for user in ("ada", "ada#s-1"))
    with house_at(tmp_path) as house:
        end(house, "s-1", lane=plain)
        end(house, "s-2", lane=tricky)
        assert [row.session_id for row in show_lane(house, plain, None, limit=9).sessions] == ["s-1"]


@each("scope", SCOPES[1:])
@each("user", ["", "  ", "\t\n"])
def test_nobody_without_an_id_shares_a_session_with_others(scope: str, user: str) -> None:
    with pytest.raises(InvalidInput, match="user missing"):
        lane(scope, "home", "telegram", "bot", user)


@pytest.mark.parametrize("user", ["123", " 123 ", "telegram:123", "Telegram:123", "TELEGRAM: 123", "telegram_123"])
@pytest.mark.parametrize("channel", ["telegram", "Telegram", " TELEGRAM "])
def test_links_match_what_channels_really_send(tmp_path: Path, channel: str, user: str) -> None:
    (tmp_path / "lineage.toml").write_text(
        '[sessions]\ndm_scope = "per-peer"\n[identity_links]\nalice = ["telegram:123", "Discord: @Ann"]\n'
    )
    house = open_house(tmp_path, create=True)
    try:
        found = {lane_of(house, "home", channel, "bot", user), lane_of(house, "home", "discord", "bot", "ann")}
        assert found == {"home:dm:alice"}
        assert lane_of(house, "home", "slack", "bot", user) != "home:dm:alice"
    finally:
        house.close()
