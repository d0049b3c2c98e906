"""A vault of every format that was released: it verifies, reindexes, grows by what is new alone, and forgets.

Fails if a newer reader, renderer or limit makes what is captured look new, or if a key that format 1 lacks is required.
"""

import contextlib
import itertools
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from lineage.core.format.documents import FORMAT, Document, parse_document
from lineage.pipeline.capture.session import UNCHANGED
from lineage.pipeline.maintenance.reindex import reindex
from lineage.pipeline.maintenance.remove import remove
from lineage.pipeline.maintenance.upgrade import upgrade
from lineage.pipeline.maintenance.verify import verify
from lineage.pipeline.search.search import search
from lineage.store import LocalStore
from lineage.workspace.workspace import Workspace
from tests.golden.test_golden import GENERIC, claude_code
from tests.support.workspace import compact_session, end_session, open_test_workspace, read_store

pytestmark = pytest.mark.slow

FORMATS = Path(__file__).parent
CLAUDE = "a245b4fc-b607-4c50-8566-ebe23264272f"


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture(params=["first_commits", "format_1", "files"])
def vault(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A vault as a version of lineage left it, without any database; that of the first commits is of 760f340."""
    root = tmp_path / "workspace"
    shutil.copytree(FORMATS / request.param, root)
    return root


def claude_payload(folder: Path, count: int, *more: str) -> dict[str, Any]:
    source = folder / "session.jsonl"
    source.write_text(claude_code(count) + "".join(more), encoding="utf-8")
    return {"harness": "claude-code", "project": None, "transcript_path": str(source)}


def parse_all(files: dict[str, bytes]) -> list[Document]:
    return [parse_document(data, path) for path, data in files.items() if path.startswith("memory/")]


def without_writes(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files without what is random in a manifest's write."""
    return {path: re.sub(rb'write_id: ".*"', b"", data) for path, data in files.items()}


def list_files(ws: Workspace) -> set[str]:
    return set(read_store(ws.documents.store))


def test_it_verifies_reindexes_and_is_found(vault: Path) -> None:
    with open_test_workspace(vault, now="2026-11-20T10:00:00.000Z") as ws:
        before = read_store(ws.documents.store, "memory/")
        reindex(ws)
        assert verify(ws) == []
        assert read_store(ws.documents.store, "memory/") == before
        found = search(ws, "splitlines", agent_id="default", limit=1)
        assert [hit.session_id for hit in found.hits] == ["generic-1"]


def test_titles_and_outcomes_are_today_s(vault: Path) -> None:
    with open_test_workspace(vault, now="2026-11-20T10:00:00.000Z") as ws:
        reindex(ws)
        (session,) = ws.index.list_sessions(None, reference="generic-1")
        (hit,) = search(ws, "splitlines", agent_id="default", limit=1).hits
    assert (session.title, session.outcome) == (hit.title, hit.outcome) == (
        "Why does reader.py drop the last line?", "The bug was in the split: it drops what follows the last newline.",
    )  # fmt: skip


def test_the_same_sources_again_are_nothing_new(vault: Path, tmp_path: Path) -> None:
    with open_test_workspace(vault, now="2026-11-20T11:00:00.000Z") as ws:
        reindex(ws)
        before = list_files(ws)
        assert end_session(ws, "generic-1", transcript=GENERIC).status == UNCHANGED
        assert end_session(ws, CLAUDE, **claude_payload(tmp_path, 10)).status == UNCHANGED
        summary = "Goal: rename `parse`.\n\n- callers found\n- ![[embedded]] and <%* code %> do nothing here"
        payload = claude_payload(tmp_path, 8)
        assert compact_session(ws, CLAUDE, **payload, trigger="auto", summary=summary).status == UNCHANGED
        assert list_files(ws) == before


def test_it_grows_by_what_is_new(vault: Path, tmp_path: Path) -> None:
    with open_test_workspace(vault, now="2026-11-20T11:00:00.000Z") as ws:
        reindex(ws)
        said = {"role": "user", "text": "And the tests?", "at": "2026-11-20T10:30:00Z"}
        for session, payload in (
            ("generic-1", {"transcript": [*GENERIC, said]}),
            (CLAUDE, claude_payload(tmp_path, 10, _make_prompt("And the tests?"))),
        ):
            result = end_session(ws, session, **payload)
            assert (result.status, result.turns) == ("captured", 1)
            body = ws.documents.store.read(result.transcript_path or "").data.decode()
            assert "> And the tests?\n" in body
            assert "format: 2\n" in body
        assert verify(ws) == []


def test_words_that_an_older_reader_left_out_come_with_the_growth_behind_them(vault: Path, tmp_path: Path) -> None:
    interruption = _make_prompt("[Request interrupted by user]")
    with open_test_workspace(vault, now="2026-11-20T11:00:00.000Z") as ws:
        reindex(ws)
        stored = read_store(ws.documents.store, "memory/")
        is_old = all(parse_document(stored[path], path).format == 1 for path in stored if "--transcript" in path)
        result = end_session(ws, CLAUDE, **claude_payload(tmp_path, 10, interruption))
        assert (result.status, result.turns) == ((UNCHANGED, 0) if is_old else ("captured", 1))
        more = _make_prompt("Use make").replace("000000000099", "000000000100")
        result = end_session(ws, CLAUDE, **claude_payload(tmp_path, 10, interruption, more))
        assert (result.status, result.turns) == ("captured", 2 if is_old else 1)


def test_an_upgrade_changes_what_may_change_once(vault: Path, tmp_path: Path) -> None:
    with open_test_workspace(vault, now="2026-11-20T11:00:00.000Z") as ws:
        reindex(ws)
        before = read_store(ws.documents.store)
        is_old = any(document.format == 1 for document in parse_all(before))
        planned = upgrade(ws, dry_run=True)
        assert read_store(ws.documents.store) == before
        done = upgrade(ws, dry_run=False)
        after = read_store(ws.documents.store)
        assert (done.manifests, done.immutable, done.problems) == (planned.manifests, planned.immutable, [])
        assert sorted(done.manifests) == [path for path in sorted(after) if "--manifest" in path and is_old]
        assert sum(done.immutable.values()) == (15 if is_old else 0) - len(done.manifests)
        assert {document.format for document in parse_all(after) if document.kind == "manifest"} == {FORMAT}
        assert {path for path in after if before[path] != after[path]} == {*done.manifests, *done.projections}
        assert verify(ws) == []
        again = upgrade(ws, dry_run=False)
        assert (again.manifests, again.books, again.projections) == ([], [], [])
        assert read_store(ws.documents.store) == after
        assert end_session(ws, CLAUDE, **claude_payload(tmp_path, 10)).status == UNCHANGED


def test_an_upgrade_that_was_cut_off_is_gone_on_with(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = vault.with_name("whole")
    shutil.copytree(vault, whole)
    with open_test_workspace(whole, now="2026-11-20T11:00:00.000Z") as ws:
        reindex(ws)
        upgrade(ws, dry_run=False)
        wanted = without_writes(read_store(ws.documents.store))
    with open_test_workspace(vault, now="2026-11-20T11:00:00.000Z") as ws:
        reindex(ws)
        planned = upgrade(ws, dry_run=True)
        replace, count = LocalStore.replace, itertools.count()

        def replace_or_die(*args: Any, **more: Any) -> str:
            if args[1].startswith("memory/") and next(count) == 2:
                raise Killed
            return replace(*args, **more)

        monkeypatch.setattr(LocalStore, "replace", replace_or_die)
        with pytest.raises(Killed) if next(iter(planned.manifests), None) else contextlib.nullcontext():
            upgrade(ws, dry_run=False)
        monkeypatch.undo()
        upgrade(ws, dry_run=False)
        assert without_writes(read_store(ws.documents.store)) == wanted
        assert verify(ws) == []


def test_a_removal_leaves_nothing(vault: Path) -> None:
    with open_test_workspace(vault, now="2026-11-20T11:00:00.000Z") as ws:
        reindex(ws)
        for session in ("generic-1", CLAUDE, "review-1"):
            remove(ws, session, reason="asked for")
        left = read_store(ws.documents.store)
        assert not any("--" in path for path in left)
        assert {parse_document(data, path).kind for path, data in left.items() if path.startswith("memory/")} == {
            "tombstone"
        }
        assert verify(ws) == []


def _make_prompt(text: str) -> str:
    record = claude_code(1).replace("000000000000", "000000000099", 1)
    return record.replace("Rename `parse` to `read_all` in [[notes]] and run the tests, please. See #412.", text)
