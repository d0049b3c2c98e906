"""Paths that users and harnesses name."""

from pathlib import Path


def expand_home(path: str | Path) -> Path:
    """Return a path with `~` resolved, or unchanged if that home does not exist: reading it then fails as missing."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        return Path(path)
