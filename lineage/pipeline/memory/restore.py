"""A forgotten entry may come back: `lineage memory restore`."""

from collections.abc import Sequence

from lineage.core.base.book_paths import BookRef
from lineage.core.books.book import Book, with_parts
from lineage.errors import NotFoundError
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.book_changes import change_books
from lineage.pipeline.memory.books import refuse_agents
from lineage.workspace.workspace import Workspace


def restore_entries(
    ws: Workspace, prefixes: Sequence[str], caller: Caller | None = None
) -> tuple[list[tuple[str, list[BookRef]]], list[str]]:
    """Restore those that are forgotten. Return each id with its books, and why the others were left.

    Raises NotFoundError if none is forgotten, and as `restore_entry`.
    """
    restored, problems = list[tuple[str, list[BookRef]]](), list[NotFoundError]()
    for prefix in dict.fromkeys(prefixes):
        try:
            restored.append(restore_entry(ws, prefix, caller))
        except NotFoundError as problem:
            problems.append(problem)
    if problems and not restored:
        raise NotFoundError("; ".join(one.message for one in problems), hint=problems[0].hint)
    return restored, [one.message for one in problems]


def restore_entry(ws: Workspace, prefix: str, caller: Caller | None = None) -> tuple[str, list[BookRef]]:
    """Delete the tombstones of a forgotten entry; return its id and the books that held one.

    Its words may be learned or remembered again; forgetting left no copy of them here. Raises NotFoundError for no id
    or many, LineageError inside a harness.
    """
    refuse_agents(caller, "let a forgotten entry come back")
    refs = list(ws.documents.books.list())
    held = {ref: ws.documents.books.read(ref).forgotten_ids for ref in refs}
    names = sorted({name for ids in held.values() for name in ids if prefix and name.startswith(prefix.lower())})
    if len(names) != 1:
        problem = (
            f"several forgotten entries begin with {prefix[:40]!r}" if names else f"{prefix[:40]!r} is not forgotten"
        )
        hint = "the lines `<!-- lineage:forgotten ID -->` in books/ have the ids: `lineage memory restore ID`"
        raise NotFoundError(problem, hint=hint)

    def drop_tombstone(book: Book) -> Book:
        return with_parts(book, [part for part in book.parts if part.forgotten_id != names[0]])

    found = [ref for ref, ids in held.items() if names[0] in ids]

    def restore(staged: Workspace) -> None:
        for ref in found:
            staged.documents.books.update(ref.scope, ref.kind, drop_tombstone, ref.shelf)

    change_books(ws, restore)
    return names[0], found
