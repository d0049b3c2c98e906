"""The derived index: disposable, rebuilt by reindex, never the authority. (spec: derived DB contract).

`base` is the port, `sqlite` the engine of one machine; `postgres` is a guest for many machines that share an index.
"""

from lineage.full_text import build_match_expression
from lineage.index.base import Index, IndexedFile
from lineage.index.books import (
    BookFile,
    BookFiles,
    BookRows,
    EntryRow,
    ListedEntry,
    build_book_rows,
    parse_owner_token,
)
from lineage.index.publish_queue import QueuedCapture
from lineage.index.recall import RecalledSession, RecallQuery, RecallResult
from lineage.index.rows import ArtifactRow, TurnTexts, build_row, build_row_from_hash, list_edited_files
from lineage.index.sessions import SessionFilter, SessionRow
from lineage.index.sqlite import SqliteIndex
from lineage.index.text_search import ENTRY_KIND, SNIPPET_MARKS, Hit, Superseded
from lineage.index.tool_runs import Printed

__all__ = [
    "ENTRY_KIND", "SNIPPET_MARKS", "ArtifactRow", "BookFile", "BookFiles", "BookRows", "EntryRow", "Hit", "Index",
    "IndexedFile", "ListedEntry", "Printed", "QueuedCapture", "RecallQuery", "RecallResult", "RecalledSession",
    "SessionFilter", "SessionRow", "SqliteIndex", "Superseded", "TurnTexts", "build_book_rows",
    "build_match_expression", "build_row", "build_row_from_hash", "list_edited_files", "parse_owner_token",
]  # fmt: skip
