"""The commands of `lineage memory`."""
