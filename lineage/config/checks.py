"""Checks that the settings files share. Each raises SettingsError that names the file and the key."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from lineage.errors import SettingsError


def parse_toml(text: str, file: str, hint: str) -> dict[str, Any]:
    """Parse the text of a settings file."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # deep nesting exhausts the parser's stack
        raise SettingsError(f"{file} is not valid TOML: {error}", hint=hint) from error


def unknown_setting(file: str, key: str, names: Iterable[str], section: str = "") -> SettingsError:
    """Return the error for an unknown key of a section. Its hint suggests the nearest known name."""
    known = list(names)
    near = get_close_matches(key, known, 1)
    return SettingsError(
        f"{file}: unknown setting {section + key!r}",
        hint=f"did you mean {section + near[0]!r}?" if near else f"known: {', '.join(known)}",
    )


def check_type(file: str, key: str, value: object, expected: type) -> None:
    """Refuse a value of another type. A boolean is no number."""
    if type(value) is not expected:
        raise SettingsError(f"{file}: {key} is {type(value).__name__}, not {expected.__name__}")


def check_texts(file: str, key: str, value: object) -> tuple[str, ...]:
    """Return a list of texts as a tuple; refuse anything else."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise SettingsError(f"{file}: {key} is not a list of texts")
    return tuple(value)


def check_value(file: str, key: str, value: Any, limits: tuple[int, int] | None) -> None:
    """Refuse a text, or a number if the key has limits, of another type or outside of the limits."""
    check_type(file, key, value, int if limits else str)
    if limits and not limits[0] <= value <= limits[1]:
        raise SettingsError(f"{file}: {key} is {value}, not {limits[0]} to {limits[1]}")


def check_provider(file: str, section: str, table: Mapping[str, Any], providers: Sequence[str]) -> None:
    """Refuse a table that has settings but names none of the providers."""
    options = f"one of {', '.join(providers)}"
    if table and "provider" not in table:
        raise SettingsError(f"{file}: {section}.provider is missing", hint=options)
    provider = table.get("provider", providers[0])
    if provider not in providers:
        near = get_close_matches(provider, providers, 1)
        raise SettingsError(
            f"{file}: {section}.provider is {provider!r}", hint=f"did you mean {near[0]!r}?" if near else options
        )
