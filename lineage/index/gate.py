"""The gate of private sessions, as the queries of the index ask it. (core/privacy.py)"""

import sqlite3

from lineage.core.privacy import GLOBAL, may_reach

EVERYWHERE = f"'{GLOBAL}'"


def ask_the_gate(connection: sqlite3.Connection) -> None:
    """Gives a connection the function `may_reach`."""

    def asked(scope: str, private: int, token: str) -> bool:
        return may_reach(scope, private=bool(private), token=token)

    connection.create_function("may_reach", 3, asked, deterministic=True)


def reaches(scope: str, token: str) -> str:
    """SQL: whether what a session said may come into a scope; nothing is known against one that isn't there."""
    private = f"coalesce((select max(private) from artifacts where session_token = {token}), 0)"
    return f"({private} = 0 or may_reach({scope}, {private}, {token}))"
