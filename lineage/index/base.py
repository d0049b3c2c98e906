"""The port of the index: what the pipeline asks of rows and full text, whichever engine holds them."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from lineage.core.ledger import Ledger
    from lineage.core.query import Query
    from lineage.core.window import Window
    from lineage.index.books import EntryRow, Shelves
    from lineage.index.query import Ranking
    from lineage.index.queue import Waiting
    from lineage.index.recalling import Recalled
    from lineage.index.rows import Row
    from lineage.index.searching import Hit
    from lineage.index.sessions import SessionRow
    from lineage.index.vectors import EmbeddedTexts, Vectors


class Known(NamedTuple):
    """What the index remembers of a file: enough to tell whether it changed."""

    path: str
    stamp: str
    sha256: str


class Queue(Protocol):
    """Captures that wait until MEMORY.md shows them: who renders takes in those of everybody who waits.

    Nothing in it outlives its use: a capture whose line is lost is rendered by its own process. A ticket is drawn once
    and never again: that it is gone says that its capture was taken in.
    """

    def enlist(self, capture: "Waiting") -> int:
        """The ticket of a capture that waits from now on."""

    def is_taken(self, ticket: int) -> bool:
        """Whether somebody took the capture in."""

    def wait(self, ticket: int, seconds: float) -> bool:
        """`is_taken`, when somebody has called those who wait or so many seconds have passed."""

    def call(self) -> None:
        """Calls those who wait elsewhere: what somebody took is taken, and who is left may render. A call that is not
        heard costs them the rest of their seconds."""

    def first(self, agent_id: str, until: str, limit: int) -> "list[tuple[int, Waiting]]":
        """The tickets of an agent's captures up to a time, with the captures, oldest ticket first."""

    def take(self, tickets: Iterable[int]) -> None:
        """Says to those who wait that MEMORY.md and rows have what they captured."""


class IndexBuild(NamedTuple):
    """An index that is being built from nothing, by one process."""

    write: Callable[["Sequence[tuple[int, Row]]"], None]
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
    def is_new(self) -> bool:
        """Whether its rows are not yet those of the files: a reindex is due before anything is asked."""

    @property
    def queue(self) -> Queue:
        """Who waits for a render. A session that is forgotten waits no more."""

    def out_of_reach(self) -> tuple[str, ...]:
        """What may go on holding what was dropped here, for people: `scrub` doesn't reach it."""

    def close(self) -> None: ...

    def reset(self) -> None:
        """Begins it anew, empty."""

    def upsert(self, rows: "Iterable[Row]") -> None:
        """Writes rows and their text in one transaction; a row of the same path is replaced."""

    def staged(self, rows: "Iterable[Row]") -> AbstractContextManager[None]:
        """`upsert`, with the rows to be read by this index at once, and by everybody else when the block is left."""

    def rebuilt(self) -> "AbstractContextManager[IndexBuild]":
        """Build all rows anew; they are in the index when the block is left. Where the block is cut off, the index
        is as new as it was."""

    def restamp(self, stamps: Iterable[tuple[str, str]]) -> None:
        """Notes (path, stamp) of files that were touched and did not change."""

    def remove(self, paths: Iterable[str]) -> None:
        """Drops the rows and the text of files that are gone."""

    def stamps(self) -> dict[str, str]:
        """The stamp of every file that has a row, by its path."""

    def hashes(self, paths: Iterable[str]) -> dict[str, str]:
        """What those of these files that have a row held when they were read, as SHA-256."""

    def known(self, after: str = "") -> Iterator[Known]:
        """What is indexed behind a path, in path order."""

    def has(self, paths: Sequence[str]) -> bool:
        """Whether every path has its row."""

    def oldest_manifests(self) -> list[str]:
        """The path of each session's oldest manifest."""

    def agents(self) -> list[str]: ...

    def ledger(self, agent_id: str, window: "Window") -> "Ledger":
        """The agent's ledger in the window; its entries are read as they are asked for."""

    def future(self, agent_id: str, window: "Window") -> int:
        """How many captures claim a time after the window's end: they are left out and counted."""

    def sessions(
        self,
        agent_id: str | None,
        *,
        limit: int = 50,
        project: str | None = None,
        reference: str | None = None,
    ) -> "list[SessionRow]":
        """Sessions, newest first: all agents' where `agent_id` is None; those whose id, key, token or a prefix of one
        is `reference`; those whose project's path is or ends in `project`."""

    def paths_of(self, token: str) -> list[tuple[str, str]]:
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

    def reading(self) -> "AbstractContextManager[EmbeddedTexts]":
        """What has vectors, read within the block. (index/vectors.py)"""

    def vectors(self, file: "Path", *, may_begin: bool) -> "Vectors":
        """The vectors of its passages, closed with it: those in a file of this machine, or on its server, if that can
        compare vectors; then what the file holds is dropped. `may_begin` says whether the server may be given what it
        needs for it."""

    def recalled(
        self,
        query: str | None,
        *,
        agent_id: str,
        scopes: Sequence[str],
        kinds: Sequence[str],
        sessions: int,
        entries: int,
        until: str | None = None,
    ) -> "Recalled":
        """What a new session recalls: at most so many standing entries of these scopes and kinds, archived ones too,
        best match first (none where the query has no word), and the agent's newest sessions that are neither private
        nor trials, as of the time `until`. The scopes are those that the session may see."""

    def shelve(self, found: "Iterable[Shelves]") -> None:
        """Makes the rows of books those that their files make, in a transaction of its own, each with all its shelves.

        Nobody else shelves while `found` is asked for the next: who reads the files there reads the newest."""

    def books(self) -> Iterator[Known]:
        """The files of books that are shelved, in path order."""

    def books_of(self, tokens: Collection[str]) -> list[tuple[str, str]]:
        """(scope, kind) of the books that hold what one of these sessions said."""

    def entries(self, scope: str, kind: str) -> "list[EntryRow]":
        """The rows of a book, of all its shelves, those that wait too."""

    def traced(self, take: Callable[[str], object]) -> AbstractContextManager[None]:
        """Gives `take` each statement that this index runs within the block."""

    def held(self, tokens: Collection[str]) -> set[str]:
        """Those of these sessions of which there is a row, be it of what they said in books."""

    def forget(self, token: str) -> int:
        """Drops every row of a session and of what it said in books, with their text; how many rows. The bytes are gone
        after `scrub`."""

    def scrub(self) -> None:
        """Leaves no copy of what was dropped, but where it is `out_of_reach`."""

    def counts(self) -> dict[str, int]:
        """How many rows of each kind there are."""

    def is_complete(self) -> bool:
        """Whether the rows are those of the files, maybe since another process saw to it."""

    def complete(self) -> None:
        """Notes that the rows are those of the files: called where a reindex ends."""
