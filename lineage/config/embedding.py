"""`[embedding]` of the machine's settings: the provider of vectors for passages, and its limits."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from lineage.config.checks import check_provider, check_value, unknown_setting
from lineage.errors import SettingsError

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

    `local`: `model` is a folder with a sentence model, "" for the installed package that carries one. `query_prefix`
    stands before every query, as models ask that know queries from passages. `openai`: any
    endpoint with OpenAI's protocol. `url` ends with `/v1`, `model` is the endpoint's name for it, and the key comes
    from the environment variable `key_variable`, else from `key`. `batch` is the number of passages of one call; the
    last two limit one run of a worker.
    """

    provider: str = NONE
    model: str = ""
    query_prefix: str = ""
    url: str = ""
    key_variable: str = ""
    key: str = field(default="", repr=False)
    timeout_seconds: int = 10
    batch: int = 32
    passages_per_run: int = 2_000
    seconds_per_run: int = 60

    @property
    def is_remote(self) -> bool:
        """Tell whether passages leave this process for an endpoint."""
        return self.provider == OPENAI


def parse_embedding_settings(file: str, table: Mapping[str, Any]) -> EmbeddingSettings:
    """Return the settings that a table of `file` holds.

    Raises SettingsError for an unknown, mistyped or missing setting and for one out of range. No message repeats a key.
    """
    names = [setting.name for setting in fields(EmbeddingSettings)]
    for key, value in table.items():
        if key not in names:
            raise unknown_setting(file, key, names, "embedding.")
        check_value(file, f"embedding.{key}", value, _RANGES.get(key))
    check_provider(file, "embedding", table, PROVIDERS)
    settings = EmbeddingSettings(**table)
    if settings.is_remote:
        _check_endpoint(file, settings)
    return settings


def _check_endpoint(file: str, settings: EmbeddingSettings) -> None:
    for name in ("url", "model"):
        if not getattr(settings, name):
            raise SettingsError(
                f"{file}: embedding.{name} is missing", hint='for example url = "http://localhost:11434/v1"'
            )
    try:
        url = urlsplit(settings.url)
        host, _ = url.hostname, url.port  # both are parsed when they are read: either may raise
    except ValueError:
        host = None
    if not host or url.scheme not in ("http", "https") or url.username or url.query or url.fragment:
        raise SettingsError(f"{file}: embedding.url is no address", hint='for example url = "https://host.example/v1"')
    if url.scheme == "http" and (settings.key or settings.key_variable) and not is_loopback(host):
        raise SettingsError(f"{file}: embedding.url would send the key unencrypted", hint="use https")


def is_loopback(host: str) -> bool:
    """Tell whether data sent to a host stays on this machine."""
    return host in _LOOPBACK
