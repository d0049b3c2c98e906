"""Changes of one setting in the text of a TOML file: every other byte stays, comments too."""

import json
import re
import tomllib
from typing import Any

from lineage.errors import InvalidInput

_TABLE = re.compile(r"[ \t]*\[[ \t]*([A-Za-z0-9_-]+)[ \t]*\][ \t]*(?:#.*)?\r?\n?")
_ANY_TABLE = re.compile(r"[ \t]*\[")
_ASSIGNMENT = re.compile(r"[ \t]*(#?)[ \t]*([A-Za-z0-9_-]+)[ \t]*=")


def replace_setting(text: str, table: str, key: str, value: object, file: str) -> str:
    r"""Return the text with `key` of `[table]` set; a default that stands there as a comment gives its place.

    Raises InvalidInput where the file writes the setting in a form that can't be changed line by line.

    >>> replace_setting("[context]\n# budget = 2000\\n", "context", "budget", 1500, "lineage.toml")
    '[context]\nbudget = 1500\n'
    """
    lines = text.splitlines(keepends=True)
    end = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    assignment = f"{key} = {_format_value(value)}"
    new = _replace_lines(lines, table, key, assignment, end)
    if _read(new) != _with_value(_read(text), table, key, value):
        problem = f"{file} writes {table}.{key} in a way that this command can't change"
        raise InvalidInput(problem, hint=f"change it in an editor: put `{assignment}` below [{table}]")
    return new


def _replace_lines(lines: list[str], table: str, key: str, assignment: str, end: str) -> str:
    heads = ((at, _TABLE.fullmatch(line)) for at, line in enumerate(lines))
    start = next((at for at, head in heads if head and head[1] == table), None)
    if start is None:
        text = "".join(lines)
        gap = "" if not text else end if text.endswith(("\n", "\r")) else end * 2
        return f"{text}{gap}[{table}]{end}{assignment}{end}"
    stop = next((at for at in range(start + 1, len(lines)) if _ANY_TABLE.match(lines[at])), len(lines))
    found = [
        (at, match) for at in range(start + 1, stop) if (match := _ASSIGNMENT.match(lines[at])) and match[2] == key
    ]
    place = next((at for at, match in found if not match[1]), None)
    if place is None:
        place = found[0][0] if found else None
        if place is None:
            first = lines[start] if lines[start].endswith("\n") else lines[start] + end
            return "".join([*lines[:start], first, f"{assignment}{end}", *lines[start + 1 :]])
        return "".join([*lines[:place], f"{assignment}{end}", *lines[place + 1 :]])
    last = next((at for at in range(place + 1, stop + 1) if _read_or_none("".join(lines[place:at])) is not None), stop)
    comment = _find_comment("".join(lines[place:last]).rstrip("\r\n"))
    return "".join([*lines[:place], f"{assignment}{comment}{end}", *lines[last:]])


def _find_comment(line: str) -> str:
    """Return the comment behind an assignment with the blanks before it, "" without one."""
    value = _read_or_none(line)
    for found in re.finditer(r"[ \t]*#", line):
        if _read_or_none(line[: found.start()]) == value is not None:
            return line[found.start() :]
    return ""


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(_format_value, value))}]" if isinstance(value, list | tuple) else str(value)


def _read(text: str) -> dict[str, Any]:
    return _read_or_none(text) or {}


def _read_or_none(text: str) -> dict[str, Any] | None:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None


def _with_value(tables: dict[str, Any], table: str, key: str, value: object) -> dict[str, Any]:
    values = tables.get(table, {})
    plain = list(value) if isinstance(value, tuple) else value
    return tables | {table: {**values, key: plain}} if isinstance(values, dict) else tables
