"""The API under `/api`: one table of routes; the OpenAPI document is another view of it."""

from lineage.web.api import memory, notes, sessions

ROUTES = (*sessions.ROUTES, *memory.ROUTES, *notes.ROUTES)
PREFIX = "/api"

__all__ = ["PREFIX", "ROUTES"]
