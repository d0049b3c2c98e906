"""The derived SQLite index: disposable, rebuilt by reindex, never asked what is true. (spec: derived DB contract)"""

from lineage.index.query import match_expression
from lineage.index.rows import Row, row_of
from lineage.index.sqlite import MARK, Hit, Index, Known, SessionRow

__all__ = ["MARK", "Hit", "Index", "Known", "Row", "SessionRow", "match_expression", "row_of"]
