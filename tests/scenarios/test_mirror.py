"""`lineage mirror`: a folder and a memory kept in step, what every sort of file becomes, and what is never done.

What each guard rests on:
- no write lost: compare-and-swap in `put`, three-way merges in core/mirror_contents.py, `_kept_beside`.
- nothing comes back: `bury` before any copy, `book_without`, `is_overtaken`.
- sudden loss: `_check_loss`. Damage isn't spread: `checked`. What is rendered isn't copied: `is_mirrored`.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from lineage.core import naming
from lineage.core.links import wikilink
from lineage.core.sanitizer import Rule, ruleset
from lineage.pipeline.archive.archiving import archive
from lineage.pipeline.house import House
from lineage.pipeline.knowledge.remembering import Memo, remember
from lineage.pipeline.mirroring.carrying import Counts
from lineage.pipeline.upkeep.reindexing import SuddenLoss, reindex
from lineage.pipeline.upkeep.removal import remove
from lineage.pipeline.upkeep.resanitizing import resanitize
from lineage.pipeline.upkeep.verification import verify
from lineage.store import read_or_none, update
from tests.support.books import put
from tests.support.faults import Crash, Fuse
from tests.support.houses import end, turns
from tests.support.mirrors import Laptop, World, canonical, world

pytestmark = pytest.mark.slow


@pytest.fixture
def here_and_there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("mirrors")) as made:
        yield made


def said(laptop: Laptop, key: str) -> tuple[str | None, str | None]:
    """A file's text in the folder and in what it mirrors."""
    blobs = (read_or_none(house.canon.store, key) for house in (laptop.here, laptop.there))
    here, there = (blob.data.decode() if blob else None for blob in blobs)
    return here, there


def there_writes(laptop: Laptop, key: str, text: str) -> None:
    """What another mirror brought."""
    update(laptop.remote, key, lambda _: text.encode())


def learned(house: House, text: str, path: str) -> None:
    """An entry that a session taught."""
    put(house, "global", "fact", text, origin=wikilink(path, "transcript"))


def in_step(laptop: Laptop) -> None:
    """Both sides are the same, sound, and a further round finds nothing to do."""
    assert canonical(laptop.here) == canonical(laptop.there)
    reindex(laptop.there)  # what others wrote there meanwhile
    assert verify(laptop.here) == verify(laptop.there) == []
    done = laptop.mirror()
    assert (done.counts, done.findings, done.removed) == (Counts(), [], [])


def test_sessions_books_and_notes_go_both_ways(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    end(one.there, "s-1")
    end(one.here, "s-2")
    remember(one.there, Memo(text="Prefers tabs.", kind="preference"))
    remember(one.here, Memo(text="Prefers short messages.", kind="preference"))
    one.write("ideas/Plans.md", "mine\n")
    done = one.mirror()
    assert (done.findings, done.conflicts, done.deferred) == ([], [], [])
    assert done.counts.merged == 1, "the book"
    in_step(one)
    for house in (one.here, one.there):
        assert {row.session_id for row in house.index.sessions("default")} == {"s-1", "s-2"}
    assert "Prefers tabs." in one.here.canon.store.read("MEMORY.md").data.decode()
    assert said(one, "ideas/Plans.md") == ("mine\n", "mine\n")


def test_a_removal_on_either_side_removes_on_the_other(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    for session in ("s-1", "s-2"):
        outcome = end(one.there, session)
        learned(one.there, f"What {session} taught.", outcome.transcript_path or "")
    one.mirror()
    first = remove(one.here, "s-1", reason="asked")
    second = remove(one.there, "s-2", reason="asked")
    done = one.mirror()
    assert done.removed == sorted([first.session_token, second.session_token])
    in_step(one)
    everything = b"".join(canonical(one.here).values())
    assert b"taught" not in everything
    assert b"drop the last line" not in everything
    assert one.here.canon.tombstones.tokens() == {first.session_token, second.session_token}
    assert not one.here.canon.spool.pending()
    files = sorted((here_and_there.folder / "one").glob("mirror.db*"))
    assert b"taught" not in b"".join(file.read_bytes() for file in files)


def test_what_came_back_of_a_removed_session_goes_again(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    outcome = end(one.there, "s-1")
    one.mirror()
    path = outcome.transcript_path or ""
    data = one.here.canon.store.read(path).data
    remove(one.there, "s-1", reason="asked")
    one.mirror()
    one.here.canon.archives.store.create(path, data)  # a backup is restored
    assert one.mirror().removed
    assert said(one, path) == (None, None)
    in_step(one)


def test_the_first_meeting_of_two_full_sides_brings_no_removed_entry_back(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    outcome = end(one.there, "s-1")
    learned(one.there, "What s-1 taught.", outcome.transcript_path or "")
    for key, data in canonical(one.there).items():
        one.here.canon.archives.store.create(key, data)
    remove(one.there, "s-1", reason="asked")
    one.mirror()
    in_step(one)
    assert b"taught" not in b"".join(canonical(one.there).values())


def test_an_entry_forgotten_on_one_side_stays_forgotten_while_the_other_adds(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    first = remember(one.there, Memo(text="Prefers tabs.", kind="preference"))
    one.mirror()
    one.here.canon.books.forget("global", "preference", first.id or "")
    remember(one.there, Memo(text="Prefers spaces.", kind="preference"))
    one.mirror()
    in_step(one)
    book = one.there.canon.books.get("global", "preference")
    (entry,) = book.standing
    assert "Prefers spaces." in entry.text


def test_a_book_s_file_that_is_deleted_is_emptied_of_what_it_had(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    one.write("Plans.md", "mine\n")
    remember(one.there, Memo(text="Prefers tabs.", kind="preference"))
    one.mirror()
    one.here.canon.archives.store.delete("books/global/preference.md")
    remember(one.there, Memo(text="Prefers spaces.", kind="preference"))
    one.mirror()
    in_step(one)
    book = one.here.canon.books.get("global", "preference")
    (entry,) = book.standing
    assert "Prefers spaces." in entry.text


def test_notes_are_merged_by_line_and_a_conflict_keeps_both(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    one.write("Plans.md", "a\nb\nc\n")
    one.mirror()
    one.write("Plans.md", "A\nb\nc\n")
    there_writes(one, "Plans.md", "a\nb\nC\n")
    assert one.mirror().counts.merged == 1
    assert said(one, "Plans.md") == ("A\nb\nC\n",) * 2
    one.write("Plans.md", "mine\n")
    there_writes(one, "Plans.md", "theirs\n")
    done = one.mirror()
    beside = "Plans (conflict 2026-11-21).md"
    assert done.conflicts == [beside]
    assert said(one, "Plans.md") == ("theirs\n",) * 2
    assert said(one, beside) == ("mine\n",) * 2
    in_step(one)


def test_a_picture_is_a_note_that_can_only_be_kept_beside(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    one.here.canon.store.create("cat.png", b"\x89PNG\xff1")
    one.there.canon.store.create("cat.png", b"\x89PNG\xff2")
    assert one.mirror().conflicts == ["cat (conflict 2026-11-21).png"]
    in_step(one)
    assert one.here.canon.store.read("cat.png").data == b"\x89PNG\xff2"


def test_a_deleted_note_goes_on_the_other_side_unless_it_was_changed_there(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    for name in ("kept.md", "gone.md", "stays.md"):
        one.write(name, "a\n")
    one.mirror()
    one.here.canon.store.delete("gone.md")
    one.there.canon.store.delete("kept.md")
    one.write("kept.md", "changed\n")
    done = one.mirror()
    assert (done.counts.deleted, done.counts.restored) == (1, 1)
    assert said(one, "gone.md") == (None, None)
    assert said(one, "kept.md") == ("changed\n",) * 2


def test_history_goes_by_removal_alone_and_is_put_back(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    outcome = end(one.there, "s-1")
    one.mirror()
    one.here.canon.archives.store.delete(outcome.summary_path or "")
    one.there.canon.archives.store.delete(outcome.manifest_path or "")
    assert one.mirror().counts.restored == 2
    in_step(one)


def test_more_than_half_gone_is_no_deletion(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    for number in range(4):
        one.write(f"{number}.md", "a\n")
    one.mirror()
    for number in range(3):
        one.there.canon.store.delete(f"{number}.md")
    with pytest.raises(SuddenLoss, match="3 of 4"):
        one.mirror()
    assert len(canonical(one.here)) == 4
    assert one.mirror(confirmed=True).counts.deleted == 3


@pytest.mark.leaves_findings
def test_a_damaged_file_is_a_finding_and_goes_nowhere(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    path = end(one.there, "s-1").transcript_path or ""
    one.mirror()
    data = one.here.canon.store.read(path).data
    one.write(path, "cut off")
    done = one.mirror()
    assert [found for found, _ in done.findings] == [path]
    assert said(one, path) == ("cut off", data.decode())
    other = end(one.here, "s-2").summary_path or ""
    one.write(other, "cut off")
    assert other in [found for found, _ in one.mirror().findings]
    assert said(one, other) == ("cut off", None)


def test_artifacts_that_were_redacted_anew_follow(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    end(one.there, "s-1", transcript=turns("Where does quokka4711 live?", "In the lair of quokka4711."))
    one.mirror()
    rules = ruleset([Rule(id="animal", pattern="quokka[0-9]+", keywords=("quokka",))])
    strict = replace(one, here=one.here._replace(own_rules=rules), there=one.there._replace(own_rules=rules))
    resanitize(strict.there)
    strict.mirror()
    in_step(strict)
    assert b"quokka4711" not in b"".join(canonical(one.here).values())


def test_one_session_ended_on_both_sides_is_one_session_again(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    first, second = "2026-11-20T10:00:00.000Z", "2026-11-20T11:00:00.000Z"
    end(one.here, "s-1", captured_at=second, transcript=turns("Later words?", "Yes, later ones."))
    end(one.there, "s-1", captured_at=first, transcript=turns("Earlier words?", "Yes, earlier."))
    one.mirror()
    in_step(one)
    (row,) = one.here.index.sessions("default")
    stem = one.here.canon.claims.stem_of(row.session_token) or ""
    manifest = one.here.canon.manifests.get(stem)
    assert manifest is not None
    assert len(manifest.captures) == 2
    assert naming.captured_at_of(stem) == first


def test_what_each_side_renders_or_packs_itself_stays_its_own(here_and_there: World) -> None:
    one = here_and_there.laptop("one")
    old = turns("An old question?", "An old answer.", start="2026-01-02T10:00")
    end(one.there, "s-1", captured_at="2026-01-02T11:00:00.000Z", transcript=old)
    archive(one.there, before="2026-06-01")
    assert list(one.remote.list("archive/"))
    one.there.canon.store.create("books/global/note 2.md", b"a sync client's")
    one.mirror()
    in_folder = [entry.key for entry in one.here.canon.archives.store.list("")]
    assert [key for key in in_folder if key.startswith("archive/")] == []
    assert "books/global/note 2.md" not in in_folder
    assert sum(key.endswith("transcript.md") for key in in_folder) == 1
    assert verify(one.here) == []


def test_two_laptops_agree(here_and_there: World) -> None:
    one, two = here_and_there.laptop("one"), here_and_there.laptop("two")
    end(one.here, "s-1")
    remember(two.here, Memo(text="Prefers tabs.", kind="preference"))
    for laptop in (one, two, one):
        laptop.mirror()
    in_step(one)
    in_step(two)
    assert canonical(one.here) == canonical(two.here)


@pytest.mark.slow
def test_whoever_dies_between_the_sides_merges_nothing_with_itself(here_and_there: World) -> None:
    """Without the note before the write the next round would take its own merge for somebody else's."""
    for at in range(1, 60):
        one = here_and_there.laptop(f"one-{at}")
        path, fuse = f"books/global/kind-{at}.md", Fuse(at)
        made = put(one.there, "global", f"kind-{at}", "It was so.")
        one.mirror()
        for side, word in ((one.here, "mine"), (one.there, "theirs")):
            text = side.canon.store.read(path).data.decode().replace("It was so.", f"It is {word}.")
            update(side.canon.archives.store, path, lambda _, text=text: text.encode())  # type: ignore[misc]
        with suppress(Crash):
            one.mirror_dying(fuse)
        one.mirror()
        in_step(one)
        text = said(one, path)[0] or ""
        assert (text.count("It is mine."), text.count("It is theirs.")) == (1, 1), at
        assert text.count(f"id={made.id}") <= 1
        if not fuse.dead:
            return
    pytest.fail("the fuse burned at every call")
