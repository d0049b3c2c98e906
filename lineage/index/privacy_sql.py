"""The gate of private sessions, as the queries of the index ask it. (core/privacy.py)"""

import sqlite3

from lineage.core.base.privacy import GLOBAL, is_allowed_in_scope

GLOBAL_SCOPE_SQL = f"'{GLOBAL}'"


def register_privacy_function(connection: sqlite3.Connection) -> None:
    """Gives a connection the function `is_allowed_in_scope`."""

    def asked(scope: str, private: int, token: str) -> bool:
        return is_allowed_in_scope(scope, private=bool(private), token=token)

    connection.create_function("may_reach", 3, asked, deterministic=True)


def build_privacy_condition(scope: str, token: str) -> str:
    """SQL: whether what a session said may come into a scope; nothing is known against one that isn't there."""
    private = f"coalesce((select max(private) from artifacts where session_token = {token}), 0)"
    return f"({private} = 0 or may_reach({scope}, {private}, {token}))"
