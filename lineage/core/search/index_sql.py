"""The base of every reader of the index: the numbers of its rows, and the conditions for visible rows.

In the SQL `a` is an artifact and `e` an entry of a book; `:agent` is the agent that asks, null for a person. The hook
path imports this module, so it imports nothing.
"""

MAX_PASSAGES = 1 << 20
"""The largest number of passages of a text; those of a longer text are longer."""
MAX_OF_KIND = MAX_PASSAGES // 2
"""The largest number of passages of what is said, and of those of tools."""

OWNER = "iif({0}.project_key = '', {0}.session_token, {0}.project_key)"
"""What the hashes of tools' output belong to: the project, of a session without one the session."""

AGENT_SCOPE_PREFIX = "agent/"
_USER_STATED = "[user-stated]"  # core/books/entry.py

# A private session's content stays in the session's own scope (core/base/book_paths.py, `is_allowed_in_scope`): what
# is shown outside of it is of sessions that are not private, or have no rows.
_NOT_PRIVATE = "coalesce((select max(private) from artifacts where session_token = {}), 0) = 0"
_VISIBLE_OWNER = (
    "exists (select 1 from artifacts where session_token = e.owner and visible = 1"
    " and (:agent is null or agent_id = :agent))"
)
_FROM_OTHER_AGENT = "exists (select 1 from artifacts s where s.session_token = e.origin_token and s.agent_id != :agent)"

SHOWN_ARTIFACT = "a.visible = 1 and a.private = 0 and (:agent is null or a.agent_id = :agent)"
SHOWN_ENTRY = " and ".join((
    _NOT_PRIVATE.format("e.origin_token"),
    f"(e.owner = '' or {_NOT_PRIVATE.format('e.owner')} and {_VISIBLE_OWNER})",
    f"(:agent is null or e.scope not like '{AGENT_SCOPE_PREFIX}%' or e.scope = '{AGENT_SCOPE_PREFIX}' || :agent)",
    f"(:agent is null or e.trust = '{_USER_STATED}' or not {_FROM_OTHER_AGENT})",
))  # fmt: skip
"""An agent sees neither the books of other agents nor what was learned from their sessions, unless a user stated it."""

OTHER_SESSIONS_ENTRY = (
    "not exists (select 1 from artifacts s where s.session_token = e.origin_token and s.session_id = :session)"
)
"""Whether an entry isn't of the session that runs, `:session`."""
PROJECT_OF_ENTRY = "coalesce((select max(project_key) from artifacts where session_token = e.origin_token), '')"
"""The key of the project that an entry's session ran in, "" for none."""

ALLOWED_ENTRY = (
    f"({_NOT_PRIVATE.format('e.origin_token')} or e.origin_token != '' and e.scope = 'session/' || e.origin_token)"
)
"""Whether an entry may stand in its book: what came of a private session stays in that session's own."""
