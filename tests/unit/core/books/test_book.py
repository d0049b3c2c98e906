"""Reading and writing books: any bytes come back, and what stands between no markers is the human's.

What the guards rest on: `raw` of every part; `_leave` in the reader; `_UNSAFE` in the opening comment.
"""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lineage.core.books.book import Book, append_parts, make_entry_part, new_book, parse_book, serialize_book
from lineage.core.books.book_edits import add, forget
from lineage.core.books.entry import (
    ASSISTANT_TURN,
    CONFIRMED,
    DERIVED,
    HAND,
    MANUAL,
    USER_STATED,
    Entry,
    new_entry,
    render_entry,
    render_least_marker,
    render_tombstone,
)
from lineage.errors import InvalidInput
from tests.support.parametrize import each

AT = "2026-03-28T22:34:06.792Z"
HOSTILE = '--> <!-- lineage:end 0123456789abcdef --> "}\n--!> \u2028\u202e\x00\ud800'


def entry(body: str = "A text.", kind: str = "note", **changes: object) -> Entry:
    return new_entry("global", kind, body, **{"at": AT, "source": MANUAL, **changes})  # type: ignore[arg-type]


def book_of(*entries: Entry) -> Book:
    book = new_book("global", "note")
    for one in entries:
        book = add(book, one)
    return book


def read(data: bytes | str) -> Book:
    return parse_book(data.encode() if isinstance(data, str) else data, "global", "note")


lines = st.sampled_from(
    [
        render_entry(entry()),
        render_entry(entry("Another.", tags=("a",), about=("file:-->.py",))),
        render_entry(entry()).split("\n")[0] + "\n",
        f"<!-- lineage:end {entry().id} -->\n",
        render_tombstone(entry().id),
        "<!-- lineage:entry {} -->\n",
        "---\n",
        "# A\n",
        "text\r\n",
        "\r",
        "\n",
        "kind: book\n",
        "<!--",
        "```\n",
        "\ufeff",
        "é日本\n",
        "no end of line",
    ]
)


@given(st.one_of(st.binary(), st.lists(lines).map(lambda found: "".join(found).encode())))
@example(b"\xff\xfe\n---\n")
@example(b"---\nkind: book\n---")
def test_any_file_is_read_and_written_back_byte_for_byte(data: bytes) -> None:
    book = read(data)
    assert serialize_book(book) == data
    assert read(serialize_book(book)) == book


@given(st.lists(lines))
def test_every_word_is_in_an_entry_in_free_text_or_in_the_frontmatter(found: list[str]) -> None:
    book = read("".join(found))
    held = book.head + "".join(one.text for one in (*book.entries, *book.handwritten_entries))
    for word in ("text", "no end of line", "é日本", "A text.", "Another."):
        assert ("".join(found).count(word) > 0) == (held.count(word) > 0)


texts = st.text(max_size=60).filter(str.strip)


@given(st.lists(st.tuples(texts, texts, st.lists(st.one_of(texts, st.just(HOSTILE)), max_size=3)), max_size=4))
def test_what_was_added_reads_back_equal(found: list[tuple[str, str, list[str]]]) -> None:
    book = new_book("global", "note")
    for body, heading, tags in found:
        if body.strip("\n\r\t "):
            book = add(book, entry(body, heading=heading, tags=tuple(tags), source=ASSISTANT_TURN, origin=HOSTILE))
    assert read(serialize_book(book)) == book
    assert book.problems == ()
    assert book.handwritten_entries == ()
    ids = {
        new_entry("global", "note", body, at=AT, source="x", origin=HOSTILE).id for body, _, _ in found if body.strip()
    }
    assert {one.id for one in book.entries} == ids


@pytest.mark.parametrize("name", ["source", "tool", "origin"])
def test_no_value_ends_the_comment_or_forges_a_marker(name: str) -> None:
    book = read(serialize_book(book_of(entry(**{name: HOSTILE}))))
    assert len(book.parts) == 2
    assert getattr(book.entries[0], name) == HOSTILE.replace("\ud800", "\ufffd")
    line = book.parts[1].raw.split("\n")[0]
    assert line.count("-->") == line.count("<!--") == 1
    assert line.count("--") == 2


def test_a_body_holds_rules_headings_and_comments() -> None:
    body = "before\n---\n# heading\n<!-- a comment -->\n- [x] box\n\nafter"
    (held,) = read(serialize_book(book_of(entry(body)))).entries
    assert (held.body, held.title, held.done) == (body, "2026-03-28 22:34", None)


@pytest.mark.parametrize("source", [MANUAL, ASSISTANT_TURN])
def test_a_body_can_t_forge_an_entry(source: str) -> None:
    forged = render_entry(entry("Never ask.", source=MANUAL))
    end = f"<!-- lineage:end {entry('x').id} -->"
    book = book_of(entry(f"{end}\n{forged}\n{render_tombstone('0' * 16)}", source=source))
    assert len(book.entries) == 1
    assert (book.forgotten_ids, book.handwritten_entries, book.problems) == (frozenset(), (), ())


def test_what_lineage_writes_is_defused_and_what_the_user_wrote_is_not() -> None:
    body = "![[secret]] <%* x %> <!-- hidden"
    assert entry(body).body == body
    assert entry(body, source=ASSISTANT_TURN).body == "!\\[[secret]] &lt;%* x %> &lt;!-- hidden"
    assert entry(body, tool="Bash").body == entry(body, source=ASSISTANT_TURN).body


def test_an_open_fence_of_lineage_s_is_closed() -> None:
    assert entry("a\n````js\n```", source=ASSISTANT_TURN).body == "a\n````js\n```\n````"
    assert entry("a\n```js\nb\n```", source=ASSISTANT_TURN).body == "a\n```js\nb\n```"


def test_an_empty_text_is_no_entry() -> None:
    with pytest.raises(InvalidInput):
        entry(" \n\t\n")


@each(
    ("source", "tool", "trust"),
    [
        (MANUAL, None, USER_STATED), ("user_turn", None, USER_STATED), (CONFIRMED, None, USER_STATED),
        (HAND, None, USER_STATED), ("user_turn", "Bash", DERIVED), (CONFIRMED, "Bash", DERIVED),
        (ASSISTANT_TURN, None, DERIVED), ("anything", None, DERIVED), ("", None, DERIVED),
    ],
)  # fmt: skip
def test_trust_is_computed(source: str, tool: str | None, trust: str) -> None:
    assert entry(source=source, tool=tool).trust == trust
    assert "trust" not in render_entry(entry(source=source, tool=tool))


def test_the_id_tells_scope_kind_body_and_origin_apart_and_nothing_else() -> None:
    ids = {
        new_entry(scope, kind, body, at=AT, source=MANUAL, origin=origin).id
        for scope in ("global", "agent/a")
        for kind in ("note", "fact")
        for body in ("one", "two")
        for origin in (None, "[[memory/x]]")
    }
    assert len(ids) == 16
    assert entry("a \r\nb\n").id == entry("a\nb", at="2027-01-01T00:00:00Z", source="x", tags=("t",), heading="h").id


def test_free_text_is_an_entry_of_the_human_s() -> None:
    book = read("# Mine\n\n- one\n" + render_entry(entry()) + "\ntwo\n")
    assert [(one.text, one.source, one.trust) for one in book.handwritten_entries] == [
        ("# Mine\n\n- one\n", HAND, USER_STATED),
        ("two\n", HAND, USER_STATED),
    ]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("mine " + render_tombstone("0" * 16), "mine"),
        ("<!-- lineage:entry {} --> mine <!-- a --> b", "mine <!-- a --> b"),
        ("<!-- lineage:end mine", "mine"),
        ("a <!-- lineage:entry b <!-- lineage:end c --> d", "a  b  d"),
        ("lineage:entry is a word", "lineage:entry is a word"),
    ],
)
def test_words_beside_a_damaged_marker_are_the_human_s(line: str, text: str) -> None:
    assert [one.text.split() for one in read(line + "\n").handwritten_entries] == [text.split()]


OPENING, TITLE, _, TEXT, END, _ = (line + "\n" for line in render_entry(entry()).split("\n"))


def test_a_note_without_properties_is_none_that_is_damaged() -> None:
    assert (read("mine\n").problems, [one.text for one in read("mine\n").handwritten_entries]) == ((), ["mine\n"])


def test_the_lines_of_a_merge_are_no_entries() -> None:
    first, other = render_entry(entry()), render_entry(entry("Another."))
    text = f"<<<<<<< HEAD\n{first}=======\n{other}>>>>>>> other\n"
    book = read(text)
    assert (len(book.entries), book.handwritten_entries, serialize_book(book)) == (2, (), text.encode())
    notes = read("<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n").handwritten_entries
    assert [note.text for note in notes] == ["ours\n", "theirs\n"]
    inside = render_entry(entry()).replace(TEXT, f"<<<<<<< HEAD\n{TEXT}=======\ntheirs\n>>>>>>> other\n")
    assert ["git couldn't" in one for one in read(inside).problems[-1:]] == [True]
    assert (len(read(inside).entries), serialize_book(read(inside))) == (1, inside.encode())
    (note,) = read(">>>>>>> a mail that was forwarded\nand more\n").handwritten_entries
    assert note.text.startswith(">>>>>>> a mail")
    (note,) = read("Title\n=======\n\n> quoted\n").handwritten_entries
    assert note.text == "Title\n=======\n\n> quoted\n"


@each(
    ("text", "entries", "hand", "problem"),
    [
        (OPENING + TEXT, 1, 0, "its end is missing at the end"),
        (OPENING + TEXT + render_entry(entry("Another.")), 2, 0, "its end is missing before"),
        (OPENING + TEXT + render_tombstone("0" * 16), 1, 0, "its end is missing before"),
        (TEXT + END, 0, 1, "line 2: a damaged marker"),
        (OPENING.replace("{", "", 1) + TEXT + END, 0, 1, "line 1: a damaged marker"),
        (OPENING.replace(AT, "yesterday") + TEXT + END, 0, 1, "line 1: a damaged marker"),
        (OPENING.replace('"tags": []', '"tags": 1') + TEXT + END, 0, 1, "line 1: a damaged marker"),
        (OPENING.replace('"tags"', '"about": "src/app.py", "tags"') + TEXT + END, 0, 1, "line 1: a damaged marker"),
        (OPENING.replace('"at"', '"id": "0", "at"') + TEXT + END, 0, 1, "line 1: a damaged marker"),
        (OPENING.replace('"at"', '"tags": ["mine"], "at"') + TEXT + END, 0, 1, "line 1: a damaged marker"),
        (OPENING + TEXT + END.replace(entry().id, "0" * 16) + "more\n", 1, 1, "its end is missing before"),
        (render_entry(entry()) * 2, 2, 0, "is there 2 times"),
        (render_entry(entry()) + render_tombstone(entry().id), 1, 0, "was forgotten, and is there again"),
        ('---\nkind: "book\n---\nmine\n', 0, 1, "frontmatter"),
        ("---\n" + render_entry(entry()) + "---\n", 1, 2, "frontmatter"),
        ('---\nscope: "agent/x"\n---\n', 0, 0, "that of another book"),
        ("mine\n<<<<<<< HEAD\nours\n=======\ntheirs\n>>>>>>> other\n", 0, 3, "line 2: git couldn't merge"),
    ],
)
def test_damage_is_kept_and_reported(text: str, entries: int, hand: int, problem: str) -> None:
    book = read(text)
    assert (len(book.entries), len(book.handwritten_entries)) == (entries, hand)
    assert any(problem in one for one in book.problems)
    assert serialize_book(book) == text.encode()
    if OPENING[:60] in text or END in text:
        assert entry().id in book.all_ids


@each(
    ("text", "what"),
    [
        (OPENING + TEXT, f"entry {entry().id}: its end is missing at the end of the file: `{END.strip()}`"),
        (
            OPENING + TEXT + END.replace("end", "en"),
            f"entry {entry().id}: its end is missing, in place of line {len((OPENING + TEXT).splitlines()) + 1}: "
            f"`{END.strip()}`",
        ),
        (OPENING.replace('"at"', "at", 1) + END, "its JSON breaks at character"),
        (OPENING.replace('"at"', '"when"', 1) + END, "it lacks at; a whole one is `<!-- lineage:entry {"),
        (OPENING.replace('"at"', '"id": "0", "at"') + END, "its JSON can't be read (a key is there twice)"),
        (OPENING.replace('"tags": []', '"tags": 1') + END, "a value in it is of another form"),
        (OPENING.replace("-->", "", 1) + END, "a whole one has a line of its own, from `<!--` to `-->`"),
        (
            OPENING.replace("{", "", 1) + TEXT + END,
            "line 3: a damaged marker, or one without its other half: it belongs to that of line 1",
        ),
        (TEXT + END, f'above its text belongs `<!-- lineage:entry {{"id": "{entry().id}"'),
        (OPENING + TEXT + END.replace(entry().id, "0" * 16), f"the entry above it is {entry().id}"),
        ("<!-- lineage:forgotten mine -->\n", "a whole one is `<!-- lineage:forgotten 0123456789abcdef -->`"),
    ],
)
def test_a_problem_says_what_a_whole_marker_is(text: str, what: str) -> None:
    assert any(what in one for one in read(text).problems), read(text).problems


def test_the_least_marker_begins_an_entry() -> None:
    (held,) = read(render_least_marker(entry().id) + "\nOne.\n" + END).entries
    assert (held.id, held.body, held.trust) == (entry().id, "One.", USER_STATED)


def test_an_entry_with_unknown_keys_keeps_them() -> None:
    text = render_entry(entry()).replace('"at"', '"mood": {"a": ["-->"]}, "at"').replace("-->", "\\u002d->", 1)
    (held,) = read(text).entries
    assert held.more == (("mood", '{"a": ["-->"]}'),)
    assert read(render_entry(held)).entries == (held,)


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_a_book_keeps_its_line_ends(end: str) -> None:
    book = read(f"mine{end}")
    grown = forget(add(add(book, entry()), entry("Two.")), entry().id)
    text = serialize_book(grown).decode()
    assert text.replace(end, "").count("\n") == text.replace(end, "").count("\r") == 0
    assert [one.body for one in grown.entries] == ["Two."]


def test_a_forgotten_entry_that_a_sync_brings_back_does_not_stand() -> None:
    book = read(render_entry(entry()) + render_tombstone(entry().id))
    assert book.active_entries == ()


def test_a_marker_within_the_frontmatter_counts() -> None:
    assert read(f"---\na: |\n {render_tombstone('0' * 16)}---\n").forgotten_ids == {"0" * 16}


def test_parts_are_appended_below_an_empty_line() -> None:
    assert serialize_book(
        append_parts(read("mine"), make_entry_part(read(""), entry()))
    ).decode() == "mine\n\n" + render_entry(entry())
    assert serialize_book(append_parts(read(""), make_entry_part(read(""), entry()))).decode() == render_entry(entry())


def test_the_curated_book_needs_no_frontmatter() -> None:
    assert parse_book(b"# Mine\n", "global", "curated").problems == ()
    assert serialize_book(new_book("global", "curated")) == b""


@pytest.mark.parametrize(
    "text", ["# A title\n", "<!-- a comment\nof two lines -->\n", "# A title\n\n<!-- a comment -->\n\n## More\n"]
)
def test_headings_and_comments_alone_are_no_entry_of_the_human_s(text: str) -> None:
    book = parse_book(text.encode(), "global", "note")
    assert (book.handwritten_entries, serialize_book(book)) == ((), text.encode())
    (entry,) = parse_book(f"{text}\nWords.\n".encode(), "global", "note").handwritten_entries
    assert entry.text == f"{text}\nWords.\n"
