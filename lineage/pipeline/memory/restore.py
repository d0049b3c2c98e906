"""A forgotten entry may come back: `lineage memory restore`."""

from collections.abc import Sequence
from dataclasses import dataclass

from lineage.core.base.book_paths import BookRef
from lineage.core.books.book import Book, with_parts
from lineage.errors import NotFoundError
from lineage.harness.detect_caller import Caller
from lineage.pipeline.memory.book_changes import change_books
from lineage.pipeline.memory.books import refuse_agents
from lineage.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Restored:
    """An id that was restored, `ids` with all that its forgetting put away, and the books that held one of them."""

    id: str
    ids: tuple[str, ...]
    refs: tuple[BookRef, ...]


def restore_entries(
    ws: Workspace, prefixes: Sequence[str], caller: Caller | None = None
) -> tuple[list[Restored], list[str]]:
    """Restore those that are forgotten, each with what its forgetting put away. Return them, and why others were left.

    Raises NotFoundError if none is forgotten, and as `restore_entry`.
    """
    restored, problems = list[Restored](), list[NotFoundError]()
    for prefix in dict.fromkeys(prefixes):
        if any(name.startswith(prefix.lower()) for one in restored for name in one.ids if prefix):
            continue
        try:
            restored.append(restore_entry(ws, prefix, caller))
        except NotFoundError as problem:
            problems.append(problem)
    if problems and not restored:
        raise NotFoundError("; ".join(one.message for one in problems), hint=problems[0].hint)
    return restored, [one.message for one in problems]


def restore_entry(ws: Workspace, prefix: str, caller: Caller | None = None) -> Restored:
    """Delete the tombstones of a forgotten entry and those that were left with it.

    Its words may be learned or remembered again; forgetting left no copy of them here. Raises NotFoundError for no id
    or many, LineageError inside a harness.
    """
    refuse_agents(caller, "let a forgotten entry come back")
    held = {ref: ws.documents.books.read(ref).tombstones for ref in ws.documents.books.list()}
    every = frozenset[tuple[str, str]]().union(*held.values())
    names = sorted({name for name, _ in every if prefix and name.startswith(prefix.lower())})
    if len(names) != 1:
        problem = (
            f"several forgotten entries begin with {prefix[:40]!r}" if names else f"{prefix[:40]!r} is not forgotten"
        )
        hint = "the lines `<!-- lineage:forgotten ID -->` in books/ have the ids: `lineage memory restore ID`"
        raise NotFoundError(problem, hint=hint)
    # Of its own book alone: an entry that moved left its old id under the new one, and stays away from where it was.
    books = {
        (ref.scope, ref.kind) for ref, tombstones in held.items() if any(name == names[0] for name, _ in tombstones)
    }
    held = {ref: tombstones for ref, tombstones in held.items() if (ref.scope, ref.kind) in books}
    every = frozenset[tuple[str, str]]().union(*held.values())
    heads = {head or name for name, head in every if name == names[0]}
    ids = {names[0], *heads, *(name for name, head in every if head in heads)}

    def drop_tombstones(book: Book) -> Book:
        return with_parts(book, [part for part in book.parts if part.forgotten_id not in ids])

    found = tuple(ref for ref, tombstones in held.items() if any(name in ids for name, _ in tombstones))

    def restore(staged: Workspace) -> None:
        for ref in found:
            staged.documents.books.update(ref.scope, ref.kind, drop_tombstones, ref.shelf)

    change_books(ws, restore)
    return Restored(names[0], (names[0], *sorted(ids - {names[0]})), found)
