"""Bundles as bytes: a deterministic ZIP; unpacking trusts nothing and is bounded in memory and time."""

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
"""The suffix of bundles in a workspace, by which a removal finds them."""

OWN_LIMITS = replace(LIMITS, ratio=2000)
"""The limits for the workspace's own bundles: up to the highest ratio of deflate."""

T = TypeVar("T")

# The same bytes for the same files: the earliest time that the format knows, one mode, one system.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = (stat.S_IFREG | 0o644) << 16
_UNIX = 3
_LEVEL = 6
_CHUNK = 1 << 20
_END_RECORD = struct.Struct("<4s4H2LH")
_END_SIGNATURE, _ZIP64_LOCATOR_SIGNATURE, _LOCAL_SIGNATURE = b"PK\x05\x06", b"PK\x06\x07", b"PK\x03\x04"
# An entry of the directory is 46 bytes with its name behind it; no name of ours is as long as 512.
_LOCAL_HEADER_BYTES, _ENTRY_BYTES = 30, 46 + 512
_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DAMAGE_ERRORS = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError,
    ValueError, OverflowError, OSError,
)  # fmt: skip
_HINT = "the file is damaged, or no bundle of `lineage admin bundle export`; nothing was written"


@dataclass(frozen=True, slots=True)
class UnpackedBundle:
    """A bundle with its files, checked against their hashes. `digest` is the SHA-256 of the whole file."""

    bundle: Bundle
    files: Mapping[str, bytes]
    digest: str


def build_members(files: Mapping[str, bytes]) -> tuple[Member, ...]:
    """Return the members for files. Raises FormatError if they exceed a bundle's limits."""
    check_sizes([len(data) for data in files.values()])
    return tuple(Member(path, len(data), _sha256(data)) for path, data in sorted(files.items()))


def pack(bundle: Bundle, files: Mapping[str, bytes]) -> bytes:
    """Return the bytes of a bundle. `bundle.members` are those of `files`."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, allowZip64=False) as archive:
        for name, data in ((DESCRIPTION, serialize_bundle(bundle)), *sorted(files.items())):
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, _UNIX, _MODE
            archive.writestr(info, data, compresslevel=_LEVEL)
    return buffer.getvalue()


def unpack(data: bytes, limits: BundleLimits = LIMITS) -> UnpackedBundle:
    """Return the bundle in bytes.

    Raises FormatError for a foreign archive; for a member that is no plain file, undeclared, larger than declared, or
    of another hash; and for the names and sizes that `core.transfer.bundle` refuses.
    """
    with _open_archive(data, limits) as archive:
        infos = archive.infolist()
        bundle = _parse_description(archive, infos, limits)
        declared = {member.path: member for member in bundle.members}
        if sorted(info.filename for info in infos[1:]) != sorted(declared):
            raise FormatError("the archive holds other members than it declares", hint=_HINT)
        check_sizes([info.file_size for info in infos[1:]], limits)
        # declared sizes, before a byte is unpacked: a bomb is refused by its directory
        _check_ratio(sum(info.file_size for info in infos), len(data), limits)
        files = {info.filename: _read_member(archive, info, declared[info.filename]) for info in infos[1:]}
    return UnpackedBundle(bundle, files, _sha256(data))


def salvage(data: bytes, limits: BundleLimits = LIMITS) -> tuple[Bundle, dict[str, bytes | FormatError]]:
    """Return the description, and each member's bytes or error. Raises FormatError if it can't be opened."""
    with _open_archive(data, limits) as archive:
        infos = archive.infolist()
        bundle = _parse_description(archive, infos, limits)
        check_sizes([info.file_size for info in infos[1:]], limits)
        _check_ratio(sum(info.file_size for info in infos), len(data), limits)
        by_name = {info.filename: info for info in infos[1:]}
        members = bundle.members
        return bundle, {one.path: _salvage_member(archive, by_name.get(one.path), one) for one in members}


def read_description(data: bytes, limits: BundleLimits = LIMITS) -> Bundle | None:
    """Return a bundle's description without reading its members; None if the bytes are no bundle."""
    try:
        with _open_archive(data, limits) as archive:
            return _parse_description(archive, archive.infolist(), limits)
    except FormatError:
        return None


def find_bundles_with_session(store: Store, token: str) -> Iterator[str]:
    """Yield the bundles with a session under any token it had, without the archive's (format: Removal)."""
    for entry in store.list(""):
        is_candidate = entry.key.lower().endswith(SUFFIX) and not is_archive_bundle(entry.key)
        blob = read_or_none(store, entry.key) if is_candidate else None
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
    """Call `read`, and raise FormatError for any error that a damaged archive causes in the library."""
    try:
        return read()
    except _DAMAGE_ERRORS as error:
        raise FormatError("not a readable archive", hint=_HINT) from error


def _check_end(data: bytes, limits: BundleLimits) -> None:
    """Check the end record before memory is allocated for its numbers: only those of `pack` pass."""
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
        mode = info.external_attr >> 16  # 0 from a system without modes
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
    """Return a member, unpacking at most one byte more than `size`."""

    def read() -> bytes:
        chunks, left = [], size + 1
        with archive.open(info) as file:
            while left and (chunk := file.read(min(_CHUNK, left))):
                chunks.append(chunk)
                left -= len(chunk)
        return b"".join(chunks)

    data = _translate_errors(read)
    if len(data) != size:
        raise FormatError(f"{info.filename[:120]!r} has another size than it declares", hint=_HINT)
    return data


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
