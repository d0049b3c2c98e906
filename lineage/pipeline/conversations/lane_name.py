"""Lanes: which conversation a person's message belongs to, for ever; the sessions in it come and go. (format: Identity)

A lane is text with `:` between its parts, and what else the parts hold is escaped, so it parses back to exactly these
parts. `<lane>#<session id>` is the key of a session in it.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from lineage.core.base.identity import validate_id
from lineage.errors import InvalidInput

MAIN = "main"
PER_PEER = "per-peer"
PER_CHANNEL_PEER = "per-channel-peer"
PER_ACCOUNT_CHANNEL_PEER = "per-account-channel-peer"
SCOPES = (MAIN, PER_PEER, PER_CHANNEL_PEER, PER_ACCOUNT_CHANNEL_PEER)

_DIRECT = "dm"
_REQUIRED_PARTS = {
    MAIN: ("app",),
    PER_PEER: ("app", "channel", "user"),
    PER_CHANNEL_PEER: ("app", "channel", "user"),
    PER_ACCOUNT_CHANNEL_PEER: ("app", "channel", "account", "user"),
}
_SPECIAL = frozenset("%:#/")


@dataclass(frozen=True, slots=True)
class Lane:
    """The parts of a lane; those that its scope leaves out are empty. `person` is the canonical id of a linked one."""

    scope: str
    app: str
    channel: str = ""
    account: str = ""
    user: str = ""
    person: str = ""


@dataclass(frozen=True, slots=True)
class IdentityLinks:
    """Who is the same person on several channels: `people` are canonical ids by (channel, id), both folded."""

    people_by_id: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @staticmethod
    def from_table(table: Mapping[str, Sequence[str]]) -> "IdentityLinks":
        """The links of a table: canonical id → ids with their channel in front, `telegram:123`. Raises InvalidInput for
        an id without a channel, an empty one, and one that two people claim."""
        people: dict[tuple[str, str], str] = {}
        for person, ids in table.items():
            for given in ids:
                channel, _, user = given.partition(":")
                key = _fold(channel), _normalize_id(channel, user)
                if not person.strip() or not all(key):
                    raise InvalidInput(
                        f"identity_links: {given!r} of {person!r} is no channel and id",
                        hint='write the channel in front: alice = ["telegram:123", "discord:456"]',
                    )
                if people.setdefault(key, person.strip()) != person.strip():
                    raise InvalidInput(
                        f"identity_links: {given!r} belongs to {people[key]!r} and to {person!r}",
                        hint="an id is one person's: take it from one of the two",
                    )
        return IdentityLinks(people)

    def find_person(self, channel: str, user: str) -> str | None:
        """The canonical id of whom a channel calls `user`, None for somebody who isn't linked. Compared as channels
        send ids: whatever the case, with white space, an `@`, or the channel's own name in front.

        >>> IdentityLinks.from_table({"alice": ["Telegram:123"]}).find_person("telegram", " telegram:123 ")
        'alice'
        """
        return self.people_by_id.get((_fold(channel), _normalize_id(channel, user)))


NO_LINKS = IdentityLinks()


def build_lane(
    scope: str, app: str, channel: str = "", account: str = "", user: str = "", *, links: IdentityLinks = NO_LINKS
) -> str:
    """The lane of a message that `user` sent to `app` on `channel`, to its `account` there.

    `main`: one for all of an app. `per-peer`: one for each person; a linked one has a single lane on all channels, of
    the others each id on each channel is somebody else. `per-channel-peer` and `per-account-channel-peer`: one for each
    id there. Raises InvalidInput for another scope, a part that the scope needs and that is empty, an overlong lane.

    >>> build_lane("per-channel-peer", "home", "telegram", "", "a:b")
    'home:telegram:dm:a%3Ab'
    """
    given = {"app": app.strip(), "channel": channel.strip(), "account": account.strip(), "user": user.strip()}
    if scope not in _REQUIRED_PARTS:
        raise InvalidInput(f"not a scope of lanes: {scope[:60]!r}", hint=f"one of: {', '.join(SCOPES)}")
    missing = [part for part in _REQUIRED_PARTS[scope] if not given[part]]
    if missing:
        what = f"{' and '.join(missing)} missing: strangers would share a lane {scope}"
        raise InvalidInput(what, hint="give each part as the channel reports it")
    app, channel, account, user = map(_escape, given.values())
    person = links.find_person(channel=given["channel"], user=given["user"])
    parts = {
        MAIN: (app, MAIN),
        PER_PEER: (app, _DIRECT, _escape(person) if person else f"{channel}/{user}"),
        PER_CHANNEL_PEER: (app, channel, _DIRECT, user),
        PER_ACCOUNT_CHANNEL_PEER: (app, channel, account, _DIRECT, user),
    }
    return validate_id("lane", ":".join(parts[scope]))


def parse_lane(text: str) -> Lane:
    """The parts that `lane` made a text of. Raises InvalidInput for any other text.

    >>> parse_lane("home:dm:telegram/123")
    Lane(scope='per-peer', app='home', channel='telegram', account='', user='123', person='')
    """
    match text.split(":"):
        case [app, "main"]:
            found = Lane(MAIN, *_unescape(app))
        case [app, "dm", peer] if "/" in peer:
            channel, _, user = peer.partition("/")
            app, channel, user = _unescape(app, channel, user)
            found = Lane(PER_PEER, app, channel, user=user)
        case [app, "dm", person]:
            app, person = _unescape(app, person)
            found = Lane(PER_PEER, app, person=person)
        case [app, channel, "dm", user]:
            app, channel, user = _unescape(app, channel, user)
            found = Lane(PER_CHANNEL_PEER, app, channel, user=user)
        case [app, channel, account, "dm", user]:
            app, channel, account, user = _unescape(app, channel, account, user)
            found = Lane(PER_ACCOUNT_CHANNEL_PEER, app, channel, account, user)
        case _:
            raise InvalidInput(f"not a lane: {text[:80]!r}", hint="for example home:telegram:dm:123")
    return found


def _escape(part: str) -> str:
    """A part without anything that separates, that is white space, or that no terminal shows."""
    return "".join(char if char.isprintable() and char not in _SPECIAL and char != " " else _hex(char) for char in part)


def _hex(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _unescape(*parts: str) -> list[str]:
    found = [unquote_to_bytes(part.encode("utf-8", "surrogatepass")) for part in parts]
    try:
        values = [value.decode("utf-8", "surrogatepass") for value in found]
    except UnicodeDecodeError:
        values = []
    if [*map(_escape, values)] != list(parts) or not all(parts):
        raise InvalidInput("not a lane: a part is empty or not escaped", hint="copy it from `lineage sessions --json`")
    return values


def _fold(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _normalize_id(channel: str, user: str) -> str:
    """An id as channels mean it: on telegram `telegram:123`, `telegram_123` and ` 123 ` are 123, `@Ann` is ann."""
    name, folded = _fold(channel), _fold(user)
    prefixed = re.fullmatch(rf"{re.escape(name)}(?::(.+)|[_./-](\d+))", folded) if name else None
    return (prefixed[1] or prefixed[2] if prefixed else folded).removeprefix("@")
