"""The derived index: disposable, rebuilt by reindex, never asked what is true. (spec: derived DB contract)

SQLite here; PostgreSQL, where many machines share one, is in `index.postgres`.
"""

from lineage.index.base import Index, Known, SessionRow
from lineage.index.books import EntryRow, Shelf, Shelved, Shelves, owner_of, shelved
from lineage.index.query import match_expression
from lineage.index.recalling import Recalled, RecalledSession
from lineage.index.rows import Row, row_of
from lineage.index.searching import ENTRY, MARK, Hit
from lineage.index.sqlite import SqliteIndex

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
    "SessionRow",
    "Shelf",
    "Shelved",
    "Shelves",
    "SqliteIndex",
    "match_expression",
    "owner_of",
    "row_of",
    "shelved",
]
