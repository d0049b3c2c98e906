"""The port of vectors: the pipeline's view of the vectors of searchable passages and entries.

They are derived like the index, and more expensive, so a rebuilt index keeps them. They lie in a file of this machine
(index/vectorfile.py) or beside the rows (index/postgres/pgvector.py), as the index decides.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from lineage.core.search.query import Query
from lineage.errors import LineageError
from lineage.index.text_search import RankedRow, TextSearchEngine


class VectorsLost(LineageError):
    """The vectors could not be read, and were deleted."""

    default_hint = "run `lineage admin embed`: they are made again"


class VectorSource(NamedTuple):  # written to a table as it is
    """A file with vectors of its passages. `version` changes with its text."""

    path: str
    version: str


@dataclass(frozen=True, slots=True)
class EmbeddableRow:
    """A row of the full text, at a place in a file."""

    path: str
    place: int
    title: str
    sentence: str
    body: str


@dataclass(frozen=True, slots=True)
class PassageVector:
    """The vector of a passage: its file, its place there, the hash of its text. (core/search/quantization.py)."""

    source: VectorSource
    place: int
    hash: bytes
    vector: bytes


@dataclass(frozen=True, slots=True)
class Neighbor:
    """A passage and its distance to the query: 0 for the same direction, 1 for nothing in common."""

    path: str
    place: int
    hash: bytes
    distance: float


class Vectors(Protocol):
    """The vectors of one workspace, all of one model. Reading creates nothing; `store` creates their place.

    Every method raises VectorsLost after deleting unusable vectors, and WorkspaceError; on a server IndexUnavailable
    while that can't be reached.
    """

    @property
    def exists(self) -> bool:
        """Return whether there may be vectors."""

    @property
    def location(self) -> str:
        """Return their location, for people."""

    def find_missing_modules(self) -> list[str]:
        """Return the modules that `find_nearest` needs and that are not installed."""
        return []

    def close(self) -> None:
        """Close everything opened for the vectors."""

    def embedding_lock(self) -> AbstractContextManager[None]:
        """Hold the lock of embedding. Raises BusyError if another machine embeds the same texts."""
        return nullcontext()

    def read_model_info(self) -> tuple[str, int] | None:
        """Return the model's name and the length of its vectors, None without vectors."""

    def count_passages(self) -> int:
        """Return the number of passages with a vector."""

    def load_source_versions(self) -> dict[str, str]:
        """Return the version of each file, "" for one with incomplete vectors.

        Waits for a `store` in progress: after deleting rows, the caller sees every vector made from them.
        """

    def find_incomplete(self, sources: Iterable[VectorSource]) -> set[VectorSource]:
        """Return those of the files that have no vectors of this version, or not all of them."""

    def load_passage_hashes(self, path: str) -> dict[int, bytes]:
        """Return the places in a file that have vectors, each with the hash of its text."""

    def find_by_hash(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the existing vectors of texts, of any file, by their hashes."""

    def store(
        self,
        model: str,
        passages: Sequence[PassageVector],
        complete_sources: Iterable[VectorSource],
        is_current: Callable[[VectorSource], bool],
    ) -> int:
        """Store vectors of a model and the files that are complete now. Return the number of stored vectors.

        Vectors of another model or length are deleted first. Sources that fail `is_current` are skipped; it is called
        while nobody else writes.
        """

    def prune(self, wanted_hashes: Mapping[str, frozenset[bytes] | None]) -> int:
        """Delete these files' vectors but those of wanted texts, for None all. Return their number. See `scrub`."""

    def find_nearest(self, vector: bytes, limit: int) -> Iterator[Neighbor]:
        """Yield the passages nearest to a vector of the model's length, nearest first."""

    def scrub(self) -> None:
        """Leave no copy of deleted vectors."""


class PassageRow(NamedTuple):
    """A passage with its row's number, its file and the file's kind, and its first and last turn if it has turns."""

    number: int
    path: str
    kind: str
    turns: tuple[int, int] | None
    text: str


class EmbeddedTexts(TextSearchEngine, Protocol):
    """The searchable texts of an index: those that anybody may see get vectors."""

    def read_artifact_hashes(self, path: str | None = None) -> Iterable[tuple[str, str]]:
        """Return path and hash of all artifacts, or of one."""

    def read_session_hashes(self, tokens: Sequence[str]) -> Iterable[tuple[str, str, str]]:
        """Return token, path and hash of the artifacts of these sessions."""

    def read_entries(self, path: str | None = None) -> Iterable[EmbeddableRow]:
        """Return the entries of all books' files, or of one, by path and place."""

    def read_passages(self, path: str) -> Iterable[EmbeddableRow]:
        """Return the passages of an artifact in order, visible or not."""

    def read_passage_rows(self, numbers: Iterable[int]) -> Iterable[PassageRow]:
        """Return the passages of these numbers, in any order; those of entries are none."""

    def count_embeddable(self) -> int:
        """Return the number of visible passages of speech, and of visible entries."""

    def find_rows(self, neighbors: Sequence[Neighbor]) -> Iterable[tuple[int, int, EmbeddableRow]]:
        """Return the current rows at the places of `neighbors`: (index of the neighbor, row's number, row)."""

    def filter_rows(
        self, query: Query, agent_id: str | None, scored_rows: Sequence[tuple[int, float]]
    ) -> list[RankedRow]:
        """Return those of the rows, given as (number, score), that pass the query's filters and phrases, best first."""
