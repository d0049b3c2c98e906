"""The derived index: disposable, rebuilt by reindex, never asked what is true. (spec: derived DB contract)

SQLite here; PostgreSQL, where many machines share one, is in `index.postgres`.
"""

from typing import TYPE_CHECKING

from lineage.core.base.lazy import export_lazily

if TYPE_CHECKING:
    from lineage.index.base import Index, IndexedFile
    from lineage.index.books import BookFile, BookFiles, BookRows, EntryRow, build_book_rows, parse_owner_token
    from lineage.index.fts_query import build_match_expression
    from lineage.index.publish_queue import QueuedCapture
    from lineage.index.recall import RecalledSession, RecallResult
    from lineage.index.rows import ArtifactRow, TurnTexts, build_row, build_row_from_hash
    from lineage.index.sessions import SessionRow
    from lineage.index.sqlite import SqliteIndex
    from lineage.index.text_search import ENTRY_KIND, SNIPPET_MARKS, Hit
else:
    _HOMES = {
        "base": (
            "Index",
            "IndexedFile",
        ),
        "books": (
            "EntryRow",
            "BookFile",
            "BookRows",
            "BookFiles",
            "parse_owner_token",
            "build_book_rows",
        ),
        "fts_query": ("build_match_expression",),
        "publish_queue": ("QueuedCapture",),
        "recall": (
            "RecallResult",
            "RecalledSession",
        ),
        "rows": (
            "ArtifactRow",
            "TurnTexts",
            "build_row",
            "build_row_from_hash",
        ),
        "text_search": (
            "ENTRY_KIND",
            "SNIPPET_MARKS",
            "Hit",
        ),
        "sessions": ("SessionRow",),
        "sqlite": ("SqliteIndex",),
    }
    __getattr__ = export_lazily(__name__, {name: home for home, names in _HOMES.items() for name in names})

__all__ = [
    "ENTRY_KIND",
    "SNIPPET_MARKS",
    "ArtifactRow",
    "BookFile",
    "BookFiles",
    "BookRows",
    "EntryRow",
    "Hit",
    "Index",
    "IndexedFile",
    "QueuedCapture",
    "RecallResult",
    "RecalledSession",
    "SessionRow",
    "SqliteIndex",
    "TurnTexts",
    "build_book_rows",
    "build_match_expression",
    "build_row",
    "build_row_from_hash",
    "parse_owner_token",
]
