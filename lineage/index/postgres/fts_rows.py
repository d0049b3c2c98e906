"""The full text in PostgreSQL: a row for each passage and entry, and the count of every word."""

from collections.abc import Iterable, Mapping, Sequence

from lineage.core.search.index_sql import MAX_PASSAGES
from lineage.database.postgres import Postgres
from lineage.index.fts_rows import FtsRow
from lineage.index.postgres.tokenizer import Tokenizer

ROW_COUNT_TERM, WORD_COUNT_TERM = "", " "
"""Terms of `vocabulary` that are no words: they count all rows, and the words of all rows."""

_COLUMNS = ("id", "title", "sentence", "body", "turns", "terms", "words")
_DELETE_ROWS = """
    with gone as (delete from search s using unnest(%(first)s::bigint[], %(last)s::bigint[]) as span(first, last)
                  where s.id between span.first and span.last returning s.terms, s.words)
    select w.lexeme, -count(*) from gone, unnest(gone.terms) as w group by 1
    union all select '', -count(*) from gone
    union all select ' ', -coalesce(sum(words), 0) from gone
"""
# Lines that another writer is changing are skipped, so that writers never wait: a word may have several lines.
_UPDATE_COUNTS = """
    with counted as (
        delete from vocabulary where ctid = any(array(
            select ctid from vocabulary where %(merges)s and term = any(%(words)s::text[]) for update skip locked))
        returning term, rows)
    insert into vocabulary
    select term, sum(rows)
    from (select * from counted
          union all select * from unnest(%(words)s::text[], %(counts)s::bigint[])) as line(term, rows)
    group by term having sum(rows) <> 0
"""


def insert_rows(database: Postgres, tokenizer: Tokenizer, fts_rows: Iterable[FtsRow], *, merge_counts: bool) -> None:
    """Insert rows of text. With `merge_counts` each word's counts become one line again."""
    texts = list(fts_rows)
    if not texts:
        return
    tokens = tokenizer.tokenize(texts)
    database.copy_rows("search", _COLUMNS, ((*text, *tokens.vectors.get(text[0], ("", 0))) for text in texts))
    words = sum(length for _, length in tokens.vectors.values())
    counts = {**tokens.counts, ROW_COUNT_TERM: len(texts), WORD_COUNT_TERM: words}
    _add_counts(database, counts, merge_counts=merge_counts)


def delete_passages(database: Postgres, numbers: Iterable[int], *, merge_counts: bool) -> None:
    """Delete the passages of artifacts, given by the numbers of their rows."""
    spans = [(number * MAX_PASSAGES, number * MAX_PASSAGES + MAX_PASSAGES - 1) for number in numbers]
    _delete_spans(database, spans, merge_counts=merge_counts)


def delete_entries(database: Postgres, numbers: Iterable[int], *, merge_counts: bool) -> None:
    """Delete the text of entries, given by the numbers of their rows."""
    _delete_spans(database, [(-number, -number) for number in numbers], merge_counts=merge_counts)


def _delete_spans(database: Postgres, spans: Sequence[tuple[int, int]], *, merge_counts: bool) -> None:
    if not spans:
        return
    first, last = zip(*spans, strict=True)
    counts = dict(database.execute(_DELETE_ROWS, {"first": list(first), "last": list(last)}))
    if counts[ROW_COUNT_TERM]:
        _add_counts(database, {word: int(count) for word, count in counts.items()}, merge_counts=merge_counts)


def _add_counts(database: Postgres, counts: Mapping[str, int], *, merge_counts: bool) -> None:
    values = {"words": list(counts), "counts": list(counts.values()), "merges": merge_counts}
    database.execute(_UPDATE_COUNTS, values)
