"""Close tasks that a session has done, and open them again when that session is removed (usefulness).

What was found in transcripts is closed by what an agent's closing message says, unless that repeats a tool. What a
person typed, pinned or changed is the person's to tick.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from lineage.core.base.book_paths import GLOBAL, BookRef, is_allowed_in_scope
from lineage.core.base.links import wikilink
from lineage.core.base.naming import TRANSCRIPT
from lineage.core.base.times import shift_time, to_date
from lineage.core.books import book_edits
from lineage.core.books.book import Book
from lineage.core.books.entry import TASK, Entry
from lineage.core.books.sightings import TASK_DAYS, close_task, mention_task
from lineage.core.format.documents import Artifact
from lineage.core.format.tool_overlap import Statement, ToolEvidence
from lineage.core.format.turns import Turn
from lineage.extraction.tasks import SessionOutcome, find_sentence_that_closes, is_mentioned, read_outcome
from lineage.index import SessionFilter
from lineage.pipeline.memory.merge_statements import is_learned
from lineage.pipeline.memory.workspace_evidence import gather_artifact_evidence
from lineage.workspace.book_folders import resolve_project_folder
from lineage.workspace.lookup import load_readable_document
from lineage.workspace.projects import list_sessions
from lineage.workspace.workspace import Workspace, tolerate_outage

_MAX_LATER = 20  # sessions that are read for what they have done


class Closing(NamedTuple):
    """A session's claims of finished work, for the tasks of a book."""

    ref: BookRef
    at: str
    origin: str
    outcome: SessionOutcome


def find_closing(ws: Workspace, artifact: Artifact, evidence: ToolEvidence, turns: Sequence[Turn]) -> Closing | None:
    """Return the closings that a session's turns may bring, None without open tasks in its project."""
    may_leave = is_allowed_in_scope(GLOBAL, private=artifact.private, token=artifact.identity.token)
    project = resolve_project_folder(ws, artifact.project, artifact.repository) if may_leave else None
    ref = BookRef(f"project/{project}", TASK)
    if not project or not any(map(_may_close, ws.documents.books.read(ref).active_entries)):
        return None
    outcome = read_outcome(turns)
    said = [Statement(len(turns), sentence) for sentence in outcome.sentences]
    tools = evidence.find_tools(said) if said else []
    own = tuple(one.text for one, tool in zip(said, tools, strict=True) if not tool)
    return Closing(ref, artifact.captured_at, wikilink(artifact.path), outcome._replace(sentences=own))


def find_later_closings(ws: Workspace, artifact: Artifact) -> Iterator[Closing]:
    """Yield the closings of sessions that were captured before an older one left a task, as an import captures them.

    A task of long ago is stale whether it was done or not: only those of the last days are worth reading for.
    """
    is_stale = to_date(artifact.captured_at) < to_date(shift_time(ws.now, days=-TASK_DAYS))
    if is_stale or not artifact.project:
        return
    later = list[str]()
    with tolerate_outage(ws):
        for row in list_sessions(ws, None, wanted=SessionFilter(project=artifact.project), limit=_MAX_LATER):
            files = ws.index.list_session_files(row.session_token) if row.membership_ts > artifact.captured_at else []
            later += [path for path, kind in files if kind == TRANSCRIPT][-1:]
    for path in sorted(later):
        document = load_readable_document(ws, path)
        if isinstance(document, Artifact) and document.captured_at > artifact.captured_at:
            evidence = gather_artifact_evidence(ws, document)
            if closing := find_closing(ws, document, evidence, evidence.turns):
                yield closing


def close_tasks(ws: Workspace, closing: Closing) -> None:
    """Tick the open tasks of a book that a session has done, and note those it speaks of. The caller indexes it."""
    ref = closing.ref
    ws.documents.books.update(ref.scope, ref.kind, partial(_close, closing=closing))


def _close(book: Book, closing: Closing) -> Book:
    for part in book.parts:
        entry = part.entry
        if entry is None or not part.is_complete or not _may_close(entry) or entry.at > closing.at:
            continue
        if find_sentence_that_closes(entry.body, entry.about, closing.outcome):
            book = book_edits.replace_entry(book, close_task(entry, closing.at, closing.origin))
        elif is_mentioned(entry.body, closing.outcome):
            book = book_edits.replace_entry(book, mention_task(entry, closing.at, closing.origin))
    return book


def _may_close(entry: Entry) -> bool:
    return entry.done is False and is_learned(entry) and not entry.is_touched
