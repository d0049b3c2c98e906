"""Keeping derived data true, verifying every promise, archiving, and removing sessions for good."""
