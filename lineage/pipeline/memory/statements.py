"""The person's statements of a running session, kept before a compaction, until a capture derives them with links.

They lie in the session's own books, tagged and without a link: the session alone is told of them. What a person has
changed or forgotten there in the meantime stays as it is, and isn't derived again.
"""

import json
from collections.abc import Sequence
from functools import reduce

from lineage.core.base.book_paths import BookRef, parse_book_path, session_scope
from lineage.core.books.book_edits import remove_entry
from lineage.core.books.entry import Entry, compute_entry_id
from lineage.core.format.turns import USER, Turn
from lineage.extraction import admission_policy as policy
from lineage.extraction.candidates import extract_candidates
from lineage.pipeline.memory.entry_writer import TURN, drop_settled, write_entries
from lineage.pipeline.memory.session_entries import list_session_books
from lineage.workspace.book_index import index_books
from lineage.workspace.workspace import Workspace

UNCAPTURED = "uncaptured"


def keep_statements(ws: Workspace, context: policy.CandidateContext, turns: Sequence[Turn], at: str) -> None:
    """Replace the statements that were kept of a session by those in the person's own words in these turns.

    The caller holds the session's lock.
    """
    settled = withdraw_statements(ws, context.token)
    spoken = (item for item in extract_candidates(turns) if item.role == USER and not item.tool)
    judged = (policy.admit(item, context, scope=session_scope(context.token)) for item in spoken)
    admissions = [item for item in judged if isinstance(item, policy.Admission)]
    write_entries(ws, drop_settled(admissions, context.token, settled), at=at, origin=None, tags=(UNCAPTURED,))


def withdraw_statements(ws: Workspace, token: str) -> frozenset[str]:
    """Take the kept statements out of a session's books. Return the ids of those that a person changed or forgot."""
    settled, changed = set[str](), []
    for ref in filter(None, map(parse_book_path, list_session_books(ws, token))):
        book = ws.documents.books.read(ref)
        kept = [entry for entry in book.entries if UNCAPTURED in entry.tags]
        untouched = [entry.id for entry in kept if not _is_touched(ref, entry)]
        settled |= book.forgotten_ids.union(entry.id for entry in kept) - set(untouched)
        if untouched:
            ws.documents.books.write_merged(ref, book, reduce(remove_entry, untouched, book))
            changed.append(ref)
    index_books(ws, changed)
    return frozenset(settled)


def _is_touched(ref: BookRef, entry: Entry) -> bool:
    turn_id = json.loads(dict(entry.more).get(TURN, '""'))
    is_changed = compute_entry_id(ref.scope, ref.kind, entry.body, turn_id) != entry.id
    return is_changed or entry.is_touched
