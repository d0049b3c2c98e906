"""Lanes: no two conversations share one, and linked people are met as channels send them."""

import string

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lineage.errors import InvalidInput
from lineage.pipeline.conversations.lane_name import (
    MAIN,
    PER_ACCOUNT_CHANNEL_PEER,
    PER_CHANNEL_PEER,
    PER_PEER,
    SCOPES,
    IdentityLinks,
    build_lane,
)
from tests.support.parametrize import each

PART = st.text(min_size=1, max_size=12).filter(str.strip)
NASTY = st.text(alphabet=":%#/dmain @\n" + "é\u2028\ud800", min_size=1, max_size=8).filter(str.strip)
PARTS = st.tuples(st.sampled_from(SCOPES), *[PART | NASTY] * 4)
ALICE = IdentityLinks.from_table(
    {"alice": ["telegram:123", "discord:@Ann", "matrix:@Ann:home.org"], "bob": ["slack:U1"]}
)


def told_apart(scope: str, app: str, channel: str, account: str, user: str) -> tuple[str, ...]:
    """What two messages differ in where they are of two conversations."""
    parts = [part.strip() for part in (app, channel, account, user)]
    kept = {MAIN: 1, PER_PEER: 2, PER_CHANNEL_PEER: 2, PER_ACCOUNT_CHANNEL_PEER: 4}[scope]
    return (scope, *parts[:kept], *([] if scope == MAIN else parts[-1:]))


@given(PARTS, PARTS)
@example((PER_PEER, "a", "b", "x", "c/d"), (PER_PEER, "a", "b/c", "x", "d"))
@example((PER_CHANNEL_PEER, "a:b", "c", "x", "d"), (PER_CHANNEL_PEER, "a", "b:c", "x", "d"))
@example((PER_CHANNEL_PEER, "a", "b%3Ac", "x", "d"), (PER_CHANNEL_PEER, "a", "b:c", "x", "d"))
@example((PER_CHANNEL_PEER, "a", "dm", "x", "d"), (PER_PEER, "a", "dm", "x", "d"))
def test_two_conversations_never_share_a_lane(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    assume(len(lanes_of(one, other)) == 2)
    assert (build_lane(*one) == build_lane(*other)) == (told_apart(*one) == told_apart(*other))


def lanes_of(*parts: tuple[str, ...]) -> list[str]:
    """The lanes of those that are not too long."""
    found = []
    for one in parts:
        try:
            found.append(build_lane(*one))
        except InvalidInput as error:
            assert "not usable" in error.message
    return found


@given(PARTS)
def test_a_lane_is_one_printable_word_without_a_hash(parts: tuple[str, ...]) -> None:
    for text in lanes_of(parts):
        assert "#" not in text
        assert text.isprintable()
        assert not set(text) & set(string.whitespace)


@each("scope", SCOPES)
@each("empty", ["", " ", "\n\t"])
def test_an_empty_user_never_falls_into_somebody_elses_lane(scope: str, empty: str) -> None:
    with pytest.raises(InvalidInput):
        build_lane(scope, empty, "telegram", "acc", "123")
    if scope == MAIN:
        assert build_lane(scope, "home", "telegram", "acc", empty) == "home:main"
        return
    with pytest.raises(InvalidInput, match="user missing"):
        build_lane(scope, "home", "telegram", "acc", empty)
    with pytest.raises(InvalidInput, match="channel missing"):
        build_lane(scope, "home", empty, "acc", "123")


def test_an_unknown_scope_and_an_overlong_lane_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not a scope"):
        build_lane("per-person", "home", "telegram", "", "123")
    with pytest.raises(InvalidInput, match="lane"):
        build_lane(PER_PEER, "home", "telegram", "", "x" * 300)


def test_the_four_scopes_read_as_documented() -> None:
    said = [build_lane(scope, "home", "telegram", "work", "123") for scope in SCOPES]
    assert said == ["home:main", "home:dm:telegram/123", "home:telegram:dm:123", "home:telegram:work:dm:123"]


@each(
    ("channel", "user"),
    [
        ("telegram", "123"),
        ("Telegram", " 123\n"),
        ("TELEGRAM", "telegram:123"),
        ("telegram", "Telegram: 123"),
        ("telegram", "telegram_123"),
        ("discord", "ann"),
        ("discord", "@ANN"),
        ("Discord", "discord:Ann"),
        ("matrix", "@ann:home.org"),
        ("matrix", "Ann:Home.org"),
    ],
)
def test_a_linked_person_is_met_however_the_channel_writes_the_id(channel: str, user: str) -> None:
    assert ALICE.find_person(channel, user) == "alice"
    assert build_lane(PER_PEER, "home", channel, "", user, links=ALICE) == "home:dm:alice"


@pytest.mark.parametrize(
    ("channel", "user"),
    [
        ("discord", "123"),
        ("telegram", "1234"),
        ("telegram", "telegram_ann"),
        ("telegram", "discord:ann"),
        ("discord", "alice"),
        ("telegram", "alice"),
        ("", "telegram:123"),
    ],
)
def test_nobody_else_gets_into_a_linked_persons_lane(channel: str, user: str) -> None:
    assert ALICE.find_person(channel, user) is None
    if channel:
        assert build_lane(PER_PEER, "home", channel, "", user, links=ALICE) != "home:dm:alice"


def test_what_stands_before_a_name_is_a_part_of_it() -> None:
    links = IdentityLinks.from_table({"ann": ["telegram:ann", "telegram:7"]})
    assert links.find_person("telegram", "telegram_ann") is None
    assert links.find_person("telegram", "telegram_7") == "ann"


def test_links_count_across_channels_alone() -> None:
    assert build_lane(PER_CHANNEL_PEER, "home", "telegram", "", "123", links=ALICE) == "home:telegram:dm:123"


@pytest.mark.parametrize("ids", [["123"], ["telegram:"], [":123"], ["telegram: "], [""]])
def test_a_link_without_a_channel_or_an_id_is_refused(ids: list[str]) -> None:
    with pytest.raises(InvalidInput, match="no channel and id"):
        IdentityLinks.from_table({"alice": ids})


def test_an_id_that_two_people_claim_is_refused() -> None:
    with pytest.raises(InvalidInput, match="belongs to"):
        IdentityLinks.from_table({"alice": ["telegram:123"], "bob": ["Telegram: 123"]})
    assert (
        IdentityLinks.from_table({"alice": ["telegram:123", "TELEGRAM:123"]}).find_person("telegram", "123") == "alice"
    )


@given(st.dictionaries(PART, st.lists(PART, max_size=2), max_size=2), PART, PART)
def test_a_person_who_is_not_linked_never_shares_a_linked_ones_lane(
    table: dict[str, list[str]], channel: str, user: str
) -> None:
    links = IdentityLinks.from_table(
        {name: [f"telegram:{one}" for one in ids if one.strip()] for name, ids in unshared(table).items()}
    )
    people = {f"home:dm:{name}" for name in table}
    assume(links.find_person(channel, user) is None)
    for text in lanes_of((PER_PEER, "home", channel, "", user)):
        assert text not in people


def unshared(table: dict[str, list[str]]) -> dict[str, list[str]]:
    """The table with each id given to one person alone."""
    try:
        IdentityLinks.from_table(
            {name: [f"telegram:{one}" for one in ids if one.strip()] for name, ids in table.items()}
        )
    except InvalidInput:
        return {}
    return table
