"""`[embedding]` of the machine's settings: who turns passages into vectors, and within which bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from lineage.errors import InvalidInput

NONE = "none"
LOCAL = "local"
OPENAI = "openai"
PROVIDERS = (NONE, LOCAL, OPENAI)

_RANGES = {
    "timeout_seconds": (1, 600),
    "batch": (1, 2048),
    "passages_per_run": (0, 1_000_000),
    "seconds_per_run": (0, 600),
}
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """The embedding model of this machine.

    `local`: `model` is a folder with a BERT model, "" for the installed package that carries one. `openai`: any
    endpoint that speaks OpenAI's protocol; `url` up to and with `/v1`, `model` as it is called there, the key from the
    environment variable `key_variable`, else `key`. `batch` is how many passages one call brings; the last two bound
    what a worker does at a time.
    """

    provider: str = NONE
    model: str = ""
    url: str = ""
    key_variable: str = ""
    key: str = field(default="", repr=False)
    timeout_seconds: int = 10
    batch: int = 32
    passages_per_run: int = 2_000
    seconds_per_run: int = 60

    @property
    def is_remote(self) -> bool:
        return self.provider == OPENAI


def parse_embedding_settings(file: str, table: Mapping[str, Any]) -> EmbeddingSettings:
    """The settings that a table of `file` holds. Raises InvalidInput for what is unknown, mistyped, missing or out of
    range; no message repeats a key."""
    known = [one.name for one in fields(EmbeddingSettings)]
    for key, value in table.items():
        if key not in known:
            from difflib import get_close_matches  # noqa: PLC0415

            near = get_close_matches(key, known, 1)
            hint = f"did you mean 'embedding.{near[0]}'?" if near else f"known: {', '.join(known)}"
            raise InvalidInput(f"{file}: unknown setting 'embedding.{key}'", hint=hint)
        _check_value(file, key, value)
    settings = EmbeddingSettings(**table)
    _check_provider(file, settings, is_named="provider" in table or not table)
    if settings.provider == OPENAI:
        _check_endpoint(file, settings)
    return settings


def _check_value(file: str, key: str, value: Any) -> None:
    expected: type = int if key in _RANGES else str
    if type(value).__name__ != expected.__name__:
        raise InvalidInput(f"{file}: embedding.{key} is {type(value).__name__}, not {expected.__name__}")
    least, most = _RANGES.get(key, (0, 0))
    if key in _RANGES and not least <= int(value) <= most:
        raise InvalidInput(f"{file}: embedding.{key} is {value}, not {least} to {most}")


def _check_provider(file: str, settings: EmbeddingSettings, *, is_named: bool) -> None:
    if not is_named:
        raise InvalidInput(f"{file}: embedding.provider is missing", hint=f"one of {', '.join(PROVIDERS)}")
    if settings.provider not in PROVIDERS:
        from difflib import get_close_matches  # noqa: PLC0415

        near = get_close_matches(settings.provider, PROVIDERS, 1)
        hint = f"did you mean {near[0]!r}?" if near else f"one of {', '.join(PROVIDERS)}"
        raise InvalidInput(f"{file}: embedding.provider is {settings.provider!r}", hint=hint)


def _check_endpoint(file: str, settings: EmbeddingSettings) -> None:
    """A key travels encrypted, or not beyond this machine."""
    for name in ("url", "model"):
        if not getattr(settings, name):
            raise InvalidInput(
                f"{file}: embedding.{name} is missing", hint='for example url = "http://localhost:11434/v1"'
            )
    from urllib.parse import urlsplit  # noqa: PLC0415

    try:
        url = urlsplit(settings.url)
        host, _ = url.hostname, url.port
    except ValueError:
        host = None
    if not host or url.scheme not in ("http", "https") or url.username or url.query or url.fragment:
        raise InvalidInput(f"{file}: embedding.url is no address", hint='for example url = "https://host.example/v1"')
    if url.scheme == "http" and (settings.key or settings.key_variable) and not is_loopback(host):
        raise InvalidInput(f"{file}: embedding.url would send the key unencrypted", hint="use https")


def is_loopback(host: str) -> bool:
    """Whether what is sent to a host stays on this machine."""
    return host in _LOOPBACK
