"""Lessons, 35: "`..` as an id escapes the workspace; *read* the reset endpoint answers to GET."

Fails without `escape_name` in core/book_paths.py, and without `validate_agent_id` or `resolve` in `validate_book`. The
second half is about a web page: no GET of `lineage serve` changes anything, for a change is another method's.
"""

import contextlib
import re
import sqlite3
from pathlib import Path
from urllib.parse import quote

import pytest

from lineage.web.api import PREFIX, ROUTES
from lineage.web.pages import PAGES
from tests.support.commands import CommandResult, LineageCommand
from tests.support.sample_workspace import write_sample_workspace
from tests.support.web_client import WebClient, serve_workspace

pytestmark = pytest.mark.slow

HOSTILE = [
    "..",
    ".",
    "../..",
    "../../etc",
    "/etc",
    "..\\..",
    "C:",
    "CON",
    "a/../..",
    "~",
    "%2e%2e",
    "\x00",
    "..\u2044..",
]


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if ".lineage" not in path.parts}


def commands(name: str) -> list[list[str]]:
    said = ["remember", "Some words to remember."]
    scopes = [[*said, "--scope", f"{sort}/{name}"] for sort in ("project", "agent", "peer", "session")]
    entries = [["book", verb, name] for verb in ("done", "pin", "forget")]
    return [
        *scopes, *entries, [*said, "--scope", name], [*said, "--kind", name], [*said, "--agent", name],
        [*said, "--project", name], [*said, "--supersedes", name], ["book", "show", f"project/{name}", name],
        ["book", "edit", name, "x y z"], ["book", "demote", name, "project/x"], ["book", "confirm", name, "--yes"],
    ]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_leads_out_of_the_books(lineage: LineageCommand, tmp_path: Path, name: str) -> None:
    lineage("init")
    before = everything(tmp_path)
    for arguments in commands(name):
        done: CommandResult = lineage(*arguments)
        assert done.code in (0, 1, 2), (arguments, done.err)
        assert done.code == 0 or len(done.err.splitlines()) == 2
    new = everything(tmp_path) - before
    inside = "vault/books/"
    assert all(path.startswith(inside) or path in ("vault/books", "vault/MEMORY.md") for path in new), new
    for path in new:
        parts = path.removeprefix(inside).split("/")
        assert not {"..", ".", "~", ""} & set(parts)
        assert not any(part.upper().split(".")[0] in ("CON", "C:") for part in parts)


@pytest.mark.parametrize("name", HOSTILE[:-2])
def test_what_can_have_a_book_is_found_under_its_own_name(lineage: LineageCommand, name: str) -> None:
    lineage("init")
    said = lineage("remember", "--scope", f"peer/{name}", "Some words to remember.", "--json").json
    shown = lineage("book", "show", f"peer/{name}", "note", "--json").json
    assert [entry["id"] for entry in shown["entries"]] == [said["id"]]
    assert said["scope"] == f"peer/{name}"


def state(root: Path) -> list[object]:
    """Every file, and every row of what this machine alone knows; the index is made of the files."""
    files = {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    kept = {path: data for path, data in files.items() if path.suffix not in (".db", ".db-wal", ".db-shm")}
    with contextlib.closing(sqlite3.connect(root / ".lineage" / "runtime.db")) as database:
        return [kept, *database.iterdump()]


def addresses(client: WebClient) -> list[str]:
    """Every address that there is, those of changes too, with names in it that there are."""
    entry = client.get("/api/pending").json["entries"][0]["id"]
    names = {"session": "long", "id": entry, "kind": "summary", "number": "1"}
    patterns = [PREFIX + route.path for route in ROUTES] + [page.path for page in PAGES] + ["/login"]
    paths = sorted({re.sub(r"{(\w+)}", lambda match: names[match[1]], pattern) for pattern in patterns})
    queries = {"/api/entries": "?kind=preference", "/api/search": "?q=parser", "/search": "?q=parser"}
    turn = client.get("/api/sessions/long/turns", count=1).json["turns"][0]["id"]
    return [path + queries.get(path, "") for path in paths] + [f"/sessions/long?turn={turn}", "/memory?did=forgotten"]


def test_no_get_changes_anything(tmp_path: Path) -> None:
    root = write_sample_workspace(tmp_path / "vault")
    with serve_workspace(root) as client:
        paths = addresses(client)
        before = state(root)
        for method in ("GET", "HEAD"):
            answers = {path: client.request(method, path).status for path in paths}
            assert set(answers.values()) <= {200, 405}, answers
            assert state(root) == before
    changes = {PREFIX + route.path for route in ROUTES if route.is_change}
    reads = {PREFIX + route.path for route in ROUTES if not route.is_change}
    assert len(changes - reads) > 5, "there are addresses that are changes and nothing else"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_in_an_address_or_a_body_leads_out(tmp_path: Path, name: str) -> None:
    root = write_sample_workspace(tmp_path / "vault")
    (tmp_path / "secret.md").write_text("nobody's business")
    before = everything(tmp_path)
    part = quote(name, safe="")
    with serve_workspace(root) as client:
        for path in ("/static/", "/sessions/", "/api/sessions/", "/entries/", "/"):
            for tail in (f"{part}/secret.md", f"{part}%2fsecret.md", f"{part}/{part}/secret.md", part):
                assert "nobody's business" not in client.request("GET", path + tail).text
        for kind in (name, f"{name}/secret", "../secret"):
            assert client.get("/api/entries", scope=f"project/{name}", kind=kind).status in (200, 400)
            assert client.get(f"/api/sessions/long/files/{quote(kind, safe='')}").status in (400, 404)
        client.send_json("/api/entries", {"text": "Some words to remember.", "scope": f"peer/{name}", "kind": name})
        client.send_json("/api/checkpoint", {"session_id": name, "harness": name, "agent_id": name, "messages": []})
        client.send_json("/api/session-end", {"harness": name, "session_id": name, "transcript": "User: hello"})
    new = everything(tmp_path) - before
    assert all(path.startswith("vault/books/peer") for path in new), new
