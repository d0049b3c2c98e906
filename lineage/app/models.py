"""The language model and the embedding model that this machine is configured for (format: Workspace; lessons: 14, 40).

Each provider is an optional engine: its module is imported when it is configured.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lineage.app.locations import PARENT_VARIABLES, SUPPRESS_VARIABLE
from lineage.config.embedding import LOCAL, NONE, EmbeddingSettings
from lineage.config.machine import COMMAND, HARNESS, LIBRARY, ModelSettings
from lineage.extraction.embedding.port import Embedder, EmbeddingModel
from lineage.telemetry import Telemetry
from lineage.workspace.paths import expand_home

if TYPE_CHECKING:  # the port brings the extraction of candidates: a command without a model doesn't import it
    from lineage.extraction.model.port import Model, ModelProvider


def build_model(settings: ModelSettings, telemetry: Telemetry, day: str) -> "Model | None":
    """Return the language model, its calls counted under the UTC date `day`; None without a provider."""
    provider = build_provider(settings, os.environ)
    if provider is None:
        return None
    from lineage.pipeline.capture.model_quota import MeteredModel, ModelQuota

    quota = ModelQuota(settings.calls_per_day, settings.tokens_per_day, settings.max_prompt_chars)
    return MeteredModel(provider, telemetry, quota, day)


def build_provider(settings: ModelSettings, environment: Mapping[str, str]) -> "ModelProvider | None":
    """Return the configured provider; hooks stay silent in its processes (lessons: 14)."""
    inherited = {name: value for name, value in environment.items() if name not in PARENT_VARIABLES}
    child_environment = {**inherited, SUPPRESS_VARIABLE: "1", "NO_COLOR": "1"}
    seconds, max_bytes = settings.timeout_seconds, settings.max_answer_bytes
    if settings.provider == COMMAND:
        from lineage.extraction.model.command import CommandProvider

        program, *arguments = settings.command
        # pathlib would raise for the home folder of an unknown user; the program is then reported as missing
        words = (os.path.expanduser(program), *arguments)  # noqa: PTH111
        return CommandProvider(words, child_environment, seconds, max_bytes)
    if settings.provider == LIBRARY:
        from lineage.extraction.model.library import LibraryProvider

        return LibraryProvider.for_model(settings.name, child_environment, seconds, max_bytes)
    if settings.provider == HARNESS:
        from lineage.extraction.model.harness_program import HarnessProvider

        return HarnessProvider(settings.name, settings.model, child_environment, seconds, max_bytes)
    return None


def build_embedding(settings: EmbeddingSettings) -> EmbeddingModel | None:
    """Return the embedding model with its bounds, None without a provider. No weights are loaded yet."""
    if settings.provider == NONE:
        return None
    return EmbeddingModel(
        build_embedder(settings, os.environ),
        query_prefix=settings.query_prefix,
        batch_size=settings.batch,
        max_passages=settings.passages_per_run,
        max_seconds=settings.seconds_per_run,
    )


def build_embedder(settings: EmbeddingSettings, environment: Mapping[str, str]) -> Embedder:
    """Return the configured embedder. A key in the environment wins over the file's."""
    if settings.provider == LOCAL:
        from lineage.extraction.embedding.local import LocalEmbedder, find_packaged_model

        return LocalEmbedder(expand_home(settings.model) if settings.model else find_packaged_model())
    from lineage.extraction.embedding.remote import RemoteEmbedder

    key = environment.get(settings.key_variable, "") if settings.key_variable else ""
    return RemoteEmbedder(settings.url, settings.model, (key or settings.key).strip(), settings.timeout_seconds)
