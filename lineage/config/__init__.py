"""The workspace's settings: `lineage.toml`, every key known, every unknown one an error that names the nearest.

This package takes text and gives values; who reads the file is the composition root.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from lineage.errors import InvalidInput

PersonalDataMode = Literal["mask", "drop"]

SETTINGS_FILE = "lineage.toml"


class LedgerSettings(NamedTuple):
    """`max_bytes`: the whole of MEMORY.md, UTF-8. `row_style`: `full` (the spec's row) or `compact`."""

    max_bytes: int = 262144
    row_style: str = "full"


class TranscriptSettings(NamedTuple):
    """`thinking`: keep the agent's thinking. `max_result_chars`: how much of a tool's result is kept."""

    thinking: bool = False
    max_result_chars: int = 2000


class SanitizerSettings(NamedTuple):
    """`rules_path`: a file of the user's own rules in gitleaks' format, relative to the workspace; none where empty.
    What is done with e-mail addresses, user names in home directories and IP addresses: `off`, `mask` or `drop`."""

    rules_path: str = ""
    emails: str = "off"
    user_names: str = "off"
    ip_addresses: str = "off"

    @property
    def personal_data_modes(self) -> dict[str, PersonalDataMode]:
        """The rules for personal data that are on, by id, with what they do."""
        modes: dict[str, str] = {"email": self.emails, "user-name": self.user_names, "ip-address": self.ip_addresses}
        return {name: "drop" if mode == "drop" else "mask" for name, mode in modes.items() if mode != "off"}


class KnowledgeSettings(NamedTuple):
    """`extract`: whether books learn from what is captured."""

    extract: bool = True


class SessionSettings(NamedTuple):
    """`dm_scope`: what tells people's conversations apart, a scope of `core.lanes`. Their sessions are over at
    `daily_reset`, HH:MM by the clocks of `reset_time_zone`, never where it is empty, and after `idle_minutes` without a
    message, never where these are 0. `spawn_depth`: how deep agents that lineage starts may start others."""

    dm_scope: str = "main"
    daily_reset: str = "04:00"
    reset_time_zone: str = "UTC"
    idle_minutes: int = 0
    spawn_depth: int = 1


class LanguageModelSettings(NamedTuple):
    """What the language model of this machine is used for, where its own configuration names one."""

    sentences: bool = True
    summaries: bool = True
    memory: bool = True


class ContextSettings(NamedTuple):
    """`budget`: how many tokens the block that a new session starts with may take, its frame and all."""

    budget: int = 2000


class Settings(NamedTuple):
    """`identity_links`: who is the same person on several channels, canonical id → ids with their channel in front."""

    ledger: LedgerSettings = LedgerSettings()
    transcript: TranscriptSettings = TranscriptSettings()
    sanitizer: SanitizerSettings = SanitizerSettings()
    context: ContextSettings = ContextSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    sessions: SessionSettings = SessionSettings()
    language_model: LanguageModelSettings = LanguageModelSettings()
    identity_links: Mapping[str, Sequence[str]] = {}


_SECTIONS: Mapping[str, Any] = {
    "ledger": LedgerSettings,
    "transcript": TranscriptSettings,
    "sanitizer": SanitizerSettings,
    "context": ContextSettings,
    "knowledge": KnowledgeSettings,
    "sessions": SessionSettings,
    "language_model": LanguageModelSettings,
}
_LIST_TABLES = ("identity_links",)
_PERSONAL = ("off", "mask", "drop")
_CHOICES = {
    "ledger.row_style": ("full", "compact"),
    "sanitizer.emails": _PERSONAL,
    "sanitizer.user_names": _PERSONAL,
    "sanitizer.ip_addresses": _PERSONAL,
    "sessions.dm_scope": ("main", "per-peer", "per-channel-peer", "per-account-channel-peer"),
}
_FORMATS = {
    "sessions.daily_reset": (r"(?:(?:[01]\d|2[0-3]):[0-5]\d)?", 'a time of day like "04:00", or ""'),
    "sessions.reset_time_zone": (r"\w[\w+-]*(?:/\w[\w+-]*)*", 'a time zone like "Europe/Berlin"'),
}
_MINIMUMS = {
    "ledger.max_bytes": 4096,
    "transcript.max_result_chars": 0,
    "context.budget": 0,
    "sessions.idle_minutes": 0,
    "sessions.spawn_depth": 0,
}
_MACHINE_ONLY = ("workspace", "index", "command", "url", "credentials", "model", "endpoint")


def parse_settings(text: str) -> Settings:
    """The settings that a `lineage.toml` holds. Raises InvalidInput for what is unknown, mistyped or out of range."""
    if _is_default_text(text):
        return Settings()
    import tomllib  # noqa: PLC0415

    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{SETTINGS_FILE} is not valid TOML: {error}", hint=f"mend {SETTINGS_FILE}, then run the command again"
        ) from error
    _check(tables)
    sections = {name: _SECTIONS[name](**values) for name, values in tables.items() if name in _SECTIONS}
    return Settings(**sections, **{name: tables[name] for name in _LIST_TABLES if name in tables})


def _is_default_text(text: str) -> bool:
    """Whether there are comments and sections alone, as where nobody has chosen anything: that needs no parser."""
    lines = text.split("\n")
    said = [line for line in lines if line and not line.startswith("#")]
    return (
        all(map(str.isprintable, lines))
        and all(line[:1] + line[-1:] == "[]" and line[1:-1] in (*_SECTIONS, *_LIST_TABLES) for line in said)
        and len(said) == len(set(said))
    )


def _check(tables: Mapping[str, Any]) -> None:
    for name, values in tables.items():
        if name in _MACHINE_ONLY:
            raise InvalidInput(
                f"{SETTINGS_FILE}: {name!r} is not read from a workspace",
                hint="locations, credentials and programs stand in ~/.config/lineage/config.toml only",
            )
        if name not in (*_SECTIONS, *_LIST_TABLES) or not isinstance(values, dict):
            raise _unknown_setting(name, [*_SECTIONS, *_LIST_TABLES])
        if name in _LIST_TABLES:
            _check_lists(name, values)
            continue
        known = _SECTIONS[name]._field_defaults
        for key, value in values.items():
            if key not in known:
                raise _unknown_setting(f"{name}.{key}", [f"{name}.{k}" for k in known])
            _check_value(f"{name}.{key}", value, known[key])


def _check_lists(name: str, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InvalidInput(f"{SETTINGS_FILE}: {name}.{key} is not a list of texts")


def _check_value(key: str, value: Any, default: Any) -> None:
    if type(value) is not type(default):
        raise InvalidInput(f"{SETTINGS_FILE}: {key} is {type(value).__name__}, not {type(default).__name__}")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise InvalidInput(f"{SETTINGS_FILE}: {key} is {value!r}, not one of {', '.join(_CHOICES[key])}")
    if key in _FORMATS and not re.fullmatch(_FORMATS[key][0], value):
        raise InvalidInput(f"{SETTINGS_FILE}: {key} is {value!r}, not {_FORMATS[key][1]}")
    if key in _MINIMUMS and value < _MINIMUMS[key]:
        raise InvalidInput(f"{SETTINGS_FILE}: {key} is {value}, less than {_MINIMUMS[key]}")


def _unknown_setting(key: str, known_names: Iterator[str] | Mapping[str, Any] | list[str]) -> InvalidInput:
    from difflib import get_close_matches  # noqa: PLC0415

    names = list(known_names)
    near = get_close_matches(key, names, 1)
    return InvalidInput(
        f"{SETTINGS_FILE}: unknown setting {key!r}",
        hint=f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}",
    )
