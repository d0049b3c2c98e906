"""The API under `/api`: one table of routes; the OpenAPI document is another view of it."""

from lineage.web.api import memory, sessions

ROUTES = (*sessions.ROUTES, *memory.ROUTES)
PREFIX = "/api"

__all__ = ["PREFIX", "ROUTES"]
