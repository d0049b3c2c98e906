"""What can be done to a book, its caps, and how two versions of it come together.

What the guards rest on: `known` in `add`; the tombstone in `forget`; `can_supersede`; `stays` in `roll_over`;
`_outcome` in `merging`.
"""

import itertools

import pytest

from lineage.core.books import book_edits as changes
from lineage.core.books.book import (
    Book,
    append_parts,
    make_entry_part,
    make_tombstone_part,
    new_book,
    parse_book,
    serialize_book,
)
from lineage.core.books.book_edits import Cap, default_cap, roll_over
from lineage.core.books.entry import (
    ASSISTANT_TURN,
    CONFIRMED,
    DERIVED,
    MANUAL,
    USER_STATED,
    USER_TURN,
    Entry,
    new_entry,
    parse_before,
)
from lineage.core.books.merge import merge_books
from lineage.core.books.sightings import add_sighting, read_sightings
from lineage.errors import InvalidInput, NotFoundError

AT, LATER = "2026-03-28T22:34:06.792Z", "2026-03-29T10:00:00.000Z"


def entry(body: str = "One.", kind: str = "note", scope: str = "global", **more: object) -> Entry:
    return new_entry(scope, kind, body, **{"at": AT, "source": MANUAL, **more})  # type: ignore[arg-type]


def book_of(*entries: Entry, kind: str = "note", scope: str = "global") -> Book:
    book = new_book(scope, kind)
    for one in entries:
        book = changes.add(book, one)
    return book


def by_hand(book: Book, old: str, new: str) -> Book:
    """The book after somebody replaced a text in its file."""
    text = serialize_book(book).decode()
    assert old in text
    return parse_book(text.replace(old, new, 1).encode(), book.scope, book.kind)


def said(book: Book) -> list[str]:
    return [one.body for one in book.entries]


# operations


def test_adding_twice_adds_nothing() -> None:
    book = book_of(entry())
    assert changes.add(book, entry(at=LATER, tags=("x",))) is book
    assert changes.add(new_book("global", "note"), entry(), known_ids={entry().id}).entries == ()


def test_a_forgotten_entry_leaves_its_id_alone_and_does_not_come_back() -> None:
    book = changes.forget(book_of(entry("A secret."), entry("Two.")), entry("A secret.").id)
    assert (said(book), book.forgotten_ids) == (["Two."], {entry("A secret.").id})
    assert b"secret" not in serialize_book(book)
    assert changes.add(book, entry("A secret.")) is book
    assert changes.forget(book, entry("A secret.").id) is book


def test_all_copies_of_an_entry_are_forgotten() -> None:
    book = book_of(entry())
    twice = parse_book(serialize_book(book) + book.parts[-1].raw.encode(), "global", "note")
    assert changes.forget(twice, entry().id).entries == ()


def test_an_edit_keeps_everything_but_the_body() -> None:
    book = changes.edit(book_of(entry(tags=("auto-x",), heading="On x")), entry().id, "Two\n---\nlines.", LATER)
    (held,) = book.entries
    assert (held.body, held.title, held.tags, held.at, held.updated) == (
        "Two\n---\nlines.",
        "On x",
        ("auto-x",),
        AT,
        LATER,
    )
    assert changes.add(book, entry()) is book


@pytest.mark.parametrize(
    ("source", "then"), [(ASSISTANT_TURN, CONFIRMED), (MANUAL, MANUAL), ("", CONFIRMED), ("of a newer one", CONFIRMED)]
)
def test_an_edit_counts_as_the_user_s_and_keeps_a_source_that_somebody_wrote(source: str, then: str) -> None:
    changed = changes.edit(book_of(one := entry(source=source)), one.id, "Two.", LATER)
    assert [(known.source, known.trust) for known in changed.entries] == [(then, USER_STATED)]
    assert source.encode() in serialize_book(changed) or source == ASSISTANT_TURN


def test_an_edited_entry_holds_the_words_before_its_last_edit() -> None:
    book = book_of(entry("One."))
    identifier = book.entries[0].id
    for before, text in itertools.pairwise(("One.", "Two.", 'Three "3"')):
        book = changes.edit(book, identifier, text, LATER)
        assert parse_before(book.entries[0]) == before
    assert changes.edit(book, identifier, 'Three "3"', LATER) is book
    assert b"Two" not in serialize_book(changes.forget(book, identifier))


def test_a_task_is_done_and_opened_again() -> None:
    task = entry("Buy milk.\nTwo of it.", "task")
    book = book_of(task, kind="task")
    assert "- [ ] Buy milk.\nTwo of it.\n" in serialize_book(book).decode()
    ticked = changes.mark_done(book, task.id, LATER)
    assert [(one.done, one.body, one.updated) for one in ticked.entries] == [(True, "Buy milk.\nTwo of it.", LATER)]
    assert changes.mark_done(ticked, task.id, LATER) is ticked
    assert changes.mark_done(ticked, task.id, LATER, is_done=False).entries[0].done is False
    assert changes.edit(book, task.id, "Buy bread.", LATER).entries[0].text == "- [ ] Buy bread.\n"
    assert by_hand(book, "- [ ]", "* [X]").entries[0].done is True


def test_what_has_no_box_is_not_done() -> None:
    with pytest.raises(InvalidInput, match="no task"):
        changes.mark_done(book_of(entry()), entry().id, LATER)


def test_an_edited_text_without_a_heading_gets_none() -> None:
    book = by_hand(book_of(entry()), "### 2026-03-28 22:34\n\n", "")
    assert changes.edit(book, entry().id, "Two.", LATER).entries[0].text == "Two.\n"


def test_pinned_and_unpinned() -> None:
    book = changes.pin(book_of(entry()), entry().id, LATER)
    assert book.entries[0].pinned
    assert changes.pin(book, entry().id, LATER) is book
    assert not changes.pin(book, entry().id, LATER, is_pinned=False).entries[0].pinned


def test_what_waited_is_confirmed() -> None:
    waiting = entry(source=ASSISTANT_TURN)
    left, book = changes.confirm(book_of(waiting), book_of(entry("Two.")), waiting.id, LATER)
    assert (said(left), said(book), left.forgotten_ids) == ([], ["Two.", "One."], frozenset())
    assert (book.entries[1].source, book.entries[1].trust, book.entries[1].updated) == (CONFIRMED, USER_STATED, LATER)


@pytest.mark.parametrize("source", [ASSISTANT_TURN, USER_TURN, "of a newer one"])
def test_what_is_confirmed_keeps_a_source_that_somebody_wrote(source: str) -> None:
    waiting = entry(source=source)
    _, book = changes.confirm(book_of(waiting), book_of(), waiting.id, LATER)
    assert [one.source for one in book.entries] == [CONFIRMED]
    assert (source.encode() in serialize_book(book)) is (source == "of a newer one")


def test_what_a_newer_one_supersedes_loses_no_word_on_its_way() -> None:
    waiting = entry("Two.", source=ASSISTANT_TURN)
    newer = entry("Three.")._replace(supersedes=(waiting.id,))
    edited = changes.edit(book_of(waiting), waiting.id, "Four.", LATER)
    left, book = changes.confirm(edited, book_of(newer), waiting.id, LATER)
    assert (said(left), said(book)) == ([], ["Three.", "Four."])
    assert changes.confirm(edited, book, waiting.id, LATER) == (left, book)  # a crash left it in both
    named = entry("Three.", scope="session/x")._replace(supersedes=(entry("Two.", scope="session/x").id,))
    here, there = changes.move(book_of(entry("Two.")), book_of(named, scope="session/x"), entry("Two.").id, LATER)
    assert (said(here), said(there)) == ([], ["Three.", "Two."])


def test_what_is_pinned_is_superseded_by_nothing_but_a_later_word_of_the_user_s() -> None:
    old = entry()._replace(pinned=True)
    learned = entry("Two.", at=LATER, supersedes=(old.id,))
    book = append_parts(new_book("global", "note"), *(make_entry_part(book_of(), one) for one in (old, learned)))
    assert [one.body for one in book.active_entries] == ["One.", "Two."]
    derived = book_of(entry(source=ASSISTANT_TURN)._replace(pinned=True))
    said_by_agent = entry("Two.", source=ASSISTANT_TURN, at=LATER, supersedes=(derived.entries[0].id,))
    assert [one.body for one in changes.add(derived, said_by_agent).active_entries] == ["One.", "Two."]
    by_user = changes.add(book_of(old), learned)
    assert [(one.pinned, one.updated) for one in by_user.entries] == [(False, LATER), (False, None)]
    assert [one.body for one in by_user.active_entries] == ["Two."]
    waiting = book_of(said_by_agent)
    assert [one.body for one in changes.confirm(waiting, derived, said_by_agent.id, LATER)[1].active_entries] == [
        "Two."
    ]


def test_what_was_demoted_does_not_return() -> None:
    book, other = changes.move(book_of(entry()), new_book("session/x", "note"), entry().id, LATER)
    assert (said(book), said(other)) == ([], ["One."])
    assert book.tombstones == {(entry().id, other.entries[0].id)}
    assert other.entries[0].id == entry(scope="session/x").id
    assert changes.add(book, entry()) is book
    same = book_of(entry())
    assert changes.move(same, same, entry().id, LATER) == (same, same)


@pytest.mark.parametrize("change", [changes.forget, lambda b, i: changes.pin(b, i, LATER)])
def test_an_unknown_id_and_a_half_entry_are_errors(change: object) -> None:
    with pytest.raises(NotFoundError):
        change(book_of(entry()), "0" * 16)  # type: ignore[operator]
    half = by_hand(book_of(entry()), f"<!-- lineage:end {entry().id} -->", "mine")
    with pytest.raises(InvalidInput, match="lost its end"):
        change(half, entry().id)  # type: ignore[operator]


def test_the_newer_stands_and_the_older_stays() -> None:
    book = changes.add(book_of(entry()), entry("Two.", at=LATER, supersedes=(entry().id,)))
    assert (said(book), [one.body for one in book.active_entries]) == (["One.", "Two."], ["Two."])


def test_what_overruled_a_forgotten_entry_overrules_what_that_one_did() -> None:
    first, second = entry(), entry("Two.", at="2026-03-29T00:00:00.000Z", supersedes=(entry().id,))
    third = entry("Three.", at=LATER, supersedes=(second.id,))
    book = changes.forget(book_of(first, second, third), second.id)
    assert (said(book), [one.body for one in book.active_entries]) == (["One.", "Three."], ["Three."])
    newest = changes.forget(book_of(first, second), second.id)
    assert [one.body for one in newest.active_entries] == ["One."]
    # A derived one overruled nothing of the user's.
    derived = third._replace(source=ASSISTANT_TURN)
    (left, *_) = (part for part in [make_entry_part(book, derived)])
    old = first._replace(source=ASSISTANT_TURN)
    mixed = append_parts(new_book("global", "note"), make_entry_part(book, old), make_entry_part(book, second), left)
    assert [one.body for one in changes.forget(mixed, second.id).active_entries] == ["One.", "Three."]


def test_a_link_that_never_had_effect_is_not_handed_on() -> None:
    user_s, derived = entry(), entry("Two.", source=ASSISTANT_TURN, at="2026-03-29T00:00:00.000Z")
    derived = derived._replace(supersedes=(user_s.id,))
    newest = entry("Three.", at=LATER, supersedes=(derived.id,))
    book = new_book("global", "note")
    book = append_parts(book, *(make_entry_part(book, one) for one in (user_s, derived, newest)))
    assert [one.body for one in book.active_entries] == ["One.", "Three."]
    assert [one.body for one in changes.forget(book, derived.id).active_entries] == ["One.", "Three."]


def test_an_archived_entry_comes_back_whole_and_takes_no_pin_away() -> None:
    pinned = entry()._replace(pinned=True)
    newer = entry("Two.", at=LATER, supersedes=(pinned.id,))
    archive, book = changes.bring_back(book_of(newer), book_of(pinned), newer.id)
    assert (said(archive), said(book), book.entries[0].pinned) == ([], ["One.", "Two."], True)
    half = parse_book(serialize_book(book_of(newer)).replace(b"lineage:end", b"lineage:ende"), "global", "note")
    assert changes.bring_back(half, new_book("global", "note"), newer.id)[1].entries == ()
    assert changes.bring_back(book_of(), book, newer.id) == (book_of(), book)


def test_an_id_that_is_only_superseded_is_free() -> None:
    book = book_of(entry("Two.", at=LATER, supersedes=(entry().id,)))
    back = changes.add(book, entry())
    assert (said(back), [one.body for one in back.active_entries]) == (["Two.", "One."], ["Two."])


def test_a_derived_entry_never_takes_the_user_s_place() -> None:
    derived = entry("Two.", source=ASSISTANT_TURN, at=LATER, supersedes=(entry().id,))
    with pytest.raises(InvalidInput, match="derived"):
        changes.add(book_of(entry()), derived)
    forged = by_hand(book_of(entry(), entry("Two.", source="x", at=LATER)), '"supersedes": []} -->\n### 2026-03-29',
                     f'"supersedes": ["{entry().id}"]}} -->\n### 2026-03-29')  # fmt: skip
    assert [one.body for one in forged.active_entries] == ["One.", "Two."]


def test_entries_that_supersede_each_other_do_not_both_vanish() -> None:
    second = entry("Two.", at=LATER, supersedes=(entry().id,))
    book = by_hand(book_of(entry(), second), '"supersedes": []', f'"supersedes": ["{second.id}"]')
    assert [one.body for one in book.active_entries] == ["Two."]


# caps


def numbered(count: int, **more: object) -> list[Entry]:
    return [entry(f"Number {n}.", at=f"2026-03-28T22:34:{n:02d}.000Z", **{"source": "x", **more}) for n in range(count)]


def test_the_oldest_roll_over_word_for_word() -> None:
    book = by_hand(book_of(*reversed(numbered(6))), "Number 1.", "Number 1, by hand.")
    raws = {part.entry.body: part.raw for part in book.parts if part.entry}
    kept, rolled = roll_over(book, Cap(5, 3))
    assert said(kept) == ["Number 5.", "Number 4.", "Number 3."]
    assert [part.raw for part in rolled] == [raws[body] for body in ("Number 0.", "Number 1, by hand.", "Number 2.")]
    assert roll_over(kept, Cap(5, 3)) == (kept, ())
    assert roll_over(book, Cap(6, 3)) == (book, ())


def test_what_is_superseded_rolls_over_first() -> None:
    first, second, third, *_ = numbered(4)
    book = changes.add(book_of(first, second), third._replace(supersedes=(second.id,)))
    assert said(roll_over(book, Cap(2, 2))[0]) == ["Number 0.", "Number 2."]


def test_open_tasks_pinned_and_user_stated_global_entries_stay() -> None:
    stated = book_of(*numbered(4, source=MANUAL))
    assert roll_over(stated, Cap(1, 1)) == (stated, ())
    agents = book_of(*numbered(4, scope="agent/a", source=MANUAL), scope="agent/a")
    assert len(roll_over(agents, Cap(1, 1))[0].entries) == 1
    tasks = book_of(*numbered(4, kind="task", scope="agent/a"), scope="agent/a", kind="task")
    assert roll_over(tasks, Cap(1, 1)) == (tasks, ())
    ticked = changes.mark_done(tasks, tasks.entries[2].id, LATER)
    assert said(roll_over(ticked, Cap(1, 1))[0]) == ["Number 0.", "Number 1.", "Number 3."]
    pinned = changes.pin(agents, agents.entries[0].id, LATER)
    assert said(roll_over(pinned, Cap(2, 2))[0]) == ["Number 0.", "Number 3."]
    unboxed = by_hand(tasks, "- [ ] Number 0.", "Number 0.")
    assert roll_over(unboxed, Cap(1, 1)) == (unboxed, ())


def test_an_entry_that_lost_its_end_stays() -> None:
    book = by_hand(book_of(*numbered(2)), f"<!-- lineage:end {numbered(1)[0].id} -->", "mine")
    kept, rolled = roll_over(book, Cap(0, 0))
    assert (len(rolled), [one.body for one in kept.entries]) == (1, ["Number 0.\nmine"])


def test_the_caps_of_the_format() -> None:
    caps = [
        default_cap(*one)
        for one in (("global", "note"), ("session/x", "fact"), ("session/x", "finding"), ("agent/a", "x"))
    ]
    assert caps == [Cap(100, 100), Cap(50, 50), Cap(100, 100), Cap(30, 20)]


# merging

BASE = by_hand(
    book_of(entry("One."), entry("Two."), scope="agent/a"), "<!-- lineage:entry", "# Mine\n\n<!-- lineage:entry"
)


def test_one_side_that_changed_nothing_gives_way() -> None:
    other = changes.edit(BASE, entry("Two.").id, "2", LATER)
    assert merge_books(BASE, BASE, other) == merge_books(BASE, other, BASE) == merge_books(BASE, other, other) == other


def test_changes_to_different_entries_and_free_text_come_together() -> None:
    theirs = by_hand(by_hand(BASE, "# Mine", "# Mine\n\nand more"), "One.", "One, by hand.")
    ours = changes.add(changes.edit(BASE, entry("Two.").id, "2", LATER), entry("Three."))
    book = merge_books(BASE, ours, theirs)
    assert said(book) == ["One, by hand.", "2", "Three."]
    assert [one.text for one in book.handwritten_entries] == ["# Mine\n\nand more\n"]
    assert book.problems == ()
    assert said(merge_books(BASE, theirs, ours)) == ["One, by hand.", "2", "Three."]


def test_both_edits_of_one_entry_stay() -> None:
    theirs = by_hand(BASE, "One.", "Their one.")
    book = merge_books(BASE, changes.edit(BASE, entry("One.").id, "Our one.", LATER), theirs)
    assert said(book) == ["Their one.", "Our one.", "Two."]
    assert len({one.id for one in book.entries}) == 3


def test_a_text_and_a_pin_of_one_entry_come_together() -> None:
    theirs = by_hand(BASE, "One.", "Their one.")
    first = merge_books(BASE, changes.pin(BASE, entry("One.").id, LATER), theirs).entries[0]
    assert (first.body, first.pinned, first.updated) == ("Their one.", True, LATER)


def test_tags_of_both_come_together() -> None:
    ours, theirs = (by_hand(BASE, '"tags": []', f'"tags": ["{name}"]') for name in "ab")
    assert set(merge_books(BASE, ours, theirs).entries[0].tags) == {"a", "b"}


def test_a_key_that_each_side_wrote_is_kept() -> None:
    base = book_of(entry()._replace(more=(("a", "1"), ("b", "2"))))
    (old,) = base.entries
    mine = changes.replace_entry(base, old._replace(more=(("a", "3"), ("c", "4"))))
    yours = changes.replace_entry(base, old._replace(more=(("a", "5"), ("b", "2"), ("d", "6"))))
    (merged,) = merge_books(base, mine, yours).entries
    assert dict(merged.more) == {"a": "5", "c": "4", "d": "6"}


def test_the_sightings_of_both_sides_are_kept_but_for_those_that_one_dropped() -> None:
    first = add_sighting(entry(), entry("One!", at="2026-03-29T00:00:00.000Z"))
    base = book_of(entry())
    base = changes.replace_entry(base, first)
    mine, yours = (
        changes.replace_entry(base, add_sighting(first, entry(f"One, {n}.", at=LATER))) for n in ("so", "yes")
    )
    (merged,) = merge_books(base, mine, yours).entries
    assert {one.text for one in read_sightings(merged)} == {"One!", "One, so.", "One, yes."}
    without = changes.replace_entry(base, add_sighting(entry(), entry("One, so.", at=LATER)))
    (merged,) = merge_books(base, without, yours).entries
    assert {one.text for one in read_sightings(merged)} == {"One, so.", "One, yes."}


def test_what_one_side_deleted_goes_unless_the_other_changed_it() -> None:
    ours = changes.remove_entry(BASE, entry("One.").id)
    assert said(merge_books(BASE, ours, by_hand(BASE, "Two.", "2"))) == ["2"]
    assert said(merge_books(BASE, ours, by_hand(BASE, "One.", "1"))) == ["1", "Two."]
    assert said(merge_books(BASE, by_hand(BASE, "One.", "1"), ours)) == ["Two.", "1"]


def test_what_one_side_forgot_stays_forgotten_and_new_words_of_the_other_stay() -> None:
    gone = changes.forget(BASE, entry("One.").id)
    for ours, theirs in (
        (gone, by_hand(BASE, "One.", "One.\nNew words.")),
        (by_hand(BASE, "One.", "One.\nNew words."), gone),
    ):
        book = merge_books(BASE, ours, theirs)
        assert (said(book), book.forgotten_ids) == (["Two."], {entry("One.").id})
        assert "New words." in "".join(one.text for one in book.handwritten_entries)
        assert "One." not in "".join(one.text for one in book.handwritten_entries)


def test_what_both_sides_bind_an_entry_to_is_kept() -> None:
    ours, theirs = (by_hand(BASE, '"supersedes": []', f'"supersedes": [], "about": ["file:{one}.py"]') for one in "ab")
    assert merge_books(BASE, ours, theirs).entries[0].about == ("file:b.py", "file:a.py")


def test_what_a_person_writes_is_user_stated_but_a_tool_s_words_are_not() -> None:
    for source, tool, trust, kept in (
        (ASSISTANT_TURN, None, USER_STATED, CONFIRMED),
        (ASSISTANT_TURN, "Bash", DERIVED, CONFIRMED),
        (MANUAL, None, USER_STATED, MANUAL),
    ):
        book = book_of(one := entry(source=source, tool=tool))
        for changed in (changes.edit(book, one.id, "Two.", LATER), changes.claim(book, one.id, "Before.", LATER)):
            assert (changed.entries[0].trust, changed.entries[0].source) == (trust, kept)


def test_what_was_forgotten_together_stays_together_in_a_merge() -> None:
    """Whichever side's order the file has, and where both sides left the same id with another entry."""
    first, second, near = entry("One.").id, entry("Two.").id, "0" * 16

    def forget(name: str) -> Book:
        left = changes.forget(BASE, name)
        return append_parts(left, make_tombstone_part(left, near, name))

    both = {(first, ""), (near, first), (second, ""), (near, second)}
    for ours, theirs in ((forget(first), forget(second)), (forget(second), forget(first))):
        assert merge_books(BASE, ours, theirs).tombstones == both


def test_a_marker_that_a_human_changed_is_none_once_its_entry_is_forgotten() -> None:
    theirs = by_hand(BASE, '"supersedes": []', '"supersedes": [], "mood": "mine"')
    book = merge_books(BASE, changes.forget(BASE, entry("One.").id), theirs)
    assert said(book) == ["Two."]
    assert "mine" in "".join(one.text for one in book.handwritten_entries)


def test_what_one_side_added_and_forgot_is_not_added_by_the_other() -> None:
    added = changes.add(BASE, entry("Three."))
    gone = changes.forget(added, entry("Three.").id)
    assert said(merge_books(BASE, added, gone)) == said(merge_books(BASE, gone, added)) == ["One.", "Two."]


def test_free_text_of_both_stays() -> None:
    ours = by_hand(BASE, "# Mine", "# Ours\n\nOur words.")
    theirs = by_hand(BASE, "# Mine", "# Theirs\n\nTheir words.")
    texts = "".join(one.text for one in merge_books(BASE, ours, theirs).handwritten_entries)
    assert "# Ours" in texts
    assert "# Theirs" in texts
    assert merge_books(BASE, ours, by_hand(BASE, "One.", "1")).handwritten_entries == ours.handwritten_entries != ()
    assert said(merge_books(BASE, ours, by_hand(BASE, "One.", "1"))) == ["1", "Two."]


def test_line_ends_of_theirs_stay() -> None:
    theirs = parse_book(serialize_book(BASE).replace(b"\n", b"\r\n"), BASE.scope, BASE.kind)
    book = merge_books(BASE, changes.edit(BASE, entry("Two.").id, "2", LATER), theirs)
    assert said(book) == ["One.", "2"]
    assert b"# Mine\r\n" in serialize_book(book)
