"""The page for people: one table of addresses. Everything works without JavaScript."""

from lineage.web.pages import memory, sessions

PAGES = (*sessions.PAGES, *memory.PAGES)

__all__ = ["PAGES"]
