"""The one gate for private sessions: every reader and writer across sessions asks it (format: Captures; Books)."""

GLOBAL = "global"
"""The scope that every session sees: global books, MEMORY.md, context blocks, the default search."""


def session_scope(token: str) -> str:
    """Return the scope of a session's own books.

    >>> session_scope("h7k3n4p2m2x6q3r5")
    'session/h7k3n4p2m2x6q3r5'
    """
    return f"session/{token}"


def is_allowed_in_scope(scope: str, *, private: bool, token: str) -> bool:
    """Return whether content of a session may enter a scope: a book, a row or a visible text.

    Content of a private session stays in the session's own scope. `token` is the session's, "" outside of one.

    >>> is_allowed_in_scope("global", private=True, token="h7k3n4p2m2x6q3r5")
    False
    >>> is_allowed_in_scope("session/h7k3n4p2m2x6q3r5", private=True, token="h7k3n4p2m2x6q3r5")
    True
    """
    return not private or (token != "" and scope == session_scope(token))
