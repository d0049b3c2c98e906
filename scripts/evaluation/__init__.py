"""`scripts/eval`: questions whose sessions are known, asked of search, of plain FTS5 over whole sessions and of grep.

`coding.txt` is this project's own set: a session begins with `==` (id, project, day, `removed`), turns with `U:`, `A:`
and `T tool input: result`; `?` is a question that the session answers, `!` one that nothing may answer any more.
"""
