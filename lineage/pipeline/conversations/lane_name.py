"""Names of lanes: a lane is one conversation of a person, through many sessions (format: Identity).

Its parts are escaped and joined by `:`, so no two conversations share a name. `<lane>#<session id>` is the
key of a session in it.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lineage.core.base.naming import validate_id
from lineage.errors import InvalidInput, SettingsError

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
class IdentityLinks:
    """The ids of one person on several channels: canonical ids by (channel, id), both folded."""

    people_by_id: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @staticmethod
    def from_table(table: Mapping[str, Sequence[str]]) -> "IdentityLinks":
        """Return the links of a table: canonical id → ids with their channel in front, as in `telegram:123`.

        Raise InvalidInput for an id without a channel, an empty one, and one of two people.
        """
        people: dict[tuple[str, str], str] = {}
        for person, ids in table.items():
            for name in ids:
                channel, _, user = name.partition(":")
                key = _fold(channel), _normalize_id(channel, user)
                if not person.strip() or not all(key):
                    hint = 'write the channel in front: alice = ["telegram:123", "discord:456"]'
                    raise SettingsError(f"identity_links: {name!r} of {person!r} is no channel and id", hint=hint)
                if people.setdefault(key, person.strip()) != person.strip():
                    problem = f"identity_links: {name!r} belongs to {people[key]!r} and to {person!r}"
                    raise SettingsError(problem, hint="an id is one person's: take it from one of the two")
        return IdentityLinks(people)

    def find_person(self, channel: str, user: str) -> str | None:
        """Return the canonical id of a channel's user, None without a link.

        Case, white space, a leading `@` and the channel's own name in front make no difference.

        >>> IdentityLinks.from_table({"alice": ["Telegram:123"]}).find_person("telegram", " telegram:123 ")
        'alice'
        """
        return self.people_by_id.get((_fold(channel), _normalize_id(channel, user)))


NO_LINKS = IdentityLinks()


def build_lane(
    scope: str, app: str, channel: str = "", account: str = "", user: str = "", *, links: IdentityLinks = NO_LINKS
) -> str:
    """Return the lane of a message from `user` to `app` on `channel`, to its `account` there.

    `main`: one lane for an app. `per-peer`: one for each person; a linked person has one on all channels.
    `per-channel-peer`, `per-account-channel-peer`: one for each id there. Raise InvalidInput for an unknown scope, an
    empty part, an overlong lane.

    >>> build_lane("per-channel-peer", "home", "telegram", "", "a:b")
    'home:telegram:dm:a%3Ab'
    """
    values = {"app": app.strip(), "channel": channel.strip(), "account": account.strip(), "user": user.strip()}
    if scope not in _REQUIRED_PARTS:
        raise InvalidInput(f"not a scope of lanes: {scope[:60]!r}", hint=f"name one of {', '.join(SCOPES)}")
    missing = [part for part in _REQUIRED_PARTS[scope] if not values[part]]
    if missing:
        message = f"{' and '.join(missing)} missing: strangers would share a lane {scope}"
        raise InvalidInput(message, hint="give each part as the channel reports it")
    app, channel, account, user = map(_escape, values.values())
    person = links.find_person(channel=values["channel"], user=values["user"])
    parts = {
        MAIN: (app, MAIN),
        PER_PEER: (app, _DIRECT, _escape(person) if person else f"{channel}/{user}"),
        PER_CHANNEL_PEER: (app, channel, _DIRECT, user),
        PER_ACCOUNT_CHANNEL_PEER: (app, channel, account, _DIRECT, user),
    }
    return validate_id("lane", ":".join(parts[scope]))


def _escape(part: str) -> str:
    """Return a part with separators, white space and unprintable characters escaped."""
    return "".join(
        char
        if char.isprintable() and char not in _SPECIAL and char != " "
        else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))
        for char in part
    )


def _fold(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def _normalize_id(channel: str, user: str) -> str:
    """Return an id in its plain form: on telegram `telegram:123`, `telegram_123` and ` 123 ` are 123, `@Ann` is ann."""
    name, folded = _fold(channel), _fold(user)
    prefixed = re.fullmatch(rf"{re.escape(name)}(?::(.+)|[_./-](\d+))", folded) if name else None
    return (prefixed[1] or prefixed[2] if prefixed else folded).removeprefix("@")
