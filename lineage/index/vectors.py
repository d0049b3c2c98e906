"""The port of vectors: what the pipeline asks of a vector for each passage and entry that search may show.

They are disposable as the index is, and dearer to make again: the index may begin anew without them. An index says
where they lie: in a file of this machine (index/vectorfile.py), or beside its rows (index/postgres/pgvector.py).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from lineage.errors import LineageError

if TYPE_CHECKING:
    from lineage.core.search.query import Query
    from lineage.index.text_search import Hit, RankedRow


class VectorsLost(LineageError):
    """The vectors could not be read, and were begun anew."""

    default_hint = "run `lineage reindex --embed`: they are made again"


class VectorSource(NamedTuple):
    """A file whose passages have vectors. `version` changes with what they say."""

    path: str
    version: str


class EmbeddableRow(NamedTuple):
    """A row of the full text: which file it is of, its place there, and what it says."""

    path: str
    place: int
    title: str
    sentence: str
    body: str


class PassageVector(NamedTuple):
    """The vector of a passage: its file, its place there, the hash of its text. (core/quantizing.py)"""

    source: VectorSource
    place: int
    hash: bytes
    vector: bytes


class Neighbor(NamedTuple):
    """A passage and how far from what was asked it is: 0 the same direction, 1 nothing in common."""

    path: str
    place: int
    hash: bytes
    distance: float


class Vectors(Protocol):
    """The vectors of one workspace, all of one model. Asking makes nothing: their place is made with the first of them.

    Each method raises LostVectors where what is there can't be used, having begun it anew, and WorkspaceError; on a
    server IndexAway while that can't be reached.
    """

    @property
    def exists(self) -> bool:
        """Whether there is anything to ask or to drop."""

    @property
    def location(self) -> str:
        """Where they lie, for people."""

    def find_missing_modules(self) -> list[str]:
        """The modules that `nearest` needs and that aren't installed."""

    def close(self) -> None: ...

    def embedding_lock(self) -> AbstractContextManager[None]:
        """Held by who embeds. Raises BusyError where another machine does that here: both would make the same."""

    def read_model_info(self) -> tuple[str, int] | None:
        """The model's name and the length of its vectors; None while there are none."""

    def count_passages(self) -> int:
        """How many passages have their vector."""

    def load_source_versions(self) -> dict[str, str]:
        """The version of each file, "" where not all of its passages have their vectors yet. What is being stored is
        waited for: whoever dropped rows before it asks finds every vector that was made of them."""

    def load_passage_hashes(self, path: str) -> dict[int, bytes]:
        """The places in a file that have vectors, each with the hash of its text."""

    def find_by_hash(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors of texts that have one already, wherever they are."""

    def store(
        self,
        model: str,
        passages: Sequence[PassageVector],
        complete_sources: Iterable[VectorSource],
        is_current: Callable[[VectorSource], bool],
    ) -> int:
        """Keeps vectors of a model, and notes the files that have all of theirs; how many were kept. What is of another
        model, or of another length, goes before. What was removed or changed meanwhile is left out: `is_current` is
        asked while nobody else writes."""

    def prune(self, wanted_hashes: Mapping[str, frozenset[bytes] | None]) -> int:
        """Drops the vectors of files whose texts, by their hashes, aren't wanted any more; of those with None all. How
        many went. The bytes are gone after `scrub`."""

    def find_nearest(self, vector: bytes, limit: int) -> Iterator[Neighbor]:
        """The passages nearest to a vector of the model's length, nearest first, at most so many."""

    def scrub(self) -> None:
        """Leaves no copy of what was dropped."""


class EmbeddedTexts(Protocol):
    """How an index reads what search may show to anybody."""

    def read_artifact_hashes(self, path: str | None = None) -> Iterable[tuple[str, str]]:
        """Path and hash of artifacts: of all, or of that one."""

    def read_entries(self, path: str | None = None) -> Iterable[EmbeddableRow]:
        """The entries of books by path and place: of all books' files, or of that one."""

    def read_passages(self, path: str) -> Iterable[EmbeddableRow]:
        """The passages of an artifact, in order, whoever may see it."""

    def find_rows(self, neighbors: Sequence[Neighbor]) -> Iterable[tuple[int, int, EmbeddableRow]]:
        """The rows that stand where these passages were: (place in `near`, row's number, row)."""

    def filter_rows(
        self, query: "Query", agent_id: str | None, scored_rows: Sequence[tuple[int, float]]
    ) -> "list[RankedRow]":
        """Rows by (number, likeness) that the filters and phrases of a query let through, the likest first."""

    def load_hits(self, expression: str, ranked: "Sequence[RankedRow]") -> "list[Hit]":
        """See `searching.Engine`."""
