"""The command line for lessons, as scenarios have it."""

from tests.scenarios.conftest import lineage

__all__ = ["lineage"]
