"""The use case memory: entries are learned, remembered, changed, and given to a new session."""
