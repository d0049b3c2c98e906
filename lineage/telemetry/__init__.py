"""Runtime state, of which the database is the authority: counters and their times. (spec: authority split).

It has a database of its own, which deleting or rebuilding the index does not touch.
"""

from lineage.telemetry.runtime import ModelUsage, SeenSession, Telemetry

__all__ = ["ModelUsage", "SeenSession", "Telemetry"]
