"""Books: what is learned, remembered, looked after and told to a new session."""
