"""SQL of the privacy rule: private sessions stay out of other scopes. (core/base/book_paths.py)."""

import sqlite3

from lineage.core.base.book_paths import GLOBAL, is_allowed_in_scope

GLOBAL_SCOPE_SQL = f"'{GLOBAL}'"


def register_privacy_function(connection: sqlite3.Connection) -> None:
    """Register `may_reach(scope, private, token)`, the SQL name of `is_allowed_in_scope`."""

    def check(scope: str, private: int, token: str) -> bool:
        return is_allowed_in_scope(scope, private=bool(private), token=token)

    connection.create_function("may_reach", 3, check, deterministic=True)


def build_privacy_condition(scope: str, token: str) -> str:
    """Return SQL, of two SQL expressions, that is true if the session has no rows or may be shown in `scope`."""
    private = f"coalesce((select max(private) from artifacts where session_token = {token}), 0)"
    return f"({private} = 0 or may_reach({scope}, {private}, {token}))"
