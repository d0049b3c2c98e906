"""What agents remembered on request, judged by the capture of their session (usefulness: What is learned).

It lies on the pending shelf until then, and its own session alone is told of it. A capture judges what its turns show
the call of: a text that repeats no tool is in force afterwards, as derived; any other waits for the user. So does one
whose call no capture shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lineage.core.base import naming
from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, is_allowed_in_scope, session_scope
from lineage.core.base.links import wikilink
from lineage.core.base.normalize import normalize_text
from lineage.core.books import book_edits
from lineage.core.books.book import Book
from lineage.core.books.entry import Entry, compute_entry_id
from lineage.core.capture.ledger import find_parent
from lineage.core.format.documents import Artifact
from lineage.core.format.tool_overlap import Statement, ToolEvidence, split_pieces
from lineage.pipeline.memory.entry_writer import collect_known, parse_quote
from lineage.pipeline.memory.merge_statements import may_supersede
from lineage.pipeline.memory.workspace_evidence import gather_artifact_evidence
from lineage.workspace.book_index import index_books
from lineage.workspace.workspace import Workspace


def judge_memos(ws: Workspace, artifact: Artifact, evidence: ToolEvidence | None = None) -> None:
    """Judge what the session's agent remembered up to a capture. `evidence` is that of its turns, if the caller has it.

    The caller holds the session's lock. A second run finds nothing to do.
    """
    unknown = naming.derive_unknown_session_token(artifact.agent_id)
    # A sub-agent's commands run in the session that started it.
    tokens = {artifact.identity.token, unknown, find_parent(artifact) or unknown}
    for scope, kind in ws.index.find_books_of_sessions(tokens):
        pending = ws.documents.books.get(scope, kind, PENDING)
        due = [
            entry
            for entry in pending.entries
            if entry.is_unjudged
            and entry.at <= artifact.captured_at
            and not tokens.isdisjoint(naming.find_tokens(entry.origin or ""))
        ]
        if due:
            evidence = evidence or gather_artifact_evidence(ws, artifact)
            index_books(ws, _judge_book(ws, _Judge(artifact, evidence, unknown), pending, due))


@dataclass(frozen=True, slots=True)
class _Judge:
    """The capture that judges. `unknown` is the token of entries whose command wasn't told its session."""

    artifact: Artifact
    evidence: ToolEvidence
    unknown: str

    def judge(self, entry: Entry, scope: str) -> tuple[Entry, bool] | None:
        """Return the judged entry, and whether it waits for the user; None if no turn shows its call."""
        quote = parse_quote(entry)
        place = self.evidence.find_call(quote)
        if place is None:
            return None
        name = scope.partition("/")[2]
        pieces = [*split_pieces(quote), *split_pieces(entry.body), *entry.tags, *entry.about, name]
        statements = [Statement(place - self.evidence.offset, piece) for piece in pieces]
        tool = next(filter(None, self.evidence.find_tools(statements)), None)
        is_bound = self.unknown not in naming.find_tokens(entry.origin or "")
        origin = entry.origin if is_bound else wikilink(self.artifact.manifest_path)
        waits = tool is not None or scope == GLOBAL or any(self.evidence.find_waiting(statements))
        return book_edits.mark_judged(entry)._replace(tool=tool, origin=origin), waits


def _judge_book(ws: Workspace, judge: _Judge, pending: Book, due: Sequence[Entry]) -> list[BookRef]:
    """Write the judgements of entries on a pending shelf. Return the changed books."""
    scope, kind, token = pending.scope, pending.kind, judge.artifact.identity.token
    # Nothing of a private session leaves it; before its first capture nobody knew that it is one.
    is_allowed = is_allowed_in_scope(scope, private=judge.artifact.private, token=token)
    target = BookRef(scope if is_allowed else session_scope(token), kind)
    book = ws.documents.books.read(target)
    left, grown = pending, book
    for entry in due:
        if (judged := judge.judge(entry, scope)) is None:
            continue
        new, waits = judged
        is_last_word = all(may_supersede(grown, new, old) for old in grown.entries if old.id in new.supersedes)
        if is_allowed and (waits or not is_last_word):
            left = book_edits.replace_entry(left, new)
            continue
        left = book_edits.remove_entry(left, entry.id)
        known, forgotten = collect_known([grown])
        typed_id = compute_entry_id(scope, kind, new.body, None)
        if normalize_text(new.body) not in known and forgotten.isdisjoint((new.id, typed_id)):
            grown = book_edits.add(grown, new)
    # The target first: a crash between the two leaves the entry twice, never lost.
    ws.documents.books.write_merged(target, book, grown)
    ws.documents.books.write_merged(BookRef(scope, kind, PENDING), pending, left)
    ws.documents.books.roll_over(target.scope, kind)
    return [BookRef(scope, kind), target]
