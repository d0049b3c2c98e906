"""The API under `/api`: one table of routes, of which the OpenAPI document is another view."""

from lineage.web.api import memory, notes, sessions

ROUTES = (*sessions.ROUTES, *memory.ROUTES, *notes.ROUTES)
PREFIX = "/api"

__all__ = ["PREFIX", "ROUTES"]
