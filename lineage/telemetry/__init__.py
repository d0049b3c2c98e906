"""Runtime state where the database is the authority: what was counted and when. (spec: authority split)

A second database file: deleting or rebuilding the index does not touch it.
"""

from lineage.telemetry.runtime import ModelUsage, SeenSession, Telemetry

__all__ = ["ModelUsage", "SeenSession", "Telemetry"]
