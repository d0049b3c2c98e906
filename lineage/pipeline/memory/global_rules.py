"""The user's statements in two projects are proposed for all of them, and wait (usefulness: learning)."""

from lineage.core.base.about import FILE, split_subject
from lineage.core.base.book_paths import GLOBAL, BookRef
from lineage.core.base.normalize import tokenize
from lineage.core.books.entry import USER_STATED, Entry
from lineage.extraction.amendments import build_statement_key
from lineage.extraction.sentence_kinds import DECISION, PREFERENCE
from lineage.pipeline.memory.merge_statements import is_learned
from lineage.workspace.workspace import Workspace

_PROJECT = "project/"
_KINDS = (PREFERENCE, DECISION)


def find_same_elsewhere(ws: Workspace, ref: BookRef, entry: Entry) -> Entry | None:
    """Return the same statement of the user's in another project's book; None for one that can't hold everywhere.

    What is bound to a file, names its project or is global already can't.
    """
    key = build_statement_key(entry.body)
    is_rule = ref.scope.startswith(_PROJECT) and ref.kind in _KINDS and not ref.shelf
    if not (is_rule and key and is_learned(entry) and entry.trust == USER_STATED):
        return None
    if any(split_subject(subject)[0] == FILE for subject in entry.about) or _names(entry, ref.scope):
        return None
    found = (
        (other, one)
        for other in ws.documents.books.list()
        if other.kind in _KINDS and not other.shelf and other.scope != ref.scope
        for one in ws.documents.books.read(other).active_entries
        if build_statement_key(one.body) == key
    )
    same = None
    for other, one in found:
        if other.scope == GLOBAL:
            return None
        if other.scope.startswith(_PROJECT) and one.trust == USER_STATED and not _names(one, other.scope):
            same = same or one
    return same


def _names(entry: Entry, scope: str) -> bool:
    """Return whether an entry names the project of its book."""
    name = tokenize(scope.removeprefix(_PROJECT))
    words = tokenize(entry.body)
    return any(words[at : at + len(name)] == name for at in range(len(words)))
