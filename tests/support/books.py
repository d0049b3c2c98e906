"""Books for tests: entries written with little ado, and what the index has of them."""

from pathlib import Path
from typing import Any

from lineage.canon import Books
from lineage.core.book import serialized_book
from lineage.core.book_paths import BookRef
from lineage.core.entry import MANUAL, Entry, new_entry
from lineage.index import Index
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.shelving import shelve
from tests.support.commands import Lineage
from tests.support.indexes import NUMBER, asked

AT = "2026-11-20T10:30:00.000Z"


def entry(scope: str, kind: str, body: str, **more: Any) -> Entry:
    """An entry that the user stated, unless `more` says otherwise."""
    return new_entry(scope, kind, body, **{"at": AT, "source": MANUAL, **more})


def put(house: House, scope: str, kind: str, body: str, *, shelf: str = "", **more: Any) -> Entry:
    """Writes an entry into a book, on any shelf, and shelves the book."""
    from lineage.core import book_changes

    made = entry(scope, kind, body, **more)
    house.canon.books.update(scope, kind, lambda book: book_changes.add(book, made), shelf)
    shelve(house, [BookRef(scope, kind, shelf)])
    return made


def by_hand(house: House, path: str, text: str) -> None:
    """Writes a file as an editor does: lineage isn't told."""
    from lineage.store import update

    update(house.canon.store, path, lambda _: text.encode())


def shown(vault: Lineage, scope: str = "global", kind: str = "preference", *more: str) -> list[dict[str, Any]]:
    """What `lineage book show` says of a book's entries."""
    found: list[dict[str, Any]] = vault("book", "show", scope, kind, *more, "--json").json["entries"]
    return found


def written(vault: Lineage, path: str, text: str) -> Path:
    """A file of the workspace, as somebody's editor wrote it."""
    file = vault.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def text_of(books: Books, ref: BookRef) -> str:
    return serialized_book(books.read(ref)).decode()


def rows_of_books(index: Index) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """Every row of books with what search finds it by, without row numbers, and every file, without its stamp."""
    found = asked(
        index,
        "select e.*, s.title as found_title, s.sentence as found_tags, s.body as found_body"
        f" from book_entries e left join search s on s.{NUMBER} = -e.id order by e.path, e.place",
    )
    files = asked(index, "select path, scope, kind, sha256, forgotten from books order by path")
    strays = asked(
        index, f"select count(*) as n from search where {NUMBER} < 0 and -{NUMBER} not in (select id from book_entries)"
    )
    assert strays == [{"n": 0}]
    return [{key: row[key] for key in row if key != "id"} for row in found], [tuple(row.values()) for row in files]
