"""The use case search: find by words and meaning, follow references, look at a session, embed passages."""
