"""The canonical layer, over every store: what is immutable, what is swapped, what exactly one may win.

What each guard rests on:
- artifacts never change: the comparison of bytes in `commit`.
- links are never lost and never doubled: `update` in `Manifests.link`, `changed == manifest` in `linked`.
- one claimant wins: `create` in `Claims.claim`, and reading the winner's claim.
- a removed session stays removed: `Tombstones.has` looks at the file, not into it.
- the spool keeps what it cannot read: `FormatError` in `Spool._jobs`.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lineage.core.base import naming
from lineage.core.format.documents import Tombstone, serialize_document, with_body
from lineage.core.format.job import Job
from lineage.core.format.manifest import memory_md_anchor
from lineage.documents import Artifacts, Claims, Manifests, Spool, Tombstones
from lineage.errors import FormatError, ImmutableError, RemovedError
from lineage.store import ConflictError, Store
from tests.support.artifacts import AT, make_artifact, make_capture, make_identity, make_stem
from tests.support.concurrency import run_concurrently
from tests.support.faults import CountingStore
from tests.support.stores import skip_update_pauses

LATER = "2026-11-21T10:30:00.000Z"
LAST = "2026-11-22T10:30:00.000Z"
TOKEN = make_identity().token


def minute(number: int) -> str:
    return f"2026-11-20T{number // 60:02d}:{number % 60:02d}:00.000Z"


# artifacts


@pytest.mark.parametrize("kind", naming.ARTIFACT_KINDS)
def test_an_artifact_reads_back_as_it_was_written(store: Store, kind: str) -> None:
    written = make_artifact(kind, body="[[a]]\n\n---\n\nBody: “ä” \u2028 end\n")
    assert Artifacts(store).get(written.path) is None
    assert Artifacts(store).has_content(written) is None
    assert Artifacts(store).write(written) is True
    assert Artifacts(store).get(written.path) == written
    assert Artifacts(store).has_content(written) is True


def test_the_same_artifact_again_succeeds_and_writes_nothing(store: Store) -> None:
    written = make_artifact()
    Artifacts(store).write(written)
    before = store.read(written.path)
    assert Artifacts(store).write(written) is False
    assert store.read(written.path) == before


@pytest.mark.parametrize(
    "other",
    [
        with_body(make_artifact(), "another body\n"),
        with_body(make_artifact(), make_artifact().body + "\n"),
        make_artifact(memory_sentence="A forged sentence about something else."),
        make_artifact(private=True),
    ],
    ids=["body", "white space", "sentence", "privacy"],
)
def test_an_artifact_with_any_other_content_is_refused(store: Store, other: object) -> None:
    written = make_artifact()
    Artifacts(store).write(written)
    with pytest.raises(ImmutableError):
        Artifacts(store).write(other)  # type: ignore[arg-type]
    assert Artifacts(store).get(written.path) == written
    assert Artifacts(store).has_content(other) is False  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", [b"", b"---\n", b"\xff", b'---\nkind: "summary"\n---\n'])
def test_a_damaged_artifact_is_an_error_that_names_it(store: Store, damage: bytes) -> None:
    store.create(make_artifact().path, damage)
    with pytest.raises(FormatError, match=make_artifact().path):
        Artifacts(store).get(make_artifact().path)
    with pytest.raises(ImmutableError):
        Artifacts(store).write(make_artifact())


def test_an_artifact_in_another_s_place_is_an_error(store: Store) -> None:
    store.create(make_artifact(session="s-2").path, serialize_document(make_artifact()))
    with pytest.raises(FormatError):
        Artifacts(store).get(make_artifact(session="s-2").path)


def test_an_artifact_that_breaks_its_contract_is_not_written(store: Store) -> None:
    with pytest.raises(FormatError):
        Artifacts(store).write(make_artifact(captured_at="2026-11-20 10:30"))
    assert list(store.list("memory/")) == []


# manifests


def test_every_new_link_is_a_revision_and_a_repeated_one_is_none(store: Store) -> None:
    manifests = Manifests(store)
    assert manifests.get(make_stem()) is None
    first, late, compacted = make_capture(), make_capture(at=LATER), [make_artifact(naming.COMPACTION, at=LAST)]
    seen = []
    for number, artifacts in enumerate((first, first, late, compacted, late, compacted, first)):
        written = manifests.link(make_stem(), artifacts, f"write-{number}", LAST)
        manifest = manifests.get(make_stem())
        assert manifest
        seen.append((written, manifest.revision, manifest.write_id))
    assert [written for written, _, _ in seen] == [True, False, True, True, False, False, False]
    assert [revision for _, revision, _ in seen] == [1, 1, 2, 3, 3, 3, 3]
    assert [write for _, _, write in seen] == ["write-0"] * 2 + ["write-2"] + ["write-3"] * 4


def test_a_manifest_names_the_newest_of_each_kind_and_lists_all(store: Store) -> None:
    manifests = Manifests(store)
    manifests.link(make_stem(), make_capture(at=LATER), "w-1", LAST)
    manifests.link(make_stem(), [make_artifact(naming.COMPACTION, at=LAST)], "w-2", LAST)
    manifests.link(make_stem(), make_capture(at=AT), "w-3", LAST)
    manifests.link(make_stem(), [make_artifact(naming.COMPACTION, at=AT)], "w-4", LAST)
    manifest = manifests.get(make_stem())
    assert manifest
    assert manifest.captures == [make_stem(at=AT), make_stem(at=LATER)]
    assert manifest.compactions == [make_stem(at=AT), make_stem(at=LAST)]
    assert manifest.transcript_path == naming.artifact_path(make_stem(at=LATER), naming.TRANSCRIPT)
    assert manifest.summary_path == naming.artifact_path(make_stem(at=LATER), naming.SUMMARY)
    assert manifest.compaction_path == naming.artifact_path(make_stem(at=LAST), naming.COMPACTION)
    assert (manifest.started_at, manifest.ended_at) == (AT, LATER)
    assert manifest.memory_md_refs == [memory_md_anchor(make_capture(at=at)[0]) for at in (AT, LATER)]
    assert manifest.captured_at == AT


def test_a_compaction_never_changes_a_session_s_times(store: Store) -> None:
    manifests = Manifests(store)
    manifests.link(make_stem(), make_capture(), "w-1", LAST)
    manifests.link(
        make_stem(), [make_artifact(naming.COMPACTION, at=LAST, started_at=None, ended_at=None)], "w-2", LAST
    )
    manifest = manifests.get(make_stem())
    assert manifest
    assert (manifest.started_at, manifest.ended_at) == (AT, AT)


def test_a_damaged_manifest_is_not_written_over(store: Store) -> None:
    path = naming.artifact_path(make_stem(), naming.MANIFEST)
    store.create(path, b"---\nedited: badly\n---\n")
    with pytest.raises(FormatError, match=path):
        Manifests(store).link(make_stem(), make_capture(), "w-1", LAST)
    with pytest.raises(FormatError, match=path):
        Manifests(store).get(make_stem())
    assert store.read(path).data == b"---\nedited: badly\n---\n"


def test_a_manifest_is_mutable_and_an_artifact_in_its_place_is_an_error(store: Store) -> None:
    path = naming.artifact_path(make_stem(), naming.MANIFEST)
    store.create(path, serialize_document(make_artifact()))
    with pytest.raises(FormatError):
        Manifests(store).get(make_stem())


@pytest.mark.slow
def test_links_of_different_captures_at_the_same_time_all_survive(store: Store) -> None:
    written = run_concurrently(store, link_many, [(who, 8) for who in range(8)])
    manifest = Manifests(store).get(make_stem())
    assert manifest
    expected = sorted(make_stem(at=minute(number)) for number in range(64))
    assert (manifest.captures, manifest.compactions) == (expected, expected)
    assert sum(written) == manifest.revision == 128


@pytest.mark.slow
def test_the_same_link_by_many_at_the_same_time_is_one_revision(store: Store) -> None:
    written = run_concurrently(store, link_same, [(who,) for who in range(8)])
    manifest = Manifests(store).get(make_stem())
    assert manifest
    assert sorted(written) == [False] * 7 + [True]
    assert manifest.revision == 1


def link_many(store: Store, who: int, count: int) -> int:
    """Links captures and compactions of its own minutes, each of them twice."""
    written = 0
    for number in range(who, 8 * count, 8):
        at = minute(number)
        for artifacts in (make_capture(at=at), [make_artifact(naming.COMPACTION, at=at)]) * 2:
            written += Manifests(store).link(make_stem(), artifacts, f"{who}-{number}", LAST)
    return written


def link_same(store: Store, who: int) -> bool:
    return Manifests(store).link(make_stem(), make_capture(), f"write-{who}", LAST)


# claims


def test_the_first_claim_holds_and_later_ones_learn_it(store: Store) -> None:
    claims = Claims(store)
    assert claims.get_stem(TOKEN) is None
    assert claims.claim(make_identity(), make_stem(at=LATER)) == make_stem(at=LATER)
    for at in (AT, LATER, LAST):
        assert claims.claim(make_identity(), make_stem(at=at)) == make_stem(at=LATER)
    assert claims.get_stem(TOKEN) == make_stem(at=LATER)


def test_claims_of_other_sessions_and_agents_are_independent(store: Store) -> None:
    claims = Claims(store)
    for session, agent in (("s-1", "default"), ("s-2", "default"), ("s-1", "other")):
        wanted = make_stem(session, AT, agent)
        assert claims.claim(make_identity(session, agent), wanted) == wanted


@pytest.mark.parametrize("damage", [b"", b'---\nkind: "claim"\n---\n', serialize_document(make_artifact())])
def test_a_damaged_claim_is_an_error_and_no_free_claim(store: Store, damage: bytes) -> None:
    store.create(naming.claim_path(TOKEN), damage)
    with pytest.raises(FormatError):
        Claims(store).claim(make_identity(), make_stem())
    assert store.read(naming.claim_path(TOKEN)).data == damage


def test_a_claim_that_vanishes_while_it_is_looked_at_is_made_again(store: Store) -> None:
    class Vanishing(Claims):
        def get_stem(self, token: str) -> str | None:
            store.delete(naming.claim_path(token))
            return None

    Claims(store).claim(make_identity(), make_stem(at=LATER))
    assert Vanishing(store).claim(make_identity(), make_stem()) == make_stem()
    assert Claims(store).get_stem(TOKEN) == make_stem()


@pytest.mark.slow
def test_of_many_claimants_one_wins_and_all_learn_who(store: Store) -> None:
    learned = run_concurrently(store, claim_many, [(who, 20) for who in range(8)])
    for number, answers in enumerate(zip(*learned, strict=True)):
        session = f"s-{number}"
        assert len(set(answers)) == 1
        assert answers[0] == Claims(store).get_stem(make_identity(session).token)
        assert answers[0] in {make_stem(session, minute(who)) for who in range(8)}


def claim_many(store: Store, who: int, count: int) -> list[str]:
    sessions = (f"s-{number}" for number in range(count))
    return [Claims(store).claim(make_identity(session), make_stem(session, minute(who))) for session in sessions]


# tombstones


def tombstone(session: str = "s-1") -> Tombstone:
    return Tombstone(
        kind="tombstone",
        agent_id="default",
        session_token=make_identity(session).token,
        removed_at=LATER,
        reason="asked for",
        removed_paths=[make_artifact(session=session).path],
        removed_turns=["t-0123456789"],
    )


def test_a_removed_session_is_refused_and_others_are_not(store: Store) -> None:
    tombstones = Tombstones(store)
    tombstones.raise_if_removed(TOKEN)
    store.create(tombstone().path, serialize_document(tombstone()), frozen=True)
    assert tombstones.has(TOKEN)
    assert tombstones.get(TOKEN) == tombstone()
    with pytest.raises(RemovedError, match=LATER):
        tombstones.raise_if_removed(TOKEN)
    tombstones.raise_if_removed(make_identity("s-2").token)
    assert tombstones.get(make_identity("s-2").token) is None


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"---\nkind: tombstone\n---\n", b'---\nkind: "claim"\n---\n'])
def test_a_damaged_tombstone_still_counts(store: Store, damage: bytes) -> None:
    store.create(naming.tombstone_path(TOKEN), damage)
    assert Tombstones(store).has(TOKEN)
    assert Tombstones(store).list_tokens() == {TOKEN}
    with pytest.raises(RemovedError, match=TOKEN):
        Tombstones(store).raise_if_removed(TOKEN)
    with pytest.raises(FormatError):
        Tombstones(store).get(TOKEN)


def test_what_a_tombstone_lists_is_read_once(store: Store) -> None:
    """Fails without the memory of `read_removed_turns`, and where it is one of keys alone."""
    counting = CountingStore(store)
    tombstones = Tombstones(counting)  # type: ignore[arg-type]
    assert tombstones.read_removed_turns() == frozenset()
    store.create(tombstone().path, serialize_document(tombstone()))
    store.create(naming.tombstone_path(make_identity("s-2").token), b"damaged")
    for _ in range(3):
        assert tombstones.read_removed_turns() == {"t-0123456789"}
    assert len(counting.reads) == 2
    second = naming.tombstone_path(make_identity("s-2").token)
    listing = serialize_document(tombstone("s-2")._replace(removed_turns=["t-9876543210"]))
    store.replace(second, listing, store.read(second).version)
    assert tombstones.read_removed_turns() == {"t-0123456789", "t-9876543210"}
    store.delete(second)
    assert tombstones.read_removed_turns() == {"t-0123456789"}


def test_the_tokens_of_all_removed_sessions_are_known_without_reading(store: Store) -> None:
    for session in ("s-1", "s-2"):
        store.create(tombstone(session).path, serialize_document(tombstone(session)))
    store.create(naming.TOMBSTONES + "notes.txt", b"")
    assert Tombstones(store).list_tokens() == {make_identity("s-1").token, make_identity("s-2").token}


@pytest.mark.parametrize("name", [".md", "notes.md", f"{'a' * 16} (conflicted copy).md", f"{'a' * 16}.txt"])
def test_what_is_no_tombstone_s_name_removes_nothing(store: Store, name: str) -> None:
    """Nobody's token would be that of every row that names no session."""
    store.create(f"{naming.TOMBSTONES}{name}", b"")
    assert Tombstones(store).list_tokens() == frozenset()


# spool


def job(session: str = "s-1", at: str = AT, flow: str = "session-end", **payload: object) -> Job:
    return Job(
        flow=flow,
        token=make_identity(session).token,
        captured_at=at,
        sentence="A sentence.",
        quality="ok",
        payload={"session_id": session, **payload},
    )


def test_a_job_stays_until_it_is_cleared(store: Store) -> None:
    spool, first = Spool(store), job(transcript="raw \ud83d text\0", nested={"list": [1, None, "é"]})
    spool.put(first)
    assert spool.list_pending() == [first]
    spool.clear(first)
    spool.clear(first)
    assert spool.list_pending() == []


def test_a_job_that_is_put_again_is_replaced(store: Store) -> None:
    spool = Spool(store)
    spool.put(job())
    spool.put(replace(job(), sentence="Another."))
    assert [found.sentence for found in spool.list_pending()] == ["Another."]


def test_pending_jobs_come_oldest_first_and_by_session(store: Store) -> None:
    spool = Spool(store)
    jobs = [job(at=AT), job("s-2", AT), job(at=LATER), job(at=LATER, flow="compaction"), job("s-2", LAST)]
    for item in reversed(jobs):
        spool.put(item)
    assert [found.captured_at for found in spool.list_pending()] == [AT, AT, LATER, LATER, LAST]
    assert sorted(found.name for found in spool.list_pending()) == sorted(item.name for item in jobs)
    assert spool.list_pending(make_identity("s-2").token) == [jobs[1], jobs[4]]
    assert spool.list_pending(make_identity("s-3").token) == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b"null", b"{}", b"\xff", b'{"version": 1}'])
def test_a_damaged_job_is_named_and_left_alone(store: Store, damage: bytes) -> None:
    spool = Spool(store)
    spool.put(job())
    store.create("spool/broken.json", damage)
    assert spool.list_pending() == [job()]
    assert spool.list_damaged() == ["spool/broken.json"]
    assert store.read("spool/broken.json").data == damage


def test_a_job_of_a_newer_version_is_left_for_it(store: Store) -> None:
    spool = Spool(store)
    spool.put(replace(job(), version=99))
    assert spool.list_pending() == []
    assert len(spool.list_damaged()) == 1


@pytest.mark.slow
def test_a_store_that_never_settles_is_an_error_and_not_a_silent_loss(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_update_pauses(monkeypatch)
    manifests = Manifests(store)
    manifests.link(make_stem(), make_capture(), "w-1", LAST)
    path = naming.artifact_path(make_stem(), naming.MANIFEST)
    genuine = store.replace

    def overtaken(key: str, data: bytes, version: str) -> str:
        genuine(key, store.read(key).data + b"\n", version)
        return genuine(key, data, version)

    store.replace = overtaken  # type: ignore[method-assign]
    with pytest.raises(ConflictError):
        manifests.link(make_stem(), make_capture(at=LATER), "w-2", LAST)
    assert serialized_captures(store, path) == [make_stem()]


def serialized_captures(store: Store, path: str) -> Sequence[str]:
    manifest = Manifests(store).get(path.removeprefix("memory/").removesuffix("--manifest.md"))
    assert manifest
    return manifest.captures
