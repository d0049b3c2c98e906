"""Texts merged by line and manifests by link: several mirrors agree, and no new line or link is lost."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base import naming
from lineage.core.base.note_paths import replace_block
from lineage.core.format.documents import Manifest, parse_document_as, serialize_document
from lineage.core.format.manifest import link_artifacts
from lineage.pipeline.transfer.mirror.file_merge import merge_manifests, merge_texts, merge_versions
from tests.support.artifacts import make_artifact, make_stem

MINUTES = [f"2026-11-20T10:0{minute}:00.000Z" for minute in range(5)]
lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "\n"]), max_size=8)
moments = st.sets(st.sampled_from(MINUTES[1:]), max_size=4)


def grown(manifest: Manifest | None, times: set[str], who: str) -> Manifest:
    """The manifest with captures of these times, each under a revision of its own."""
    for at in sorted(times):
        pair = [make_artifact(kind, "s-1", at) for kind in (naming.TRANSCRIPT, naming.SUMMARY)]
        manifest = link_artifacts(manifest, make_stem("s-1", MINUTES[0]), pair, f"{who}-{at}", at) or manifest
    assert manifest is not None
    return manifest


@given(moments, moments, st.booleans())
def test_what_both_say_in_the_same_bytes_either_way_around(one: set[str], other: set[str], is_known: bool) -> None:
    base = grown(None, {MINUTES[0]}, "base")
    ours, theirs = grown(base, one, "ours"), grown(base, other, "theirs")
    merged = merge_manifests(base if is_known else None, ours, theirs)
    assert merged == merge_manifests(base if is_known else None, theirs, ours)
    assert merged.captures == sorted({*ours.captures, *theirs.captures})
    assert merged.revision >= max(ours.revision, theirs.revision)
    assert merged.transcript_path == naming.artifact_path(merged.captures[-1], naming.TRANSCRIPT)
    path = naming.artifact_path(make_stem("s-1", MINUTES[0]), naming.MANIFEST)
    assert parse_document_as(Manifest, serialize_document(merged), path) == merged
    assert merge_manifests(base, merged, ours) == merged, "once more changes nothing"


@given(lines, lines)
def test_a_side_that_did_not_change_takes_the_other_s_text(base: list[str], changed: list[str]) -> None:
    old, new = "".join(base), "".join(changed)
    assert merge_texts(old, new, old) == new
    assert merge_texts(old, old, new) == new
    assert merge_texts(old, new, new) == new


@given(lines, lines, lines)
def test_both_ways_around_it_is_the_same(base: list[str], one: list[str], other: list[str]) -> None:
    texts = ["".join(each) for each in (base, one, other)]
    assert merge_texts(*texts) == merge_texts(texts[0], texts[2], texts[1])


@given(lines, st.lists(st.tuples(st.booleans(), st.integers(0, 8)), max_size=6))
def test_no_new_line_of_either_is_lost(base: list[str], places: list[tuple[bool, int]]) -> None:
    sides = {True: list(base), False: list(base)}
    for number, (side, place) in enumerate(places):
        sides[side].insert(place, f"new {number}\n")
    merged = merge_texts("".join(base), "".join(sides[True]), "".join(sides[False]))
    if merged is not None:
        assert all(f"new {number}\n" in merged for number in range(len(places)))


def test_lineage_s_block_in_a_note_is_no_conflict_and_a_person_s_text_of_both_is_kept() -> None:
    base, here, there = (replace_block(None, f"{word}\n") or b"" for word in ("base", "here", "there"))
    merged = merge_versions("days/2026-11-20.md", base + b"z\n", b"mine\n" + here + b"z\n", there + b"z\nyours\n")
    assert merged == (b"mine\n" + there + b"z\nyours\n", None)
