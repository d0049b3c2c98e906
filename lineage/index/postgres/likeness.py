"""What of the rows in PostgreSQL has vectors. (index/likeness.py)"""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lineage.core.passages import MOST
from lineage.core.query import Query
from lineage.index import filtering
from lineage.index.likeness import (
    ANYBODY,
    ARTIFACTS,
    ENTRIES,
    ENTRIES_OF_ONE,
    ONE_ARTIFACT,
    PASSAGES,
    asked_for,
    holding,
    liked,
)
from lineage.index.postgres.searching import FullText, dialect
from lineage.index.searching import Ranked
from lineage.index.vectors import Piece

if TYPE_CHECKING:
    from lineage.index.vectors import Near

_STANDING = f"""
    select (near.key - 1)::integer, s.id, near.path, near.place, s.title, s.sentence, s.body
    from unnest(%s::text[], %s::integer[]) with ordinality as near(path, place, key)
    left join artifacts a on a.source_path = near.path
    left join book_entries e on a.id is null and e.path = near.path and e.place = near.place
    join search s on s.id = coalesce(a.id * {MOST} + near.place, -e.id)
"""
_NEAR = """
    select id, likeness from unnest(%(numbers)s::bigint[], %(likeness)s::float8[]) as each(id, likeness) where {words}
"""
_HOLDS = "exists (select 1 from search s where s.id = each.id and s.terms @@ %({0})s::tsquery)"


class Texts(FullText):
    """See `index.vectors.EmbeddedTexts`."""

    def artifacts(self, path: str | None = None) -> list[tuple[str, str]]:
        return self._read(ONE_ARTIFACT if path else ARTIFACTS, path)

    def entries(self, path: str | None = None) -> Iterable[Piece]:
        return (Piece(*row) for row in self._read(ENTRIES_OF_ONE if path else ENTRIES, path))

    def passages(self, path: str) -> Iterable[Piece]:
        return (Piece(*row) for row in self._read(PASSAGES, path))

    def standing(self, near: "Sequence[Near]") -> Iterable[tuple[int, int, Piece]]:
        asked = ([one.path for one in near], [one.place for one in near])
        for place, number, *row in self.database.rows(_STANDING, asked):
            yield place, number, Piece(*row)

    def liked(self, query: Query, agent_id: str | None, near: Sequence[tuple[int, float]]) -> list[Ranked]:
        phrases = asked_for(query)
        values = {
            **filtering.values(query.filters, agent_id),
            "kinds": list(query.filters.kinds),
            **dict(zip(phrases, self.words.queries(list(phrases.values())), strict=True)),
            "numbers": [number for number, _ in near],
            "likeness": [likeness for _, likeness in near],
        }
        found = liked(query.filters, "{near}", own="near.id::text")
        statement = dialect(found).replace("{near}", _NEAR.format(words=holding(query, _HOLDS)))
        return [Ranked(*row) for row in self.database.rows(statement, values)]

    def _read(self, statement: str, path: str | None) -> list[Any]:
        """The rows of a statement that SQLite takes."""
        return self.database.rows(re.sub(r"\bs\.rowid\b", "s.id", dialect(statement)), {**ANYBODY, "path": path})
