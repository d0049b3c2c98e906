"""Pure renderings of typed entries: MEMORY.md, the context of a new session, and the notes of an archive."""
