"""The page for people: one table of addresses. Everything works without JavaScript."""

from lineage.web.pages import help, memory, sessions, status

PAGES = (*sessions.PAGES, *memory.PAGES, *status.PAGES, *help.PAGES)

__all__ = ["PAGES"]
