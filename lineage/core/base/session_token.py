"""The token of a session, and SHA-256 as hooks import it: without OpenSSL, as slow to import as SQLite."""

try:
    from _sha2 import sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256  # type: ignore[import-not-found,unused-ignore]  # before Python 3.12
    except ImportError:
        from hashlib import sha256

__all__ = ["hash_identity", "sha256"]

_LETTERS = "abcdefghijklmnopqrstuvwxyz234567"


def hash_identity(agent: str, identity: str) -> str:
    """Return the first 16 characters of lower-case base32(sha256("agent:identity")).

    >>> hash_identity("default", "sess-1")
    'yruajzz2ynbltkjz'
    """
    seed = f"{agent}:{identity.strip()}".encode("utf-8", "replace")
    number = int.from_bytes(sha256(seed).digest()[:10], "big")
    return "".join(_LETTERS[number >> shift & 31] for shift in range(75, -1, -5))
