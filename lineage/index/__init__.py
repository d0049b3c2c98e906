"""The derived index: disposable, rebuilt by reindex, never asked what is true. (spec: derived DB contract)

SQLite here; PostgreSQL, where many machines share one, is in `index.postgres`.
"""

from typing import TYPE_CHECKING

from lineage.core.lazily import exporting

if TYPE_CHECKING:
    from lineage.index.base import Index, Known
    from lineage.index.books import EntryRow, Shelf, Shelved, Shelves, owner_of, shelved
    from lineage.index.query import match_expression
    from lineage.index.queue import Waiting
    from lineage.index.recalling import Recalled, RecalledSession
    from lineage.index.rows import Row, Said, row_of, row_with
    from lineage.index.searching import ENTRY, MARK, Hit
    from lineage.index.sessions import SessionRow
    from lineage.index.sqlite import SqliteIndex
else:
    _HOMES = {
        "base": ("Index", "Known"),
        "books": ("EntryRow", "Shelf", "Shelved", "Shelves", "owner_of", "shelved"),
        "query": ("match_expression",),
        "queue": ("Waiting",),
        "recalling": ("Recalled", "RecalledSession"),
        "rows": ("Row", "Said", "row_of", "row_with"),
        "searching": ("ENTRY", "MARK", "Hit"),
        "sessions": ("SessionRow",),
        "sqlite": ("SqliteIndex",),
    }
    __getattr__ = exporting(__name__, {name: home for home, names in _HOMES.items() for name in names})

__all__ = [
    "ENTRY",
    "MARK",
    "EntryRow",
    "Hit",
    "Index",
    "Known",
    "Recalled",
    "RecalledSession",
    "Row",
    "Said",
    "SessionRow",
    "Shelf",
    "Shelved",
    "Shelves",
    "SqliteIndex",
    "Waiting",
    "match_expression",
    "owner_of",
    "row_of",
    "row_with",
    "shelved",
]
