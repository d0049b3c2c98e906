"""Addresses of workspaces that lie in a bucket, and the folders of this machine that stand for them. (issue 9)

Everything that takes a workspace takes a folder. For a bucket that is the folder below this machine's state that is
named after it: there lie its `.lineage/` (spool, locks, index, counters), and nothing else. The name says the address,
so nothing has to be looked up to get from one to the other.
"""

import re

SCHEMES = ("s3", "gs", "az")

_ADDRESS = re.compile(rf"(?:{'|'.join(SCHEMES)})://[^/?#\s]+(?:/[^?#]*)?")
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789._-")
_ESCAPED = re.compile(r"%([0-9a-f]{2})")
_MOST_BYTES = 255


def is_address(text: str) -> bool:
    """Whether a workspace's name has the form of an address, of a bucket or of something nobody knows."""
    return "://" in text


def normal_address(text: str) -> str | None:
    """The address without a slash at its end; None where it names no bucket of a known kind."""
    if not _ADDRESS.fullmatch(text) or any(ord(character) < 32 for character in text):
        return None
    scheme, _, rest = text.partition("://")
    bucket, *parts = rest.rstrip("/").split("/")
    if any(part in ("", ".", "..") for part in parts):
        return None
    return f"{scheme}://{'/'.join([bucket, *parts])}"


def folder_name(address: str) -> str | None:
    """The name of the folder that stands for a normal address, one that every file system tells from the others; None
    where it would be too long for one."""
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in address.encode())
    return name if len(name) <= _MOST_BYTES else None


def address_of(name: str) -> str | None:
    """The address that a folder of this name stands for, None where it is an ordinary one."""
    if "%3a%2f%2f" not in name:
        return None
    data = b"".join(
        bytes.fromhex(part) if number % 2 else part.encode() for number, part in enumerate(_ESCAPED.split(name))
    )
    address = normal_address(data.decode("utf-8", errors="replace"))
    return address if address and folder_name(address) == name else None
