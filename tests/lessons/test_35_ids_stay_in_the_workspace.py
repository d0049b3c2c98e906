"""Lessons, 35: "`..` as an id escapes the workspace; *read* the reset endpoint answers to GET."

Fails without `escaped_name` in core/book_paths.py, and without `checked_agent` or `resolve` in `checked_book`. The
second half is about a web page, which no command here is.
"""

from pathlib import Path

import pytest

from tests.support.commands import Done, Lineage

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
def test_no_name_leads_out_of_the_books(lineage: Lineage, tmp_path: Path, name: str) -> None:
    lineage("init")
    before = everything(tmp_path)
    for arguments in commands(name):
        done: Done = lineage(*arguments)
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
def test_what_can_have_a_book_is_found_under_its_own_name(lineage: Lineage, name: str) -> None:
    lineage("init")
    said = lineage("remember", "--scope", f"peer/{name}", "Some words to remember.", "--json").json
    shown = lineage("book", "show", f"peer/{name}", "note", "--json").json
    assert [entry["id"] for entry in shown["entries"]] == [said["id"]]
    assert said["scope"] == f"peer/{name}"
