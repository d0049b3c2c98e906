"""Names in the archive: what is ours, and which revision is in force."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage.core.base import naming
from lineage.core.base.naming import derive_session_token
from lineage.core.transfer.archive_paths import (
    ArchiveRevision,
    find_month,
    is_archivable,
    is_archive_bundle,
    latest_revisions,
    month_of,
    month_path,
    note_path,
    note_to_artifact_path,
    parse_revision,
)
from tests.support.parametrize import each

STEM = naming.build_stem("2026-03-28T22:34:06.792Z", derive_session_token("default", "s-1"))

parts = st.builds(
    ArchiveRevision,
    st.dates().map(lambda date: date.isoformat()[:7]),
    st.text("0123456789abcdef", min_size=16, max_size=16),
    st.integers(1, 10**9 - 1),
)


@given(parts)
def test_a_part_is_read_back_from_its_names(part: ArchiveRevision) -> None:
    assert parse_revision(part.path) == (part, True)
    assert parse_revision(part.catalog_path) == (part, False)
    assert is_archive_bundle(part.path)
    assert not is_archive_bundle(part.catalog_path)
    assert find_month(part.path) == find_month(part.catalog_path) == part.month


@given(st.lists(parts, max_size=12), st.randoms(use_true_random=False))
def test_of_each_slot_the_highest_revision_is_in_force_in_whatever_order_they_come(
    found: list[ArchiveRevision], order: object
) -> None:
    several = [*found, *(part.next_revision for part in found[:3] if part.revision < 10**8)]
    shuffled = sorted(several, key=lambda part: order.random())  # type: ignore[attr-defined]
    kept = latest_revisions(shuffled)
    assert kept == sorted(kept) == latest_revisions(reversed(several))
    slots = {(part.month, part.slot) for part in several}
    assert len(kept) == len(slots)
    for part in several:
        assert any((one.month, one.slot) == (part.month, part.slot) and one.revision >= part.revision for one in kept)


@pytest.mark.parametrize("kind", [*naming.ARTIFACT_KINDS, naming.MANIFEST])
def test_artifacts_are_archived_and_manifests_are_not(kind: str) -> None:
    path = naming.artifact_path(STEM, kind)
    assert is_archivable(path) == (kind != naming.MANIFEST)
    assert note_path(path) == f"archive/2026-03/{path}"
    assert note_to_artifact_path(note_path(path)) == (path if kind != naming.MANIFEST else None)
    assert month_of(path) == "2026-03"


@each(
    "key",
    [
        "archive/2026-03/bundles/3f.zip",
        "archive/2026-03/bundles/0123456789abcdef-0.zip",
        "archive/2026-03/bundles/0123456789abcdef-01.zip",
        "archive/2026-03/bundles/0123456789abcdef-1.sync-conflict-20260401.zip",
        "archive/2026-03/bundles/0123456789abcdef-1 2.zip",
        "archive/2026-03/bundles/deeper/0123456789abcdef-1.zip",
        "archive/03/bundles/0123456789abcdef-1.zip",
        "books/archive/2026-03/bundles/0123456789abcdef-1.zip",
        "mine.zip",
    ],
)
def test_other_names_are_no_bundles_of_the_archive(key: str) -> None:
    assert parse_revision(key) is None


def test_a_note_in_another_month_s_folder_stands_for_nothing() -> None:
    assert note_to_artifact_path(f"archive/2026-04/{naming.artifact_path(STEM, naming.SUMMARY)}") is None
    assert note_to_artifact_path("archive/2026-03/memory/mine.md") is None


def test_only_where_lineage_keeps_files_is_the_folder_its_own() -> None:
    assert find_month(month_path("2026-03")) == "2026-03"
    assert find_month("archive/2026-03/memory/x.md") == "2026-03"
    assert [find_month(key) for key in ("archive/x.md", "archive/2026-03/mine.md", "archive/2026/x.md")] == [None] * 3
