"""The description of a bundle, `bundle.json`, the first member of its ZIP file, and the checks of its members.

A bundle holds sessions, each with its artifacts, its manifest and its own books, or the global books. Members have
their paths in a workspace. A bundle may come from anybody: this module checks everything it claims.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, BookRef, parse_book_path, session_scope
from lineage.core.base.file_names import DEVICE_NAME
from lineage.core.base.naming import TOKEN, Identity, validate_agent_id, validate_id
from lineage.core.base.strict_json import parse_strict_json
from lineage.core.base.times import to_utc_or_none
from lineage.core.format.documents import Manifest
from lineage.errors import FormatError, InvalidInput

VERSION = 1
DESCRIPTION = "bundle.json"
SESSIONS = "sessions"

_SHA256 = re.compile(r"[0-9a-f]{64}")
_DRIVE = re.compile(r"[A-Za-z]:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_HINT = "the bundle is damaged, or was not made by `lineage admin bundle export`; nothing was written"


@dataclass(frozen=True, slots=True)
class BundleLimits:
    """The limits of a bundle; `ratio` bounds unpacked to packed bytes beyond `ratio_exempt_bytes`."""

    members: int = 10_000
    member_bytes: int = 64 << 20
    total_bytes: int = 256 << 20
    file_bytes: int = 256 << 20
    description_bytes: int = 8 << 20
    ratio: int = 200
    ratio_exempt_bytes: int = 8 << 20


LIMITS = BundleLimits()


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the bundle: its path, its size in bytes and their SHA-256 in hex."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BundledSession:
    """A session of the bundle. `imported_from` holds its former tokens, oldest first."""

    agent_id: str
    session_id: str
    session_key: str | None
    session_token: str
    imported_from: tuple[str, ...] = ()

    @staticmethod
    def from_manifest(manifest: Manifest) -> "BundledSession":
        """Return a session's part of the description."""
        identity, tokens = manifest.identity, tuple(manifest.imported_from)
        return BundledSession(identity.agent_id, identity.session_id, identity.session_key, identity.token, tokens)

    @property
    def identity(self) -> Identity:
        """The session's identity."""
        return Identity(self.agent_id, self.session_id, self.session_key)


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle's description: `sessions` or `global`, members by path, the newest time in its members."""

    holds: str
    exported_at: str
    lineage_version: str
    sanitizer_version: str
    private: bool
    sessions: tuple[BundledSession, ...]
    members: tuple[Member, ...]

    @property
    def all_tokens(self) -> frozenset[str]:
        """The present and former tokens of all sessions."""
        return frozenset(
            token for session in self.sessions for token in (session.session_token, *session.imported_from)
        )

    def as_json(self) -> dict[str, Any]:
        """Return the description as a JSON object."""
        return asdict(self)


def serialize_bundle(bundle: Bundle) -> bytes:
    """Return the file `bundle.json`."""
    value = {"format_version": VERSION, **bundle.as_json()}
    return json.dumps(value, indent=1, sort_keys=True).encode() + b"\n"


def parse_bundle(data: bytes) -> Bundle:
    """Return the description in `bundle.json`.

    Raises FormatError for unknown, missing and duplicate keys, values of another type, another version, an identity
    that doesn't recompute to its token, and for members with a bad name, beyond the limits or outside its sessions.
    """
    try:
        value = parse_strict_json(data.decode("utf-8"))
        if value.get("format_version") != VERSION:
            raise FormatError(f"{DESCRIPTION}: a bundle of another version", hint="upgrade lineage")
        bundle = _parse_bundle(value)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise FormatError(f"{DESCRIPTION}: not the description of a bundle", hint=_HINT) from error
    except InvalidInput as error:
        raise FormatError(f"{DESCRIPTION}: {error.message}", hint=_HINT) from error
    _check_sessions(bundle)
    _check_members(bundle)
    return bundle


def _parse_bundle(value: Mapping[str, Any]) -> Bundle:
    fields = {key: item for key, item in value.items() if key != "format_version"}
    sessions = tuple(_parse_session(item) for item in _expect_type(fields.pop("sessions"), list))
    members = tuple(_parse_member(item) for item in _expect_type(fields.pop("members"), list))
    bundle = Bundle(**fields, sessions=sessions, members=members)
    for key in ("holds", "exported_at", "lineage_version", "sanitizer_version"):
        _expect_type(getattr(bundle, key), str)
    _expect_type(bundle.private, bool)
    if bundle.exported_at and to_utc_or_none(bundle.exported_at) != bundle.exported_at:
        raise ValueError("not a canonical time")
    return bundle


def _parse_session(value: Mapping[str, Any]) -> BundledSession:
    former_tokens = tuple(_expect_type(token, str) for token in _expect_type(value["imported_from"], list))
    session = BundledSession(**{**value, "imported_from": former_tokens})
    validate_agent_id(_expect_type(session.agent_id, str))
    validate_id("session_id", session.session_id)
    if session.session_key is not None:
        validate_id("session_key", session.session_key)
    return session


def _parse_member(value: Mapping[str, Any]) -> Member:
    member = Member(**value)
    _expect_type(member.path, str)
    if _expect_type(member.bytes, int) < 0 or not _SHA256.fullmatch(member.sha256):
        raise ValueError("not a size and a hash")
    return member


def _expect_type(value: Any, cls: type) -> Any:
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
    check_names([member.path for member in bundle.members])
    check_sizes([member.bytes for member in bundle.members])
    tokens = {session.session_token for session in bundle.sessions}
    for member in bundle.members:
        if not _is_allowed_member(member.path, tokens, bundle.holds):
            raise FormatError(f"{member.path[:120]!r} is no file of what the bundle holds", hint=_HINT)


def _is_allowed_member(path: str, tokens: Iterable[str], holds: str) -> bool:
    name, ref = naming.parse_path(path), parse_book_path(path)
    if name is not None:
        return holds == SESSIONS and name.token in tokens
    return ref is not None and ref.scope in ((GLOBAL,) if holds == GLOBAL else map(session_scope, tokens))


def check_names(names: Sequence[str]) -> None:
    """Raise FormatError for a name that could leave the workspace or has no place in it, and for equal names."""
    seen: set[str] = set()
    for name in names:
        # Equal to any file system: some ignore case, some normalize characters.
        folded = unicodedata.normalize("NFKC", name).casefold()
        if why := "is there twice" if folded in seen else _find_name_fault(name):
            raise FormatError(f"the name {name[:120]!r} {why}", hint=_HINT)
        seen.add(folded)


def _find_name_fault(name: str) -> str | None:
    parts = name.split("/")
    if _CONTROL.search(name) or "\\" in name:
        return "has a character that no path of ours has"
    if name.startswith("/") or _DRIVE.match(name) or ".." in parts:
        return "leads out of the workspace"
    if any(not part or part[-1] in ". " or DEVICE_NAME.match(part) for part in parts):
        return "is no name of a file everywhere"
    return None if naming.parse_path(name) or parse_book_path(name) else "has no place in a bundle"


def check_sizes(sizes: Sequence[int], limits: BundleLimits = LIMITS) -> None:
    """Raise FormatError for more or larger members than the limits allow."""
    if len(sizes) > limits.members:
        raise FormatError(f"{len(sizes)} members are more than the {limits.members} of a bundle", hint=_HINT)
    if max(sizes, default=0) > limits.member_bytes or sum(sizes) > limits.total_bytes:
        raise FormatError("the members are larger than a bundle may be", hint=_HINT)


def select_members(bundle: Bundle, members: tuple[Member, ...]) -> Bundle:
    """Return the description of a bundle with only these members, and only their sessions."""
    tokens = {name.token for member in members if (name := naming.parse_path(member.path))}
    sessions = tuple(session for session in bundle.sessions if session.session_token in tokens)
    return replace(bundle, members=members, sessions=sessions)


def find_book_refs(paths: Iterable[str]) -> list[BookRef]:
    """Return the books among the paths, sorted."""
    return sorted(ref for path in paths if (ref := parse_book_path(path)))
