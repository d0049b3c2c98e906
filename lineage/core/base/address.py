"""Addresses of workspaces that lie in a bucket, and the folders of this machine that stand for them.

Everything that takes a workspace takes a folder. For a bucket that is the folder below this machine's state that is
named after it: there lies its `.lineage/` (spool, locks, index, counters), and nothing else. The name says the address,
so nothing has to be looked up to get from one to the other. The doorbell imports this: it imports nothing.
"""

SCHEMES = ("s3", "gs", "az")

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_SEPARATOR = "%3a%2f%2f"
_MAX_BYTES = 255


def is_address(text: str) -> bool:
    """Whether a workspace's name has the form of an address, be it of a kind of store that nobody knows."""
    return "://" in text


def normalize_address(text: str) -> str | None:
    """The address without a slash at its end; None where it is not `SCHEME://BUCKET[/PREFIX]` of a known scheme."""
    scheme, _, rest = text.partition("://")
    parts = rest.removesuffix("/").split("/")
    if scheme not in SCHEMES or not all(map(_is_part, parts)):
        return None
    return f"{scheme}://{'/'.join(parts)}"


def address_to_folder(address: str) -> str | None:
    """The name of the folder that stands for a normal address, one that every file system tells from the others; None
    where it would be too long for one."""
    name = "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02x}" for byte in address.encode())
    return name if len(name) <= _MAX_BYTES else None


def folder_to_address(name: str) -> str | None:
    """The address that a folder of this name stands for, None where it is an ordinary one."""
    if _SEPARATOR not in name:
        return None
    first, *escaped = name.split("%")
    try:
        data = first.encode() + b"".join(bytes([int(part[:2], 16)]) + part[2:].encode() for part in escaped)
        address = normalize_address(data.decode())
    except ValueError:
        return None
    return address if address and address_to_folder(address) == name else None


def _is_part(part: str) -> bool:
    """Whether a bucket or a folder of keys can have this name: none that an address gives a meaning of its own."""
    return part not in ("", ".", "..") and part.isprintable() and not any(sign in "?#%\\" for sign in part)
