"""A rebuild in PostgreSQL: each process writes its rows by a connection of its own, into the tables themselves.

Many machines use these tables, so they are not exchanged for others. Whoever is cut off leaves rows that the next one
finds. Sessions lie in several parts, so the entries of the ledger are made when all are there. (index/base.py)
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from lineage.index.rows import Row

_AT_A_TIME = 500


@dataclass(frozen=True, slots=True)
class Part:
    """See `base.Part`."""

    url: str = field(repr=False)
    schema: str

    @contextmanager
    def writing(self) -> Iterator[Callable[[Sequence[tuple[int, Row]]], None]]:
        from lineage.index.postgres.engine import PostgresIndex  # noqa: PLC0415  (which gives parts)

        held: list[Row] = []
        with closing(PostgresIndex(self.url, self.schema)) as index:

            def write(rows: Sequence[tuple[int, Row]]) -> None:
                held.extend(row for _, row in rows)
                if len(held) >= _AT_A_TIME:
                    index.fill(held)
                    held.clear()

            yield write
            index.fill(held)


@dataclass(frozen=True, slots=True)
class Building:
    """See `base.Building`."""

    url: str = field(repr=False)
    schema: str
    present: frozenset[str]

    def part(self, number: int) -> Part:
        del number  # rows have numbers of the server's own
        return Part(self.url, self.schema)

    def add(self, number: int) -> None:
        """What was written is there already."""
