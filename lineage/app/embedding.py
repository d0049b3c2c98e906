"""The embedding model that this machine is configured for, if any. (format: Workspace)"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from lineage.config.embedding import LOCAL, NONE, EmbeddingSettings
from lineage.pipeline.embedding import Embedding
from lineage.store.platform import expanded

if TYPE_CHECKING:
    from lineage.extract.embedding.port import Embedder


def embedding_of(settings: EmbeddingSettings) -> Embedding | None:
    """What use cases ask, with its bounds; None where no provider is configured. No model is loaded yet."""
    if settings.provider == NONE:
        return None
    return Embedding(
        embedder_of(settings, os.environ),
        batch=settings.batch,
        passages=settings.passages_per_run,
        seconds=settings.seconds_per_run,
    )


def embedder_of(settings: EmbeddingSettings, environment: Mapping[str, str]) -> "Embedder":
    """The configured provider. A key from the environment goes before the file's."""
    if settings.provider == LOCAL:
        from lineage.extract.embedding.local import Local, packaged

        return Local(expanded(settings.model) if settings.model else packaged())
    from lineage.extract.embedding.remote import Remote

    key = environment.get(settings.key_variable, "") if settings.key_variable else ""
    return Remote(settings.url, settings.model, (key or settings.key).strip(), settings.timeout_seconds)
