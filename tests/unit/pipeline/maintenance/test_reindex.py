"""What an incremental reindex does while others write.

Fails without `_drop_rows` behind the rows (a session that was removed meanwhile would come back), and without the
comparison of hashes (a file that was only touched would be written to the index again).
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from lineage.pipeline.maintenance.reindex import reindex, sync_rows
from lineage.pipeline.maintenance.remove import remove
from lineage.workspace.workspace import Workspace
from tests.support.workspace import end_session, find_root, open_test_workspace, read_rows


def count_upserted(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of the rows that are written from now on."""
    original, paths = ws.index.upsert, list[str]()

    def upsert(rows: Iterable[Any]) -> None:
        rows = list(rows)
        paths.extend(row.source_path for row in rows)
        original(rows)

    monkeypatch.setattr(ws.index, "upsert", upsert)
    return paths


def drop_stamp(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if "stamp" not in name}


def test_a_session_that_is_removed_while_its_files_are_read_gets_no_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "stays")
        gone = end_session(ws, "goes").session_token
        ws.index.delete_paths(list(ws.index.load_stamps()))
        original = ws.index.upsert

        def upsert(rows: Iterable[Any]) -> None:
            rows = list(rows)
            monkeypatch.undo()
            remove(ws, "goes", reason="asked for")
            original(rows)

        monkeypatch.setattr(ws.index, "upsert", upsert)
        sync_rows(ws, confirmed=True)
        assert {row["session_id"] for row in read_rows(ws)} == {"stays"}
        assert ws.index.find_indexed_tokens([gone]) == set()
        reindex(ws)  # MEMORY.md follows the rows


@pytest.mark.in_folder
@pytest.mark.leaves_findings
def test_a_file_that_was_only_touched_gets_another_stamp_and_no_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_test_workspace(tmp_path) as ws:
        end_session(ws, "s-1")
        before, paths = read_rows(ws), sorted(ws.index.load_stamps())
        for path in paths:
            os.utime(find_root(ws) / path, (1, 1))
        written = count_upserted(ws, monkeypatch)
        report = reindex(ws)
        assert (report.touched, report.changed, report.added, written) == (len(paths), 0, 0, [])
        assert [drop_stamp(row) for row in read_rows(ws)] == [drop_stamp(row) for row in before]
        assert reindex(ws).touched == 0
