"""Spec, test 4: a committed artifact never changes.

Fails without the comparison in `commit` of store/helpers.py, without `frozen` in store/local.py, and when a flow
writes a later capture under an earlier one's name.
"""

import stat
from pathlib import Path

import pytest

from lineage.core.base import naming
from lineage.core.format.documents import with_body
from lineage.errors import ImmutableError
from tests.support.workspace import (
    at_time,
    compact_session,
    end_session,
    make_turns,
    open_memory_workspace,
    open_test_workspace,
    read_store,
)

KINDS = ("transcript", "summary", "compaction")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["body", "frontmatter"])
def test_a_rewrite_of_a_committed_artifact_is_refused_and_changes_nothing(tmp_path: Path, kind: str, part: str) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws)
        compact_session(ws)
        before = read_store(ws.documents.store, "memory/")
        path = next(path for path in before if path.endswith(f"--{kind}.md"))
        committed = ws.documents.artifacts.get(path)
        assert committed is not None
        changed = with_body(committed, "other\n") if part == "body" else committed._replace(memory_sentence="Other.")
        with pytest.raises(ImmutableError):
            ws.documents.artifacts.write(changed)
        assert read_store(ws.documents.store, "memory/") == before


def test_writing_the_same_content_again_succeeds_and_writes_nothing(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        outcome = end_session(ws)
        committed = ws.documents.artifacts.get(outcome.transcript_path or "")
        assert committed is not None
        status = (tmp_path / committed.path).stat()
        assert ws.documents.artifacts.write(committed) is False
        assert (tmp_path / committed.path).stat() == status


def test_committed_files_are_read_only_and_the_manifest_is_not(tmp_path: Path) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws)
        compact_session(ws)
    modes = {path.stem.rpartition("--")[2]: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("memory/*.md")}
    assert {kind: modes[kind] for kind in KINDS} == dict.fromkeys(KINDS, 0o400)
    assert modes["manifest"] & stat.S_IWUSR


def test_no_later_end_compaction_or_payload_touches_what_is_committed(tmp_path: Path) -> None:
    later = make_turns("Why does reader.py drop the last line?", "It splits on newline.", "And now?", "Done.")
    with open_memory_workspace(tmp_path) as ws:
        end_session(ws, transcript=later[:2])
        compact_session(ws)
        committed = _committed(ws.documents.store)
        for index, payload in enumerate(
            [
                {"transcript": later},
                {"transcript": later, "project": "/elsewhere", "summary": "Another story.", "private": True},
                {"transcript": make_turns("A rewritten beginning", "and its answer"), "captured_at": ws.now},
                {"transcript": later[:1], "ended_at": "2026-01-01T00:00:00Z"},
            ]
        ):
            end_session(at_time(ws, f"2026-11-22T1{index}:00:00.000Z"), **payload)
            compact_session(at_time(ws, f"2026-11-23T1{index}:00:00.000Z"), summary=f"Goal {index}")
            now = _committed(ws.documents.store)
            assert {path: now.get(path) for path in committed} == committed
            committed = now


def _committed(store: object) -> dict[str, bytes]:
    found = read_store(store, "memory/")  # type: ignore[arg-type]
    return {path: data for path, data in found.items() if (naming.parse_path(path) or ("", "", "", ""))[3] in KINDS}
