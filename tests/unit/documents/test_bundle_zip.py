"""What is refused of an archive before any of its members is believed.

Fails without the comparison of where members begin and end: the sum of their sizes is honest here.
"""

import struct
from hashlib import sha256
from pathlib import Path
from zlib import crc32

import pytest

from lineage.core.transfer.bundle import DESCRIPTION
from lineage.documents.bundle_zip import unpack
from lineage.errors import FormatError
from tests.support.bundles import change_description, export_bundle, write_session_with_books
from tests.support.workspace import open_memory_workspace


def local_record(name: str, data: bytes) -> bytes:
    """A member as it lies in an archive, stored."""
    sizes = (crc32(data), len(data), len(data), len(name), 0)
    return struct.pack("<4sHHHHHLLLHH", b"PK\x03\x04", 20, 0, 0, 0, 33, *sizes) + name.encode() + data


def directory_record(name: str, data: bytes, offset: int) -> bytes:
    """A member as the archive's directory lists it."""
    sizes = (crc32(data), len(data), len(data), len(name), 0, 0, 0, 0, 0o100644 << 16, offset)
    return struct.pack("<4sHHHHHHLLLHHHHHLL", b"PK\x01\x02", 0x314, 20, 0, 0, 0, 33, *sizes) + name.encode()


def zip_at(members: list[tuple[str, bytes, int]], body: bytes) -> bytes:
    """An archive of `body` whose directory lists (name, data, offset)."""
    directory = b"".join(directory_record(*member) for member in members)
    count = len(members)
    return body + directory + struct.pack("<4sHHHHLLH", b"PK\x05\x06", 0, 0, count, count, len(directory), len(body), 0)


@pytest.mark.parametrize("overlaps", [False, True], ids=["side by side", "one inside the other"])
def test_members_that_overlap_are_refused(tmp_path: Path, overlaps: bool) -> None:
    """Two members that share bytes let a small archive hold much, and hide one file in another."""
    with open_memory_workspace(tmp_path) as ws:
        write_session_with_books(ws)
        honest = export_bundle(ws)
    outer_name, inner_name = sorted(unpack(honest).files)[:2]
    inner = b"inner"
    hidden = local_record(inner_name, inner)
    outer = b"outer " + hidden if overlaps else b"outer"
    files = {outer_name: outer, inner_name: inner}
    members = [
        {"path": name, "bytes": len(data), "sha256": sha256(data).hexdigest()} for name, data in sorted(files.items())
    ]
    description = change_description(honest, members=members)
    first = local_record(DESCRIPTION, description)
    body = first + local_record(outer_name, outer) + (b"" if overlaps else hidden)
    inner_at = body.index(hidden)
    data = zip_at([(DESCRIPTION, description, 0), (outer_name, outer, len(first)), (inner_name, inner, inner_at)], body)
    if overlaps:
        with pytest.raises(FormatError, match="overlap"):
            unpack(data)
    else:
        assert unpack(data).files == files
