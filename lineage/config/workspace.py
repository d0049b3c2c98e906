"""The workspace's settings: `lineage.toml`. An unknown key is a warning that names the nearest known one.

No error: a machine that was upgraded first must not lock the others out of a shared vault (format: Workspace).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from lineage.config.checks import check_texts, check_type, parse_toml, unknown_setting
from lineage.errors import SettingsError

SETTINGS_FILE = "lineage.toml"


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """MEMORY.md: its size in bytes of UTF-8, and `row_style`, `full` (the spec's row) or `compact`."""

    max_bytes: int = 262144
    row_style: str = "full"


@dataclass(frozen=True, slots=True)
class TranscriptSettings:
    """What transcripts keep: the agent's thinking, so many characters of a tool's result, and of a call's input."""

    thinking: bool = False
    max_result_chars: int = 20_000
    max_input_chars: int = 200_000


@dataclass(frozen=True, slots=True)
class SanitizerSettings:
    """The user's own redaction rules, and personal data.

    `rules_path` is a file in gitleaks' format, relative to the workspace, "" for none. The others say for e-mail
    addresses, user names in home directories and IP addresses: `off`, `mask` or `drop`. `allow` are values that are no
    secrets, like a public key.
    """

    rules_path: str = ""
    emails: str = "off"
    user_names: str = "off"
    ip_addresses: str = "off"
    allow: tuple[str, ...] = ()

    @property
    def personal_data_modes(self) -> dict[str, Literal["mask", "drop"]]:
        """Return the mode of each active rule for personal data, by rule id."""
        modes = {"email": self.emails, "user-name": self.user_names, "ip-address": self.ip_addresses}
        return {name: "drop" if mode == "drop" else "mask" for name, mode in modes.items() if mode != "off"}


@dataclass(frozen=True, slots=True)
class KnowledgeSettings:
    """`extract` turns on the extraction of book entries from captured sessions."""

    extract: bool = True


@dataclass(frozen=True, slots=True)
class BookSettings:
    """The number of entries that a book of each scope holds in use, and a book of findings in any scope."""

    max_global: int = 100
    max_project: int = 100
    max_agent: int = 30
    max_session: int = 50
    max_findings: int = 100


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Sessions of conversations with people, and of agents that lineage starts.

    `dm_scope` names the scope that separates conversations. Sessions end at `daily_reset`, HH:MM in `reset_time_zone`
    ("" for never), and after `idle_minutes` without a message (0 for never). `spawn_depth` limits how deep agents may
    start others.
    """

    dm_scope: str = "main"
    daily_reset: str = "04:00"
    reset_time_zone: str = "UTC"
    idle_minutes: int = 0
    spawn_depth: int = 1


@dataclass(frozen=True, slots=True)
class LanguageModelSettings:
    """The uses of this machine's language model, if its own configuration names one."""

    sentences: bool = True
    summaries: bool = True
    memory: bool = True


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """`budget` is the size in tokens of the block at a session's start, its frame included."""

    budget: int = 2000


@dataclass(frozen=True, slots=True)
class RecallSettings:
    """What hooks tell a running session: at its prompts, and at its edits and commands. The hook reads them itself."""

    prompt: bool = True
    action: bool = True


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a workspace; `identity_links` maps a person's canonical id to ids with their channel in front.

    `unknown` are warnings of settings that this version doesn't know.
    """

    ledger: LedgerSettings = LedgerSettings()
    transcript: TranscriptSettings = TranscriptSettings()
    sanitizer: SanitizerSettings = SanitizerSettings()
    context: ContextSettings = ContextSettings()
    recall: RecallSettings = RecallSettings()
    knowledge: KnowledgeSettings = KnowledgeSettings()
    books: BookSettings = BookSettings()
    sessions: SessionSettings = SessionSettings()
    language_model: LanguageModelSettings = LanguageModelSettings()
    identity_links: Mapping[str, Sequence[str]] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


_LIST_TABLE = "identity_links"
# The class of each section's settings, by the name of its table.
_SECTIONS: Mapping[str, Any] = {
    one.name: type(one.default) for one in fields(Settings) if one.name not in (_LIST_TABLE, "unknown")
}
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
    "transcript.max_input_chars": 0,
    "context.budget": 0,
    **{f"books.{cap.name}": 1 for cap in fields(BookSettings)},
    "sessions.idle_minutes": 0,
    "sessions.spawn_depth": 0,
}

_MIN_ALLOWED_CHARS = 12

# A workspace is shared and synced: it must not decide which programs run here, or where data goes.
_MACHINE_ONLY = ("workspace", "index", "command", "url", "credentials", "model", "endpoint", "sanitizer.allow_patterns")


def parse_settings(text: str) -> Settings:
    """Return a `lineage.toml`'s settings. Raises SettingsError for one mistyped, out of range or the machine's own."""
    tables = parse_toml(text, SETTINGS_FILE, f"mend {SETTINGS_FILE}, then run the command again")
    unknown = [error for name, values in tables.items() for error in _iter_unknown(name, values)]
    known: dict[str, Any] = {}
    for name, values in tables.items():
        if name == _LIST_TABLE:
            known[name] = values
        elif name in _SECTIONS:
            names = [setting.name for setting in fields(_SECTIONS[name])]
            known[name] = _SECTIONS[name](**_freeze({key: values[key] for key in values if key in names}))
    return Settings(**known, unknown=tuple(f"{error.message}: {error.hint}" for error in unknown))


def _iter_unknown(name: str, values: Any) -> Iterator[SettingsError]:
    """Yield the unknown keys of a table. Raises SettingsError for wrong values."""
    keys = [f"{name}.{key}" for key in values] if isinstance(values, dict) else []
    for refused in {name, *keys} & {*_MACHINE_ONLY}:
        hint = "locations, credentials and programs stand in ~/.config/lineage/config.toml only"
        raise SettingsError(f"{SETTINGS_FILE}: {refused!r} is not read from a workspace", hint=hint)
    if name not in (*_SECTIONS, _LIST_TABLE):
        yield unknown_setting(SETTINGS_FILE, name, (*_SECTIONS, _LIST_TABLE))
        return
    if not isinstance(values, dict):
        raise SettingsError(f"{SETTINGS_FILE}: {name} is no table", hint=f"begin it with [{name}]")
    if name == _LIST_TABLE:
        for key, value in values.items():
            check_texts(SETTINGS_FILE, f"{name}.{key}", value)
        return
    defaults = {f"{name}.{setting.name}": setting.default for setting in fields(_SECTIONS[name])}
    for key, value in values.items():
        if f"{name}.{key}" not in defaults:
            yield unknown_setting(SETTINGS_FILE, f"{name}.{key}", defaults)
        else:
            _check_value(f"{name}.{key}", value, defaults[f"{name}.{key}"])


def _freeze(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _check_allowed(key: str, values: Sequence[str]) -> None:
    for number, value in enumerate(values, 1):
        if len("".join(value.split())) < _MIN_ALLOWED_CHARS:
            what = f"value {number} has less than {_MIN_ALLOWED_CHARS} characters"  # not the value: it may be a secret
            raise SettingsError(
                f"{SETTINGS_FILE}: {key}: {what}", hint="name the whole value; white space doesn't count"
            )


def _check_value(key: str, value: Any, default: object) -> None:
    if isinstance(default, tuple):
        _check_allowed(key, check_texts(SETTINGS_FILE, key, value))
        return
    check_type(SETTINGS_FILE, key, value, type(default))
    if key in _CHOICES and value not in _CHOICES[key]:
        raise SettingsError(f"{SETTINGS_FILE}: {key} is {value!r}, not one of {', '.join(_CHOICES[key])}")
    if key in _FORMATS and not re.fullmatch(_FORMATS[key][0], value):
        raise SettingsError(f"{SETTINGS_FILE}: {key} is {value!r}, not {_FORMATS[key][1]}")
    if key in _MINIMUMS and value < _MINIMUMS[key]:
        raise SettingsError(f"{SETTINGS_FILE}: {key} is {value}, less than {_MINIMUMS[key]}")
