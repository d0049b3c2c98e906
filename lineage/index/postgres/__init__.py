"""The index in PostgreSQL: many machines share it, each workspace has a schema of its own. (index/base.py)"""

from lineage.index.postgres.index import PostgresIndex

__all__ = ["PostgresIndex"]
