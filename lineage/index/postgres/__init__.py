"""The index in PostgreSQL: shared by many machines, a schema for each workspace. (index/base.py)."""

from lineage.index.postgres.index import PostgresIndex

__all__ = ["PostgresIndex"]
