"""Edits to the text of a TOML settings file: one value changes; every other byte stays, comments too.

tomlkit parses and writes. It moves the tables of some valid files, so each edit is checked against what `tomllib` reads
and against the lines that were there before.
"""

import tomllib
from collections.abc import Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Comment, Item, Table

from lineage.config.checks import parse_toml
from lineage.errors import SettingsError


def set_value(text: str, file: str, path: Sequence[str], value: object) -> str:
    r"""Return the text with a value under the path of a key, or without the key (None).

    A default that stands in its table as a comment gives its place. Raise SettingsError for a text that is no TOML, and
    for one of which other lines would change too.

    >>> set_value("[context]\n# budget = 2000\n", "lineage.toml", ("context", "budget"), 1500)
    '[context]\nbudget = 1500\n'
    """
    values = parse_toml(text, file, f"mend {file}")
    expected = _with_value(values, path, value)
    if expected == values:
        return text
    newline = "\r\n" if text.count("\n") == text.count("\r\n") > 0 else "\n"
    plain = text.replace(newline, "\n")
    new = None if expected is None else _edit(plain, path, value)
    if new is None or _read_or_none(new) != expected:
        name, assignment = ".".join(path), _format_assignment(path[-1], value)
        place = f"below [{'.'.join(path[:-1])}]" if path[1:] else "at its top"
        hint = f"change it in an editor: put `{assignment}` {place}" if assignment else "take it out in an editor"
        raise SettingsError(f"{file} is written in a way in which this command can't change {name} alone", hint=hint)
    return new.replace("\n", newline)


def _edit(text: str, path: Sequence[str], value: object) -> str | None:
    """Return the changed text, None if tomlkit would change lines that the value doesn't stand in."""
    try:
        document = tomlkit.parse(text)
        if tomlkit.dumps(document) != text:
            return None
        old_lines = _change(document, path, value)
        new = tomlkit.dumps(document)
    except (TOMLKitError, RecursionError):
        return None
    before = text.splitlines()
    start, end = _find_change(before, new.splitlines())
    return new if len(before) - start - end <= old_lines else None


def _change(document: tomlkit.TOMLDocument, path: Sequence[str], value: object) -> int:
    """Set or remove a value. Return how many lines of the text it may replace."""
    table: Any = document
    for name in path[:-1]:
        if name not in table:
            table[name] = tomlkit.table()
        table = table[name]
    key = path[-1]
    old, default = table.get(key), _find_default(table, key)
    if value is None:
        table.pop(key)
    elif old is None and default:
        default.trivia.comment = _format_assignment(key, value)
    else:
        table[key] = value
    return len(old.as_string().splitlines()) if isinstance(old, Item) else 1


def _find_default(table: Any, key: str) -> Comment | None:
    """Return the comment in a table that shows the key with a value."""
    body = table.value.body if isinstance(table, Table) else ()
    comments = [item for _, item in body if isinstance(item, Comment)]
    return next(
        (one for one in comments if list(_read_or_none(one.trivia.comment.lstrip("# \t")) or ()) == [key]), None
    )


def _format_assignment(key: str, value: object) -> str:
    return "" if value is None else tomlkit.dumps({key: value}).strip()


def _with_value(values: dict[str, Any], path: Sequence[str], value: object) -> dict[str, Any] | None:
    """Return the values with a changed one, None where a table stands in a value's place or the other way round."""
    name, *rest = path
    if not isinstance(values, dict) or (not rest and isinstance(values.get(name), dict)):
        return None
    if rest:
        inner = _with_value(values.get(name, {}), rest, value)
        return None if inner is None else {**values, name: inner} if inner or name in values else values
    others = {key: one for key, one in values.items() if key != name}
    return others if value is None else {**others, name: value}


def _read_or_none(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def revert_edit(text: str, before: str, after: str) -> str | None:
    r"""Return a text without the edit that made `after` of `before`; None unless it holds that edit exactly once.

    >>> revert_edit("a = 1\nnew = 2\nlater = 3\n", "a = 1\n", "a = 1\nnew = 2\n")
    'a = 1\nlater = 3\n'
    """
    start, end = _find_change(before, after)
    added, removed = after[start : len(after) - end], before[start : len(before) - end]
    return text.replace(added, removed) if added and text.count(added) == 1 else None


def _find_change(before: Sequence[str], after: Sequence[str]) -> tuple[int, int]:
    """Return how many characters or lines two texts have in common at their start, and how many more at their end."""
    start = _count_equal(before, after)
    return start, _count_equal(before[start:][::-1], after[start:][::-1])


def _count_equal(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
