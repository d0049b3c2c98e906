"""Semantic search over the rows in PostgreSQL. (index/vector_search.py)."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.core.search.query import Query
from lineage.index import filter_sql, vector_search
from lineage.index.postgres.text_search import PostgresTextSearch, to_postgres_sql
from lineage.index.text_search import RankedRow
from lineage.index.vectors import EmbeddableRow, Neighbor

_SELECT_ROWS = f"""
    select (near.key - 1)::integer, s.id, near.path, near.place, s.title, s.sentence, s.body
    from unnest(%s::text[], %s::integer[]) with ordinality as near(path, place, key)
    left join artifacts a on a.source_path = near.path
    left join book_entries e on a.id is null and e.path = near.path and e.place = near.place
    join search s on s.id = coalesce(a.id * {MAX_PASSAGES} + near.place, -e.id)
"""
_SELECT_NEIGHBORS = """
    select id, likeness from unnest(%(numbers)s::bigint[], %(likeness)s::float8[]) as each(id, likeness) where {words}
"""
_MATCHES_PHRASE = "exists (select 1 from search s where s.id = each.id and s.terms @@ %({0})s::tsquery)"


class PostgresVectorSearch(PostgresTextSearch, vector_search.EmbeddableTexts):
    """Implement `index.vectors.EmbeddedTexts` on one schema."""

    def find_rows(self, neighbors: Sequence[Neighbor]) -> Iterable[tuple[int, int, EmbeddableRow]]:
        """Return the current rows at the places of `neighbors`."""
        values = ([neighbor.path for neighbor in neighbors], [neighbor.place for neighbor in neighbors])
        for place, number, *row in self.database.execute(_SELECT_ROWS, values):
            yield place, number, EmbeddableRow(*row)

    def filter_rows(
        self, query: Query, agent_id: str | None, scored_rows: Sequence[tuple[int, float]]
    ) -> list[RankedRow]:
        """Return the rows that pass the query's filters and phrases, best first."""
        phrases = vector_search.build_phrase_values(query)
        values = {
            **filter_sql.build_values(query.filters, agent_id),
            "kinds": list(query.filters.kinds),
            "project_keys": list(query.filters.project_keys),
            **dict(zip(phrases, self.tokenizer.build_queries(list(phrases.values())), strict=True)),
            "numbers": [number for number, _ in scored_rows],
            "likeness": [likeness for _, likeness in scored_rows],
        }
        neighbors_sql = _SELECT_NEIGHBORS.format(words=vector_search.build_phrase_condition(query, _MATCHES_PHRASE))
        # `neighbors_sql` is in the server's SQL already.
        statement = vector_search.build_filter_statement(query.filters, "{near}")
        statement = to_postgres_sql(statement).replace("{near}", neighbors_sql)
        return [RankedRow(*row) for row in self.database.execute(statement, values)]

    def _read(self, statement: str, path: str | None, tokens: Sequence[str] = ()) -> Iterable[Any]:
        statement = re.sub(r"\bs\.rowid\b", "s.id", to_postgres_sql(statement)).replace("search_docsize", "search")
        values = {**vector_search.PUBLIC_VALUES, "path": path, "tokens": list(tokens)}
        return self.database.execute(statement, values)
