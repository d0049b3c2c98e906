"""What a bundle says of itself: `bundle.json`, the first member of the archive, and what may stand in one.

A bundle holds sessions, each with its artifacts, its manifest and its own books, or the global books. Members have the
paths that they have in a workspace. Nothing a bundle says is believed before it was checked here.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lineage.core import naming
from lineage.core.book_paths import GLOBAL, BookRef, ref_of
from lineage.core.identity import TOKEN, Identity, checked_agent, checked_id
from lineage.core.privacy import session_scope
from lineage.core.times import utc_or_none
from lineage.errors import FormatError, InvalidInput

VERSION = 1
DESCRIPTION = "bundle.json"
SESSIONS = "sessions"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_HINT = "the bundle is damaged, or was not made by `lineage bundle export`; nothing was written"


class Limits(NamedTuple):
    """The most that a bundle may hold, written or read: members, bytes of one, of all of them, of the file and of
    `bundle.json`; how many times larger than the file its members may be, where they are more than `small` bytes."""

    members: int = 10_000
    member_bytes: int = 64 << 20
    total_bytes: int = 256 << 20
    file_bytes: int = 256 << 20
    description_bytes: int = 8 << 20
    ratio: int = 200
    small: int = 8 << 20


LIMITS = Limits()


class Member(NamedTuple):
    """A file of the bundle: its path, how many bytes it has and their SHA-256."""

    path: str
    bytes: int
    sha256: str


class Bundled(NamedTuple):
    """A session of the bundle, and the tokens that it had before, oldest first."""

    agent_id: str
    session_id: str
    session_key: str | None
    session_token: str
    imported_from: tuple[str, ...] = ()

    @property
    def identity(self) -> Identity:
        return Identity(self.agent_id, self.session_id, self.session_key)


class Bundle(NamedTuple):
    """The description. `holds` is `sessions` or `global`; `exported_at` the newest time in what it holds, so that the
    same state gives the same file; `members` are sorted by path."""

    holds: str
    exported_at: str
    lineage_version: str
    sanitizer_version: str
    private: bool
    sessions: tuple[Bundled, ...]
    members: tuple[Member, ...]

    @property
    def came_from(self) -> frozenset[str]:
        """Every token that one of its sessions has or had."""
        return frozenset(
            token for session in self.sessions for token in (session.session_token, *session.imported_from)
        )

    def as_json(self) -> dict[str, Any]:
        sessions, members = ([one._asdict() for one in found] for found in (self.sessions, self.members))
        return {**self._asdict(), "sessions": sessions, "members": members}


def described(bundle: Bundle) -> bytes:
    """The file `bundle.json`."""
    value = {"format_version": VERSION, **bundle.as_json()}
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"


def parsed_bundle(data: bytes) -> Bundle:
    """The description that `bundle.json` holds. Raises FormatError for unknown, missing and doubled keys, values of
    another type, a version of the future, an identity that doesn't recompute to its token, and for members that
    `checked_names` refuses, exceed the limits or belong to none of its sessions."""
    try:
        value = json.loads(data.decode("utf-8"), object_pairs_hook=_object)
        if value.get("format_version") != VERSION:
            raise FormatError(f"{DESCRIPTION}: a bundle of another version", hint="upgrade lineage")
        bundle = _bundle(value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"{DESCRIPTION}: not the description of a bundle", hint=_HINT) from error
    except InvalidInput as error:
        raise FormatError(f"{DESCRIPTION}: {error.message}", hint=_HINT) from error
    _check_sessions(bundle)
    _check_members(bundle)
    return bundle


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is there twice")
    return dict(pairs)


def _bundle(value: Mapping[str, Any]) -> Bundle:
    fields = {key: item for key, item in value.items() if key != "format_version"}
    sessions = tuple(_session(item) for item in _typed(fields.pop("sessions"), list))
    members = tuple(_member(item) for item in _typed(fields.pop("members"), list))
    bundle = Bundle(**fields, sessions=sessions, members=members)
    for key in ("holds", "exported_at", "lineage_version", "sanitizer_version"):
        _typed(getattr(bundle, key), str)
    _typed(bundle.private, bool)
    if bundle.exported_at and utc_or_none(bundle.exported_at) != bundle.exported_at:
        raise ValueError("not a canonical time")
    return bundle


def _session(value: Mapping[str, Any]) -> Bundled:
    came_from = tuple(_typed(token, str) for token in _typed(value["imported_from"], list))
    session = Bundled(**{**value, "imported_from": came_from})
    checked_agent(_typed(session.agent_id, str))
    checked_id("session_id", session.session_id)
    if session.session_key is not None:
        checked_id("session_key", session.session_key)
    return session


def _member(value: Mapping[str, Any]) -> Member:
    member = Member(**value)
    _typed(member.path, str)
    if _typed(member.bytes, int) < 0 or not _SHA256.fullmatch(member.sha256):
        raise ValueError("not a size and a hash")
    return member


def _typed(value: Any, cls: type) -> Any:
    if type(value) is not cls:
        raise TypeError(f"not {cls.__name__}")
    return value


def _check_sessions(bundle: Bundle) -> None:
    tokens = [session.session_token for session in bundle.sessions]
    if (bundle.holds, bool(tokens)) not in ((SESSIONS, True), (GLOBAL, False)) or len(set(tokens)) < len(tokens):
        raise FormatError(f"{DESCRIPTION}: neither sessions nor global books", hint=_HINT)
    for session in bundle.sessions:
        if session.identity.token != session.session_token or not all(map(TOKEN.fullmatch, session.imported_from)):
            raise FormatError(f"{DESCRIPTION}: an identity that does not recompute to its token", hint=_HINT)


def _check_members(bundle: Bundle) -> None:
    checked_names([member.path for member in bundle.members])
    checked_sizes([member.bytes for member in bundle.members])
    tokens = {session.session_token for session in bundle.sessions}
    for member in bundle.members:
        if not _belongs(member.path, tokens, bundle.holds):
            raise FormatError(f"{member.path[:120]!r} is no file of what the bundle holds", hint=_HINT)


def _belongs(path: str, tokens: Iterable[str], holds: str) -> bool:
    name, ref = naming.parse_path(path), ref_of(path)
    if name is not None:
        return holds == SESSIONS and name.token in tokens
    return ref is not None and ref.scope in ((GLOBAL,) if holds == GLOBAL else map(session_scope, tokens))


def checked_names(names: Sequence[str]) -> None:
    """Raises FormatError for a name that could leave the workspace or has no place in it, or two that one file system
    or another takes for the same."""
    seen: set[str] = set()
    for name in names:
        folded = unicodedata.normalize("NFKC", name).casefold()
        if why := "is there twice" if folded in seen else _fault(name):
            raise FormatError(f"the name {name[:120]!r} {why}", hint=_HINT)
        seen.add(folded)


def _fault(name: str) -> str | None:
    parts = name.split("/")
    if _CONTROL.search(name) or "\\" in name:
        return "has a character that no path of ours has"
    if name.startswith("/") or _DRIVE.match(name) or ".." in parts:
        return "leads out of the workspace"
    if any(not part or part[-1] in ". " or _DEVICE.match(part) for part in parts):
        return "is no name of a file everywhere"
    return None if naming.parse_path(name) or ref_of(name) else "has no place in a bundle"


def checked_sizes(sizes: Sequence[int], limits: Limits = LIMITS) -> None:
    """Raises FormatError where there are more members, or larger ones, than the limits allow."""
    if len(sizes) > limits.members:
        raise FormatError(f"{len(sizes)} members are more than the {limits.members} of a bundle", hint=_HINT)
    if max(sizes, default=0) > limits.member_bytes or sum(sizes) > limits.total_bytes:
        raise FormatError("the members are larger than a bundle may be", hint=_HINT)


def refs_of(paths: Iterable[str]) -> list[BookRef]:
    """The books among the paths, sorted."""
    return sorted(ref for path in paths if (ref := ref_of(path)))
