"""The embedding model that this machine is configured for, if any. (format: Workspace)"""

import os
from collections.abc import Mapping

from lineage.config.embedding import LOCAL, NONE, EmbeddingSettings
from lineage.extraction.embedding.port import Embedder, EmbeddingModel
from lineage.store.platform import expand_home


def build_embedding(settings: EmbeddingSettings) -> EmbeddingModel | None:
    """What use cases ask, with its bounds; None where no provider is configured. No model is loaded yet."""
    if settings.provider == NONE:
        return None
    return EmbeddingModel(
        build_embedder(settings, os.environ),
        batch_size=settings.batch,
        max_passages=settings.passages_per_run,
        max_seconds=settings.seconds_per_run,
    )


def build_embedder(settings: EmbeddingSettings, environment: Mapping[str, str]) -> Embedder:
    """The configured provider. A key from the environment goes before the file's."""
    if settings.provider == LOCAL:
        from lineage.extraction.embedding.local import LocalEmbedder, find_packaged_model

        return LocalEmbedder(expand_home(settings.model) if settings.model else find_packaged_model())
    from lineage.extraction.embedding.remote import RemoteEmbedder

    key = environment.get(settings.key_variable, "") if settings.key_variable else ""
    return RemoteEmbedder(settings.url, settings.model, (key or settings.key).strip(), settings.timeout_seconds)
