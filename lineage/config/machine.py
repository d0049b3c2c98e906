"""Settings of this machine alone: `~/.config/lineage/config.toml`.

Programs to run, models and credentials stand here and nowhere else: a workspace is synced and edited by hand.
(format: Workspace)
"""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from lineage.config.checks import check_provider, check_texts, check_type, check_value, parse_toml, unknown_setting
from lineage.config.embedding import EmbeddingSettings, parse_embedding_settings
from lineage.errors import SettingsError

NONE = "none"
COMMAND = "command"
LIBRARY = "llm"
HARNESS = "harness"
PROVIDERS = (NONE, COMMAND, LIBRARY, HARNESS)
HARNESSES = ("claude-code", "codex", "gemini", "opencode")
"""The harnesses whose programs can be the model: those with switches that leave them no tools."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The language model of this machine, and its limits.

    `command` is the program of the provider `command` with its arguments. `name` is the model of the provider `llm`, as
    `llm models` lists it, or the harness of the provider `harness`, with `model` as one of its own names of a model.
    Limits: seconds for an answer, characters of a prompt, bytes of an answer, calls and tokens of a UTC day.
    """

    provider: str = NONE
    command: tuple[str, ...] = ()
    name: str = ""
    timeout_seconds: int = 60
    max_prompt_chars: int = 60_000
    max_answer_bytes: int = 65_536
    calls_per_day: int = 200
    tokens_per_day: int = 1_000_000
    model: str = ""


@dataclass(frozen=True, slots=True)
class WebSettings:
    """The web page of this machine. `token` is the access key of `lineage serve`, "" for none."""

    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """All settings of this machine.

    `workspace` is the memory's location unless a command or the environment names another, "" for the default place.
    `index` is the PostgreSQL database of rows and runtime state, "" for files beside the workspace. `bucket` holds the
    endpoint, region and credentials of buckets, under obstore's names. What one of `allow_patterns` matches as a whole
    is no secret: a workspace is shared, and must not say so of more than single values.
    """

    model: ModelSettings = ModelSettings()
    web: WebSettings = WebSettings()
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    workspace: str = ""
    index: str = field(default="", repr=False)
    bucket: Mapping[str, str] = field(default_factory=dict, repr=False)
    allow_patterns: tuple[str, ...] = ()


_TABLES = ("model", "web", "embedding", "bucket", "sanitizer")
_TEXTS = ("workspace", "index")
_RANGES = {
    "timeout_seconds": (1, 600),
    "max_prompt_chars": (4_000, 1_000_000),
    "max_answer_bytes": (1_000, 1_000_000),
    "calls_per_day": (0, 1_000_000),
    "tokens_per_day": (0, 1_000_000_000),
}


def parse_machine_settings(text: str, file: str) -> MachineSettings:
    """Return the settings that the text of `file` holds.

    Raises SettingsError for an unknown, mistyped or missing setting and for one out of range. The error names the file
    and, for an unknown key, the nearest known one.
    """
    tables = parse_toml(text, file, f"mend {file}")
    for name, values in tables.items():
        if not (name in _TABLES and isinstance(values, dict)) and not (name in _TEXTS and isinstance(values, str)):
            raise unknown_setting(file, name, (*_TABLES, *_TEXTS))
    return MachineSettings(
        _parse_model(file, tables.get("model", {})),
        _parse_web(file, tables.get("web", {})),
        parse_embedding_settings(file, tables.get("embedding", {})),
        tables.get("workspace", ""),
        tables.get("index", ""),
        _parse_bucket(file, tables.get("bucket", {})),
        _parse_sanitizer(file, tables.get("sanitizer", {})),
    )


def _parse_bucket(file: str, table: Mapping[str, Any]) -> Mapping[str, str]:
    for key, value in table.items():
        if not isinstance(value, str | bool | int):
            raise SettingsError(f"{file}: bucket.{key} is {type(value).__name__}, not str")
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in table.items()}


def _parse_sanitizer(file: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    for key in table:
        if key != "allow_patterns":
            raise unknown_setting(file, f"sanitizer.{key}", ["sanitizer.allow_patterns"])
    return check_texts(file, "sanitizer.allow_patterns", table.get("allow_patterns", []))


def _parse_web(file: str, table: Mapping[str, Any]) -> WebSettings:
    for key, value in table.items():
        if key != "token":
            raise unknown_setting(file, f"web.{key}", ["web.token"])
        check_type(file, "web.token", value, str)
    return WebSettings(**table)


def _parse_model(file: str, table: Mapping[str, Any]) -> ModelSettings:
    names = [f"model.{setting.name}" for setting in fields(ModelSettings)]
    for key in table:
        if f"model.{key}" not in names:
            raise unknown_setting(file, f"model.{key}", names)
    values = dict(table)
    for key, value in table.items():
        if key == "command":
            values[key] = _parse_command(file, value)
        else:
            check_value(file, f"model.{key}", value, _RANGES.get(key))
    check_provider(file, "model", table, PROVIDERS)
    settings = ModelSettings(**values)
    if settings.provider == COMMAND and not settings.command:
        raise SettingsError(
            f"{file}: model.command is missing", hint='for example command = ["ollama", "run", "MODEL"]'
        )
    if settings.provider == LIBRARY and not settings.name:
        raise SettingsError(f"{file}: model.name is missing", hint="a name that `llm models` lists")
    if settings.provider == HARNESS and settings.name not in HARNESSES:
        raise SettingsError(f"{file}: model.name is none of {', '.join(HARNESSES)}", hint="for example claude-code")
    return settings


def _parse_command(file: str, value: Any) -> tuple[str, ...]:
    """Return a program with its arguments. A text is split as in a shell, but no shell runs it."""
    try:
        parts = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise SettingsError(f"{file}: model.command cannot be split: {error}", hint="give a list of texts") from error
    if not isinstance(parts, list) or not all(isinstance(part, str) and "\0" not in part for part in parts):
        raise SettingsError(f"{file}: model.command is not a list of texts", hint='command = ["PROGRAM", "ARGUMENT"]')
    if parts and not parts[0].strip():
        raise SettingsError(f"{file}: model.command names no program", hint='command = ["PROGRAM", "ARGUMENT"]')
    return tuple(parts)
