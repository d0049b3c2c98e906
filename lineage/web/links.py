"""Addresses of pages, as templates and charts ask for them: on a server, or among the files of an export."""

from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlencode

from lineage.core.books.entry import Entry
from lineage.web.display import find_source


class Links(Protocol):
    """Addresses of pages, seen from the page that is rendered; "" for a page that isn't there.

    `asked` are the values of a page's filters by name; empty ones don't count.
    """

    def asset(self, name: str) -> str:
        """Return the address of a file that comes with the page."""

    def home(self, **asked: object) -> str:
        """Return the address of the list of sessions."""

    def session(self, token: str, anchor: str = "", **asked: object) -> str:
        """Return the address of a session, of the page with a `turn` or with the turn number `first`."""

    def file(self, token: str, kind: str, part: int = 1) -> str:
        """Return the address of a part of a session's newest file of a kind."""

    def turn(self, token: str, number: int, part: int = 1) -> str:
        """Return the address of a part of the whole text of a turn."""

    def memory(self, **asked: object) -> str:
        """Return the address of memory, of one page of a `group`."""

    def entry(self, identifier: str) -> str:
        """Return the address of an entry."""

    def source(self, entry: Entry) -> str:
        """Return the address of the turn that an entry came from."""


class ServerLinks:
    """Addresses on a server."""

    def asset(self, name: str) -> str:
        return f"/static/{name}"

    def home(self, **asked: object) -> str:
        return _add_query("/", asked)

    def search(self, **asked: object) -> str:
        return _add_query("/search", asked)

    def session(self, token: str, anchor: str = "", **asked: object) -> str:
        return _add_query(f"/sessions/{token}", asked) + (f"#{anchor}" if anchor else "")

    def file(self, token: str, kind: str, part: int = 1) -> str:
        return _add_part(f"/sessions/{token}/files/{kind}", part)

    def turn(self, token: str, number: int, part: int = 1) -> str:
        return _add_part(f"/sessions/{token}/turns/{number}", part)

    def memory(self, **asked: object) -> str:
        return _add_query("/memory", asked)

    def entry(self, identifier: str) -> str:
        return f"/entries/{identifier}"

    def source(self, entry: Entry) -> str:
        token, turn = find_source(entry)
        return self.session(token, turn, turn=turn) if token else ""


SERVER = ServerLinks()


def _add_query(path: str, asked: Mapping[str, object]) -> str:
    query = urlencode({name: value for name, value in asked.items() if value})
    return f"{path}?{query}" if query else path


def _add_part(path: str, part: int) -> str:
    return _add_query(path, {"part": part if part > 1 else 0})
