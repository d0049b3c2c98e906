"""Bundles as bytes: a ZIP with `bundle.json` first. Packing is deterministic, reading believes nothing.

The same description and files give the same bytes on one machine: fixed times and modes, sorted members. A bundle that
comes from elsewhere is read in bounded memory and time: its directory is counted before it is read, no member may be
larger than it says, and every one is held against its hash.
"""

import hashlib
import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from lineage.core.transfer.archive_paths import is_archive_bundle
from lineage.core.transfer.bundle import (
    DESCRIPTION,
    LIMITS,
    Bundle,
    BundleLimits,
    Member,
    check_names,
    check_sizes,
    parse_bundle,
    serialize_bundle,
)
from lineage.errors import FormatError
from lineage.store import Store, read_or_none

SUFFIX = ".zip"
"""What the name of a bundle ends in that lies in a workspace, so that a removal finds it there."""

OWN_LIMITS = replace(LIMITS, ratio=2000)
"""Bundles of the workspace itself: text may shrink by what deflate can do at most."""

T = TypeVar("T")

_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = (stat.S_IFREG | 0o644) << 16
_UNIX = 3
_LEVEL = 6
_CHUNK = 1 << 20
_END_RECORD = struct.Struct("<4s4H2LH")
_END_SIGNATURE, _ZIP64_LOCATOR_SIGNATURE, _LOCAL_SIGNATURE = b"PK\x05\x06", b"PK\x06\x07", b"PK\x03\x04"
_LOCAL_HEADER_BYTES, _ENTRY_BYTES = 30, 46 + 512
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE_ERRORS = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError, OSError,
)  # fmt: skip
_HINT = "the file is damaged, or no bundle of `lineage bundle export`; nothing was written"


@dataclass(frozen=True, slots=True)
class UnpackedBundle:
    """A bundle as it was read, its members held against their hashes. `digest` is the SHA-256 of the whole file."""

    bundle: Bundle
    files: Mapping[str, bytes]
    digest: str


def build_members(files: Mapping[str, bytes]) -> tuple[Member, ...]:
    """The list of members that belongs to the files. Raises FormatError where they are more than a bundle may hold."""
    check_sizes([len(data) for data in files.values()])
    return tuple(Member(path, len(data), _sha256(data)) for path, data in sorted(files.items()))


def pack(bundle: Bundle, files: Mapping[str, bytes]) -> bytes:
    """The bytes of a bundle; `bundle.members` are those of `files`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, allowZip64=False) as archive:
        for name, data in ((DESCRIPTION, serialize_bundle(bundle)), *sorted(files.items())):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, _UNIX, _MODE
            archive.writestr(info, data, compresslevel=_LEVEL)
    return buffer.getvalue()


def unpack(data: bytes, limits: BundleLimits = LIMITS) -> UnpackedBundle:
    """The bundle that the bytes are. Raises FormatError for anything else: no archive of ours, a member that is no
    plain file, that nobody declared, that is larger than it says, or whose hash is another one; names and sizes that
    `core.bundle` refuses."""
    with _open_archive(data, limits) as archive:
        infos = archive.infolist()
        bundle = _parse_description(archive, infos, limits)
        declared = {member.path: member for member in bundle.members}
        if sorted(info.filename for info in infos[1:]) != sorted(declared):
            raise FormatError("the archive holds other members than it declares", hint=_HINT)
        check_sizes([info.file_size for info in infos[1:]], limits)
        _check_ratio(sum(info.file_size for info in infos), len(data), limits)
        files = {info.filename: _read_member(archive, info, declared[info.filename]) for info in infos[1:]}
    return UnpackedBundle(bundle, files, _sha256(data))


def salvage(data: bytes, limits: BundleLimits = LIMITS) -> tuple[Bundle, dict[str, bytes | FormatError]]:
    """The description, and of each member that it declares the bytes or what is wrong with them: damage to one hides no
    other. Raises FormatError where the archive cannot be opened, or exceeds the limits."""
    with _open_archive(data, limits) as archive:
        infos = archive.infolist()
        bundle = _parse_description(archive, infos, limits)
        check_sizes([info.file_size for info in infos[1:]], limits)
        _check_ratio(sum(info.file_size for info in infos), len(data), limits)
        found = {info.filename: info for info in infos[1:]}
        return bundle, {
            member.path: _salvage_member(archive, found.get(member.path), member) for member in bundle.members
        }


def read_description(data: bytes, limits: BundleLimits = LIMITS) -> Bundle | None:
    """What the bytes say of themselves, no member being read; None where they are no bundle."""
    try:
        with _open_archive(data, limits) as archive:
            return _parse_description(archive, archive.infolist(), limits)
    except FormatError:
        return None


def find_bundles_with_session(store: Store, token: str) -> Iterator[str]:
    """The keys of bundles in a workspace that hold a session, by a token it has or had, in order (format: Removal).

    Those of the archive are none of them: they hold others' artifacts too, and a session's are taken out one by one.
    """
    for entry in store.list(""):
        is_due = entry.key.lower().endswith(SUFFIX) and not is_archive_bundle(entry.key)
        blob = read_or_none(store, entry.key) if is_due else None
        bundle = read_description(blob.data) if blob else None
        if bundle and token in bundle.all_tokens:
            yield entry.key


@contextmanager
def _open_archive(data: bytes, limits: BundleLimits) -> Iterator[zipfile.ZipFile]:
    _check_end(data, limits)
    with _translate_errors(lambda: zipfile.ZipFile(io.BytesIO(data))) as archive:
        infos = _translate_errors(archive.infolist)
        _check_infos(infos)
        yield archive


def _translate_errors(read: Callable[[], T]) -> T:
    """What `read` gives; whatever a damaged archive makes the library raise is a FormatError."""
    try:
        return read()
    except _DAMAGE_ERRORS as error:
        raise FormatError("not a readable archive", hint=_HINT) from error


def _check_end(data: bytes, limits: BundleLimits) -> None:
    """The end of the archive, before anything is allocated for what it says: as we write it, without a comment, and
    without the extensions for huge archives."""
    if len(data) > limits.file_bytes:
        raise FormatError("the file is larger than a bundle may be", hint=_HINT)
    end = data[-_END_RECORD.size :]
    if (
        len(end) < _END_RECORD.size
        or not data.startswith(_LOCAL_SIGNATURE)
        or data[-_END_RECORD.size - 20 :].startswith(_ZIP64_LOCATOR_SIGNATURE)
    ):
        raise FormatError("not an archive of ours", hint=_HINT)
    signature, disk, start, here, count, size, _, comment = _END_RECORD.unpack(end)
    if (signature, disk, start, here, comment) != (_END_SIGNATURE, 0, 0, count, 0):
        raise FormatError("not an archive of ours", hint=_HINT)
    if count > limits.members + 1 or size > (limits.members + 1) * _ENTRY_BYTES:
        raise FormatError(f"{count} members are more than a bundle may hold", hint=_HINT)


def _check_infos(infos: Sequence[zipfile.ZipInfo]) -> None:
    if not infos or infos[0].filename != DESCRIPTION or infos[0].header_offset != 0:
        raise FormatError(f"{DESCRIPTION} is not its first member", hint=_HINT)
    check_names([info.orig_filename for info in infos[1:]])
    for info in infos:
        mode = info.external_attr >> 16
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG) or info.is_dir() or info.orig_filename != info.filename:
            raise FormatError(f"{info.filename[:120]!r} is no plain file", hint=_HINT)
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
            raise FormatError(f"{info.filename[:120]!r} is packed in a way that we never use", hint=_HINT)
    # Members that share bytes let a small archive hold much, and hide one file in another. The end of the last one
    # needs no look: the library reads no further than the file goes.
    spans = sorted(
        (info.header_offset, info.header_offset + _LOCAL_HEADER_BYTES + len(info.filename) + info.compress_size)
        for info in infos
    )
    if any(end > start for (_, end), (start, _) in pairwise(spans)):
        raise FormatError("members of the archive overlap", hint=_HINT)


def _parse_description(archive: zipfile.ZipFile, infos: Sequence[zipfile.ZipInfo], limits: BundleLimits) -> Bundle:
    if infos[0].file_size > limits.description_bytes:
        raise FormatError(f"{DESCRIPTION} is larger than it may be", hint=_HINT)
    _check_ratio(infos[0].file_size, infos[0].compress_size, limits)
    return parse_bundle(_read_bytes(archive, infos[0], infos[0].file_size))


def _check_ratio(plain: int, compressed: int, limits: BundleLimits) -> None:
    if plain > limits.ratio_exempt_bytes and plain > limits.ratio * compressed:
        raise FormatError("the members are out of proportion to the archive", hint=_HINT)


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, declared: Member) -> bytes:
    data = _read_bytes(archive, info, declared.bytes)
    if _sha256(data) != declared.sha256:
        raise FormatError(f"{declared.path} does not match its hash", hint=_HINT)
    return data


def _salvage_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None, declared: Member) -> bytes | FormatError:
    if info is None:
        return FormatError(f"{declared.path} is not in its archive", hint=_HINT)
    try:
        return _read_member(archive, info, declared)
    except FormatError as error:
        return error


def _read_bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo, size: int) -> bytes:
    """A member, no byte more than `size` being unpacked."""

    def parts() -> bytes:
        found, left = [], size + 1
        with archive.open(info) as file:
            while left and (part := file.read(min(_CHUNK, left))):
                found.append(part)
                left -= len(part)
        return b"".join(found)

    data = _translate_errors(parts)
    if len(data) != size:
        raise FormatError(f"{info.filename[:120]!r} has another size than it declares", hint=_HINT)
    return data


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
