"""Addresses of workspaces in a bucket, and the local folders that stand for them.

Every function that takes a workspace takes a folder. For a bucket that is a folder below this machine's state, with
nothing but `.lineage/` in it (spool, locks, index, counters). Its name encodes the address, so that no table maps one
to the other. The hook path imports this module, so it imports nothing.
"""

SCHEMES = ("s3", "gs", "az")

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyz0123456789._-")
_ESCAPED_SEPARATOR = "%3a%2f%2f"
_MAX_BYTES = 255  # of a file name, on every common file system


def is_address(text: str) -> bool:
    """Return whether the name of a workspace has the form of an address, of any scheme."""
    return "://" in text


def normalize_address(text: str) -> str | None:
    """Return the address without a final slash, or None unless it is `SCHEME://BUCKET[/PREFIX]` of a known scheme."""
    scheme, _, rest = text.partition("://")
    parts = rest.removesuffix("/").split("/")
    if scheme not in SCHEMES or not all(map(_is_valid_part, parts)):
        return None
    return f"{scheme}://{'/'.join(parts)}"


def address_to_folder(address: str) -> str | None:
    """Return the name of the folder for a normal address, or None if it is too long for a file name."""
    # Upper case is escaped too: some file systems ignore it.
    name = "".join(chr(byte) if chr(byte) in _PLAIN else f"%{byte:02x}" for byte in address.encode())
    return name if len(name) <= _MAX_BYTES else None


def folder_to_address(name: str) -> str | None:
    """Return the address that a folder stands for, or None for an ordinary folder."""
    if _ESCAPED_SEPARATOR not in name:
        return None
    first, *escaped = name.split("%")
    try:
        data = first.encode() + b"".join(bytes([int(part[:2], 16)]) + part[2:].encode() for part in escaped)
        address = normalize_address(data.decode())
    except ValueError:
        return None
    return address if address and address_to_folder(address) == name else None


def _is_valid_part(part: str) -> bool:
    return part not in ("", ".", "..") and part.isprintable() and not any(sign in "?#%\\" for sign in part)
