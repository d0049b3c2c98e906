"""The port to embedding models."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Vector = Sequence[float]


class EmbeddingError(Exception):
    """There are no vectors. `reason` is one of few, in a word or two: `lineage status` counts by it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Embedder(Protocol):
    """Anything that turns texts into vectors."""

    @property
    def model(self) -> str:
        """What tells its vectors from another model's: of two different ones none are compared. Raises NoVectors where
        there is no model."""
        ...

    @property
    def host(self) -> str:
        """Where texts are sent, a host's name; "" where they stay in this process."""
        ...

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each text, in order, all of one length. Comes back within its bounds of time. Raises NoVectors,
        and nothing else for what goes wrong."""
        ...


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The embedding model of this machine, with the bounds of its work.

    One call of `embedder` embeds `batch_size` texts. A worker's run ends after `max_passages` or `max_seconds`.
    """

    embedder: Embedder
    batch_size: int = 32
    max_passages: int = 2_000
    max_seconds: float = 60.0
