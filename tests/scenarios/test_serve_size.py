"""Every page of a large workspace whose every field is as long and as hostile as it may be: none has 150 KB.

There is enough of everything to be too much for one page: sessions, entries, scopes, agents, turns, sub-agents, chains.
Fails without the pages of a list, without a cut of a text that counts what escaping adds, and for markdown that makes
more elements than its length says.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage.app.init_workspace import init_workspace
from lineage.app.workspace import run_in_workspace
from lineage.core.base.book_paths import PENDING, BookRef, session_scope
from lineage.core.base.naming import derive_session_token
from lineage.core.books.book import append_parts, make_entry_part, new_book, serialize_book
from lineage.core.books.entry import new_entry
from lineage.pipeline.maintenance.reindex import sync_rows
from lineage.workspace.book_index import index_changed_books
from lineage.workspace.workspace import Workspace
from tests.support.web_client import WebClient, serve_workspace
from tests.support.workspace import NOW, write_capture

pytestmark = pytest.mark.slow

MAX_BYTES = 150_000
SESSIONS, TURNS, ENTRIES, SCOPES, SUB_AGENTS, CHAIN = 240, 10_000, 200, 300, 60, 40
MARKUP = "> > > > - - - *a* `b` \"'&<b>日本 [x](y) | c |\n"
LONG = MARKUP * 20


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("large") / "vault"
    init_workspace(root)
    run_in_workspace(root, _fill, writes=True)
    return root


@pytest.fixture(scope="module")
def client(root: Path) -> Iterator[WebClient]:
    with serve_workspace(root) as made:
        yield made


def _fill(ws: Workspace) -> None:
    for number in range(SESSIONS):
        said = [{"role": role, "text": f"Please mend {number} {MARKUP * 3}"} for role in ("user", "assistant")]
        _capture(ws, f"s{number} {MARKUP.strip() * 4}", said, number, agent_id=f"agent-{number % 150}-{'x' * 40}")
    turns = [{"role": ("user", "assistant")[number % 2], "text": f"turn {number} {MARKUP}"} for number in range(TURNS)]
    _capture(ws, "long", turns, 0)
    _capture(ws, "parent", turns[:60], 0)
    _capture(ws, "one-line", [{"role": "user", "text": '<b>日本 & "x" ' * 150_000}], 0)
    for number in range(SUB_AGENTS):
        _capture(ws, f"sub {number}", [{"role": "user", "text": MARKUP}], number, parent="parent")
    for kind in ("note", "fact"):
        _write_book(ws, "global", kind, ENTRIES)
    _write_book(ws, "global", "note", ENTRIES, PENDING)
    _write_book(ws, session_scope(derive_session_token("default", "long")), "finding", ENTRIES)
    for number in range(SCOPES):
        _write_book(ws, f"peer/{number} {'日' * 40}", "fact", 1)
    _write_chain(ws)
    sync_rows(ws, confirmed=True)
    index_changed_books(ws)


def _capture(ws: Workspace, session: str, turns: list[dict[str, Any]], number: int, **payload: Any) -> None:
    project = f'/srv/{"日" * 60}/{number % 90} "&<>'
    at = f"2026-11-{20 - number % 19:02d}T10:{number % 60:02d}:00.000Z"
    write_capture(ws, session, sentence=MARKUP.strip(), captured_at=at, project=project, transcript=turns, **payload)


def _write_book(ws: Workspace, scope: str, kind: str, count: int, shelf: str = "") -> None:
    book, tags = new_book(scope, kind), tuple(f"{number}{'日' * 30}" for number in range(9))
    about = tuple(f"file:{number}/{'日' * 200}" for number in range(6))
    made = (
        new_entry(scope, kind, f"{number} {LONG}", at=NOW, source="manual", tags=tags, about=about)
        for number in range(count)
    )
    _write(ws, BookRef(scope, kind, shelf), append_parts(book, *(make_entry_part(book, one) for one in made)))


def _write_chain(ws: Workspace) -> None:
    entries = [new_entry("global", "decision", f"The whole text. {LONG * 20}", at=NOW, source="manual")]
    for number in range(CHAIN):
        said = f"Decision {number} {LONG}"
        entries.append(new_entry("global", "decision", said, at=NOW, source="manual", supersedes=(entries[-1].id,)))
    book = new_book("global", "decision")
    _write(ws, BookRef("global", "decision"), append_parts(book, *(make_entry_part(book, one) for one in entries)))


def _write(ws: Workspace, ref: BookRef, book: Any) -> None:
    ws.documents.store.create(ref.path, serialize_book(book))


def _list_pages(client: WebClient) -> Iterator[str]:
    yield from ("/", "/?page=2", "/?text=mend", "/?since=2026-11-01&until=2026-11-20&agent=default", "/status", "/nope")
    yield from ("/memory", "/memory?filter=mend", "/memory?kind=decision", "/memory?state=superseded", "/search?q=mend")
    yield from (f"/memory?group={group}" for group in ("pending", "global", "scoped", "session", "findings"))
    yield from ("/search?q=turn+77", "/search?q=is%3Adecision", "/memory?group=global&page=9")
    for rest in ("", "?first=9951", "?only=said", "?find=turn", "/turns/5", "/files/transcript?part=7",
                 "/files/manifest", "/files/summary", "/remove"):  # fmt: skip
        yield f"/sessions/long{rest}"
    home = client.get("/").text
    yield from ("/sessions/parent", "/sessions/one-line", "/sessions/one-line/turns/1", "/sessions/one-line?find=x")
    yield from (f"/sessions/{token}" for token in sorted(set(re.findall(r"/sessions/([a-z2-7]{16})", home)))[:3])
    decisions = client.get("/api/entries", kind="decision").json["entries"]
    yield from (f"/entries/{decisions[place]['id']}" for place in (0, CHAIN // 2, -1))
    waiting = client.get("/api/entries", kind="note", shelf=PENDING).json["entries"]
    yield from (f"/entries/{waiting[0]['id']}", f"/entries/{waiting[0]['id']}/confirm")


def test_every_page_is_small(client: WebClient) -> None:
    sizes = {path: len(client.get(path).body) for path in _list_pages(client)}
    assert {path: size for path, size in sizes.items() if size >= MAX_BYTES} == {}
    assert len(sizes) > 35
