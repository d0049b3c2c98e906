"""The full text in PostgreSQL: a row for each passage and entry, and the count of every word."""

from collections.abc import Iterable, Mapping, Sequence

from lineage.core.passages import MOST
from lineage.index.postgres.words import Words
from lineage.index.texts import Text
from lineage.store.postgres import Postgres

ROWS, LENGTHS = "", " "
"""What stands in `vocabulary` beside words: how many rows there are, and how many words these have."""

_COLUMNS = ("id", "title", "sentence", "body", "turns", "terms", "words")
_DROPPED = """
    with gone as (delete from search s using unnest(%(first)s::bigint[], %(last)s::bigint[]) as span(first, last)
                  where s.id between span.first and span.last returning s.terms, s.words)
    select w.lexeme, -count(*) from gone, unnest(gone.terms) as w group by 1
    union all select '', -count(*) from gone
    union all select ' ', -coalesce(sum(words), 0) from gone
"""
_COUNTED = """
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


def write(database: Postgres, words: Words, texts: Iterable[Text], *, merges: bool) -> None:
    """Adds texts. `merges`: each word's count becomes one line again, but for those that somebody else is changing."""
    found = list(texts)
    if not found:
        return
    cut = words.cut(found)
    rows = ((*text, *cut.vectors.get(text[0], ("", 0))) for text in found)
    database.copied("search", _COLUMNS, rows)
    total = sum(length for _, length in cut.vectors.values())
    _count(database, {**cut.counts, ROWS: len(found), LENGTHS: total}, merges=merges)


def drop_passages(database: Postgres, numbers: Iterable[int], *, merges: bool) -> None:
    """Drops the passages of artifacts."""
    _drop(database, [(number * MOST, number * MOST + MOST - 1) for number in numbers], merges=merges)


def drop_entries(database: Postgres, numbers: Iterable[int], *, merges: bool) -> None:
    _drop(database, [(-number, -number) for number in numbers], merges=merges)


def _drop(database: Postgres, spans: Sequence[tuple[int, int]], *, merges: bool) -> None:
    if not spans:
        return
    first, last = zip(*spans, strict=True)
    counts = dict(database.rows(_DROPPED, {"first": list(first), "last": list(last)}))
    if counts[ROWS]:
        _count(database, {word: int(count) for word, count in counts.items()}, merges=merges)


def _count(database: Postgres, counts: Mapping[str, int], *, merges: bool) -> None:
    values = {"words": list(counts), "counts": list(counts.values()), "merges": merges}
    database.rows(_COUNTED, values)
