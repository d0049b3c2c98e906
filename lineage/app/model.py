"""The language model that this machine is configured for, if any. (format: Workspace; lessons: 14, 40)"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lineage.config.machine import COMMAND, LIBRARY, MachineSettings, ModelSettings, parse_machine_settings
from lineage.errors import InvalidInput

if TYPE_CHECKING:
    from lineage.extraction.model.port import Model, ModelProvider
    from lineage.telemetry import Telemetry

_OTHERS_WRITE = 0o002
_OTHERS_SEE = 0o077
_SESSION_VARIABLES = ("CLAUDECODE",)
"""What says that a program runs inside of a session; Claude Code refuses to start where it is set."""


def read_machine_settings(path: Path) -> MachineSettings:
    """The settings of this machine, the defaults where there is no file. Raises InvalidInput for one that is wrong,
    cannot be read, or may be changed by every user of the machine: it names programs to run."""
    try:
        status = path.stat()
        text = path.read_bytes().decode("utf-8", "replace")
    except (FileNotFoundError, NotADirectoryError):
        return MachineSettings()
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", hint="mend it, or move it away") from error
    if os.name != "nt" and status.st_mode & _OTHERS_WRITE:
        raise InvalidInput(f"{path} may be changed by anybody", hint=f"run `chmod o-w {path}`")
    settings = parse_machine_settings(text, str(path))
    if os.name != "nt" and settings.embedding.key and status.st_mode & _OTHERS_SEE:
        raise InvalidInput(f"{path} holds a key and may be read by others", hint=f"run `chmod 600 {path}`")
    return settings


def build_model(settings: ModelSettings, telemetry: "Telemetry", day: str) -> "Model | None":
    """What use cases ask; None where no provider is configured."""
    provider = build_provider(settings, os.environ)
    if provider is None:
        return None
    from lineage.pipeline.capture.model_quota import MeteredModel, ModelQuota

    limits = ModelQuota(settings.calls_per_day, settings.tokens_per_day, settings.max_prompt_chars)
    return MeteredModel(provider, telemetry, limits, day)


def build_provider(settings: ModelSettings, environment: Mapping[str, str]) -> "ModelProvider | None":
    """The provider, whose processes ring no doorbell: what they do is no session of anybody's. (lessons: 14)"""
    kept = {name: value for name, value in environment.items() if name not in _SESSION_VARIABLES}
    own = {**kept, "LINEAGE_SUPPRESS": "1", "NO_COLOR": "1"}
    seconds, most_bytes = settings.timeout_seconds, settings.max_answer_bytes
    if settings.provider == COMMAND:
        from lineage.extraction.model.command import CommandProvider

        program, *arguments = settings.command
        return CommandProvider((os.path.expanduser(program), *arguments), own, seconds, most_bytes)  # noqa: PTH111
    if settings.provider == LIBRARY:
        from lineage.extraction.model.library import LibraryProvider

        return LibraryProvider.for_model(settings.name, own, seconds, most_bytes)
    return None
