"""Manifests merged by link: several mirrors agree, and nothing is named that nobody names."""

from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base import naming
from lineage.core.format.documents import Manifest, parse_document_as, serialize_document
from lineage.core.format.manifest import link_artifacts
from lineage.pipeline.transfer.mirror.manifest_merge import merge_manifests
from tests.support.artifacts import make_artifact, make_stem

MINUTES = [f"2026-11-20T10:0{minute}:00.000Z" for minute in range(5)]
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
