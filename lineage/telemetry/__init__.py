"""Runtime state with the database as its authority: counters and their times. (spec: authority split).

It has a database of its own: deleting or rebuilding the index does not touch it.
"""

from lineage.telemetry.runtime import ModelUsage, SeenSession, Telemetry

__all__ = ["ModelUsage", "SeenSession", "Telemetry"]
