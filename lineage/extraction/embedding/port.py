"""The port to embedding models, and the model that a workspace is opened with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Vector = Sequence[float]


class EmbeddingError(Exception):
    """A call without vectors. `reason` is one of a few short words: `lineage status` counts by it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Embedder(Protocol):
    """An embedding model."""

    @property
    def model(self) -> str:
        """The identity of its vectors: those of different models are never compared.

        Raises EmbeddingError without a model.
        """
        ...

    @property
    def host(self) -> str:
        """The host that receives the texts, "" if they stay in this process."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, in order and all of one length, within the bound of time.

        Raises EmbeddingError for every failure, nothing else.
        """
        ...


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The embedding model of this machine, with the bounds of its work.

    One call of `embedder` embeds `batch_size` texts; `query_prefix` stands before what is asked. A worker's run ends
    after `max_passages` or `max_seconds`.
    """

    embedder: Embedder
    query_prefix: str = ""
    batch_size: int = 32
    max_passages: int = 2_000
    max_seconds: float = 60.0
