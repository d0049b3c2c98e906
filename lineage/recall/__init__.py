"""Recall: what memory holds about a prompt or an action, read from the index by the hook, in its own process.

The standard library only: a person waits for each of these reads.
"""
