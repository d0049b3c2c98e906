"""Rows and full text of one workspace in a schema of a PostgreSQL database."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage.core.ledger import Ledger, grouped
from lineage.core.query import Query, parsed
from lineage.core.window import Window
from lineage.index import searching
from lineage.index.base import IndexBuild, Known
from lineage.index.books import EntryRow, Shelves
from lineage.index.postgres import books, ledger, recalling, schema, texts
from lineage.index.postgres.likeness import Texts
from lineage.index.postgres.queue import PostgresQueue
from lineage.index.postgres.searching import FullText
from lineage.index.postgres.words import Words
from lineage.index.query import RANKING, Ranking
from lineage.index.recalling import Recalled
from lineage.index.rows import COLUMNS, Row
from lineage.index.searching import Hit
from lineage.index.sessions import SessionRow
from lineage.index.texts import texts_of
from lineage.store.postgres import Postgres

if TYPE_CHECKING:
    from lineage.index.vectors import Vectors

_ARRAYS = ", ".join(f"%s::{'integer' if name in ('private', 'visible') else 'text'}[]" for name in COLUMNS)
_UPSERT = f"""
    insert into artifacts ({", ".join(COLUMNS)})
    select * from unnest({_ARRAYS}) as given({", ".join(COLUMNS)}) order by source_path collate "C"
    on conflict (source_path) do update set {", ".join(f"{name} = excluded.{name}" for name in COLUMNS)}
    returning id, source_path
"""
_REMOVE = "delete from artifacts where source_path = any(%s::text[]) returning id, session_token"
_HASHES = "select source_path, source_sha256 from artifacts where source_path = any(%s::text[])"
_KNOWN = """
    select source_path, stamp, source_sha256 from artifacts where source_path > %s
    order by source_path
"""
_RESTAMP = """
    update artifacts a set stamp = given.stamp from unnest(%s::text[], %s::text[]) as given(path, stamp)
    where a.source_path = given.path
"""
_SESSIONS = """
    select m.session_id, m.session_key, m.session_token, m.agent_id, m.project, m.harness, m.title,
           m.started_at, m.ended_at, coalesce(max(a.membership_ts), m.membership_ts) as newest,
           coalesce((select s.memory_sentence from artifacts s
                     where s.session_token = m.session_token and s.source_kind <> 'manifest'
                     order by s.stem desc, s.source_kind limit 1), ''),
           m.source_path, count(distinct a.stem), m.private
    from artifacts m
    left join artifacts a on a.session_token = m.session_token and a.source_kind = 'transcript'
    where m.source_kind = 'manifest' and m.source_path = (
        select min(o.source_path) from artifacts o
        where o.session_token = m.session_token and o.source_kind = 'manifest')
    and {where} group by m.id order by newest desc, m.session_token limit %(limit)s
"""
_REFERENCE = """
    (m.session_id ilike %(reference)s escape '!' or m.session_key ilike %(reference)s escape '!'
     or m.session_token ilike %(reference)s escape '!')
"""
_FUTURE = "select count(*) from entries where agent_id = %s and membership_ts > %s"
_COUNTS = "select source_kind, count(*) from artifacts group by source_kind order by source_kind"
_HELD = """
    select session_token from artifacts where session_token = any(%(tokens)s::text[])
    union select owner from book_entries where owner = any(%(tokens)s::text[])
    union select origin_token from book_entries where origin_token = any(%(tokens)s::text[])
"""
_OLDEST = "select min(source_path) from artifacts where source_kind = 'manifest' group by session_token order by 1"


class PostgresIndex:
    """See `index.base.Index`. Tables of an older version are begun anew, those of a newer one are left alone.

    Writers of different sessions don't wait for each other; those who shelve do.
    """

    is_remote = True

    def __init__(self, url: str, schema_name: str) -> None:
        self.database = Postgres(url, schema_name, schema.begin)
        self.queue = PostgresQueue(self.database)
        self._words = Words()
        self._full_text = FullText(self.database, self._words)
        self._is_complete = False
        self._vectors: Vectors | None = None

    @property
    def is_new(self) -> bool:
        if not self._is_complete:
            self._is_complete = schema.is_complete(self.database)
        return not self._is_complete

    def out_of_reach(self) -> tuple[str, ...]:
        return ("the write-ahead log, replicas and backups of the PostgreSQL server that holds the index",)

    def close(self) -> None:
        self._words.close()
        if self._vectors:
            self._vectors.close()
        self.database.close()

    def reset(self) -> None:
        self._is_complete = False
        self.database.dropped()

    def upsert(self, rows: Iterable[Row]) -> None:
        with self.staged(rows):
            pass

    @contextmanager
    def staged(self, rows: Iterable[Row]) -> Iterator[None]:
        with self.database.transaction():
            self._upsert({row.source_path: row for row in rows})
            yield

    @contextmanager
    def rebuilt(self) -> Iterator[IndexBuild]:
        """Write into the tables themselves, which many machines use: rows are there at once, and stay where the block
        fails. The entries of the ledger follow at the end."""
        yield IndexBuild(self._fill, frozenset(self.stamps()))
        ledger.fill(self.database)

    def _fill(self, rows: Sequence[tuple[int, Row]]) -> None:
        with self.database.transaction():
            self._write({row.source_path: row for _, row in rows})  # rows have numbers of the server's own

    def _upsert(self, rows: dict[str, Row]) -> None:
        self._write(rows)
        ledger.kept_up(self.database, (row.session_token for row in rows.values()))

    def _write(self, rows: dict[str, Row]) -> None:
        if not rows:
            return
        columns = [[getattr(row, name) for row in rows.values()] for name in COLUMNS]
        numbers = dict(self.database.rows(_UPSERT, columns))
        merges = not self.is_new
        texts.drop_passages(self.database, numbers, merges=merges)
        found = (text for number, path in numbers.items() for text in texts_of(number, rows[path]))
        texts.write(self.database, self._words, found, merges=merges)

    def restamp(self, stamps: Iterable[tuple[str, str]]) -> None:
        given = dict(stamps)
        if given:
            self.database.rows(_RESTAMP, (list(given), list(given.values())))

    def remove(self, paths: Iterable[str]) -> None:
        gone = list(paths)
        if gone:
            with self.database.transaction():
                found = self.database.rows(_REMOVE, (gone,))
                texts.drop_passages(self.database, (number for number, _ in found), merges=not self.is_new)
                ledger.kept_up(self.database, (token for _, token in found))

    def stamps(self) -> dict[str, str]:
        return dict(self.database.rows("select source_path, stamp from artifacts"))

    def hashes(self, paths: Iterable[str]) -> dict[str, str]:
        asked = list(paths)
        return dict(self.database.rows(_HASHES, (asked,))) if asked else {}

    def known(self, after: str = "") -> Iterator[Known]:
        return (Known(*row) for row in self.database.rows(_KNOWN, (after,)))

    def has(self, paths: Sequence[str]) -> bool:
        statement = "select count(*) from artifacts where source_path = any(%s::text[])"
        return self._count(statement, (list(paths),)) == len(set(paths))

    def oldest_manifests(self) -> list[str]:
        return [row[0] for row in self.database.rows(_OLDEST)]

    def agents(self) -> list[str]:
        return [row[0] for row in self.database.rows("select distinct agent_id from artifacts order by agent_id")]

    def ledger(self, agent_id: str, window: Window) -> Ledger:
        counted = ledger.tallies(self.database, agent_id, window)
        return Ledger(grouped(ledger.heads(self.database, agent_id, window)), counted)

    def future(self, agent_id: str, window: Window) -> int:
        return self._count(_FUTURE, (agent_id, window.until))

    def sessions(
        self,
        agent_id: str | None,
        *,
        limit: int = 50,
        project: str | None = None,
        reference: str | None = None,
    ) -> list[SessionRow]:
        where = ["true"]
        values: dict[str, object] = {"limit": limit, "agent": agent_id}
        if agent_id is not None:
            where.append("m.agent_id = %(agent)s")
        if project is not None:
            where.append("(m.project = %(project)s or m.project ilike %(project_end)s escape '!')")
            values |= {"project": project, "project_end": f"%/{_like(project)}"}
        if reference is not None:
            where.append(_REFERENCE)
            values["reference"] = f"{_like(reference)}%"
        rows = self.database.rows(_SESSIONS.format(where=" and ".join(where)), values)
        return [_session(row) for row in rows]

    def paths_of(self, token: str) -> list[tuple[str, str]]:
        statement = "select source_path, source_kind from artifacts where session_token = %s order by source_path"
        return self.database.rows(statement, (token,))

    def search(
        self,
        query: str | Query,
        agent_id: str | None,
        *,
        limit: int,
        by_passage: bool = False,
        ranking: Ranking | None = None,
    ) -> list[Hit]:
        asked = parsed(query) if isinstance(query, str) else query
        return searching.hits(
            self._full_text, asked, agent_id, limit, by_passage=by_passage, ranking=ranking or RANKING
        )

    @contextmanager
    def reading(self) -> Iterator[Texts]:
        yield Texts(self.database, self._words)

    def vectors(self, file: Path, *, may_begin: bool) -> "Vectors":
        from lineage.index.postgres import pgvector  # noqa: PLC0415  (no capture asks for vectors)
        from lineage.index.vectorfile import VectorFile  # noqa: PLC0415
        from lineage.store.databases import discard  # noqa: PLC0415

        if self._vectors is None:
            found = pgvector.shared(self.database, may_begin=may_begin)
            if found and file.exists():
                discard(file)
            self._vectors = found or VectorFile(file)
        return self._vectors

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
    ) -> Recalled:
        return recalling.recalled(
            self._full_text,
            query,
            agent_id=agent_id,
            scopes=scopes,
            kinds=kinds,
            sessions=sessions,
            entries=entries,
            until=until,
        )

    def shelve(self, found: Iterable[Shelves]) -> None:
        with self.database.transaction():
            self.database.locked("books")
            merges = not self.is_new
            for book in found:
                books.keep_up(self.database, self._words, book, merges=merges)

    def books(self) -> Iterator[Known]:
        return (Known(*row) for row in self.database.rows("select path, stamp, sha256 from books order by path"))

    def books_of(self, tokens: Collection[str]) -> list[tuple[str, str]]:
        return books.naming_any(self.database, tokens)

    def entries(self, scope: str, kind: str) -> list[EntryRow]:
        return books.rows_of(self.database, scope, kind)

    def traced(self, take: Callable[[str], object]) -> AbstractContextManager[None]:
        """Gives `take` each statement that this index runs within the block."""
        return self.database.traced(take)

    def held(self, tokens: Collection[str]) -> set[str]:
        return {row[0] for row in self.database.rows(_HELD, {"tokens": list(tokens)})}

    def forget(self, token: str) -> int:
        self.queue.forget(token)
        paths = [path for path, _ in self.paths_of(token)]
        self.remove(paths)
        with self.database.transaction():
            self.database.locked("books")
            return len(paths) + books.forget(self.database, token, merges=not self.is_new)

    def scrub(self) -> None:
        """What was deleted is in no file of the tables any more; the write-ahead log is not reached."""
        self.database.scrubbed(schema.TABLES)

    def counts(self) -> dict[str, int]:
        return dict(self.database.rows(_COUNTS))

    def is_complete(self) -> bool:
        return not self.is_new

    def complete(self) -> None:
        schema.complete(self.database)
        self._is_complete = True

    def _count(self, statement: str, values: Sequence[Any]) -> int:
        return int(self.database.rows(statement, values)[0][0])


def _session(row: Sequence[Any]) -> SessionRow:
    values: Any = (*row[:-1], bool(row[-1]))
    return SessionRow(*values)


def _like(text: str) -> str:
    for special in "!%_":
        text = text.replace(special, "!" + special)
    return text
