"""Fresh names: complete, reversible, and nothing else is touched.

Fails when `_renamed_run` takes whole runs alone, when `_ids` of core/renaming.py leaves out forgotten or superseded
ids, and when `entry_names` doesn't hash what an entry says under its new scope.
"""

import re

from hypothesis import given
from hypothesis import strategies as st

from lineage.core import naming
from lineage.core.book import appended, entry_part, new_book, parsed_book, serialized_book, tombstone_part
from lineage.core.documents import parsed, serialized
from lineage.core.entry import Entry, entry_id, new_entry
from lineage.core.identity import Identity
from lineage.core.renaming import Move, entry_names, names_in, renamed, renamed_file
from tests.support.artifacts import AT, artifact
from tests.support.materials import well_formed

OLD, NEW = Identity("default", "s-1"), Identity("default", "fresh")
TOKENS = {OLD.token: NEW.token}
NAMES = st.lists(st.from_regex(r"[a-z2-7]{16}", fullmatch=True), min_size=2, max_size=8, unique=True)
BODIES = st.lists(well_formed(OLD.token, f"[[memory/x--{OLD.token}--summary.md|it]]"), max_size=4)


@given(NAMES, st.data())
def test_renaming_leaves_no_old_name_and_can_be_taken_back(names: list[str], data: st.DataObject) -> None:
    half = len(names) // 2
    forth = dict(zip(names[:half], names[half:], strict=False))
    pieces = st.sampled_from([*forth, "", "x", "--", "0123456789abcdef0", "/", " "]) | st.text("-/ \n0189", max_size=3)
    text = "".join(data.draw(st.lists(pieces, max_size=12)))
    changed = renamed(text, forth)
    assert not names_in(changed, forth)
    if not names_in(text, forth.values()):
        assert renamed(changed, {new: old for old, new in forth.items()}) == text
    assert len(changed) == len(text)


@given(st.sampled_from(naming.IMMUTABLE), well_formed(OLD.token), well_formed(OLD.token), BODIES)
def test_an_artifact_that_moves_is_whole_and_names_its_old_session_nowhere(
    kind: str, title: str, sentence: str, bodies: list[str]
) -> None:
    body = "\n".join(bodies)
    document = artifact(
        kind, body=body, title=title, memory_sentence=sentence, project=f"/x/{OLD.token}", source_node_id=OLD.token,
        models=[OLD.token], branches=[f"b-{OLD.token}"], aliases=[title], tags=[OLD.token], parent_session="s-1",
        forked_from="elsewhere",
    )  # fmt: skip
    moved = Move(OLD, NEW, TOKENS, {"s-1": "fresh"}).document(document)
    data = serialized(moved)
    assert OLD.token.encode() not in data
    assert parsed(data, moved.path) == moved
    assert (moved.identity, moved.parent_session, moved.forked_from) == (NEW, "fresh", "elsewhere")
    assert Move(NEW, OLD, {NEW.token: OLD.token}).document(moved).body == document.body.replace(
        "\n# session s-1\n", "\n# session fresh\n"
    )


def test_a_title_and_a_sentence_that_call_the_session_by_its_id_follow() -> None:
    title = "generic session s-1"
    document = artifact(body=f"[[x]]\n\n# {title}\n\nsession s-10 stays, and `session s-1` was said.\n", title=title)
    document = Move(OLD, NEW, TOKENS).document(document)
    assert document.title == "generic session fresh"
    assert document.aliases == ["generic session fresh"]
    assert document.body.split("\n")[2:5] == [
        "# generic session fresh", "", "session s-10 stays, and `session s-1` was said.",
    ]  # fmt: skip
    place = Move(OLD, NEW, TOKENS).document(artifact(memory_sentence="In session s-1, nothing happened."))
    assert place.memory_sentence == "In session fresh, nothing happened."
    other = Move(OLD, NEW, TOKENS).document(artifact(memory_sentence="In session reviewing, nothing happened."))
    assert other.memory_sentence == "In session reviewing, nothing happened."


def test_keys_and_lanes_of_the_old_session_go() -> None:
    document = artifact(session_key="chat#s-1", lane="chat")
    moved = Move(document.identity, NEW, {document.identity.token: NEW.token}).document(document)
    assert (moved.session_key, moved.lane, moved.identity) == (None, None, NEW)


SCOPE, KIND = f"session/{OLD.token}", "finding"
ORIGIN = f"[[memory/2026-11-20T10-30-00.000Z--{OLD.token}--transcript.md#^t-0123456789]]"


@given(
    st.lists(well_formed(OLD.token).filter(str.strip), min_size=1, max_size=5, unique=True),
    st.lists(st.from_regex(r"[0-9a-f]{16}", fullmatch=True), max_size=3, unique=True),
    well_formed(OLD.token),
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
    book = appended(book, *(entry_part(book, entry) for entry in entries), *(tombstone_part(book, i) for i in gone))
    data = serialized_book(book) + free.encode()
    data = data.replace(b"\n", b"\r\n") if crlf else data
    book = parsed_book(data, SCOPE, KIND)

    ids = entry_names({"in use": book}, TOKENS)
    moved = renamed_file(data, {**TOKENS, **ids})
    fresh = parsed_book(moved, SCOPE.replace(OLD.token, NEW.token), KIND)

    markers = "".join(re.findall(r"<!-- lineage:.*", moved.decode()))
    assert not names_in(moved.decode(), TOKENS)
    assert not names_in(markers, ids)
    assert [ids[entry.id] for entry in book.entries] == [entry.id for entry in fresh.entries]
    assert fresh.forgotten == {ids[known] for known in book.forgotten}
    assert [tuple(ids[old] for old in entry.supersedes) for entry in book.entries] == [
        entry.supersedes for entry in fresh.entries
    ]
    assert renamed_file(moved, {new: old for old, new in {**TOKENS, **ids}.items()}) == data


def test_an_entry_s_new_id_is_that_of_the_same_entry_found_again() -> None:
    entry = new_entry(SCOPE, KIND, f"See {OLD.token}.", at=AT, source="manual", origin=ORIGIN)
    book = new_book(SCOPE, KIND)
    ids = entry_names({"": appended(book, entry_part(book, entry))}, TOKENS)
    scope, origin = (text.replace(OLD.token, NEW.token) for text in (SCOPE, ORIGIN))
    assert ids == {entry.id: entry_id(scope, KIND, f"See {NEW.token}.", origin)}


def test_a_damaged_marker_and_a_number_in_somebody_s_words() -> None:
    damaged, number, other = "a" * 16, "b" * 16, "c" * 16
    text = f'<!-- lineage:entry {{"id": "{damaged}", half\nThe hash {number} is mine.\n<!-- lineage:end {other} -->\n'
    ids = entry_names({"": parsed_book(text.encode(), SCOPE, KIND)}, TOKENS)
    assert set(ids) == {damaged, other}
