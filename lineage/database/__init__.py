"""Database engines: SQLite files of this machine (`sqlite`), and a PostgreSQL server (`postgres`, optional)."""
