"""Spec, test 5: what arrives after a session's end goes into its manifest, and only there.

Fails without `compactions=` or `compaction_path=` in `_with_compaction` of core/manifest.py, when it takes times from
the compaction, and when the two flows derive their token from different fields.
"""

from pathlib import Path

import pytest

from lineage.core.format.documents import Manifest
from lineage.workspace.workspace import Workspace
from tests.support.workspace import at_time, compact_session, end_session, make_turns, open_memory_workspace, read_store

LATE = "2026-11-22T09:00:00.000Z"
LATER = "2026-11-23T09:00:00.000Z"
MAY_CHANGE = {"compaction_path", "compactions", "updated_at", "revision", "write_id", "content_sha256", "body"}


def manifest_of(ws: Workspace, session: str = "s-1") -> Manifest:
    stem = next(
        path.removeprefix("memory/").removesuffix("--manifest.md")
        for path in read_store(ws.documents.store)
        if path.endswith("--manifest.md")
    )
    manifest = ws.documents.manifests.get(stem)
    assert manifest is not None
    assert manifest.session_id == session
    return manifest


def immutable(ws: Workspace) -> dict[str, bytes]:
    return {p: data for p, data in read_store(ws.documents.store, "memory/").items() if not p.endswith("--manifest.md")}


def changed(before: Manifest, after: Manifest) -> set[str]:
    return {name for name in Manifest._fields if getattr(before, name) != getattr(after, name)}


def test_a_late_compaction_changes_the_manifest_alone(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws)
        files, before = immutable(ws), manifest_of(ws)
        outcome = compact_session(at_time(ws, LATE))
        after = manifest_of(ws)
        assert {path: immutable(ws)[path] for path in files} == files
        assert set(immutable(ws)) - set(files) == {outcome.compaction_path}
        assert changed(before, after) == MAY_CHANGE
        assert after.compaction_path == outcome.compaction_path
        assert after.revision == before.revision + 1
        assert after.updated_at == LATE
        assert f"[[{outcome.compaction_path}|compaction]]" in after.body


@pytest.mark.parametrize("payload", [{}, {"ended_at": "2026-11-22T08:00:00Z", "started_at": "2026-11-22T07:00:00Z"}])
def test_a_compaction_never_changes_the_times_of_its_session(tmp_path: Path, payload: dict[str, str]) -> None:
    """Lesson 5: a compaction without `ended_at` nulled the manifest's."""
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws)
        before = manifest_of(ws)
        assert before.started_at and before.ended_at
        compact_session(at_time(ws, LATE), **payload)
        after = manifest_of(ws)
        assert (after.started_at, after.ended_at) == (before.started_at, before.ended_at)
        assert after.captured_at == before.captured_at


def test_the_ledger_keeps_the_row_of_a_session_that_is_compacted_late(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws)
        before = ws.documents.store.read("MEMORY.md").data
        compact_session(at_time(ws, LATE))
        assert ws.documents.store.read("MEMORY.md").data == before


def test_a_session_may_be_compacted_any_number_of_times(tmp_path: Path) -> None:
    """Lesson 4: the second compaction threw."""
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws)
        moments = (LATE, LATER, "2026-11-24T09:00:00.000Z")
        outcomes = [compact_session(at_time(ws, now), summary=f"Goal {number}.") for number, now in enumerate(moments)]
        manifest = manifest_of(ws)
        assert [outcome.status for outcome in outcomes] == ["captured"] * 3
        assert [f"memory/{stem}--compaction.md" for stem in manifest.compactions] == [
            o.compaction_path for o in outcomes
        ]
        assert manifest.compaction_path == outcomes[-1].compaction_path
        for number, outcome in enumerate(outcomes):
            kept = ws.documents.artifacts.get(outcome.compaction_path or "")
            assert kept is not None
            assert f"Goal {number}." in kept.body


def test_two_compactions_of_one_moment_are_both_kept(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        first, second = (compact_session(ws, summary=text) for text in ("Goal one.", "Goal two."))
        assert first.compaction_path != second.compaction_path
        assert len(manifest_of(ws).compactions) == 2


def test_a_compaction_in_the_millisecond_of_the_end_is_linked_too(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        ended, compacted = end_session(ws), compact_session(ws)
        manifest = manifest_of(ws)
        assert ended.captured_at == compacted.captured_at
        assert (len(manifest.captures), len(manifest.compactions)) == (1, 1)
        assert manifest.compaction_path == compacted.compaction_path


def test_the_same_compaction_again_is_nothing_new(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws)
        compact_session(at_time(ws, LATE))
        before = read_store(ws.documents.store)
        assert compact_session(at_time(ws, LATER)).status == "unchanged"
        assert read_store(ws.documents.store) == before


def test_the_same_summary_after_more_turns_is_another_compaction(tmp_path: Path) -> None:
    talk = make_turns("Why?", "Because.", "And then?", "Done.")
    with open_memory_workspace(tmp_path) as ws:
        compact_session(ws, transcript=talk[:2])
        assert compact_session(at_time(ws, LATE), transcript=talk).status == "captured"
        assert len(manifest_of(ws).compactions) == 2


def test_a_compaction_may_come_before_any_end(tmp_path: Path) -> None:
    with open_memory_workspace(tmp_path) as ws:
        first = compact_session(ws)
        alone = manifest_of(ws)
        assert (alone.transcript_path, alone.summary_path, alone.captures) == (None, None, [])
        assert (alone.started_at, alone.ended_at) == (None, None)
        ended = end_session(at_time(ws, LATE))
        both = manifest_of(ws)
        assert both.stem == alone.stem, "the manifest keeps the stem of the session's first artifact"
        assert both.compactions == alone.compactions
        assert both.compaction_path == first.compaction_path
        assert both.transcript_path == ended.transcript_path
        assert both.started_at == "2026-11-20T10:00:00.000Z"


@pytest.mark.parametrize("key", [None, "agent:main:s-1"])
def test_both_flows_of_a_session_share_one_token_and_one_manifest(tmp_path: Path, key: str | None) -> None:
    """Lesson 3: session-end and compaction derived different tokens."""
    with open_memory_workspace(tmp_path) as ws:
        outcomes = [end_session(ws, session_key=key), compact_session(at_time(ws, LATE), session_key=key)]
        assert len({outcome.session_token for outcome in outcomes}) == 1
        assert len({outcome.manifest_path for outcome in outcomes}) == 1
        assert sum(path.endswith("--manifest.md") for path in read_store(ws.documents.store)) == 1


def test_a_manifest_that_changed_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """Lesson 6: the revision was incremented and never compared."""
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws)
        path = next(path for path in read_store(ws.documents.store) if path.endswith("--manifest.md"))
        stale = ws.documents.store.read(path)
        compact_session(at_time(ws, LATE))
        from lineage.store import ConflictError

        with pytest.raises(ConflictError):
            ws.documents.store.replace(path, stale.data, stale.version)
        assert manifest_of(ws)._replace().revision == 2
