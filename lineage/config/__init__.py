"""The workspace's settings: `lineage.toml`, every key known, every unknown one an error that names the nearest.

This package takes text and gives values; who reads the file is the composition root.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from lineage.errors import InvalidInput

Mode = Literal["mask", "drop"]

FILE = "lineage.toml"


class Ledger(NamedTuple):
    """`max_bytes`: the whole of MEMORY.md, UTF-8. `row_style`: `full` (the spec's row) or `compact`."""

    max_bytes: int = 262144
    row_style: str = "full"


class Transcript(NamedTuple):
    """`thinking`: keep the agent's thinking. `max_result_chars`: how much of a tool's result is kept."""

    thinking: bool = False
    max_result_chars: int = 2000


class Redaction(NamedTuple):
    """`rules_path`: a file of the user's own rules in gitleaks' format, relative to the workspace; none where empty.
    What is done with e-mail addresses, user names in home directories and IP addresses: `off`, `mask` or `drop`."""

    rules_path: str = ""
    emails: str = "off"
    user_names: str = "off"
    ip_addresses: str = "off"

    @property
    def personal(self) -> dict[str, Mode]:
        """The rules for personal data that are on, by id, with what they do."""
        modes: dict[str, str] = {"email": self.emails, "user-name": self.user_names, "ip-address": self.ip_addresses}
        return {name: "drop" if mode == "drop" else "mask" for name, mode in modes.items() if mode != "off"}


class Knowledge(NamedTuple):
    """`extract`: whether books learn from what is captured."""

    extract: bool = True


class Sessions(NamedTuple):
    """`dm_scope`: what tells people's conversations apart, a scope of `core.lanes`. Their sessions are over at
    `daily_reset`, HH:MM by the clocks of `reset_time_zone`, never where it is empty, and after `idle_minutes` without a
    message, never where these are 0. `spawn_depth`: how deep agents that lineage starts may start others."""

    dm_scope: str = "main"
    daily_reset: str = "04:00"
    reset_time_zone: str = "UTC"
    idle_minutes: int = 0
    spawn_depth: int = 1


class LanguageModel(NamedTuple):
    """What the language model of this machine is used for, where its own configuration names one."""

    sentences: bool = True
    summaries: bool = True
    memory: bool = True


class Context(NamedTuple):
    """`budget`: how many tokens the block that a new session starts with may take, its frame and all."""

    budget: int = 2000


class Settings(NamedTuple):
    """`identity_links`: who is the same person on several channels, canonical id → ids with their channel in front."""

    ledger: Ledger = Ledger()
    transcript: Transcript = Transcript()
    sanitizer: Redaction = Redaction()
    context: Context = Context()
    knowledge: Knowledge = Knowledge()
    sessions: Sessions = Sessions()
    language_model: LanguageModel = LanguageModel()
    identity_links: Mapping[str, Sequence[str]] = {}


_SECTIONS: Mapping[str, Any] = {
    "ledger": Ledger,
    "transcript": Transcript,
    "sanitizer": Redaction,
    "context": Context,
    "knowledge": Knowledge,
    "sessions": Sessions,
    "language_model": LanguageModel,
}
_LISTS = ("identity_links",)
_PERSONAL = ("off", "mask", "drop")
_CHOICES = {
    "ledger.row_style": ("full", "compact"),
    "sanitizer.emails": _PERSONAL,
    "sanitizer.user_names": _PERSONAL,
    "sanitizer.ip_addresses": _PERSONAL,
    "sessions.dm_scope": ("main", "per-peer", "per-channel-peer", "per-account-channel-peer"),
}
_FORMS = {
    "sessions.daily_reset": (r"(?:(?:[01]\d|2[0-3]):[0-5]\d)?", 'a time of day like "04:00", or ""'),
    "sessions.reset_time_zone": (r"\w[\w+-]*(?:/\w[\w+-]*)*", 'a time zone like "Europe/Berlin"'),
}
_LEAST = {
    "ledger.max_bytes": 4096,
    "transcript.max_result_chars": 0,
    "context.budget": 0,
    "sessions.idle_minutes": 0,
    "sessions.spawn_depth": 0,
}
_MACHINE_ONLY = ("workspace", "index", "command", "url", "credentials", "model", "endpoint")


def parsed(text: str) -> Settings:
    """The settings that a `lineage.toml` holds. Raises InvalidInput for what is unknown, mistyped or out of range."""
    if _sets_nothing(text):
        return Settings()
    import tomllib  # noqa: PLC0415

    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{FILE} is not valid TOML: {error}", hint=f"mend {FILE}, then run the command again"
        ) from error
    _check(tables)
    sections = {name: _SECTIONS[name](**values) for name, values in tables.items() if name in _SECTIONS}
    return Settings(**sections, **{name: tables[name] for name in _LISTS if name in tables})


def _sets_nothing(text: str) -> bool:
    """Whether there are comments and sections alone, as where nobody has chosen anything: that needs no parser."""
    lines = text.split("\n")
    said = [line for line in lines if line and not line.startswith("#")]
    return (
        all(map(str.isprintable, lines))
        and all(line[:1] + line[-1:] == "[]" and line[1:-1] in (*_SECTIONS, *_LISTS) for line in said)
        and len(said) == len(set(said))
    )


def _check(tables: Mapping[str, Any]) -> None:
    for name, values in tables.items():
        if name in _MACHINE_ONLY:
            raise InvalidInput(
                f"{FILE}: {name!r} is not read from a workspace",
                hint="locations, credentials and programs stand in ~/.config/lineage/config.toml only",
            )
        if name not in (*_SECTIONS, *_LISTS) or not isinstance(values, dict):
            raise _unknown(name, [*_SECTIONS, *_LISTS])
        if name in _LISTS:
            _check_lists(name, values)
            continue
        known = _SECTIONS[name]._field_defaults
        for key, value in values.items():
            if key not in known:
                raise _unknown(f"{name}.{key}", [f"{name}.{k}" for k in known])
            _check_value(f"{name}.{key}", value, known[key])


def _check_lists(name: str, values: Mapping[str, Any]) -> None:
    for key, value in values.items():
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InvalidInput(f"{FILE}: {name}.{key} is not a list of texts")


def _check_value(key: str, value: Any, default: Any) -> None:
    if type(value) is not type(default):
        raise InvalidInput(f"{FILE}: {key} is {type(value).__name__}, not {type(default).__name__}")
    if key in _CHOICES and value not in _CHOICES[key]:
        raise InvalidInput(f"{FILE}: {key} is {value!r}, not one of {', '.join(_CHOICES[key])}")
    if key in _FORMS and not re.fullmatch(_FORMS[key][0], value):
        raise InvalidInput(f"{FILE}: {key} is {value!r}, not {_FORMS[key][1]}")
    if key in _LEAST and value < _LEAST[key]:
        raise InvalidInput(f"{FILE}: {key} is {value}, less than {_LEAST[key]}")


def _unknown(key: str, known: Iterator[str] | Mapping[str, Any] | list[str]) -> InvalidInput:
    from difflib import get_close_matches  # noqa: PLC0415

    names = list(known)
    near = get_close_matches(key, names, 1)
    return InvalidInput(
        f"{FILE}: unknown setting {key!r}",
        hint=f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}",
    )
