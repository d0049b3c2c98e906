"""`scripts/eval`: questions whose sessions are known, asked of search, of FTS5, of tantivy and of grep.

`coding.txt` is this project's own set: a session begins with `==` (id, project, day, `removed`), turns with `U:`, `A:`
and `T tool input: result`; `? kind |` is a question that the session answers, `!` one that nothing may answer any more.
Its kinds: exact error text, an identifier, a decision, a paraphrase, a vague memory, mistyped, about a time, and in
another language than the session's. A question's checksum says which half it is in: nothing is tuned on the odd ones.
"""
