"""The ground of lineage, on the standard library alone: times, identities, names and paths, markdown, privacy.

The hook path imports `address`, `hook_output` and `hook_protocol`, so this package re-exports nothing.
"""
