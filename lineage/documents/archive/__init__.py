"""The archive of a workspace: artifacts packed by month, and the store that reads them in their place.

A guest: `Documents` imports it for a workspace with an archive, and for a use case that asks for its bundles.
"""
