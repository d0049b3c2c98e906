"""`lineage admin mirror`: a folder and a memory kept in step, what every sort of file becomes, and what is never done.

What each guard rests on:
- no write lost: compare-and-swap in `put`, three-way merges in core/mirror_contents.py, `_kept_beside`.
- nothing comes back: `bury` before any copy, `drop_removed_entries`, `is_overtaken`.
- sudden loss: `_check_loss`. Damage isn't spread: `checked`. What is rendered isn't copied: `is_mirrored`.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from lineage.core.base import naming
from lineage.core.base.links import wikilink
from lineage.core.sanitizer import Rule, build_ruleset
from lineage.pipeline.maintenance.archive import archive
from lineage.pipeline.maintenance.reindex import SuddenLoss, reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.resanitize import resanitize
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.memory.remember import Memo, remember
from lineage.pipeline.transfer.mirror.apply import MirrorCounts
from lineage.store import read_or_none, update
from lineage.workspace.workspace import Workspace
from tests.support.books import write_entry
from tests.support.faults import Crash, CrashPoint
from tests.support.mirrors import Laptop, MirrorWorld, open_world, read_documents
from tests.support.workspace import end_session, make_turns

pytestmark = pytest.mark.slow


@pytest.fixture
def here_and_there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MirrorWorld]:
    with open_world(tmp_path_factory.mktemp("mirrors")) as made:
        yield made


def said(laptop: Laptop, key: str) -> tuple[str | None, str | None]:
    """A file's text in the folder and in what it mirrors."""
    blobs = (read_or_none(ws.documents.store, key) for ws in (laptop.local, laptop.shared))
    here, there = (blob.data.decode() if blob else None for blob in blobs)
    return here, there


def there_writes(laptop: Laptop, key: str, text: str) -> None:
    """What another mirror brought."""
    update(laptop.remote, key, lambda _: text.encode())


def learned(ws: Workspace, text: str, path: str) -> None:
    """An entry that a session taught."""
    write_entry(ws, "global", "fact", text, origin=wikilink(path, "transcript"))


def in_step(laptop: Laptop) -> None:
    """Both sides are the same, sound, and a further round finds nothing to do."""
    assert read_documents(laptop.local) == read_documents(laptop.shared)
    reindex(laptop.shared)  # what others wrote there meanwhile
    assert verify(laptop.local) == verify(laptop.shared) == []
    done = laptop.mirror()
    assert (done.counts, done.findings, done.removed) == (MirrorCounts(), [], [])


def test_sessions_books_and_notes_go_both_ways(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    end_session(one.shared, "s-1")
    end_session(one.local, "s-2")
    remember(one.shared, Memo(text="Prefers tabs.", kind="preference"))
    remember(one.local, Memo(text="Prefers short messages.", kind="preference"))
    one.write("ideas/Plans.md", "mine\n")
    done = one.mirror()
    assert (done.findings, done.conflicts, done.deferred) == ([], [], [])
    assert done.counts.merged == 1, "the book"
    in_step(one)
    for ws in (one.local, one.shared):
        assert {row.session_id for row in ws.index.list_sessions("default")} == {"s-1", "s-2"}
    assert "Prefers tabs." in one.local.documents.store.read("MEMORY.md").data.decode()
    assert said(one, "ideas/Plans.md") == ("mine\n", "mine\n")


def test_a_removal_on_either_side_removes_on_the_other(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    for session in ("s-1", "s-2"):
        outcome = end_session(one.shared, session)
        learned(one.shared, f"What {session} taught.", outcome.transcript_path or "")
    one.mirror()
    first = remove(one.local, "s-1", reason="asked")
    second = remove(one.shared, "s-2", reason="asked")
    done = one.mirror()
    assert done.removed == sorted([first.session_token, second.session_token])
    in_step(one)
    everything = b"".join(read_documents(one.local).values())
    assert b"taught" not in everything
    assert b"drop the last line" not in everything
    assert one.local.documents.tombstones.list_tokens() == {first.session_token, second.session_token}
    assert not one.local.documents.spool.list_pending()
    files = sorted((here_and_there.folder / "one").glob("mirror.db*"))
    assert b"taught" not in b"".join(file.read_bytes() for file in files)


def test_what_came_back_of_a_removed_session_goes_again(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    outcome = end_session(one.shared, "s-1")
    one.mirror()
    path = outcome.transcript_path or ""
    data = one.local.documents.store.read(path).data
    remove(one.shared, "s-1", reason="asked")
    one.mirror()
    one.local.documents.base.create(path, data)  # a backup is restored
    assert one.mirror().removed
    assert said(one, path) == (None, None)
    in_step(one)


def test_the_first_meeting_of_two_full_sides_brings_no_removed_entry_back(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    outcome = end_session(one.shared, "s-1")
    learned(one.shared, "What s-1 taught.", outcome.transcript_path or "")
    for key, data in read_documents(one.shared).items():
        one.local.documents.base.create(key, data)
    remove(one.shared, "s-1", reason="asked")
    one.mirror()
    in_step(one)
    assert b"taught" not in b"".join(read_documents(one.shared).values())


def test_an_entry_forgotten_on_one_side_stays_forgotten_while_the_other_adds(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    first = remember(one.shared, Memo(text="Prefers tabs.", kind="preference"))
    one.mirror()
    one.local.documents.books.forget("global", "preference", first.id or "")
    remember(one.shared, Memo(text="Prefers spaces.", kind="preference"))
    one.mirror()
    in_step(one)
    book = one.shared.documents.books.get("global", "preference")
    (entry,) = book.active_entries
    assert "Prefers spaces." in entry.text


def test_a_book_s_file_that_is_deleted_is_emptied_of_what_it_had(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    one.write("Plans.md", "mine\n")
    remember(one.shared, Memo(text="Prefers tabs.", kind="preference"))
    one.mirror()
    one.local.documents.base.delete("books/global/preference.md")
    remember(one.shared, Memo(text="Prefers spaces.", kind="preference"))
    one.mirror()
    in_step(one)
    book = one.local.documents.books.get("global", "preference")
    (entry,) = book.active_entries
    assert "Prefers spaces." in entry.text


def test_notes_are_merged_by_line_and_a_conflict_keeps_both(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
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


def test_a_picture_is_a_note_that_can_only_be_kept_beside(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    one.local.documents.store.create("cat.png", b"\x89PNG\xff1")
    one.shared.documents.store.create("cat.png", b"\x89PNG\xff2")
    assert one.mirror().conflicts == ["cat (conflict 2026-11-21).png"]
    in_step(one)
    assert one.local.documents.store.read("cat.png").data == b"\x89PNG\xff2"


def test_a_deleted_note_goes_on_the_other_side_unless_it_was_changed_there(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    for name in ("kept.md", "gone.md", "stays.md"):
        one.write(name, "a\n")
    one.mirror()
    one.local.documents.store.delete("gone.md")
    one.shared.documents.store.delete("kept.md")
    one.write("kept.md", "changed\n")
    done = one.mirror()
    assert (done.counts.deleted, done.counts.restored) == (1, 1)
    assert said(one, "gone.md") == (None, None)
    assert said(one, "kept.md") == ("changed\n",) * 2


def test_history_goes_by_removal_alone_and_is_put_back(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    outcome = end_session(one.shared, "s-1")
    one.mirror()
    one.local.documents.base.delete(outcome.summary_path or "")
    one.shared.documents.base.delete(outcome.manifest_path or "")
    assert one.mirror().counts.restored == 2
    in_step(one)


def test_more_than_half_gone_is_no_deletion(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    for number in range(4):
        one.write(f"{number}.md", "a\n")
    one.mirror()
    for number in range(3):
        one.shared.documents.store.delete(f"{number}.md")
    with pytest.raises(SuddenLoss, match="3 of 4"):
        one.mirror()
    assert len(read_documents(one.local)) == 4
    assert one.mirror(confirmed=True).counts.deleted == 3


@pytest.mark.leaves_findings
def test_a_damaged_file_is_a_finding_and_goes_nowhere(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    path = end_session(one.shared, "s-1").transcript_path or ""
    one.mirror()
    data = one.local.documents.store.read(path).data
    one.write(path, "cut off")
    done = one.mirror()
    assert [found for found, _ in done.findings] == [path]
    assert said(one, path) == ("cut off", data.decode())
    other = end_session(one.local, "s-2").summary_path or ""
    one.write(other, "cut off")
    assert other in [found for found, _ in one.mirror().findings]
    assert said(one, other) == ("cut off", None)


def test_artifacts_that_were_redacted_anew_follow(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    end_session(one.shared, "s-1", transcript=make_turns("Where does quokka4711 live?", "In the lair of quokka4711."))
    one.mirror()
    rules = build_ruleset([Rule(id="animal", pattern="quokka[0-9]+", keywords=("quokka",))])
    strict = replace(one, local=replace(one.local, custom_rules=rules), shared=replace(one.shared, custom_rules=rules))
    resanitize(strict.shared)
    strict.mirror()
    in_step(strict)
    assert b"quokka4711" not in b"".join(read_documents(one.local).values())


def test_one_session_ended_on_both_sides_is_one_session_again(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    first, second = "2026-11-20T10:00:00.000Z", "2026-11-20T11:00:00.000Z"
    end_session(one.local, "s-1", captured_at=second, transcript=make_turns("Later words?", "Yes, later ones."))
    end_session(one.shared, "s-1", captured_at=first, transcript=make_turns("Earlier words?", "Yes, earlier."))
    one.mirror()
    in_step(one)
    (row,) = one.local.index.list_sessions("default")
    stem = one.local.documents.claims.get_stem(row.session_token) or ""
    manifest = one.local.documents.manifests.get(stem)
    assert manifest is not None
    assert len(manifest.captures) == 2
    assert naming.parse_captured_at(stem) == first


def test_what_each_side_renders_or_packs_itself_stays_its_own(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    old = make_turns("An old question?", "An old answer.", start="2026-01-02T10:00")
    end_session(one.shared, "s-1", captured_at="2026-01-02T11:00:00.000Z", transcript=old)
    archive(one.shared, before="2026-06-01")
    assert list(one.remote.list("archive/"))
    one.shared.documents.store.create("books/global/note 2.md", b"a sync client's")
    one.mirror()
    in_folder = [entry.key for entry in one.local.documents.base.list("")]
    assert [key for key in in_folder if key.startswith("archive/")] == []
    assert "books/global/note 2.md" not in in_folder
    assert sum(key.endswith("transcript.md") for key in in_folder) == 1
    assert verify(one.local) == []


def test_notes_of_sessions_that_one_side_archived_go_to_and_fro_no_more(here_and_there: MirrorWorld) -> None:
    one = here_and_there.open_laptop("one")
    old = make_turns("An old question?", "An old answer.", start="2026-01-02T10:00")
    end_session(one.shared, "s-1", captured_at="2026-01-02T11:00:00.000Z", transcript=old, project="/home/ada/demo")
    archive(one.shared, before="2026-06-01")
    one.mirror()
    assert one.local.documents.store.read("days/2026-01-02.md").data
    for _ in range(3):
        result = one.mirror()
        assert (result.counts, result.conflicts, result.findings) == (MirrorCounts(), [], [])


def test_two_laptops_agree(here_and_there: MirrorWorld) -> None:
    one, two = here_and_there.open_laptop("one"), here_and_there.open_laptop("two")
    end_session(one.local, "s-1")
    remember(two.local, Memo(text="Prefers tabs.", kind="preference"))
    for laptop in (one, two, one):
        laptop.mirror()
    in_step(one)
    in_step(two)
    assert read_documents(one.local) == read_documents(two.local)


@pytest.mark.slow
def test_whoever_dies_between_the_sides_merges_nothing_with_itself(here_and_there: MirrorWorld) -> None:
    """Without the note before the write the next round would take its own merge for somebody else's."""
    for at in range(1, 60):
        one = here_and_there.open_laptop(f"one-{at}")
        path, fuse = f"books/global/kind-{at}.md", CrashPoint(at)
        made = write_entry(one.shared, "global", f"kind-{at}", "It was so.")
        one.mirror()
        for side, word in ((one.local, "mine"), (one.shared, "theirs")):
            text = side.documents.store.read(path).data.decode().replace("It was so.", f"It is {word}.")
            update(side.documents.base, path, lambda _, text=text: text.encode())  # type: ignore[misc]
        with suppress(Crash):
            one.mirror_with_crash(fuse)
        one.mirror()
        in_step(one)
        text = said(one, path)[0] or ""
        assert (text.count("It is mine."), text.count("It is theirs.")) == (1, 1), at
        assert text.count(f"id={made.id}") <= 1
        if not fuse.is_dead:
            return
    pytest.fail("the fuse burned at every call")
