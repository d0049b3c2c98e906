"""The store in a dictionary, under two names for tests."""

from lineage.store.memory import MemoryStore

LaptopStore = MemoryStore  # stays in memory where `engines.use_bucket` puts a bucket in the place of the other name

__all__ = ["LaptopStore", "MemoryStore"]
