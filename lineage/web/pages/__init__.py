"""The page for people: one table of addresses. Everything works without JavaScript."""

from lineage.web.pages import memory, sessions, status

PAGES = (*sessions.PAGES, *memory.PAGES, *status.PAGES)

__all__ = ["PAGES"]
