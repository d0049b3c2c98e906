"""The port of vectors: what the pipeline asks of a vector for each passage and entry that search may show.

They are disposable as the index is, and dearer to make again: the index may begin anew without them. An index says
where they lie: in a file of this machine (index/vectorfile.py), or beside its rows (index/postgres/pgvector.py).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from lineage.errors import LineageError

if TYPE_CHECKING:
    from lineage.core.query import Query
    from lineage.index.searching import Hit, Ranked


class LostVectors(LineageError):
    """The vectors could not be read, and were begun anew."""

    default_hint = "run `lineage reindex --embed`: they are made again"


class Source(NamedTuple):
    """A file whose passages have vectors. `version` changes with what they say."""

    path: str
    version: str


class Piece(NamedTuple):
    """A row of the full text: which file it is of, its place there, and what it says."""

    path: str
    place: int
    title: str
    sentence: str
    body: str


class Placed(NamedTuple):
    """The vector of a passage: its file, its place there, the hash of its text. (core/quantizing.py)"""

    source: Source
    place: int
    hash: bytes
    vector: bytes


class Near(NamedTuple):
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
    def is_there(self) -> bool:
        """Whether there is anything to ask or to drop."""

    @property
    def where(self) -> str:
        """Where they lie, for people."""

    def missing(self) -> list[str]:
        """The modules that `nearest` needs and that aren't installed."""

    def close(self) -> None: ...

    def embedding(self) -> AbstractContextManager[None]:
        """Held by who embeds. Raises BusyError where another machine does that here: both would make the same."""

    def model(self) -> tuple[str, int] | None:
        """The model's name and the length of its vectors; None while there are none."""

    def count(self) -> int:
        """How many passages have their vector."""

    def sources(self) -> dict[str, str]:
        """The version of each file, "" where not all of its passages have their vectors yet. What is being stored is
        waited for: whoever dropped rows before it asks finds every vector that was made of them."""

    def places(self, path: str) -> dict[int, bytes]:
        """The places in a file that have vectors, each with the hash of its text."""

    def same(self, hashes: Iterable[bytes]) -> dict[bytes, bytes]:
        """The vectors of texts that have one already, wherever they are."""

    def store(
        self, model: str, placed: Sequence[Placed], settled: Iterable[Source], is_current: Callable[[Source], bool]
    ) -> int:
        """Keeps vectors of a model, and notes the files that have all of theirs; how many were kept. What is of another
        model, or of another length, goes before. What was removed or changed meanwhile is left out: `is_current` is
        asked while nobody else writes."""

    def keep(self, wanted: Mapping[str, frozenset[bytes] | None]) -> int:
        """Drops the vectors of files whose texts, by their hashes, aren't wanted any more; of those with None all. How
        many went. The bytes are gone after `scrub`."""

    def nearest(self, vector: bytes, most: int) -> Iterator[Near]:
        """The passages nearest to a vector of the model's length, nearest first, at most so many."""

    def scrub(self) -> None:
        """Leaves no copy of what was dropped."""


class EmbeddedTexts(Protocol):
    """How an index reads what search may show to anybody."""

    def artifacts(self, path: str | None = None) -> Iterable[tuple[str, str]]:
        """Path and hash of artifacts: of all, or of that one."""

    def entries(self, path: str | None = None) -> Iterable[Piece]:
        """The entries of books by path and place: of all books' files, or of that one."""

    def passages(self, path: str) -> Iterable[Piece]:
        """The passages of an artifact, in order, whoever may see it."""

    def standing(self, near: Sequence[Near]) -> Iterable[tuple[int, int, Piece]]:
        """The rows that stand where these passages were: (place in `near`, row's number, row)."""

    def liked(self, query: "Query", agent_id: str | None, near: Sequence[tuple[int, float]]) -> "list[Ranked]":
        """Rows by (number, likeness) that the filters and phrases of a query let through, the likest first."""

    def shown(self, expression: str, ranked: "Sequence[Ranked]") -> "list[Hit]":
        """See `searching.Engine`."""
