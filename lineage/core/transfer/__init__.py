"""Bundles of sessions (`bundle`) and the paths of archived artifacts (`archive_paths`)."""
