"""Lessons, 36: "Parts of a session key aren't escaped, `:` is ambiguous; an empty user falls into one shared session;
identity links never match the ids that channels really send."

Fails where a part is written as it came, where an empty one is let in, and where links are compared letter by letter.
"""

from pathlib import Path

import pytest

from lineage.app.workspace import open_workspace
from lineage.errors import InvalidInput
from lineage.pipeline.conversations.lane_name import SCOPES, build_lane
from lineage.pipeline.conversations.lanes import load_lane, resolve_lane
from tests.support.parametrize import each
from tests.support.workspace import end_session, open_test_workspace


def test_parts_are_escaped_so_that_a_colon_joins_no_two_people(tmp_path: Path) -> None:
    mallory = build_lane("per-channel-peer", "home", "matrix", "", "@a:dm:ada")
    ada = build_lane("per-account-channel-peer", "home", "matrix", "@a", "ada")
    assert mallory != ada
    with open_test_workspace(tmp_path) as ws:
        tokens = {end_session(ws, "s-1", lane=one).session_token for one in (mallory, ada)}
        assert len(tokens) == 2
        assert [len(load_lane(ws, one, None, limit=9).sessions) for one in (mallory, ada)] == [1, 1]


def test_a_hash_in_a_part_does_not_reach_into_another_lane(tmp_path: Path) -> None:
    plain, tricky = (build_lane("per-channel-peer", "home", "irc", "", user) for user in ("ada", "ada#s-1"))
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "s-1", lane=plain)
        end_session(ws, "s-2", lane=tricky)
        assert [row.session_id for row in load_lane(ws, plain, None, limit=9).sessions] == ["s-1"]


@each("scope", SCOPES[1:])
@each("user", ["", "  ", "\t\n"])
def test_nobody_without_an_id_shares_a_session_with_others(scope: str, user: str) -> None:
    with pytest.raises(InvalidInput, match="user missing"):
        build_lane(scope, "home", "telegram", "bot", user)


@pytest.mark.parametrize("user", ["123", " 123 ", "telegram:123", "Telegram:123", "TELEGRAM: 123", "telegram_123"])
@pytest.mark.parametrize("channel", ["telegram", "Telegram", " TELEGRAM "])
def test_links_match_what_channels_really_send(tmp_path: Path, channel: str, user: str) -> None:
    (tmp_path / "lineage.toml").write_text(
        '[sessions]\ndm_scope = "per-peer"\n[identity_links]\nalice = ["telegram:123", "Discord: @Ann"]\n'
    )
    ws = open_workspace(tmp_path, create=True)
    try:
        found = {resolve_lane(ws, "home", channel, "bot", user), resolve_lane(ws, "home", "discord", "bot", "ann")}
        assert found == {"home:dm:alice"}
        assert resolve_lane(ws, "home", "slack", "bot", user) != "home:dm:alice"
    finally:
        ws.close()
