"""The port of the index: what the pipeline asks of rows and full text, whichever engine holds them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from lineage.core.capture.ledger import Ledger
    from lineage.core.capture.window import Window
    from lineage.core.search.query import Query
    from lineage.index.books import BookFiles, EntryRow
    from lineage.index.fts_query import Ranking
    from lineage.index.publish_queue import QueuedCapture
    from lineage.index.recall import RecallResult
    from lineage.index.rows import ArtifactRow
    from lineage.index.sessions import SessionRow
    from lineage.index.text_search import Hit
    from lineage.index.vectors import EmbeddedTexts, Vectors


class IndexedFile(NamedTuple):
    """What the index remembers of a file: enough to tell whether it changed."""

    path: str
    stamp: str
    sha256: str


class PublishQueue(Protocol):
    """Captures that wait until MEMORY.md shows them: who renders takes in those of everybody who waits.

    Nothing in it outlives its use: a capture whose line is lost is rendered by its own process. A ticket is drawn once
    and never again: that it is gone says that its capture was taken in.
    """

    def enqueue(self, capture: "QueuedCapture") -> int:
        """The ticket of a capture that waits from now on."""

    def is_done(self, ticket: int) -> bool:
        """Whether somebody took the capture in."""

    def wait(self, ticket: int, seconds: float) -> bool:
        """`is_done`, when somebody has called those who wait or so many seconds have passed."""

    def notify(self) -> None:
        """Calls those who wait elsewhere: what somebody took is taken, and who is left may render. A call that is not
        heard costs them the rest of their seconds."""

    def peek(self, agent_id: str, until: str, limit: int) -> "list[tuple[int, QueuedCapture]]":
        """The tickets of an agent's captures up to a time, with the captures, oldest ticket first."""

    def mark_done(self, tickets: Iterable[int]) -> None:
        """Says to those who wait that MEMORY.md and rows have what they captured."""


class IndexBuild(NamedTuple):
    """An index that is being built from nothing, by one process."""

    write: Callable[["Sequence[tuple[int, ArtifactRow]]"], None]
    """Adds rows, each with the number of its file. Numbers rise from call to call."""
    present: frozenset[str] = frozenset()
    """Paths of files that have rows already. The comparison after the build finds those that changed."""


class Index(Protocol):
    """Rows and full text of one workspace, which a reindex makes again at any time.

    Every method raises DamagedIndex where what is there can't be used: `reset` begins it anew. One on a server raises
    IndexAway while that can't be reached, and none of them waits for it twice.
    """

    is_remote: bool
    """Whether it lies on a server, which may be away."""

    @property
    def needs_reindex(self) -> bool:
        """Whether its rows are not yet those of the files: a reindex is due before anything is asked."""

    @property
    def queue(self) -> PublishQueue:
        """Who waits for a render. A session that is forgotten waits no more."""

    def residual_copies(self) -> tuple[str, ...]:
        """What may go on holding what was dropped here, for people: `scrub` doesn't reach it."""

    def close(self) -> None: ...

    def reset(self) -> None:
        """Begins it anew, empty."""

    def upsert(self, rows: "Iterable[ArtifactRow]") -> None:
        """Writes rows and their text in one transaction; a row of the same path is replaced."""

    def upsert_in_transaction(self, rows: "Iterable[ArtifactRow]") -> AbstractContextManager[None]:
        """`upsert`, with the rows to be read by this index at once, and by everybody else when the block is left."""

    def rebuild(self) -> "AbstractContextManager[IndexBuild]":
        """Build all rows anew; they are in the index when the block is left. Where the block is cut off, the index
        is as new as it was."""

    def update_stamps(self, stamps: Iterable[tuple[str, str]]) -> None:
        """Notes (path, stamp) of files that were touched and did not change."""

    def delete_paths(self, paths: Iterable[str]) -> None:
        """Drops the rows and the text of files that are gone."""

    def load_stamps(self) -> dict[str, str]:
        """The stamp of every file that has a row, by its path."""

    def load_hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """What those of these files that have a row held when they were read, as SHA-256."""

    def iter_files(self, after: str = "") -> Iterator[IndexedFile]:
        """What is indexed behind a path, in path order."""

    def has_paths(self, paths: Sequence[str]) -> bool:
        """Whether every path has its row."""

    def find_oldest_manifests(self) -> list[str]:
        """The path of each session's oldest manifest."""

    def list_agents(self) -> list[str]: ...

    def load_ledger(self, agent_id: str, window: "Window") -> "Ledger":
        """The agent's ledger in the window; its entries are read as they are asked for."""

    def count_future_captures(self, agent_id: str, window: "Window") -> int:
        """How many captures claim a time after the window's end: they are left out and counted."""

    def list_sessions(
        self,
        agent_id: str | None,
        *,
        limit: int = 50,
        project: str | None = None,
        reference: str | None = None,
    ) -> "list[SessionRow]":
        """Sessions, newest first: all agents' where `agent_id` is None; those whose id, key, token or a prefix of one
        is `reference`; those whose project's path is or ends in `project`."""

    def list_session_files(self, token: str) -> list[tuple[str, str]]:
        """(path, kind) of a session's files, oldest first."""

    def search(
        self,
        query: "str | Query",
        agent_id: str | None,
        *,
        limit: int,
        by_passage: bool = False,
        ranking: "Ranking | None" = None,
    ) -> "list[Hit]":
        """What any word of the query finds, best first: each session's best passage (or every passage), and entries of
        books. A query of filters alone lists what they let through, newest first.

        Private and trial sessions stay out, and what they said; so does what waits for confirmation. An agent's search
        leaves out other agents' sessions and books. `ranking` is for measuring what another one would find. Raises
        InvalidInput for a filter that says nothing.
        """

    def open_vector_search(self) -> "AbstractContextManager[EmbeddedTexts]":
        """What has vectors, read within the block. (index/vectors.py)"""

    def open_vectors(self, file: "Path", *, may_create: bool) -> "Vectors":
        """The vectors of its passages, closed with it: those in a file of this machine, or on its server, if that can
        compare vectors; then what the file holds is dropped. `may_create` says whether the server may be given what it
        needs for it."""

    def recall(
        self,
        query: str | None,
        *,
        agent_id: str,
        scopes: Sequence[str],
        kinds: Sequence[str],
        max_sessions: int,
        max_entries: int,
        until: str | None = None,
    ) -> "RecallResult":
        """What a new session recalls: at most so many standing entries of these scopes and kinds, archived ones too,
        best match first (none where the query has no word), and the agent's newest sessions that are neither private
        nor trials, as of the time `until`. The scopes are those that the session may see."""

    def index_books(self, book_files: "Iterable[BookFiles]") -> None:
        """Makes the rows of books those that their files make, in a transaction of its own, each with all its shelves.

        Nobody else shelves while `found` is asked for the next: who reads the files there reads the newest."""

    def iter_book_files(self) -> Iterator[IndexedFile]:
        """The files of books that are shelved, in path order."""

    def find_books_of_sessions(self, tokens: Collection[str]) -> list[tuple[str, str]]:
        """(scope, kind) of the books that hold what one of these sessions said."""

    def load_entries(self, scope: str, kind: str) -> "list[EntryRow]":
        """The rows of a book, of all its shelves, those that wait too."""

    def trace_statements(self, callback: Callable[[str], object]) -> AbstractContextManager[None]:
        """Gives `take` each statement that this index runs within the block."""

    def find_indexed_tokens(self, tokens: Collection[str]) -> set[str]:
        """Those of these sessions of which there is a row, be it of what they said in books."""

    def delete_session(self, token: str) -> int:
        """Drops every row of a session and of what it said in books, with their text; how many rows. The bytes are gone
        after `scrub`."""

    def scrub(self) -> None:
        """Leaves no copy of what was dropped, but where it is `residual_copies`."""

    def count_by_kind(self) -> dict[str, int]:
        """How many rows of each kind there are."""

    def is_complete(self) -> bool:
        """Whether the rows are those of the files, maybe since another process saw to it."""

    def mark_complete(self) -> None:
        """Notes that the rows are those of the files: called where a reindex ends."""
