"""Edits to the text of a TOML settings file: one text under one key; every other byte stays as it is."""

import tomlkit
from tomlkit.exceptions import TOMLKitError

from lineage.errors import SettingsError


def set_text(text: str, file: str, key: str, value: str | None) -> str:
    """Return a file's text with a text under a key of its root, or without the key (None).

    Raise SettingsError for a text that is no TOML.
    """
    try:
        document = tomlkit.parse(text)
        if value is None:
            document.pop(key, None)
        elif document.get(key) != value:
            document[key] = value
    except (TOMLKitError, RecursionError) as error:
        raise SettingsError(f"{file} is not valid TOML: {error}", hint=f"mend {file}") from error
    return tomlkit.dumps(document)


def revert_edit(text: str, before: str, after: str) -> str | None:
    r"""Return a text without the edit that made `after` of `before`; None unless it holds that edit exactly once.

    >>> revert_edit("a = 1\nnew = 2\nlater = 3\n", "a = 1\n", "a = 1\nnew = 2\n")
    'a = 1\nlater = 3\n'
    """
    start = _count_equal(before, after)
    end = _count_equal(before[start:][::-1], after[start:][::-1])
    added, removed = after[start : len(after) - end], before[start : len(before) - end]
    return text.replace(added, removed) if added and text.count(added) == 1 else None


def _count_equal(one: str, other: str) -> int:
    """Return how many characters two texts have in common at their start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
