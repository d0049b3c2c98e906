"""Where books lie: every name has a path of its own on every file system, and the path says the name.

And the gate for private sessions: nothing of them leaves their own scope.
"""

import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lineage.core.base.book_paths import GLOBAL, PENDING, BookRef, is_allowed_in_scope, parse_book_path, session_scope
from lineage.core.base.file_names import escape_name, unescape_name
from lineage.errors import InvalidInput
from lineage.store import validate_key
from tests.support.parametrize import each

names = st.one_of(
    st.text(min_size=1, max_size=20), st.text(st.sampled_from("aA.~-_0 /\\:cCoOnN"), min_size=1, max_size=8)
)
TOKEN = "h7k3n4p2m2x6q3r5"
tokens = st.sampled_from(["", TOKEN, "a" * 16])
scopes = st.one_of(
    st.text(max_size=40),
    st.sampled_from([GLOBAL, "project/demo", "agent/ada", "session/", f"session/{TOKEN}", f"session/{'a' * 16}"]),
)


@given(scopes, tokens)
def test_what_is_private_reaches_its_own_session_and_nothing_else(scope: str, token: str) -> None:
    assert is_allowed_in_scope(scope, private=True, token=token) == (bool(token) and scope == f"session/{token}")


@given(scopes, tokens)
def test_what_is_not_private_is_not_the_gate_s_matter(scope: str, token: str) -> None:
    assert is_allowed_in_scope(scope, private=False, token=token)


def test_a_private_text_without_a_session_goes_nowhere() -> None:
    assert not is_allowed_in_scope(session_scope(""), private=True, token="")


@given(names)
@example("..")
@example("CON")
@example("com1.txt")
@example("~a")
@example("e\u0301")
@example("\U0010ffff\ud800")
def test_a_name_comes_back_from_its_path(name: str) -> None:
    part = escape_name(name)
    assert unescape_name(part) == name
    assert validate_key(part) == part
    assert "/" not in part
    assert not part.startswith(".")
    assert not re.match(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", part)


@given(names, names)
@example("Ann", "ann")
@example("\u00e9", "e\u0301")
@example("Ä", "ä")
@example("ss", "ß")
def test_two_names_have_two_paths_where_case_is_ignored(one: str, other: str) -> None:
    assume(one != other)
    assert escape_name(one).casefold() != escape_name(other).casefold()


@given(st.sampled_from(["project", "agent", "peer", "session"]), names, names, st.sampled_from(["", PENDING, "2026"]))
def test_a_book_comes_back_from_its_path(sort: str, name: str, kind: str, shelf: str) -> None:
    ref = BookRef(f"{sort}/{name}", kind, shelf)
    assert parse_book_path(validate_key(ref.path)) == ref


@each(
    ("ref", "path"),
    [
        (BookRef("global", "note"), "books/global/note.md"),
        (BookRef("global", "daily/2026-03-28"), "books/global/daily/2026-03-28.md"),
        (BookRef("global", "daily/2026-03-28", PENDING), "books/pending/global/daily/2026-03-28.md"),
        (BookRef("agent/..", "task", "2026"), "books/agent/~02e~~_/task.archive-2026.md"),
        (BookRef("peer/a/b", "note"), "books/peer/a~02f~b/note.md"),
        (BookRef("agent/CON", "note"), "books/agent/~-~c~o~n/note.md"),
        (BookRef("global", "curated"), "AGENT_MEMORY.md"),
        (BookRef("global", "curated", "2026"), "books/global/curated.archive-2026.md"),
        (BookRef("global", "daily/../x"), "books/global/daily~02f~~02e~~02e~~02f~x.md"),
    ],
)
def test_known_paths(ref: BookRef, path: str) -> None:
    assert ref.path == path
    assert parse_book_path(path) == ref


@each(
    "path",
    [
        "", "MEMORY.md", "books/note.md", "books/global/note 2.md", "books/global/note.sync-conflict-1.md",
        "books/x/y/z.md",
        "books/global/Note.md", "books/global/curated.md", "books/agent/note.md", "books/agent/../x/note.md",
        "books/global/note.archive-26.md", "books/global/a/b.md", "books/pending/note.md", "global/note.md",
    ],
)  # fmt: skip
def test_other_files_are_no_books(path: str) -> None:
    assert parse_book_path(path) is None


@pytest.mark.parametrize(
    "ref", [BookRef("x", "note"), BookRef("agent/", "note"), BookRef("", "note"), BookRef("global", ""),
            BookRef("global/x", "note"), BookRef("global", "note", "old"), BookRef("agent/" + "A" * 200, "note")]
)  # fmt: skip
def test_what_is_no_book_is_refused(ref: BookRef) -> None:
    with pytest.raises(InvalidInput):
        _ = ref.path
