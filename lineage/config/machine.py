"""This machine's own settings: `~/.config/lineage/config.toml`. Programs to run, models and credentials stand here and
nowhere else: a workspace is synced and edited by hand. (format: Workspace)

This module takes text and gives values; who finds and reads the file is the composition root.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from lineage.config.embedding import EmbeddingSettings, parse_embedding_settings
from lineage.errors import InvalidInput

NONE = "none"
COMMAND = "command"
LIBRARY = "llm"
PROVIDERS = (NONE, COMMAND, LIBRARY)


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The language model of this machine, and its bounds: seconds for an answer, characters of a prompt, bytes of an
    answer, calls and tokens of a UTC day.

    `command` is the program of the provider `command` with its arguments; `name` is the model of the provider `llm`, as
    `llm models` calls it.
    """

    provider: str = NONE
    command: tuple[str, ...] = ()
    name: str = ""
    timeout_seconds: int = 60
    max_prompt_chars: int = 60_000
    max_answer_bytes: int = 65_536
    calls_per_day: int = 200
    tokens_per_day: int = 1_000_000


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`token`: what clients of `lineage serve` have to know, "" for none."""

    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class MachineSettings:
    """`workspace`: where the memory is, unless a command or the environment says so; "" for the default place.
    `index`: the PostgreSQL database that holds rows and runtime state, "" for files beside the workspace.
    `bucket`: how buckets are reached, endpoint, region and credentials by the names that obstore gives them."""

    model: ModelSettings = ModelSettings()
    web: WebSettings = WebSettings()
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    workspace: str = ""
    index: str = field(default="", repr=False)
    bucket: Mapping[str, str] = field(default_factory=dict, repr=False)


_MODEL = "model"
_WEB = "web"
_EMBEDDING = "embedding"
_BUCKET = "bucket"
_WORKSPACE = "workspace"
_INDEX = "index"
_TABLES = (_MODEL, _WEB, _EMBEDDING, _BUCKET)
_RANGES = {
    "timeout_seconds": (1, 600),
    "max_prompt_chars": (4_000, 1_000_000),
    "max_answer_bytes": (1_000, 1_000_000),
    "calls_per_day": (0, 1_000_000),
    "tokens_per_day": (0, 1_000_000_000),
}


def parse_machine_settings(text: str, file: str) -> MachineSettings:
    """The settings that the text of `file` holds. Raises InvalidInput for what is unknown, mistyped, missing or out of
    range; it names the file and, of an unknown key, the nearest known one."""
    import tomllib  # noqa: PLC0415  (few machines have the file, and every command asks for it)

    try:
        tables = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{file} is not valid TOML: {error}", hint=f"mend {file}") from error
    for name, values in tables.items():
        if name in (_WORKSPACE, _INDEX) and isinstance(values, str):
            continue
        if name not in _TABLES or not isinstance(values, dict):
            raise _unknown_setting(file, name, [*_TABLES, _WORKSPACE, _INDEX])
    return MachineSettings(
        _parse_model(file, tables.get(_MODEL, {})),
        _parse_web(file, tables.get(_WEB, {})),
        parse_embedding_settings(file, tables.get(_EMBEDDING, {})),
        tables.get(_WORKSPACE, ""),
        tables.get(_INDEX, ""),
        _parse_bucket(file, tables.get(_BUCKET, {})),
    )


def _parse_bucket(file: str, table: Mapping[str, Any]) -> Mapping[str, str]:
    for key, value in table.items():
        if not isinstance(value, str | bool | int):
            raise InvalidInput(f"{file}: {_BUCKET}.{key} is {type(value).__name__}, not str")
    return {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in table.items()}


def _parse_web(file: str, table: Mapping[str, Any]) -> WebSettings:
    for key, value in table.items():
        if key != "token":
            raise _unknown_setting(file, f"{_WEB}.{key}", [f"{_WEB}.token"])
        if not isinstance(value, str):
            raise InvalidInput(f"{file}: {_WEB}.token is {type(value).__name__}, not str")
    return WebSettings(**table)


def _parse_model(file: str, table: Mapping[str, Any]) -> ModelSettings:
    known = [field.name for field in fields(ModelSettings)]
    for key in table:
        if key not in known:
            raise _unknown_setting(file, f"{_MODEL}.{key}", [f"{_MODEL}.{name}" for name in known])
    values = {key: _parse_model_value(file, key, value) for key, value in table.items()}
    if values and "provider" not in values:
        raise InvalidInput(f"{file}: model.provider is missing", hint=f"one of {', '.join(PROVIDERS)}")
    settings = ModelSettings(**values)
    if settings.provider == COMMAND and not settings.command:
        raise InvalidInput(f"{file}: model.command is missing", hint='for example command = ["ollama", "run", "MODEL"]')
    if settings.provider == LIBRARY and not settings.name:
        raise InvalidInput(f"{file}: model.name is missing", hint="a name that `llm models` lists")
    return settings


def _parse_model_value(file: str, key: str, value: Any) -> Any:
    if key == "command":
        return _parse_command(file, value)
    expected = int if key in _RANGES else str
    if type(value).__name__ != expected.__name__:
        raise InvalidInput(f"{file}: model.{key} is {type(value).__name__}, not {expected.__name__}")
    least, most = _RANGES.get(key, (value, value))
    if not least <= value <= most:
        raise InvalidInput(f"{file}: model.{key} is {value}, not {least} to {most}")
    if key == "provider" and value not in PROVIDERS:
        from difflib import get_close_matches  # noqa: PLC0415

        near = get_close_matches(value, PROVIDERS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(PROVIDERS)}"
        raise InvalidInput(f"{file}: model.provider is {value!r}", hint=hint)
    return value


def _parse_command(file: str, value: Any) -> tuple[str, ...]:
    """A program with its arguments: a list as it stands, a text split as a shell would, though no shell runs it."""
    import shlex  # noqa: PLC0415

    try:
        parts = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise InvalidInput(f"{file}: model.command cannot be split: {error}", hint="give a list of texts") from error
    if not isinstance(parts, list) or not all(isinstance(part, str) and "\0" not in part for part in parts):
        raise InvalidInput(f"{file}: model.command is not a list of texts", hint='command = ["PROGRAM", "ARGUMENT"]')
    if parts and not parts[0].strip():
        raise InvalidInput(f"{file}: model.command names no program", hint='command = ["PROGRAM", "ARGUMENT"]')
    return tuple(parts)


def _unknown_setting(file: str, key: str, known_names: Iterable[str]) -> InvalidInput:
    from difflib import get_close_matches  # noqa: PLC0415

    names = list(known_names)
    near = get_close_matches(key, names, 1)
    return InvalidInput(
        f"{file}: unknown setting {key!r}",
        hint=f"did you mean {near[0]!r}?" if near else f"known: {', '.join(names)}",
    )
