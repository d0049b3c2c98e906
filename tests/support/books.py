"""Books for tests: entries written with little ado, and what the index has of them."""

from pathlib import Path
from typing import Any

from lineage.core.base.book_paths import BookRef
from lineage.core.books.book import serialize_book
from lineage.core.books.entry import MANUAL, Entry, new_entry
from lineage.documents import Books
from lineage.index import Index
from lineage.workspace.book_index import index_books
from lineage.workspace.workspace import Workspace
from tests.support.commands import LineageCommand
from tests.support.indexes import NUMBER, query_rows

AT = "2026-11-20T10:30:00.000Z"


def make_entry(scope: str, kind: str, body: str, **more: Any) -> Entry:
    """An entry that the user stated, unless `more` says otherwise."""
    return new_entry(scope, kind, body, **{"at": AT, "source": MANUAL, **more})


def write_entry(ws: Workspace, scope: str, kind: str, body: str, *, shelf: str = "", **more: Any) -> Entry:
    """Writes an entry into a book, on any shelf, and shelves the book."""
    from lineage.core.books import book_edits

    made = make_entry(scope, kind, body, **more)
    ws.documents.books.update(scope, kind, lambda book: book_edits.add(book, made), shelf)
    index_books(ws, [BookRef(scope, kind, shelf)])
    return made


def edit_by_hand(ws: Workspace, path: str, text: str) -> None:
    """Writes a file as an editor does: lineage isn't told."""
    from lineage.store import update

    update(ws.documents.store, path, lambda _: text.encode())


def show_book(
    vault: LineageCommand, scope: str = "global", kind: str = "preference", *more: str
) -> list[dict[str, Any]]:
    """What `lineage memory show` says of a book's entries."""
    found: list[dict[str, Any]] = vault("book", "show", scope, kind, *more, "--json").json["entries"]
    return found


def write_file(vault: LineageCommand, path: str, text: str) -> Path:
    """A file of the workspace, as somebody's editor wrote it."""
    file = vault.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def read_book_text(books: Books, ref: BookRef) -> str:
    return serialize_book(books.read(ref)).decode()


def read_book_rows(index: Index) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """Every row of books with what search finds it by, without row numbers, and every file, without its stamp."""
    found = query_rows(
        index,
        "select e.*, s.title as found_title, s.sentence as found_tags, s.body as found_body"
        f" from book_entries e left join search s on s.{NUMBER} = -e.id order by e.path, e.place",
    )
    files = query_rows(index, "select path, scope, kind, sha256, forgotten from books order by path")
    strays = query_rows(
        index, f"select count(*) as n from search where {NUMBER} < 0 and -{NUMBER} not in (select id from book_entries)"
    )
    assert strays == [{"n": 0}]
    return [{key: row[key] for key in row if key != "id"} for row in found], [tuple(row.values()) for row in files]
