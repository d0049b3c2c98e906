"""Fresh names: complete, reversible, and nothing else is touched.

Fails when `_renamed_run` takes whole runs alone, when `_ids` of core/renaming.py leaves out forgotten or superseded
ids, and when `map_entry_ids` doesn't hash what an entry says under its new scope.
"""

import re

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base import naming
from lineage.core.base.naming import Identity
from lineage.core.books.book import (
    append_parts,
    make_entry_part,
    make_tombstone_part,
    new_book,
    parse_book,
    serialize_book,
)
from lineage.core.books.entry import Entry, compute_entry_id, new_entry
from lineage.core.format.documents import parse_document, serialize_document
from lineage.pipeline.transfer.reidentify import (
    Reidentification,
    contains_ids,
    map_entry_ids,
    replace_ids,
    replace_ids_in_file,
)
from tests.support.artifacts import AT, make_artifact
from tests.support.strategies import draw_well_formed

OLD, NEW = Identity("default", "s-1"), Identity("default", "fresh")
TOKENS = {OLD.token: NEW.token}
NAMES = st.lists(st.from_regex(r"[a-z2-7]{16}", fullmatch=True), min_size=2, max_size=8, unique=True)
BODIES = st.lists(draw_well_formed(OLD.token, f"[[memory/x--{OLD.token}--summary.md|it]]"), max_size=4)


@given(NAMES, st.data())
def test_renaming_leaves_no_old_name_and_can_be_taken_back(names: list[str], data: st.DataObject) -> None:
    half = len(names) // 2
    forth = dict(zip(names[:half], names[half:], strict=False))
    pieces = st.sampled_from([*forth, "", "x", "--", "0123456789abcdef0", "/", " "]) | st.text("-/ \n0189", max_size=3)
    text = "".join(data.draw(st.lists(pieces, max_size=12)))
    changed = replace_ids(text, forth)
    assert not contains_ids(changed, forth)
    if not contains_ids(text, forth.values()):
        assert replace_ids(changed, {new: old for old, new in forth.items()}) == text
    assert len(changed) == len(text)


@given(st.sampled_from(naming.ARTIFACT_KINDS), draw_well_formed(OLD.token), draw_well_formed(OLD.token), BODIES)
def test_an_artifact_that_moves_is_whole_and_names_its_old_session_nowhere(
    kind: str, title: str, sentence: str, bodies: list[str]
) -> None:
    body = "\n".join(bodies)
    document = make_artifact(
        kind, body=body, title=title, memory_sentence=sentence, project=f"/x/{OLD.token}", source_node_id=OLD.token,
        models=[OLD.token], branches=[f"b-{OLD.token}"], aliases=[title], tags=[OLD.token], parent_session="s-1",
        forked_from="elsewhere",
    )  # fmt: skip
    moved = Reidentification(OLD, NEW, TOKENS, {"s-1": "fresh"}).reidentify_document(document)
    data = serialize_document(moved)
    assert OLD.token.encode() not in data
    assert parse_document(data, moved.path) == moved
    assert (moved.identity, moved.parent_session, moved.forked_from) == (NEW, "fresh", "elsewhere")
    assert Reidentification(NEW, OLD, {NEW.token: OLD.token}).reidentify_document(moved).body == document.body.replace(
        "\n# session s-1\n", "\n# session fresh\n"
    )


def test_a_title_and_a_sentence_that_call_the_session_by_its_id_follow() -> None:
    title = "generic session s-1"
    document = make_artifact(
        body=f"[[x]]\n\n# {title}\n\nsession s-10 stays, and `session s-1` was said.\n", title=title
    )
    document = Reidentification(OLD, NEW, TOKENS).reidentify_document(document)
    assert document.title == "generic session fresh"
    assert document.aliases == ["generic session fresh"]
    assert document.body.split("\n")[2:5] == [
        "# generic session fresh", "", "session s-10 stays, and `session s-1` was said.",
    ]  # fmt: skip
    place = Reidentification(OLD, NEW, TOKENS).reidentify_document(
        make_artifact(memory_sentence="In session s-1, nothing happened.")
    )
    assert place.memory_sentence == "In session fresh, nothing happened."
    other = Reidentification(OLD, NEW, TOKENS).reidentify_document(
        make_artifact(memory_sentence="In session reviewing, nothing happened.")
    )
    assert other.memory_sentence == "In session reviewing, nothing happened."


def test_keys_and_lanes_of_the_old_session_go() -> None:
    document = make_artifact(session_key="chat#s-1", lane="chat")
    moved = Reidentification(document.identity, NEW, {document.identity.token: NEW.token}).reidentify_document(document)
    assert (moved.session_key, moved.lane, moved.identity) == (None, None, NEW)


SCOPE, KIND = f"session/{OLD.token}", "finding"
ORIGIN = f"[[memory/2026-11-20T10-30-00.000Z--{OLD.token}--transcript.md#^t-0123456789]]"


@given(
    st.lists(draw_well_formed(OLD.token).filter(str.strip), min_size=1, max_size=5, unique=True),
    st.lists(st.from_regex(r"[0-9a-f]{16}", fullmatch=True), max_size=3, unique=True),
    draw_well_formed(OLD.token),
    st.booleans(),
)
def test_a_book_that_moves_says_the_same_under_new_ids(
    texts: list[str], gone: list[str], free: str, crlf: bool
) -> None:
    book = new_book(SCOPE, KIND)
    entries: list[Entry] = []
    for text in texts:
        if text.strip("\n \t"):
            supersedes = tuple(entry.id for entry in entries[-1:])
            entries.append(new_entry(SCOPE, KIND, text, at=AT, source="manual", origin=ORIGIN, supersedes=supersedes))
    book = append_parts(
        book, *(make_entry_part(book, entry) for entry in entries), *(make_tombstone_part(book, i) for i in gone)
    )
    data = serialize_book(book) + free.encode()
    data = data.replace(b"\n", b"\r\n") if crlf else data
    book = parse_book(data, SCOPE, KIND)

    ids = map_entry_ids({"in use": book}, TOKENS)
    moved = replace_ids_in_file(data, {**TOKENS, **ids})
    fresh = parse_book(moved, SCOPE.replace(OLD.token, NEW.token), KIND)

    markers = "".join(re.findall(r"<!-- lineage:.*", moved.decode()))
    assert not contains_ids(moved.decode(), TOKENS)
    assert not contains_ids(markers, ids)
    assert [ids[entry.id] for entry in book.entries] == [entry.id for entry in fresh.entries]
    assert fresh.forgotten_ids == {ids[known] for known in book.forgotten_ids}
    assert [tuple(ids[old] for old in entry.supersedes) for entry in book.entries] == [
        entry.supersedes for entry in fresh.entries
    ]
    assert replace_ids_in_file(moved, {new: old for old, new in {**TOKENS, **ids}.items()}) == data


def test_an_entry_s_new_id_is_that_of_the_same_entry_found_again() -> None:
    entry = new_entry(SCOPE, KIND, f"See {OLD.token}.", at=AT, source="manual", origin=ORIGIN)
    book = new_book(SCOPE, KIND)
    ids = map_entry_ids({"": append_parts(book, make_entry_part(book, entry))}, TOKENS)
    scope, origin = (text.replace(OLD.token, NEW.token) for text in (SCOPE, ORIGIN))
    assert ids == {entry.id: compute_entry_id(scope, KIND, f"See {NEW.token}.", origin)}


def test_a_damaged_marker_and_a_number_in_somebody_s_words() -> None:
    damaged, number, other = "a" * 16, "b" * 16, "c" * 16
    text = f'<!-- lineage:entry {{"id": "{damaged}", half\nThe hash {number} is mine.\n<!-- lineage:end {other} -->\n'
    ids = map_entry_ids({"": parse_book(text.encode(), SCOPE, KIND)}, TOKENS)
    assert set(ids) == {damaged, other}
